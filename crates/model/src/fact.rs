//! What a value of a machine file is: a number with a unit, and the source that it was taken from.
//!
//! Every room above describes itself with these types; `config` assembles what they describe into a machine.

mod cycles;
mod sourced;

pub use cycles::Cycles;
pub use sourced::Sourced;
