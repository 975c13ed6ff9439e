//! The guest's end of the protocol: the run's file, and the control port, with events out and requests in.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::Duration;

use serde::de::DeserializeOwned;

use crate::error::{Doing, Error, Result};
use crate::protocol::{Event, Request, Run};
use crate::tree;

/// The host gives it to the machine as a file of its firmware (QEMU: docs/specs/fw_cfg.rst). The kernel reads that
/// file only when asked. So a machine whose state was saved before finds the file of its own run.
const RUN: &str = "/sys/firmware/qemu_fw_cfg/by_name/opt/cxlab/run/raw";

/// Sends events, one at a time: init's threads share the port.
#[derive(Clone)]
pub struct Events(Arc<Mutex<File>>);

/// Receives requests.
pub struct Requests(BufReader<File>);

/// The program of this boot.
pub fn run() -> Result<Run> {
    tree::load_modules("/modules/run")?;
    wanted()
}

/// Reads the file as it is now. A start from a checkpoint finds its own in the place of the run's. The kernel's driver has
/// kept the first one's size, and reads zeros behind the end of a shorter one.
pub fn wanted<Wanted: DeserializeOwned>() -> Result<Wanted> {
    let text = fs::read_to_string(RUN).doing(|| RUN.to_owned())?;
    let line = text.trim_end_matches(['\0', ' ']).to_owned();
    serde_json::from_str(&line).map_err(|source| Error::Request { line, source })
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
