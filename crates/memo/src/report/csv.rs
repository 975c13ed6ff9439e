//! CSV: provenance in lines that start with #, then one line a point. Distributions are in the JSON only.

use super::{Point, Provenance, Report, json};
use crate::error::Result;
use crate::summary::Summary;
use std::path::Path;

const COLUMNS: [&str; 22] = [
    "delay",
    "instruction",
    "kernel",
    "mix",
    "pattern",
    "threads",
    "cpu",
    "from_node",
    "to_node",
    "size_bytes",
    "latency_ns",
    "latency_low_ns",
    "latency_high_ns",
    "latency_p1_ns",
    "latency_p99_ns",
    "latency_samples",
    "latency_outliers",
    "bandwidth_mb_s",
    "bandwidth_low_mb_s",
    "bandwidth_high_mb_s",
    "bandwidth_samples",
    "bandwidth_outliers",
];

pub fn write(report: &Report, path: &Path) -> Result<()> {
    let mut text = heading(report).into_bytes();
    {
        let mut writer = ::csv::Writer::from_writer(&mut text);
        let mut row = |fields: [String; 22]| writer.write_record(fields).expect("rows of one length, into memory");
        row(COLUMNS.map(String::from));
        report.points.iter().for_each(|point| row(fields(point)));
        writer.flush().expect("into memory");
    }
    json::write_whole(path, &text)
}

fn heading(report: &Report) -> String {
    let mut lines = vec![
        format!("benchmark: {}", report.benchmark),
        format!("machine: {}", report.machine),
        format!("node: {}", report.node),
        format!("settings: {}", serde_json::Value::Object(report.settings.clone())),
        format!("complete: {}", report.complete),
    ];
    match &report.provenance {
        Provenance::Measured(by) => {
            lines.push(format!("tool: {} {}", by.tool, by.version));
            lines.push(format!("command: {}", by.command.join(" ")));
            lines.push(format!("started: {}", by.started));
            lines.push(format!("method: {}", by.method));
            lines.extend(by.caveats.iter().map(|c| format!("unreliable: {c}")));
        }
        Provenance::Imported(from) => {
            lines.push(format!("tool: {}", from.tool));
            lines.push(format!("file: {}", from.file));
            lines.extend(from.command.iter().map(|c| format!("command: {c}")));
        }
    }
    lines.into_iter().map(|line| format!("# {}\n", line.replace('\n', " "))).collect()
}

fn fields(p: &Point) -> [String; 22] {
    let latency = |of: fn(&Summary) -> Option<f64>| text(p.latency.as_ref().and_then(of));
    let bandwidth = |of: fn(&Summary) -> Option<f64>| text(p.bandwidth.as_ref().and_then(of));
    let percentile = |percent| text(p.distribution.as_ref().map(|d| d.percentile(percent)));
    [
        text(p.delay),
        text(p.instruction),
        text(p.kernel),
        text(p.mix.as_ref()),
        text(p.pattern.map(|p| format!("{p:?}").to_lowercase())),
        text(p.threads),
        text(p.cpu),
        text(p.from),
        text(p.to),
        text(p.size.map(|s| s.get())),
        text(p.latency_ns),
        latency(|s| s.median_interval.map(|i| i.0)),
        latency(|s| s.median_interval.map(|i| i.1)),
        percentile(1.0),
        percentile(99.0),
        text(p.latency.as_ref().map(|s| s.samples)),
        text(p.latency.as_ref().map(|s| s.outliers)),
        text(p.bandwidth_mb_s),
        bandwidth(|s| s.median_interval.map(|i| i.0)),
        bandwidth(|s| s.median_interval.map(|i| i.1)),
        text(p.bandwidth.as_ref().map(|s| s.samples)),
        text(p.bandwidth.as_ref().map(|s| s.outliers)),
    ]
}

fn text(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |v| v.to_string())
}
