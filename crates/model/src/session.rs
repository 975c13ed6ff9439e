//! Sessions feed a machine's cores from outside: from a live guest or a recorded trace, whole or sampled.
//!
//! ```text
//!   ring (live) --\         / reader of vCPU 0: block table, expected accesses -> Step -> core 0
//!                  guest ---> reader of vCPU 1                               -> Step -> core 1
//!   trace file ---/                                                    <- answers (sync, clock)
//! ```
//!
//! Not modelled: instruction fetch. A block is decoded once, when it is defined.

mod blocks;
mod guest;
mod inbox;
mod live;
mod payload;
mod placed;
mod reader;
mod replay;
mod sampled;
mod warming;

pub use guest::{Guest, RecordSource};
pub use live::Live;
pub use placed::{PageMap, Placed, Policy};
pub use reader::Reader;
pub use replay::{Answers, Replay};
pub use sampled::Sampled;
