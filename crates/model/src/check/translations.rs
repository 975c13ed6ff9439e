//! Translations: what a core's TLBs serve, against the page tables and against what the guest has made it forget.
//!
//! ```text
//!   a walk ends: page 7 -> mapping --remembered--+        the guest invalidates: forgotten, by the mapping
//!   a TLB serves page 7 ------------------------ compare with it, and with the page tables now
//! ```
//!
//! It keeps every page that was walked and not forgotten, in a plain table without sets or ways: a TLB may know less than that,
//! and never more. It sees pages by their numbers: the address that a page stands for is compared from one access to the next, for
//! pages of 4 KiB. It cannot see what the structure caches hold of upper tables. Source: Intel SDM vol. 3, 4.10.

use std::collections::HashMap;

use cxlab_kernel::Time;

use super::Broken;
use crate::translation::{Forget, Mapping, Page, PageId, PageSize};

/// A page that was walked.
#[derive(Clone, Copy, Debug)]
struct Walked {
    mapping: Mapping,
    /// number of the frame of 4 KiB that its accesses went to, for a page of 4 KiB
    frame: Option<u64>,
}

/// The pages that a core's TLBs may know.
#[derive(Clone, Debug)]
pub struct Translations {
    /// for messages
    place: String,
    walked: HashMap<PageId, Walked>,
    served: u64,
    broken: Option<Broken>,
}

impl Translations {
    /// No page is known.
    #[must_use]
    pub fn new(place: String) -> Translations {
        Translations { place, walked: HashMap::new(), served: 0, broken: None }
    }

    /// Translations compared.
    #[must_use]
    pub fn served_so_far(&self) -> u64 {
        self.served
    }

    /// The first rule that was broken.
    #[must_use]
    pub fn broken(&self) -> Option<&Broken> {
        self.broken.as_ref()
    }

    /// A walk for the page has ended; the tables map it so.
    pub fn walk_ended(&mut self, page: Page, mapping: &Mapping) {
        self.walked.insert(page.id, Walked { mapping: *mapping, frame: None });
    }

    /// A TLB serves an access to a byte of this page, at `at`; `now` is how the tables map it now.
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

    /// The guest has invalidated.
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

    /// The tables have replaced these pages. They are not served any more, so nothing of them has to be kept.
    pub fn replaced(&mut self, pages: &[PageId]) {
        for page in pages {
            self.walked.remove(page);
        }
    }
}
