//! Address translation: which pages a core knows, and what a walk of the page tables reads.
//!
//! ```text
//!   access, its page --> first TLB (loads | stores) --miss--> second TLB --miss--> walk: entries from the top, or from
//!                                                                                  what the structure caches know
//!   page tables: told by the guest, or laid out for a synthetic kernel ------------^
//! ```
//!
//! A page is one translation in one address space. So its id is tag enough, and no process-context identifiers are
//! compared. Cached parts of tables are known by the address of the entry. Not modelled: instruction TLBs, and TLBs of
//! their own for 1 GiB pages, which go where 2 MiB pages go. Also not modelled: hashed set indices, prefetching of
//! translations, accessed and dirty bits. Source: Intel SDM vol. 3, 4.10. A host file has the TLBs of its processor.

mod array;
mod scope;
mod spec;
mod tables;
mod tlb;

pub use array::Array;
pub use cxlab_access::{Forget, Mapping, Page, PageId, PageSize};
pub use scope::Scope;
pub use spec::{ArraySpec, TlbSpec};
pub use tables::{AddressSpace, LaidTables, PageTables};
pub use tlb::Tlb;
