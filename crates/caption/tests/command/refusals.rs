//! The command refuses odd flags, and a machine that lacks what it needs.

use crate::harness::{PROGRAM, caption, run_to_end};
use crate::tree::Tree;
use std::process::{Command, Stdio};

#[test]
fn odd_flags_are_told_what_is_valid() {
    let tree = Tree::new("auto");
    for (arguments, code, says) in [
        (&["run", "--mode", "clever"][..], 2, "[possible values: paper, adaptive, sweep]"),
        (&["run", "--start", "150%", "--stream", "-"], 2, "CAP001"),
        (&["run", "--mode", "paper", "--start", "0%", "--stream", "-"], 1, "CAP003"),
        (&["run", "--mode", "paper", "--least", "10%", "--stream", "-"], 1, "only with --mode adaptive"),
        (&["run", "--least", "50%", "--most", "20%", "--stream", "-"], 1, "CAP002"),
        (&["run", "--least-step", "30%", "--stream", "-"], 1, "CAP003"),
        (&["run", "--tune-on", "completion"], 1, "hardware counters"),
        (&["run", "--sample-interval", "5"], 2, "time unit needed"),
        (&["run", "--sample-interval", "5s", "--stream", "-"], 2, "cannot be used with"),
        (&["run", "--stream", "-", "--replay", "x"], 2, "cannot be used with"),
        (&["run", "--replay", "/nowhere/x"], 1, "CAP090: cannot open /nowhere/x"),
        (&["run", "--model", "/nowhere/x", "--stream", "-"], 1, "/nowhere/x"),
        (&["run", "--cxl", "9", "--stream", "-"], 1, "CAP031: node9"),
        (&["run", "--cxl", "a", "--stream", "-"], 2, "a list below 1024"),
        (&["run", "--pid", "1", "--stream", "-"], 2, "--move-rate"),
        (&["run", "--pid", "1", "--move-rate", "fast", "--stream", "-"], 2, "100MB/s"),
        (&["run", "--move-rate", "1MB/s", "--stream", "-"], 1, "with --pid PID, or with a program"),
        (&["run", "--mode", "sweep", "--stream", "-"], 1, "no --shares"),
        (&["run", "--mode", "sweep", "--shares", "10%", "--start", "20%", "--stream", "-"], 1, "--start 20.0 %"),
        (&["run", "--mode", "sweep", "--shares", "10%,ten", "--stream", "-"], 2, "CAP001"),
        (&["run", "--shares", "10%", "--stream", "-"], 1, "only with --mode sweep"),
        (&["run", "--counters", "/nowhere/x", "--stream", "-"], 2, "cannot be used with"),
        (&["run", "--counters", "/nowhere/x"], 1, "CAP090: cannot open /nowhere/x"),
        (&["run", "--most-samples", "0", "--stream", "-"], 2, "--most-samples"),
        (&["run", "--window", "0", "--stream", "-"], 2, "--window"),
        (&["place", "3:1"], 2, "<COMMAND>"),
        (&["place", "300:1", "--", "true"], 1, "0 to 255"),
        (&["place", "3:1", "--", "/nowhere/program"], 1, "CAP070: /nowhere/program"),
        (&["fit", "/nowhere/x", "--output", "/nowhere/y", "--metrics", "cpi"], 2, "norm_ipc, ipc"),
        (&["steer"], 2, "unrecognized subcommand"),
    ] {
        let mut command = match arguments[0] {
            "fit" | "steer" => {
                let mut plain = Command::new(PROGRAM);
                plain.args(arguments).stdin(Stdio::null());
                plain
            }
            _ => caption(&tree, arguments),
        };
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
        assert!(text.contains(says), "{arguments:?}: {text}");
        assert!(!text.contains("panicked"), "{arguments:?}: {text}");
        assert_eq!(tree.weights(), "9:2", "{arguments:?}");
    }
}

/// One node, no counters: says what is missing; a dry run on a recording works and writes nothing.
#[test]
fn a_machine_without_cxl_is_refused_but_may_dream() {
    let tree = Tree::new("auto");
    tree.put("sys/devices/system/node/has_memory", "0");
    let (output, text) = run_to_end(&tree, &["run", "--stream", "-"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains("CAP030: this machine has one memory node (node0)"), "{text}");

    let lines: Vec<String> = (1..=60)
        .map(|t| {
            format!(r#"{{"time_s":{t},"norm_ipc":0.8,"l1_miss_latency_ns":40,"ddr_read_latency_ns":{}}}"#, 120 - t)
        })
        .collect();
    tree.put("samples.jsonl", &lines.join("\n"));
    let samples = tree.path().join("samples.jsonl");
    let (output, text) =
        run_to_end(&tree, &["run", "--mode", "paper", "--dry-run", "--replay", samples.to_str().unwrap()]);
    assert!(output.status.success() && text.contains("the dry run assumes DDR node0; CXL node1"), "{text}");
    // 60 samples, 21 a tuning: two tunings, 10:1 to 10:4 (5:2), and, since Y has risen, to 10:7.
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let weights: Vec<&str> = said.lines().map(|line| line.rsplit('/').next().unwrap()).collect();
    assert_eq!(weights, ["node0 <- 10", "node1 <- 1", "node0 <- 5", "node1 <- 2", "node0 <- 10", "node1 <- 7"]);
    assert_eq!(tree.weights(), "9:2");
    assert!(!tree.path().join("run").exists(), "a dry run takes no lock");
}

/// A pipe that closes is an error, not a panic.
#[test]
fn a_reader_that_goes_away_is_no_panic() {
    let tree = Tree::new("auto");
    let line = r#"{"time_s":1,"norm_ipc":1,"l1_miss_latency_ns":1,"ddr_read_latency_ns":1}"#;
    tree.put("samples.jsonl", line);
    let mut child = caption(&tree, &["run", "--dry-run", "--stream", "-"]).stdin(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    drop(child.stdin.take());
    let output = child.wait_with_output().unwrap();
    assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"));
}
