//! Requests for files of the host: each is answered so long after it was asked for as the guest's side says.
//!
//! ```text
//!   core --number, service--> [event, service later] --> done: the guest is told, and who rests goes on
//! ```
//!
//! Not modelled: a limit to how many are under way.

use cxlab_kernel::Time;

use crate::mem::Done;

#[derive(Clone, Debug, Default)]
pub(super) struct HostFiles {
    under_way: Vec<u32>,
    pub done: Done,
}

impl HostFiles {
    pub fn ask(&mut self, number: u32) {
        self.under_way.push(number);
    }

    /// The time of a request has passed. One that was answered meanwhile is none any more.
    pub fn finish(&mut self, now: Time, number: u32) {
        if let Some(place) = self.under_way.iter().position(|under_way| *under_way == number) {
            self.under_way.swap_remove(place);
            self.done.add(now, number);
        }
    }

    /// All that is under way was answered while the machine's time stood still.
    pub fn answered_meanwhile(&mut self) {
        self.under_way.clear();
    }
}
