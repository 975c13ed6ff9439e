//! The caches, from L1 to the slices of the LLC: which of them holds a line.
//!
//! ```text
//!   core: L1 -- victims --> L2 -- victims, clean or changed --> LLC slices -- changed victims --> memory
//!          ^----------------- fills from memory go to L2 and L1 -------------------------------------'
//! ```
//!
//! L1 and L2 belong to a core. The LLC is a non-inclusive victim cache, as in Intel's servers since Skylake (Intel SDM
//! vol. 3; MICRO'23 section 2.2). Not modelled: instruction caches, sectors.

mod entry;
mod geometry;
mod prefetch;
mod private;
mod reference;
mod replacement;
mod slice_hash;
mod slices;
mod tags;

pub use entry::{LineState, Victim};
pub use geometry::{CacheSpec, LlcSpec};
pub use prefetch::{PrefetchSpec, Prefetchers, Wanted};
pub use private::{Hit, Nearest, Private, Snoop};
pub use reference::{CoreId, ProgramCounter, Reference, ReferenceKind};
pub use replacement::Replacement;
pub use slice_hash::{ClusterId, SliceHash, SliceId};
pub use slices::Slices;
pub use tags::Tags;
