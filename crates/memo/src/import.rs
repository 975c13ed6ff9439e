//! Other tools' text in memo's shape: Intel MLC's and multichase's output, as it stands in a log.

mod mlc;
mod multichase;

use crate::error::{Error, Result};
use crate::report::{Benchmark, Imported, Point, Provenance, Report, Settings};
use std::path::Path;

/// Figures that were found in a text.
#[derive(Debug)]
struct Found {
    benchmark: Benchmark,
    tool: String,
    command: Option<String>,
    settings: Settings,
    points: Vec<Point>,
}

/// A line that cannot be read: its number from 1, and why.
#[derive(Debug, PartialEq, Eq)]
struct Fault {
    line: usize,
    detail: String,
}

impl Fault {
    fn at<T>(line: usize, detail: impl Into<String>) -> std::result::Result<T, Fault> {
        Err(Fault { line, detail: detail.into() })
    }
}

/// Reads `path`; the text does not say of which machine and node it is.
pub fn read(path: &Path, machine: &str, node: &str) -> Result<Report> {
    let bytes = std::fs::read(path).map_err(Error::io("read", path))?;
    let text = String::from_utf8_lossy(&bytes);
    let found = if mlc::is(&text) {
        mlc::parse(&text)
    } else if multichase::is(&text) {
        multichase::parse(&text)
    } else {
        let detail = "is neither Intel MLC's text (its first lines say \"Memory Latency Checker\", or a \"Measuring ...\" heading) \
             nor multichase's (a latency alone on a line) nor multiload's (a line of columns that starts with \"Samples\")";
        return Err(Error::ImportFile { path: path.into(), detail: detail.into() });
    };
    let found = found.map_err(|Fault { line, detail }| Error::Import { path: path.into(), line, detail })?;
    if found.points.is_empty() {
        let detail = format!("{} was recognised, but it has no figure that memo knows", found.tool);
        return Err(Error::ImportFile { path: path.into(), detail });
    }
    Ok(Report {
        benchmark: found.benchmark,
        machine: machine.into(),
        node: node.into(),
        settings: found.settings,
        complete: true,
        points: found.points,
        provenance: Provenance::Imported(Imported {
            tool: found.tool,
            file: path.display().to_string(),
            command: found.command,
        }),
    })
}
