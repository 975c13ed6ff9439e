//! Requests for files of the host: each is answered a declared time after it was asked for.
//!
//! ```text
//!   core --number, service--> [event, service later] --> done: the guest is told, and who rests goes on
//! ```
//!
//! Not modelled: how much a request moves, and a limit to how many are under way.

use cxlab_kernel::Time;

#[derive(Clone, Debug, Default)]
pub(super) struct HostFiles {
    under_way: Vec<u32>,
    /// numbers of requests that are done and not asked for
    news: Vec<u32>,
    /// requests done, and when the last one was
    done: u64,
    last_done: Time,
}

impl HostFiles {
    pub fn ask(&mut self, number: u32) {
        self.under_way.push(number);
    }

    /// The time of a request has passed. One that was answered meanwhile is none any more.
    pub fn finish(&mut self, now: Time, number: u32) {
        let Some(place) = self.under_way.iter().position(|under_way| *under_way == number) else { return };
        self.under_way.swap_remove(place);
        self.news.push(number);
        self.done += 1;
        self.last_done = now;
    }

    /// All that is under way was answered while the machine's time stood still.
    pub fn answered_meanwhile(&mut self) {
        self.under_way.clear();
    }

    /// Requests done so far, and when the last one was.
    pub fn done(&self) -> (u64, Time) {
        (self.done, self.last_done)
    }

    /// The numbers of the requests that were done since this was last asked, in their order.
    pub fn take_news(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.news)
    }
}
