//! The loads of one core that reached the home agents: their number, and where their time went.

use cxlab_kernel::Time;
use cxlab_kernel::statistic::Span;

use crate::home::StageTimes;
use crate::mem::Stage;
use crate::request::Request;

/// The loads of one core that reached the home agents: those that a memory answered, and those of the LLC.
#[derive(Clone, Debug, Default)]
pub struct CoreLoads {
    pub count: u64,
    pub stages: StageTimes,
    /// those that the LLC had, from their fill buffer to the data
    pub from_llc: Span,
}

impl CoreLoads {
    pub(super) fn count(&mut self, request: &Request) {
        self.count += 1;
        for (sum, stage) in self.stages.iter_mut().zip(Stage::ALL) {
            *sum += request.span(*stage);
        }
    }

    pub(super) fn count_llc(&mut self, request: &Request, latency: Time) {
        self.from_llc.record(latency - request.span(Stage::Translation) - request.span(Stage::FillBuffer));
    }
}
