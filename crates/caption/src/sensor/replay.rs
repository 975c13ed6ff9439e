//! Samples from a JSONL file, or from the log of a run: of it, those on which its decisions rest. Empty lines are skipped.

use super::Reading;
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::log;
use crate::sample::Sample;
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Lines};
use std::iter::Enumerate;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub struct Replay {
    path: PathBuf,
    lines: Enumerate<Lines<BufReader<File>>>,
    /// The file is a log: its lines hold more than a sample.
    is_log: bool,
}

impl Replay {
    pub fn open(path: &Path) -> Result<Replay> {
        let file = File::open(path).map_err(Error::io("open", path))?;
        Ok(Replay { path: path.to_path_buf(), lines: BufReader::new(file).lines().enumerate(), is_log: false })
    }

    pub fn name(&self) -> String {
        self.path.display().to_string()
    }

    pub fn next(&mut self, interrupt: &Interrupt) -> Result<Reading> {
        if interrupt.has_come()? {
            return Ok(Reading::Interrupted);
        }
        match self.next_sample()? {
            Some(sample) => Ok(Reading::Sample(Box::new(sample))),
            None => Ok(Reading::Ended),
        }
    }

    /// The whole file: what a fit reads.
    pub fn all(mut self) -> Result<Vec<Sample>> {
        std::iter::from_fn(|| self.next_sample().transpose()).collect()
    }

    fn next_sample(&mut self) -> Result<Option<Sample>> {
        for (index, line) in self.lines.by_ref() {
            let line = line.map_err(Error::io("read", &self.path))?;
            let first_of_log = index == 0 && is_header(&line);
            self.is_log |= first_of_log;
            if !first_of_log && !line.trim().is_empty() {
                let Some(line) = (if self.is_log { sample_of(line) } else { Some(line) }) else { continue };
                return Sample::parse(&line, &self.path.display().to_string(), index + 1).map(Some);
            }
        }
        Ok(None)
    }
}

fn is_header(line: &str) -> bool {
    serde_json::from_str::<Value>(line).is_ok_and(|header| header["format"] == log::FORMAT)
}

/// The sample in a line of a log, unless it was left out; a line that is none is left for the parser to refuse.
fn sample_of(line: String) -> Option<String> {
    let Ok(Value::Object(mut keys)) = serde_json::from_str(&line) else { return Some(line) };
    if keys.get(log::LEFT_OUT) == Some(&Value::Bool(true)) {
        return None;
    }
    keys.retain(|key, _| !log::OWN_KEYS.contains(&key.as_str()));
    Some(Value::Object(keys).to_string())
}
