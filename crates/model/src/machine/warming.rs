//! Functional warming: caches and predictor see what a program does while the machine's time stands still.
//!
//! Hits and misses are not counted, and what leaves the LLC changed is written in no time. Not modelled: what is
//! functional has no wrong path either, and a line is touched in program order, not when its miss returns.

use super::{Machine, Shared};
use crate::addr::Hpa;
use crate::frontend::{Branch, Outcome, Touch};
use crate::request::CoreId;

impl Machine {
    /// An instruction of `core` touches a line, in the way that its kind does.
    #[inline]
    pub fn touch(&mut self, core: usize, line: Hpa, store: bool, touch: Touch) {
        // Of what has no memory nothing is kept: a window says so if a program touches it there.
        let Some(at) = self.shared.home.of(line) else { return };
        let Shared { home, .. } = &mut self.shared;
        match touch {
            Touch::NonTemporal if store => self.forget(line),
            Touch::Flush => self.forget(line),
            Touch::Clean => {
                self.cores[core].clean(line);
                home.clean(at.slice, line);
            }
            Touch::Plain | Touch::Locked | Touch::NonTemporal | Touch::Prefetch | Touch::PrefetchToOwn => {
                if self.cores[core].touches(line, store) {
                    return;
                }
                home.touch(line);
                self.bring(core, line, store);
            }
        }
    }

    /// The line leaves every cache.
    fn forget(&mut self, line: Hpa) {
        let home = &mut self.shared.home;
        for (number, core) in self.cores.iter_mut().enumerate() {
            core.forget(line);
            if let Some(filter) = &mut home.filter {
                filter.left(line, CoreId(number as u16));
            }
        }
        if let Some(at) = home.of(line) {
            home.forget(at.slice, line);
        }
    }

    /// A branch of `core` went there.
    #[inline]
    pub fn learn_branch(&mut self, core: usize, branch: Branch, outcome: Outcome) {
        self.cores[core].learn(branch, outcome);
    }
}
