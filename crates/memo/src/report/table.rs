//! Tables for people: MLC's columns for loaded latency, MLC's matrices, and a table with units for the rest. Caveats
//! follow.

use super::{Benchmark, Measured, Point, Provenance, Report};
use crate::list;
use crate::summary::Summary;
use comfy_table::{CellAlignment, Table, presets};
use std::fmt::Write;

#[must_use]
pub fn render(report: &Report) -> String {
    let mut text = format!("{} on {}, memory on node {}\n", report.benchmark, report.machine, report.node);
    match &report.provenance {
        Provenance::Measured(by) => text += &settings(by),
        Provenance::Imported(from) => text += &format!("imported from {} ({})\n", from.file, from.tool),
    }
    text.push('\n');
    text += &match report.benchmark {
        Benchmark::LoadedLatency => loaded_latency(&report.points),
        Benchmark::Matrix => matrices(&report.points),
        _ => plain(&report.points),
    };
    if !report.complete {
        text += "\nPARTIAL: interrupted; these are the points that were measured by then.\n";
    }
    if let Provenance::Measured(by) = &report.provenance {
        let _ = write!(text, "\n{}\n", by.method);
        if !by.caveats.is_empty() {
            text += "What makes these figures unreliable:\n";
            by.caveats.iter().for_each(|caveat| text += &format!("  - {caveat}\n"));
        }
    }
    text
}

fn settings(by: &Measured) -> String {
    format!(
        "CPUs {}, {} pages, {}, time-stamp counter {:.6} GHz within {:.0} ppm\n",
        list::write(&by.cpus),
        by.pages,
        by.instruction_set,
        by.tsc.hz / 1e9,
        by.tsc.spread_ppm
    )
}

/// MLC's three columns, once for each mix.
fn loaded_latency(points: &[Point]) -> String {
    let mut text = String::new();
    let mut mix = None;
    for point in points {
        if mix != Some(&point.mix) {
            mix = Some(&point.mix);
            let name = point.mix.as_deref().unwrap_or("not stated");
            let _ = writeln!(text, "Traffic, lines read : lines written = {name}");
            text += "Inject  Latency Bandwidth\nDelay   (ns)    MB/sec\n==========================\n";
        }
        let number = |value: Option<f64>, digits| value.map_or_else(String::new, |v| format!("{v:.digits$}"));
        let delay = point.delay.map_or_else(String::new, |d| format!("{d:05}"));
        let _ = writeln!(text, " {delay} {:>7} {:>10}", number(point.latency_ns, 2), number(point.bandwidth_mb_s, 1));
    }
    text
}

type Figure = fn(&Point) -> Option<f64>;

/// One matrix for each figure that there is.
fn matrices(points: &[Point]) -> String {
    let figures: [(&str, Figure); 2] =
        [("Idle latency [ns]", |p| p.latency_ns), ("Read bandwidth [MB/s]", |p| p.bandwidth_mb_s)];
    let present = figures.iter().filter(|(_, figure)| points.iter().any(|p| figure(p).is_some()));
    present
        .map(|(title, figure)| format!("{title}, from the row to memory on the node\n{}", matrix(points, *figure)))
        .collect()
}

fn matrix(points: &[Point], figure: Figure) -> String {
    let row_name = |p: &Point| match (p.cpu, p.from) {
        (Some(cpu), _) => format!("CPU {cpu}"),
        (None, from) => format!("node {}", from.map_or_else(String::new, |n| n.to_string())),
    };
    let (mut rows, mut columns) = (Vec::new(), Vec::new());
    for point in points {
        let (row, column) = (row_name(point), point.to);
        rows.extend((!rows.contains(&row)).then(|| row.clone()));
        columns.extend((!columns.contains(&column)).then_some(column));
    }
    let heads = columns.iter().map(|n| format!("node {}", n.map_or_else(String::new, |n| n.to_string())));
    let mut table = new_table(std::iter::once(String::new()).chain(heads).collect());
    for row in &rows {
        let cell = |column: &Option<u32>| {
            let point = points.iter().find(|p| row_name(p) == *row && p.to == *column);
            point.and_then(figure).map_or_else(String::new, |v| format!("{v:.1}"))
        };
        table.add_row(std::iter::once(row.clone()).chain(columns.iter().map(cell)));
    }
    format!("{table}\n\n")
}

type Column = (&'static str, fn(&Point) -> Option<String>);

const COLUMNS: &[Column] = &[
    ("instruction", |p| p.instruction.map(|i| i.to_string())),
    ("kernel", |p| p.kernel.map(|k| k.to_string())),
    ("mix R:W", |p| p.mix.clone()),
    ("pattern", |p| p.pattern.map(|p| format!("{p:?}").to_lowercase())),
    ("threads", |p| p.threads.map(|t| t.to_string())),
    ("size", |p| p.size.map(|s| s.to_string())),
    ("latency [ns]", |p| p.latency_ns.map(|v| format!("{v:.2}"))),
    ("95 % interval", |p| interval(p.latency.as_ref())),
    ("p1", |p| percentile(p, 1.0)),
    ("p99", |p| percentile(p, 99.0)),
    ("outliers / samples", |p| p.latency.as_ref().map(|s| format!("{} / {}", s.outliers, s.samples))),
    ("bandwidth [MB/s]", |p| p.bandwidth_mb_s.map(|v| format!("{v:.1}"))),
    ("median", |p| p.bandwidth.as_ref().map(|s| format!("{:.1}", s.median))),
    ("95 % interval", |p| interval(p.bandwidth.as_ref())),
    ("outliers / windows", |p| p.bandwidth.as_ref().map(|s| format!("{} / {}", s.outliers, s.samples))),
];

/// The columns that some point has something for.
fn plain(points: &[Point]) -> String {
    let columns: Vec<&Column> = COLUMNS.iter().filter(|(_, of)| points.iter().any(|p| of(p).is_some())).collect();
    let mut table = new_table(columns.iter().map(|(name, _)| (*name).to_string()).collect());
    for point in points {
        table.add_row(columns.iter().map(|(_, of)| of(point).unwrap_or_default()));
    }
    format!("{table}\n")
}

fn new_table(header: Vec<String>) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header(header);
    table.column_iter_mut().for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    table
}

fn interval(summary: Option<&Summary>) -> Option<String> {
    let (low, high) = summary?.median_interval?;
    Some(format!("{low:.2} .. {high:.2}"))
}

fn percentile(point: &Point, percent: f64) -> Option<String> {
    Some(format!("{:.2}", point.distribution.as_ref()?.percentile(percent)))
}
