//! multichase's and multiload's text.
//!
//! ```text
//!   multichase:  98.541                                one latency [ns] alone on a line; -v prints settings before it
//!   multiload:   Samples , Byte/thd , ChaseThds , ChaseNS , ChaseMibs , ... LoadThds , LdMaxMibs , LdAvgMibs , ...
//!                5       , 268435456, 1         , 97.101  , 628       , ... 15       , 91222     , 90111     , ...
//! ```
//! multiload's bandwidths are MiB/s; memo's are 10^6 bytes a second. Its ChaseMibs counts the pointer of a load, not
//! the line that comes with it. So the chase's share of the bandwidth is taken from ChaseNS instead, a line a load.
//! Source: github.com/google/multichase, multichase.c and multiload.c (what they print last).

use super::{Fault, Found};
use crate::isa::LINE;
use crate::report::{Benchmark, Point, Settings, mb_s};
use cxlab_kernel::Bytes;

pub fn is(text: &str) -> bool {
    text.lines().any(|l| is_columns(l) || is_latency(l))
}

fn is_columns(line: &str) -> bool {
    line.trim_start().starts_with("Samples") && line.contains("ChaseNS")
}

fn is_latency(line: &str) -> bool {
    line.trim().parse::<f64>().is_ok()
}

pub fn parse(text: &str) -> Result<Found, Fault> {
    if text.lines().any(is_columns) { multiload(text) } else { multichase(text) }
}

fn multichase(text: &str) -> Result<Found, Fault> {
    let mut settings = Settings::new();
    let mut points = Vec::new();
    for (index, line) in text.lines().enumerate() {
        // A row of samples ends in "avg=98.5": only one word before "=" is a setting.
        if let Some((name, value)) = line.split_once('=').filter(|(name, _)| name.split_whitespace().count() == 1) {
            settings.insert(name.trim().into(), value.trim().into());
        } else if is_latency(line) {
            let latency = figure(index + 1, "latency", line.trim())?;
            points.push(Point { latency_ns: Some(latency), ..Point::default() });
        }
    }
    Ok(Found { benchmark: Benchmark::Latency, tool: "multichase".into(), command: None, settings, points })
}

fn multiload(text: &str) -> Result<Found, Fault> {
    let mut names: Option<Vec<&str>> = None;
    let mut points = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty()) {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        match &names {
            _ if is_columns(line) => names = Some(cells),
            Some(names) => points.push(row(index + 1, names, &cells)?),
            None => {}
        }
    }
    let loaded = points.iter().any(|p| p.threads.is_some_and(|threads| threads > 0));
    let benchmark = match points.iter().any(|p| p.latency_ns.is_some()) {
        true if loaded => Benchmark::LoadedLatency,
        true => Benchmark::Latency,
        false => Benchmark::Bandwidth,
    };
    let tool = "multiload (multichase)".into();
    Ok(Found { benchmark, tool, command: None, settings: Settings::new(), points })
}

fn row(number: usize, names: &[&str], cells: &[&str]) -> Result<Point, Fault> {
    let cell = |name: &str| {
        let at = names.iter().position(|n| *n == name);
        match at.and_then(|at| cells.get(at)) {
            Some(cell) => Ok(*cell),
            None => {
                Fault::at(number, format!("the column {name} is missing ({} of {} cells)", cells.len(), names.len()))
            }
        }
    };
    let whole = |name: &str| match cell(name)?.parse::<u64>() {
        Ok(value) => Ok(value),
        Err(_) => Fault::at(number, format!("{name}: {:?} is no whole number", cell(name)?)),
    };
    let (chasing, loading) = (whole("ChaseThds")?, whole("LoadThds")?);
    let latency = if chasing > 0 { Some(figure(number, "ChaseNS", cell("ChaseNS")?)?) } else { None };
    let load = if loading > 0 { figure(number, "LdAvgMibs", cell("LdAvgMibs")?)? * 1_048_576.0 / 1e6 } else { 0.0 };
    let chase = latency.map_or(0.0, |ns| mb_s(chasing * LINE as u64, ns));
    Ok(Point {
        size: Some(Bytes::new(whole("Byte/thd")?)),
        threads: Some(loading as usize),
        latency_ns: latency,
        bandwidth_mb_s: Some(load + chase),
        ..Point::default()
    })
}

fn figure(number: usize, what: &str, text: &str) -> Result<f64, Fault> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value > 0.0 => Ok(value),
        _ => Fault::at(number, format!("{what}: {text:?} is no number above zero")),
    }
}
