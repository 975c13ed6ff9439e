//! Functional warming: caches and predictor see what a program does while the machine's time stands still.
//!
//! Hits and misses are not counted, and what leaves the LLC changed is written in no time. Not modelled: what is
//! functional has no wrong path either, and a line is touched in program order, not when its miss returns.

use super::Machine;
use crate::addr::Hpa;
use crate::frontend::{Branch, Outcome, Touch};

impl Machine {
    /// An instruction of `core` touches a line, in the way that its kind does.
    #[inline]
    pub fn touch(&mut self, core: usize, line: Hpa, store: bool, touch: Touch) {
        let home = &mut self.shared.home;
        match touch {
            Touch::NonTemporal if store => {
                self.cores[core].forget(line);
                home.forget(line);
            }
            Touch::Flush => {
                self.cores[core].forget(line);
                home.forget(line);
            }
            Touch::Clean => {
                self.cores[core].clean(line);
                home.clean(line);
            }
            Touch::Plain | Touch::Locked | Touch::NonTemporal | Touch::Prefetch | Touch::PrefetchToOwn => {
                let leaving = match self.cores[core].touch(line, store) {
                    Some(victim) => [victim, None],
                    // Of what has no memory nothing is kept: a window says so if a program touches it there.
                    None if home.node(line).is_none() => return,
                    None => {
                        home.touch(line);
                        self.cores[core].bring(line, store)
                    }
                };
                for victim in leaving.into_iter().flatten() {
                    let _written_in_no_time = home.take_in(victim);
                }
            }
        }
    }

    /// A branch of `core` went there.
    #[inline]
    pub fn learn(&mut self, core: usize, branch: Branch, outcome: Outcome) {
        self.cores[core].learn(branch, outcome);
    }
}
