//! The records that cross processes. They say what a program did, in order.
//!
//! ```text
//!   QEMU plugin --Record--> ring (shared memory) --Record--> model
//!               <--replies-- sync times, clock reads <-------
//!                                    model --Record + reply--> trace file --> model, without QEMU
//! ```
//!
//! A block is described once, with its bytes, and a page with its page-table entries; afterwards only ids and addresses flow. It does
//! not model anything, and it knows neither QEMU nor the model.

mod marker;
mod mixed;
mod page;
mod phase;
pub mod record;
pub mod ring;
pub mod sampling;
#[cfg(feature = "trace")]
pub mod trace;
mod words;

pub use marker::Marker;
pub use page::{Forget, Mapping, Page, PageId, PageSize};
pub use phase::{Draw, Keep, Phase};
pub use record::{BlockId, Record, Segment, Vcpu};
pub use ring::{Consumer, Peer, PeerGone, Producer, Ring};
pub use sampling::{BEGINNING, LineFilter, Progress, REPEATED_LINE, Schedule};
