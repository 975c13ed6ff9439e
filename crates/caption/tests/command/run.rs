//! A whole loop against a simulated machine, and a run that ends with its program.

use crate::common::{Curve, share};
use crate::harness::{caption, eventually, has_weighted_interleave, is_restored};
use crate::tree::Tree;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// The machine on the other end of the stream: reads the weights, answers with the curve's throughput.
fn simulate(tree: &Tree, curve: Curve, mode: &[&str], samples: usize) -> (String, PathBuf) {
    let log = tree.path().join("log.jsonl");
    let mut arguments = vec!["run", "--stream", "-", "--log", log.to_str().unwrap()];
    arguments.extend(mode);
    let mut child = caption(tree, &arguments).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let logged = || std::fs::read_to_string(&log).unwrap_or_default().lines().count();
    assert!(eventually(|| tree.journal().exists()), "the controller did not start");
    let mut rest = String::new();
    for n in 1..=samples {
        let weights = tree.weights();
        let (ddr, cxl) = weights.split_once(':').unwrap();
        let (ddr, cxl): (f64, f64) = (ddr.parse().unwrap(), cxl.parse().unwrap());
        let throughput = curve.at(share(cxl / (ddr + cxl)));
        writeln!(input, r#"{{"time_s":{},"norm_ipc":{throughput},"l1_miss_latency_ns":0,"ddr_read_latency_ns":0,"throughput":{throughput}}}"#, n as f64 * 0.001).unwrap();
        assert!(eventually(|| logged() > n), "sample {n} was not logged");
        rest = weights;
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    (rest, log)
}

fn share_of(weights: &str) -> f64 {
    let (ddr, cxl) = weights.split_once(':').unwrap();
    let (ddr, cxl): (f64, f64) = (ddr.parse().unwrap(), cxl.parse().unwrap());
    cxl / (ddr + cxl)
}

/// DDR 200, CXL 60: best at 60 / 260 = 23.1 %. The search's resolution is 2 points, the weights' 0.4.
#[test]
fn the_whole_loop_finds_the_best_share() {
    let tree = Tree::new("auto");
    let curve = Curve::Bandwidth { ddr: 200.0, cxl: 60.0 };
    let (weights, log) = simulate(&tree, curve, &["--objective", "throughput", "--start", "50%"], 400);
    assert!((share_of(&weights) - 60.0 / 260.0).abs() <= 0.024, "rests at {weights}");
    assert!(is_restored(&tree));
    check_log(&log, 400);
}

/// The published rules on the same machine: 10:3 is the best of their ratios; they rest within one step of it.
#[test]
fn the_published_rules_find_it_too() {
    let tree = Tree::new("auto");
    let curve = Curve::Bandwidth { ddr: 10.0, cxl: 3.0 };
    let (weights, _) = simulate(
        &tree,
        curve,
        &["--mode", "paper", "--start", "50%", "--least-samples", "6", "--settling-samples", "2", "--window", "1"],
        300,
    );
    let x = 10.0 * share_of(&weights) / (1.0 - share_of(&weights));
    assert!((x - 3.0).abs() < 1.1, "rests at {weights}");
}

fn check_log(log: &Path, samples: usize) {
    let text = std::fs::read_to_string(log).unwrap();
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["format"], "caption-log-1");
    assert_eq!(lines.len(), samples + 1);
    let decisions = lines.iter().filter(|line| line["verdict"].is_string()).count();
    assert!(decisions > 10);
    assert!(lines[1..].iter().all(|line| line["cxl_share"].is_f64() && line["performance"].is_f64()));
}

/// The run ends with its program, and has its exit code.
#[test]
fn a_run_ends_with_its_program() {
    let tree = Tree::new("auto");
    let arguments = ["run", "--objective", "throughput", "--stream", "-", "--", "sh", "-c", "exit 5"];
    let mut child = caption(&tree, &arguments).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut time = 0;
    let ended = eventually(|| {
        time += 1;
        // A closed pipe: it has ended.
        let _ = writeln!(input, "{{\"time_s\":{time},\"throughput\":1}}");
        child.try_wait().unwrap().is_some()
    });
    assert!(ended);
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    match has_weighted_interleave() {
        true => assert_eq!(output.status.code(), Some(5), "{text}"),
        false => assert!(text.contains("CAP034"), "{text}"),
    }
    assert!(is_restored(&tree));
}
