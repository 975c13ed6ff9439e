//! Intel Memory Latency Checker's text: loaded latency, idle latency, latency and bandwidth matrices, maximum bandwidths.
//!
//! ```text
//!   Inject  Latency Bandwidth          Numa node                         ALL Reads        :  34557.4
//!   Delay   (ns)    MB/sec             Numa node   0       1             3:1 Reads-Writes :  30623.5
//!   ==========================                0   90.6   146.8
//!    00000  130.31   135655.9                 1  145.3    88.7           Each iteration took 186.5 ... ( 89.0 ns)
//! ```
//! Cache-to-cache sections and what else a full run prints are passed over. One file holds one kind of figure, except that a
//! latency and a bandwidth matrix make one matrix.
//! Source: the output of MLC 3.5 to 3.11; its readme names columns and units (MB is 10^6 bytes).

use super::{Fault, Found};
use crate::report::{Benchmark, Point, Settings};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    None,
    /// A heading says that these columns come next.
    LoadedLatency,
    LoadedLatencyRows,
    /// The figures are latencies, or else bandwidths.
    Matrix(Figure),
    MatrixRows(Figure),
    MaximumBandwidths,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Figure {
    Latency,
    Bandwidth,
}

pub fn is(text: &str) -> bool {
    text.contains("Memory Latency Checker")
        || text.contains("Measuring Loaded Latencies")
        || text.contains("Measuring idle latencies")
        || text.contains("Measuring Memory Bandwidths")
        || text.contains("Each iteration took")
}

struct Parser {
    section: Section,
    columns: Vec<u32>,
    mix: Option<String>,
    benchmark: Option<(Benchmark, usize)>,
    points: Vec<Point>,
}

pub fn parse(text: &str) -> Result<Found, Fault> {
    let mut parser =
        Parser { section: Section::None, columns: Vec::new(), mix: None, benchmark: None, points: Vec::new() };
    let (mut tool, mut command, mut settings) = ("Intel MLC".to_string(), None, Settings::new());
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some((_, version)) = line.split_once("Memory Latency Checker - ") {
            tool = format!("Intel MLC {version}");
        } else if let Some(given) = line.strip_prefix("Command line parameters:") {
            command = Some(given.trim().to_string()).filter(|c| !c.is_empty());
        } else if let Some(size) = line.strip_prefix("Using buffer size of ") {
            settings.insert("buffer_size".into(), size.into());
        } else {
            parser.line(index + 1, line)?;
        }
    }
    let benchmark = parser.benchmark.map_or(Benchmark::LoadedLatency, |(benchmark, _)| benchmark);
    Ok(Found { benchmark, tool, command, settings, points: parser.points })
}

impl Parser {
    fn line(&mut self, number: usize, line: &str) -> Result<(), Fault> {
        if self.heading(line) || line.is_empty() {
            return Ok(());
        }
        match self.section {
            Section::LoadedLatency if line.starts_with("====") => self.section = Section::LoadedLatencyRows,
            Section::LoadedLatencyRows => self.loaded_latency(number, line)?,
            Section::Matrix(figure) if line.starts_with("Numa node") => self.matrix_columns(number, line, figure)?,
            Section::MatrixRows(figure) => self.matrix_row(number, line, figure)?,
            Section::MaximumBandwidths => self.maximum_bandwidth(number, line)?,
            _ if line.starts_with("Each iteration took") => self.idle_latency(number, line)?,
            _ => {}
        }
        Ok(())
    }

    /// Whether the line opens a section, or belongs to a heading.
    fn heading(&mut self, line: &str) -> bool {
        let lower = line.to_lowercase();
        let opened = if lower.starts_with("measuring loaded latencies") {
            Section::LoadedLatency
        } else if lower.starts_with("measuring idle latencies") {
            Section::Matrix(Figure::Latency)
        } else if lower.starts_with("measuring memory bandwidths between nodes") {
            Section::Matrix(Figure::Bandwidth)
        } else if lower.starts_with("measuring maximum memory bandwidths")
            || lower.starts_with("measuring peak injection memory bandwidths")
        {
            Section::MaximumBandwidths
        } else if lower.starts_with("measuring") {
            Section::None
        } else if let Some((_, traffic)) = line.split_once("Using ").filter(|(_, t)| t.ends_with("traffic type")) {
            self.mix = Some(mix(traffic.trim_end_matches("traffic type").trim()));
            return true;
        } else {
            return lower.starts_with("using ") || line.starts_with("***");
        };
        self.section = opened;
        true
    }

    fn loaded_latency(&mut self, number: usize, line: &str) -> Result<(), Fault> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let &[delay, latency, bandwidth] = words.as_slice() else {
            let detail = format!("three columns are due (delay, latency [ns], bandwidth [MB/s]), not {line:?}");
            return Fault::at(number, detail);
        };
        let Ok(delay) = delay.parse() else {
            return Fault::at(number, format!("the inject delay {delay:?} is no whole number"));
        };
        let point = Point {
            delay: Some(delay),
            mix: self.mix.clone(),
            latency_ns: Some(figure(number, "latency", latency)?),
            bandwidth_mb_s: Some(figure(number, "bandwidth", bandwidth)?),
            ..Point::default()
        };
        self.push(Benchmark::LoadedLatency, number, point)
    }

    /// The second line that starts with "Numa node" names the columns.
    fn matrix_columns(&mut self, number: usize, line: &str, figure: Figure) -> Result<(), Fault> {
        let names: Vec<&str> = line.split_whitespace().skip(2).collect();
        if names.is_empty() {
            return Ok(());
        }
        let nodes: Option<Vec<u32>> = names.iter().map(|n| n.parse().ok()).collect();
        let Some(nodes) = nodes else { return Fault::at(number, format!("node numbers are due, not {line:?}")) };
        self.columns = nodes;
        self.section = Section::MatrixRows(figure);
        Ok(())
    }

    fn matrix_row(&mut self, number: usize, line: &str, kind: Figure) -> Result<(), Fault> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let Ok(from) = words[0].parse::<u32>() else {
            return Fault::at(number, format!("a row of the matrix starts with its node, not {:?}", words[0]));
        };
        if words.len() != self.columns.len() + 1 {
            let detail = format!("node {from}: {} figures for {} nodes", words.len() - 1, self.columns.len());
            return Fault::at(number, detail);
        }
        for (to, word) in self.columns.clone().into_iter().zip(&words[1..]) {
            // A dash stands where a node has no memory.
            if *word == "-" {
                continue;
            }
            let value = match kind {
                Figure::Latency => figure(number, "latency", word)?,
                Figure::Bandwidth => figure(number, "bandwidth", word)?,
            };
            self.matrix_cell(number, from, to, kind, value)?;
        }
        Ok(())
    }

    fn matrix_cell(&mut self, number: usize, from: u32, to: u32, kind: Figure, value: f64) -> Result<(), Fault> {
        let at = self.points.iter().position(|p| p.from == Some(from) && p.to == Some(to));
        let at = match at {
            Some(at) => at,
            None => {
                self.push(Benchmark::Matrix, number, Point { from: Some(from), to: Some(to), ..Point::default() })?;
                self.points.len() - 1
            }
        };
        match kind {
            Figure::Latency => self.points[at].latency_ns = Some(value),
            Figure::Bandwidth => self.points[at].bandwidth_mb_s = Some(value),
        }
        Ok(())
    }

    fn maximum_bandwidth(&mut self, number: usize, line: &str) -> Result<(), Fault> {
        let Some((name, value)) = line.split_once(':').and_then(|(head, tail)| {
            // "3:1 Reads-Writes : 30623.5": the last colon divides.
            let whole = tail.rsplit_once(':');
            whole.map_or(Some((head.to_string(), tail)), |(rest, value)| Some((format!("{head}:{rest}"), value)))
        }) else {
            return Ok(());
        };
        let point = Point {
            mix: Some(mix(name.trim())),
            bandwidth_mb_s: Some(figure(number, "bandwidth", value.trim())?),
            ..Point::default()
        };
        self.push(Benchmark::Bandwidth, number, point)
    }

    fn idle_latency(&mut self, number: usize, line: &str) -> Result<(), Fault> {
        let inside = line.split_once('(').and_then(|(_, rest)| rest.split_once("ns"));
        let Some((value, _)) = inside else {
            return Fault::at(number, "\"Each iteration took ... ( ... ns)\" is due");
        };
        let point = Point { latency_ns: Some(figure(number, "latency", value.trim())?), ..Point::default() };
        self.push(Benchmark::Latency, number, point)
    }

    fn push(&mut self, benchmark: Benchmark, number: usize, point: Point) -> Result<(), Fault> {
        match self.benchmark {
            Some((other, line)) if other != benchmark => {
                let detail = format!(
                    "{benchmark} figures after {other} figures (line {line}): a report holds one kind. Cut the file there"
                );
                Fault::at(number, detail)
            }
            _ => {
                self.benchmark.get_or_insert((benchmark, number));
                self.points.push(point);
                Ok(())
            }
        }
    }
}

/// MLC's names of mixes as R:W where they say one; else as they stand.
fn mix(name: &str) -> String {
    let lower = name.to_lowercase();
    if lower == "read-only" || lower == "all reads" {
        return "1:0".into();
    }
    let ratio = name.split_whitespace().next().filter(|w| w.contains(':') && w.len() < name.len());
    ratio.unwrap_or(name).to_string()
}

/// A figure is finite and above zero.
fn figure(number: usize, what: &str, text: &str) -> Result<f64, Fault> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value > 0.0 => Ok(value),
        _ => Fault::at(number, format!("the {what} {text:?} is no number above zero")),
    }
}
