//! Where samples come from: bad lines, time that stands still, named pipes, a fit of a model.

use crate::harness::{PROGRAM, caption, is_restored, run_to_end, start};
use crate::tree::Tree;
use std::io::Write;
use std::process::Command;

#[test]
fn a_bad_line_ends_it_with_its_place_and_the_old_weights_back() {
    let tree = Tree::new("auto");
    let mut controller = start(&tree);
    let mut input = controller.child.stdin.take().unwrap();
    let good = r#"{"time_s":1,"norm_ipc":0.8,"l1_miss_latency_ns":40,"ddr_read_latency_ns":120}"#;
    let bad = r#"{"time_s":2,"norm_ipc":0.8,"L1":40}"#;
    writeln!(input, "{good}\n\n{bad}").unwrap();
    let (code, text) = controller.end();
    assert_eq!(code, Some(1));
    assert!(text.contains("CAP010: standard input, line 3") && text.contains("unknown field `L1`"), "{text}");
    assert!(text.contains("l1_miss_latency_ns"), "says what is valid: {text}");
    assert!(is_restored(&tree));
}

#[test]
fn lines_that_no_counter_could_read_are_refused() {
    for (line, says) in [
        (r#"{"time_s":1,"norm_ipc":-0.1}"#, "norm_ipc is -0.1"),
        (r#"{"norm_ipc":0.1}"#, "missing field `time_s`"),
        (r#"{"time_s":1e999}"#, "CAP010"),
        ("not JSON", "line 1"),
        (r#"{"time_s":1,"norm_ipc":1}"#, "CAP011"),
        (r#"{"time_s":1,"norm_ipc":1,"l1_miss_latency_ns":1,"ddr_read_latency_ns":1}"#, "CAP012"),
    ] {
        let tree = Tree::new("auto");
        tree.put("samples.jsonl", line);
        let samples = tree.path().join("samples.jsonl");
        let (output, text) = run_to_end(&tree, &["run", "--replay", samples.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(1), "{line}: {text}");
        assert!(text.contains(says), "{line}: {text}");
        assert!(is_restored(&tree));
    }
}

#[test]
fn time_must_go_on() {
    let tree = Tree::new("auto");
    let line = r#"{"time_s":1,"norm_ipc":1,"l1_miss_latency_ns":1,"ddr_read_latency_ns":1}"#;
    tree.put("samples.jsonl", &format!("{line}\n{line}"));
    let (_, text) = run_to_end(&tree, &["run", "--replay", tree.path().join("samples.jsonl").to_str().unwrap()]);
    assert!(text.contains("time_s is 1, not after the sample before"), "{text}");
}

#[test]
fn a_fit_from_the_command_line() {
    let tree = Tree::new("auto");
    // y = 10 + 2 x
    let lines: Vec<String> =
        (1..=8).map(|n| format!(r#"{{"time_s":{n},"ipc":{n},"throughput":{}}}"#, 10 + 2 * n)).collect();
    tree.put("samples.jsonl", &lines.join("\n"));
    let (samples, model) = (tree.path().join("samples.jsonl"), tree.path().join("model.json"));
    let fit = Command::new(PROGRAM)
        .arg("fit")
        .arg(&samples)
        .arg("--output")
        .arg(&model)
        .args(["--metrics", "ipc"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&fit.stdout).into_owned();
    assert!(
        fit.status.success()
            && said.contains("10.00000")
            && said.contains("2.00000")
            && said.contains("R^2 1.0000, Pearson 1.0000, 8 samples"),
        "{said}"
    );
    let (output, text) = run_to_end(
        &tree,
        &["run", "--model", model.to_str().unwrap(), "--least-samples", "4", "--replay", samples.to_str().unwrap()],
    );
    assert!(output.status.success(), "{text}");
}

/// A named pipe: waits for its writer, ends with it; without one it says so, after the patience that it was given.
#[test]
fn a_named_pipe_is_waited_for() {
    let tree = Tree::new("auto");
    let pipe = tree.path().join("pipe");
    let name = std::ffi::CString::new(pipe.to_str().unwrap()).unwrap();
    // SAFETY: a path that ends with 0.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    let (output, text) = run_to_end(&tree, &["run", "--stream", pipe.to_str().unwrap(), "--stream-patience", "100ms"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains("CAP013") && text.contains("100ms"), "{text}");

    let arguments = ["run", "--objective", "throughput", "--least-samples", "2", "--stream", pipe.to_str().unwrap()];
    let child = caption(&tree, &arguments).spawn().unwrap();
    let lines: String = (1..=9).map(|t| format!("{{\"time_s\":{t},\"throughput\":5}}\n")).collect();
    std::fs::write(&pipe, lines).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("9 samples"), "{text}");
    assert!(is_restored(&tree));
}

/// A sweep holds each share for a period and ends by itself; its log is what a model is fitted on: y = 10 + 2 ipc.
#[test]
fn a_sweep_is_logged_and_its_log_can_be_fitted() {
    let tree = Tree::new("auto");
    let lines: Vec<String> =
        (1..=20).map(|n| format!(r#"{{"time_s":{n},"ipc":{n},"throughput":{}}}"#, 10 + 2 * n)).collect();
    tree.put("samples.jsonl", &lines.join("\n"));
    let path = |name: &str| tree.path().join(name).to_str().unwrap().to_owned();
    let (samples, log, model) = (path("samples.jsonl"), path("log.jsonl"), path("model.json"));
    let sweep = ["run", "--mode", "sweep", "--shares", "20%,1:1,75%", "--objective", "throughput", "--dry-run"];
    let rest = ["--least-samples", "3", "--settling-samples", "1", "--replay", &samples, "--log", &log];
    let (output, text) = run_to_end(&tree, &[&sweep[..], &rest].concat());
    assert!(output.status.success(), "{text}");
    // Three periods of one settling sample and three that count, of 20 samples.
    assert!(text.contains("12 samples, 3 decisions, last 75.0 % (1:3)"), "{text}");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let weights: Vec<&str> = said.lines().map(|line| line.rsplit('/').next().unwrap()).collect();
    assert_eq!(weights, ["node0 <- 4", "node1 <- 1", "node0 <- 1", "node1 <- 1", "node0 <- 1", "node1 <- 3"]);

    // What settles is no sample of one share.
    let fit = Command::new(PROGRAM).args(["fit", &log, "--output", &model, "--metrics", "ipc"]).output().unwrap();
    let said = String::from_utf8_lossy(&fit.stdout).into_owned();
    assert!(said.contains("R^2 1.0000, Pearson 1.0000, 9 samples"), "{said}");
}

/// As many samples as were asked for, whatever the source still has.
#[test]
fn a_run_may_be_bounded() {
    let tree = Tree::new("auto");
    let lines: Vec<String> = (1..=20).map(|n| format!(r#"{{"time_s":{n},"throughput":1}}"#)).collect();
    tree.put("samples.jsonl", &lines.join("\n"));
    let samples = tree.path().join("samples.jsonl");
    let bounded = ["run", "--dry-run", "--objective", "throughput", "--most-samples", "7", "--replay"];
    let (output, text) = run_to_end(&tree, &[&bounded[..], &[samples.to_str().unwrap()]].concat());
    assert!(output.status.success() && text.contains("7 samples"), "{text}");
}
