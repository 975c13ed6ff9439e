//! Requests to a device that are done: how many, the last one's time, and the numbers that nobody has heard of yet.

use cxlab_kernel::Time;

#[derive(Clone, Debug, Default)]
pub struct Done {
    /// numbers that were not asked for
    news: Vec<u32>,
    count: u64,
    last: Time,
}

impl Done {
    /// The request of this number is done.
    pub fn add(&mut self, now: Time, number: u32) {
        self.news.push(number);
        self.count += 1;
        self.last = now;
    }

    /// Requests done so far, and when the last one was.
    #[must_use]
    pub fn count(&self) -> (u64, Time) {
        (self.count, self.last)
    }

    /// The numbers of the requests that were done since this was last asked, in their order.
    pub fn take_news(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.news)
    }
}
