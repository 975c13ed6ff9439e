//! Coherence: which cores have a line, and what must happen before another gets it.
//!
//! ```text
//!   core A --Own--> home agent: snoop filter says B has it --Invalidate--> B's L2
//!      ^                                                                    |
//!      '------------------- the line, changed or not ------------------------'
//! ```
//!
//! MESI with a snoop filter at the home agent, which knows of every line in any L2: cores tell it of clean victims, too.
//! One request a line is served at a time, until its line is at the core; the others wait in their order. So nothing is
//! ever asked of a line that is on its way. What DDR of the other socket pays for its own home agent is in the socket link
//! (MICRO'23, O1 to O3); CXL memory, which no cache of its own can change, pays nothing beyond this filter.
//! Not modelled: back-invalidation by a full filter, the F and O states, snoops from the other socket.

mod cores;
mod filter;
mod protocol;

pub use cores::Cores;
pub use filter::{Asked, SnoopFilter};
pub use protocol::{Answer, Ask, Presence, Source, answer};
