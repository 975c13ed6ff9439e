//! The guest's end of what the host says: the run's file, and the control port with events out, requests in.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::thread::sleep;
use std::time::Duration;

use crate::error::{Doing, Error, Result};
use crate::protocol::{Event, Request, Run};
use crate::tree;

/// The host gives it to the machine as a file of its firmware (QEMU: docs/specs/fw_cfg.rst): the kernel reads it where and when it
/// is asked to, so a machine whose state was saved before finds the file of its own run.
const RUN: &str = "/sys/firmware/qemu_fw_cfg/by_name/opt/cxlab/run/raw";

/// Sends events.
pub struct Events(File);

/// Receives requests.
pub struct Requests(BufReader<File>);

/// The program of this boot.
pub fn run() -> Result<Run> {
    tree::load_modules("/modules/run")?;
    let text = fs::read_to_string(RUN).doing(|| RUN.to_owned())?;
    serde_json::from_str(&text).map_err(|source| Error::Request { line: text, source })
}

pub fn split(port: File) -> Result<(Events, Requests)> {
    let reader = port.try_clone().doing(|| "duplicating the control port".to_owned())?;
    Ok((Events(port), Requests(BufReader::new(reader))))
}

impl Events {
    pub fn send(&mut self, event: &Event) -> Result<()> {
        let mut line = serde_json::to_vec(event).expect("events have no non-string keys");
        line.push(b'\n');
        self.0.write_all(&line).doing(|| "writing to the control port".to_owned())
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
