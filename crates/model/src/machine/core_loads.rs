//! The loads of one core that reached a memory: how many, and where their time went.

use super::StageTimes;
use crate::request::{Request, Stage};

/// The loads of one core that reached a memory.
#[derive(Clone, Debug, Default)]
pub struct CoreLoads {
    pub count: u64,
    pub stages: StageTimes,
}

impl CoreLoads {
    pub(super) fn count(&mut self, request: &Request) {
        self.count += 1;
        for (sum, stage) in self.stages.iter_mut().zip(Stage::ALL) {
            *sum += request.span(*stage);
        }
    }
}
