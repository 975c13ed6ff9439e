//! Translations: it compares the translations of a core's TLBs with the page tables, and with the guest's
//! invalidations.
//!
//! ```text
//!   a walk ends: page 7 -> mapping --remembered--+        the guest invalidates: forgotten, by the mapping
//!   a TLB serves page 7 ------------------------ compare with it, and with the page tables now
//! ```
//!
//! The checker keeps every page that was walked and not forgotten, in a plain table without sets or ways. A TLB may
//! know fewer pages than that table, and never more. The checker sees pages by their numbers. For pages of 4 KiB it
//! compares the page's address from one access to the next. It cannot see the entries of upper tables in the structure
//! caches. Source: Intel SDM vol. 3, 4.10.

use std::collections::HashMap;

use cxlab_kernel::Time;

use super::Broken;
use crate::translation::{Forget, Mapping, Page, PageId, PageSize};

/// A page that was walked.
#[derive(Clone, Copy, Debug)]
struct Walked {
    mapping: Mapping,
    /// number of the 4 KiB frame that its accesses went to; only for a page of 4 KiB
    frame: Option<u64>,
}

/// The pages that a core's TLBs may know.
#[derive(Clone, Debug)]
pub struct Translations {
    /// name of the core, for messages
    place: String,
    walked: HashMap<PageId, Walked>,
    served: u64,
    broken: Option<Broken>,
}

impl Translations {
    /// A checker that knows no page.
    #[must_use]
    pub fn new(place: String) -> Translations {
        Translations { place, walked: HashMap::new(), served: 0, broken: None }
    }

    /// Number of translations compared.
    #[must_use]
    pub fn served_so_far(&self) -> u64 {
        self.served
    }

    /// The first rule that was broken.
    #[must_use]
    pub fn broken(&self) -> Option<&Broken> {
        self.broken.as_ref()
    }

    /// Notes that a walk for the page has ended with this mapping.
    pub fn walk_ended(&mut self, page: Page, mapping: &Mapping) {
        self.walked.insert(page.id, Walked { mapping: *mapping, frame: None });
    }

    /// Checks a translation that a TLB gave to an access to a byte of this page, at `at`. `now` is the tables' present
    /// mapping of the page.
    pub fn served(&mut self, page: Page, address: u64, now: Option<Mapping>, at: Time) {
        self.served += 1;
        let rule = match (self.walked.get_mut(&page.id), now) {
            (_, None) => "a TLB serves no page that the tables have replaced",
            (None, _) => "a TLB serves no page that was invalidated, or never walked",
            (Some(walked), Some(now)) if walked.mapping != now => "a TLB serves the mapping that the tables have",
            (Some(walked), Some(now)) => {
                let frame = (now.size == PageSize::Kib4).then_some(address >> PageSize::Kib4.shift());
                let before = walked.frame;
                walked.frame = frame;
                if page.size() != now.size {
                    "a TLB serves a page of the size that the tables have"
                } else if frame.is_some() && before.is_some_and(|before| Some(before) != frame) {
                    "a page stands for one frame"
                } else {
                    return;
                }
            }
        };
        if self.broken.is_none() {
            let what = format!("page {} ({:?}), address {address:#x}; the tables have {now:?}", page.id.0, page.size());
            self.broken = Some(Broken::new(rule, self.place.clone(), at, what));
        }
    }

    /// Forgets the pages that the guest has invalidated.
    pub fn forget(&mut self, forget: Forget) {
        match forget {
            Forget::Tables => {}
            Forget::Page(page) => {
                self.walked.remove(&page);
            }
            Forget::Space { pcid } => {
                self.walked.retain(|_, walked| walked.mapping.global || walked.mapping.pcid != pcid);
            }
            Forget::Spaces => self.walked.retain(|_, walked| walked.mapping.global),
            Forget::Everything => self.walked.clear(),
        }
    }

    /// Forgets these pages, which the tables have replaced. They are not served any more.
    pub fn replaced(&mut self, pages: &[PageId]) {
        for page in pages {
            self.walked.remove(page);
        }
    }
}
