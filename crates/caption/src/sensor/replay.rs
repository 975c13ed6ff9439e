//! Samples from a JSONL file; empty lines are skipped.

use super::Reading;
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::sample::Sample;
use std::fs::File;
use std::io::{BufRead, BufReader, Lines};
use std::iter::Enumerate;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub struct Replay {
    path: PathBuf,
    lines: Enumerate<Lines<BufReader<File>>>,
}

impl Replay {
    pub fn open(path: &Path) -> Result<Replay> {
        let file = File::open(path).map_err(Error::io("open", path))?;
        Ok(Replay { path: path.to_path_buf(), lines: BufReader::new(file).lines().enumerate() })
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
            if !line.trim().is_empty() {
                return Sample::parse(&line, &self.path.display().to_string(), index + 1).map(Some);
            }
        }
        Ok(None)
    }
}
