//! The program as a user meets it: ctrl-C, kill -9, two at once, odd flags, and a whole loop against a simulated machine.

mod common;
#[path = "common/tree.rs"]
mod tree;

use common::{Curve, share};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tree::{Tree, WEIGHTS};

const PROGRAM: &str = env!("CARGO_BIN_EXE_cxlab-caption");

/// True within ten seconds: how long a test waits for another process before it fails.
fn eventually(mut what: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + Duration::from_secs(10);
    while Instant::now() < deadline {
        if what() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

fn caption(tree: &Tree, arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(&arguments[..1]).arg("--root").arg(tree.path()).args(&arguments[1..]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(Stdio::null());
    command
}

fn run_to_end(tree: &Tree, arguments: &[&str]) -> (Output, String) {
    let output = caption(tree, arguments).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, text)
}

/// A controller on standard input that has put its first weights in force (10:1 of the published start).
struct Controller {
    child: Child,
    guardian: u32,
}

fn start(tree: &Tree) -> Controller {
    let mut command = caption(tree, &["run", "--mode", "paper", "--stream", "-"]);
    let child = command.stdin(Stdio::piped()).spawn().unwrap();
    let guardian = || {
        let children = format!("/proc/{0}/task/{0}/children", child.id());
        std::fs::read_to_string(children).unwrap_or_default().trim().parse().ok()
    };
    let has_started = || guardian().is_some() && tree.weights() == "10:1";
    assert!(eventually(has_started), "the controller did not start");
    let guardian = guardian().unwrap();
    Controller { guardian, child }
}

impl Controller {
    fn signal(&self, signal: i32) {
        kill(self.child.id(), signal);
    }

    fn end(mut self) -> (Option<i32>, String) {
        let status = self.child.wait().unwrap();
        let mut text = String::new();
        std::io::Read::read_to_string(&mut self.child.stderr.take().unwrap(), &mut text).unwrap();
        (status.code(), text)
    }
}

fn kill(process: u32, signal: i32) {
    // SAFETY: a signal to a process that this test started.
    assert_eq!(unsafe { libc::kill(process as i32, signal) }, 0);
}

fn is_alive(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

/// Nothing of it is left, and the machine is as it was.
fn is_restored(tree: &Tree) -> bool {
    tree.weights() == "9:2" && tree.read(format!("{WEIGHTS}/auto")) == "true" && !tree.journal().exists()
}

#[test]
fn signals_that_ask_end_it_and_the_old_weights_are_back() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let tree = Tree::new("auto");
        let controller = start(&tree);
        let guardian = controller.guardian;
        controller.signal(signal);
        let (code, text) = controller.end();
        assert_eq!(code, Some(0), "{text}");
        assert!(is_restored(&tree) && text.contains("the old weights are restored"), "{text}");
        assert!(!is_alive(guardian), "the guardian outlives its controller");
    }
}

#[test]
fn after_kill_9_the_guardian_restores() {
    let tree = Tree::new("auto");
    let controller = start(&tree);
    let guardian = controller.guardian;
    controller.signal(libc::SIGKILL);
    assert!(eventually(|| is_restored(&tree)), "weights are {}", tree.weights());
    assert!(eventually(|| !is_alive(guardian)), "the guardian stays behind");
    let (_, text) = controller.end();
    assert!(text.contains("ended without restoring; restored"), "{text}");
}

/// ctrl-C goes to the whole foreground group, a nervous one again and again: the guardian must not be hit.
#[test]
fn the_guardian_is_in_a_group_of_its_own_and_swallows_signals() {
    let tree = Tree::new("auto");
    let controller = start(&tree);
    // SAFETY: asks for the group of a process that this test started.
    let group = unsafe { libc::getpgid(controller.guardian as i32) };
    assert_eq!(group, controller.guardian as i32);
    let swallows = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", controller.guardian)).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:\t")).unwrap();
        let caught = u64::from_str_radix(caught, 16).unwrap();
        [libc::SIGINT, libc::SIGTERM, libc::SIGHUP].iter().all(|s| caught & (1 << (s - 1)) != 0)
    };
    assert!(eventually(swallows));
    kill(controller.guardian, libc::SIGTERM);
    controller.signal(libc::SIGKILL);
    assert!(eventually(|| is_restored(&tree)));
}

#[test]
fn after_both_are_killed_the_next_start_restores() {
    let tree = Tree::new("auto");
    let controller = start(&tree);
    kill(controller.guardian, libc::SIGKILL);
    controller.signal(libc::SIGKILL);
    controller.end();
    assert!(tree.journal().exists() && tree.weights() == "10:1");
    let next = start(&tree);
    next.signal(libc::SIGINT);
    let (code, text) = next.end();
    assert_eq!(code, Some(0));
    assert!(text.contains("had ended without restoring the weights; restored"), "{text}");
    assert!(
        is_restored(&tree),
        "the next one must not take the crashed one's weights for the old ones: {}",
        tree.weights()
    );
}

#[test]
fn after_both_are_killed_restore_restores() {
    let tree = Tree::new("auto");
    let controller = start(&tree);
    kill(controller.guardian, libc::SIGKILL);
    controller.signal(libc::SIGKILL);
    controller.end();
    let (output, _) = run_to_end(&tree, &["restore"]);
    assert!(output.status.success() && is_restored(&tree));
    let (output, _) = run_to_end(&tree, &["restore"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "nothing to restore\n");
}

#[test]
fn a_second_controller_is_refused_and_touches_nothing() {
    let tree = Tree::new("auto");
    let first = start(&tree);
    for second in [&["run", "--stream", "-"][..], &["place", "3:1", "--", "true"], &["restore"]] {
        let (output, text) = run_to_end(&tree, second);
        assert_eq!(output.status.code(), Some(1));
        assert!(text.contains("CAP040") && text.contains(&format!("process {}", first.child.id())), "{text}");
        assert_eq!(tree.weights(), "10:1");
    }
    first.signal(libc::SIGINT);
    first.end();
    assert!(is_restored(&tree));
}

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
fn odd_flags_are_told_what_is_valid() {
    let tree = Tree::new("auto");
    for (arguments, code, says) in [
        (&["run", "--mode", "clever"][..], 2, "[possible values: paper, adaptive]"),
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

#[test]
fn place_runs_a_program_on_the_ddr_nodes_and_gives_its_exit_code_on() {
    let tree = Tree::new("auto");
    let (output, text) =
        run_to_end(&tree, &["place", "1:0", "--", "sh", "-c", "grep -c ' bind:0 ' /proc/self/numa_maps >&2; exit 7"]);
    assert_eq!(output.status.code(), Some(7), "{text}");
    assert!(text.trim().parse::<u32>().unwrap() > 0, "no mapping is bound: {text}");
    let (output, _) = run_to_end(&tree, &["place", "1:0", "--", "sh", "-c", "kill -9 $$"]);
    assert_eq!(output.status.code(), Some(128 + 9));
    assert!(is_restored(&tree), "no weight was touched");
}

/// On a kernel with mode 6 the program runs at 3:1; on an older one the refusal names it. Either way the weights come back.
#[test]
fn place_sets_weights_for_the_time_of_the_program() {
    let tree = Tree::new("auto");
    let node0 = tree.path().join(WEIGHTS).join("node0");
    let script = format!("cat {}; grep -c 'weighted interleave' /proc/self/numa_maps", node0.display());
    let (output, text) = run_to_end(&tree, &["place", "25%", "--", "sh", "-c", &script]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if has_weighted_interleave() {
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(lines[0], "3", "{said} {text}");
        assert!(lines[1].parse::<u32>().unwrap() > 0);
    } else {
        assert!(text.contains("CAP034") && text.contains("Linux 6.9"), "{text}");
    }
    assert!(is_restored(&tree));
}

fn has_weighted_interleave() -> bool {
    // In a thread of its own: the policy is the thread's, and ends with it.
    let nodes = || "0".parse().unwrap();
    std::thread::spawn(move || cxlab_caption::mempolicy::Policy::WeightedInterleave.set(&nodes()).is_ok())
        .join()
        .unwrap()
}

/// SIGTERM is the program's to answer; the weights come back when it has.
#[test]
fn place_passes_sigterm_on() {
    let tree = Tree::new("auto");
    let mut child = caption(
        &tree,
        &["place", "1:0", "--", "sh", "-c", "trap 'exit 3' TERM; echo ready; while :; do sleep 0.05; done"],
    )
    .spawn()
    .unwrap();
    let mut ready = [0; 5];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut ready).unwrap();
    kill(child.id(), libc::SIGTERM);
    assert_eq!(child.wait().unwrap().code(), Some(3));
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
