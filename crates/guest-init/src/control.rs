//! The guest's end of the protocol: the run's file, and the control port, with events out and requests in.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::Duration;

use serde::de::DeserializeOwned;

use crate::error::{Doing, Error, Result};
use crate::firmware;
use crate::protocol::{Event, Request};

/// The host gives it to the machine as a file of its firmware. A machine whose state was saved before finds the file of
/// its own run.
const RUN: &str = "opt/cxlab/run";

/// Sends events, one at a time: init's threads share the port.
#[derive(Clone)]
pub struct Events(Arc<Mutex<File>>);

/// Receives requests.
pub struct Requests(BufReader<File>);

/// Reads the file as it is now: the program of this boot, or what a start from a checkpoint wants in its place.
pub fn wanted<Wanted: DeserializeOwned>() -> Result<Wanted> {
    let bytes = firmware::file(RUN)?;
    serde_json::from_slice(&bytes)
        .map_err(|source| Error::Request { line: String::from_utf8_lossy(&bytes).into_owned(), source })
}

pub fn split(port: File) -> Result<(Events, Requests)> {
    let reader = port.try_clone().doing(|| "duplicating the control port".to_owned())?;
    Ok((Events(Arc::new(Mutex::new(port))), Requests(BufReader::new(reader))))
}

impl Events {
    pub fn send(&self, event: &Event) -> Result<()> {
        let mut line = serde_json::to_vec(event).expect("events have no non-string keys");
        line.push(b'\n');
        let mut port = self.0.lock().expect("nobody panics with it");
        port.write_all(&line).doing(|| "writing to the control port".to_owned())
    }

    /// The host ends the machine when it has read this.
    pub fn send_failed(&self, error: &Error) -> Result<()> {
        self.send(&Event::Failed { code: error.code(), message: error.to_string() })
    }
}

impl Requests {
    /// The next request; blocks.
    pub fn receive(&mut self) -> Result<Request> {
        // A read returns 0 both before the kernel has learnt that the host is connected and after the host has gone.
        const ATTEMPTS: u32 = 2000;
        let mut line = String::new();
        for _ in 0..ATTEMPTS {
            self.0.read_line(&mut line).doing(|| "reading the control port".to_owned())?;
            if line.ends_with('\n') {
                return serde_json::from_str(&line).map_err(|source| Error::Request { line, source });
            }
            sleep(Duration::from_millis(1));
        }
        Err(Error::HostGone)
    }
}
