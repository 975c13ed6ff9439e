//! A program's checkpoint: the machine stands still while the program is frozen, and goes on from there in each start.
//!
//! ```text
//!   text printed --> freeze --> let go of the host's files --> MARKER checkpoint   the state is saved here
//!   each start:      read what is wanted --> host's files --> pages moved --> MARKER from output --> thaw
//! ```

use std::sync::{Arc, Mutex};
use std::thread;

use cxlab_marker::{CHECKPOINT, FROM_OUTPUT, marker};

use crate::control::{self, Events};
use crate::error::Result;
use crate::group::Group;
use crate::host_files::{HostFiles, held};
use crate::protocol::{Event, Start};
use crate::report;
use crate::vmstat::Moved;

/// State that init's threads share in a run that goes on from its checkpoint.
pub struct Checkpoint {
    pub files: Arc<Mutex<HostFiles>>,
    pub group: Group,
    /// bytes that have gone to each stream's port
    pub sent: [Arc<Mutex<u64>>; 2],
    pub events: Events,
    /// told anew in each start
    pub ready: Event,
    /// what memory management had done when the start began
    pub before: Mutex<Option<Moved>>,
}

impl Checkpoint {
    /// The program has printed the text: returns in the start, with what is wanted of it.
    pub fn take(&self) -> Start {
        match self.stand_and_start() {
            Ok(start) => start,
            Err(error) => {
                report(&error);
                let _ = self.events.send_failed(&error);
                // The program stays frozen until the host ends the machine.
                loop {
                    thread::park();
                }
            }
        }
    }

    /// Counters of memory management when the start began, if it has.
    pub fn taken(&self) -> Option<Moved> {
        self.before.lock().expect("nobody panics with it").take()
    }

    fn stand_and_start(&self) -> Result<Start> {
        self.group.freeze()?;
        let mut files = held(&self.files);
        files.let_go();
        marker::<CHECKPOINT>();
        files.take_hold()?;
        drop(files);
        let start: Start = control::wanted()?;
        for sent in &self.sent {
            *sent.lock().expect("nobody panics with it") = 0;
        }
        if let Some(nodes) = &start.bind {
            self.group.bind(nodes)?;
        }
        self.events.send(&self.ready)?;
        // What moved pages have put off is done meanwhile, not beside the program.
        thread::sleep(crate::SETTLE);
        *self.before.lock().expect("nobody panics with it") = Some(Moved::now()?);
        marker::<FROM_OUTPUT>();
        self.group.thaw()?;
        Ok(start)
    }
}
