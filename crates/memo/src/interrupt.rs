//! Ctrl-C: the first asks the measurement to end with what it has, the second ends the program.

use crate::error::{Error, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    asked: Arc<AtomicBool>,
}

impl Interrupt {
    pub fn install() -> Result<Interrupt> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // The order matters: the second signal must find the flag that the first one has set.
            signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&asked))
                .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&asked)))
                .map_err(Error::io("handle", "signals"))?;
        }
        Ok(Interrupt { asked })
    }

    #[must_use]
    pub fn has_come(&self) -> bool {
        self.asked.load(Relaxed)
    }

    /// As a signal would.
    pub fn ask(&self) {
        self.asked.store(true, Relaxed);
    }

    /// Sleeps for `span`, or until a signal asks for the end.
    pub fn sleep(&self, span: Duration) {
        let end = Instant::now() + span;
        while !self.has_come() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(Duration::from_millis(50)));
        }
    }
}
