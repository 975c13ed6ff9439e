//! Address translation: which pages a core knows, and what a walk of the page tables reads.
//!
//! ```text
//!   access, its page --> first TLB (loads | stores) --miss--> second TLB --miss--> walk: entries from the top, or from
//!                                                                                  what the structure caches know
//!   page tables: told by the guest, or laid out for a synthetic kernel ------------^
//! ```
//!
//! A page is one translation in one address space, so its id is tag enough: no process-context identifiers are compared.
//! What is cached of tables is known by the address of the entry. Not modelled: instruction TLBs, TLBs of their own for
//! 1 GiB pages (they go where 2 MiB pages go), hashed set indices, prefetching of translations, accessed and dirty bits.
//! Source: Intel SDM vol. 3, 4.10; what each processor has is in its host file.

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
