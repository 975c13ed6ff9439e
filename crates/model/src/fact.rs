//! Values of machine files: a number with a unit, and its source.
//!
//! Every room above describes itself with these types; `config` assembles what they describe into a machine.

mod cycles;
mod sourced;

pub use cycles::Cycles;
pub use sourced::Sourced;
