//! The program as people run it: its files, its refusals, ctrl-C. Figures are not judged here.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

fn memo() -> Command {
    Command::new(env!("CARGO_BIN_EXE_cxlab-memo"))
}

fn run(arguments: &str) -> Output {
    memo().args(arguments.split_whitespace()).output().expect("it starts")
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).expect("a file")).expect("JSON")
}

/// Runs a small measurement; returns its JSON and its CSV.
fn measured(arguments: &str) -> (Value, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let (as_json, as_csv) = (folder.path().join("r.json"), folder.path().join("r.csv"));
    let files = format!("--json {} --csv {}", as_json.display(), as_csv.display());
    let output = run(&format!("{arguments} --pages 4KiB {files}"));
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    assert!(!output.stdout.is_empty());
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 2, "no other file is left");
    (json(&as_json), std::fs::read_to_string(as_csv).expect("a file"))
}

#[test]
fn every_measurement_says_what_it_is() {
    let quick = "--size 64KiB --warm-up 1ms --window 1ms --repeats 2";
    for (arguments, benchmark, points) in [
        ("memo --size 64KiB --warm-up 5 --repeats 20".to_string(), "memo", 4),
        ("latency --sweep --size 64KiB --hops 16 --samples 7".to_string(), "latency", 9),
        (
            format!("bandwidth --threads 1 --instruction ld,nt-ld,st,nt-st --pattern sequential,random {quick}"),
            "bandwidth",
            8,
        ),
        (format!("bandwidth --threads 1 --mix 2:1,0:1 --store nontemporal --roi {quick}"), "bandwidth", 2),
        ("stream --threads 1 --size 64KiB --repeats 3".to_string(), "stream", 4),
    ] {
        let (json, csv) = measured(&arguments);
        assert_eq!(json["benchmark"], benchmark);
        assert_eq!(json["complete"], true);
        assert_eq!(json["points"].as_array().map(Vec::len), Some(points), "{arguments}");
        for key in ["machine", "node"] {
            assert!(json[key].is_string(), "{key}");
        }
        let provenance = &json["provenance"];
        for key in
            ["version", "command", "started", "host", "tsc", "instruction_set", "method", "disturbance", "caveats"]
        {
            assert!(!provenance[key].is_null(), "{key}");
        }
        for point in json["points"].as_array().expect("points") {
            let figures = [&point["latency_ns"], &point["bandwidth_mb_s"]];
            // Zero is a figure: on a busy machine a load thread may not run at all in so short a window.
            assert!(figures.iter().any(|f| f.as_f64().is_some_and(|f| f >= 0.0)), "{point}");
        }
        let rows = csv.lines().filter(|l| !l.starts_with('#')).count();
        assert_eq!(rows, points + 1, "a header, and a row a point:\n{csv}");
    }
}

/// Where there are two CPUs; with one, the refusal says why.
#[test]
fn loaded_latency_needs_a_cpu_for_the_latency_thread() {
    let arguments =
        "loaded-latency --threads 1 --mix 1:0,1:1 --delay 0,1000 --size 64KiB --warm-up 1ms --window 1ms --repeats 2";
    let cpus = std::thread::available_parallelism().expect("CPUs").get();
    if cpus == 1 {
        let error = String::from_utf8(run(arguments).stderr).expect("text");
        assert!(error.contains("one of which the latency thread has"), "{error}");
        return;
    }
    let (json, _) = measured(arguments);
    let points = json["points"].as_array().expect("points");
    let keys: Vec<_> = points.iter().map(|p| (p["mix"].as_str().unwrap(), p["delay"].as_u64().unwrap())).collect();
    assert_eq!(keys, [("1:0", 0), ("1:0", 1000), ("1:1", 0), ("1:1", 1000)]);
    assert!(points.iter().all(|p| p["latency_ns"].as_f64() > Some(0.0) && p["bandwidth_mb_s"].as_f64() > Some(0.0)));
}

#[test]
fn refusals_name_what_is_wrong_and_what_is_valid() {
    let threads = format!("bandwidth --threads {}", 1 << 20);
    for (arguments, code, words) in [
        (threads.as_str(), "MEM003", "Valid: --threads 1 to"),
        ("latency --size 64B", "MEM002", "128 B at least"),
        ("latency --stride 100B", "MEM001", "multiple of the line"),
        ("memo --size 64B", "MEM002", "16 distinct lines"),
        ("memo --repeats 0", "MEM001", "Valid: 1 to"),
        ("memo --node 999", "MEM020", "Nodes with memory: "),
        ("memo --cpus 60000", "MEM010", "CPUs that it may use: "),
        ("memo --size 1048576GiB", "MEM021", "free"),
        ("bandwidth --mix 1:2", "MEM001", "50 % writes"),
        ("bandwidth --instruction st-wb", "MEM001", "ld, nt-ld, st, nt-st"),
        ("bandwidth --window 0s", "MEM001", "--window"),
        ("memo --json /nonexistent/r.json", "MEM090", "/nonexistent/r.json"),
        ("import /nonexistent --machine m --node n", "MEM090", "/nonexistent"),
    ] {
        let output = run(arguments);
        let error = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(1), "{arguments}");
        assert!(error.contains(code) && error.contains(words), "{arguments}: {error}");
        assert!(output.stdout.is_empty(), "{arguments}");
    }
}

/// A size without a unit is refused by the command line itself.
#[test]
fn sizes_carry_units() {
    let output = run("memo --size 512");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("unit"));
}

/// Ctrl-C ends a measurement that would take days with what it has by then, marked as partial.
#[test]
fn ctrl_c_keeps_what_was_measured() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("r.json");
    let arguments =
        ["memo", "--size", "64KiB", "--pages", "4KiB", "--warm-up", "1", "--repeats", "100000000", "--json"];
    let child = memo().args(arguments).arg(&path).stdout(std::process::Stdio::piped()).spawn().expect("it starts");
    wait_until_it_handles_signals(child.id());
    std::thread::sleep(Duration::from_secs(1));
    // SAFETY: a signal to our own child, which is not reaped yet.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130));
    assert!(String::from_utf8_lossy(&output.stdout).contains("PARTIAL"));
    let json = json(&path);
    assert_eq!(json["complete"], false);
    let samples = json["points"][0]["latency"]["samples"].as_u64().expect("samples");
    assert!((1..100_000_000).contains(&samples), "{samples}");
}

fn wait_until_it_handles_signals(process: u32) {
    const SIGINT: u64 = 1 << (2 - 1);
    let began = Instant::now();
    loop {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        let caught = status.lines().find_map(|l| l.strip_prefix("SigCgt:")).map(str::trim);
        if caught.and_then(|mask| u64::from_str_radix(mask, 16).ok()).is_some_and(|mask| mask & SIGINT != 0) {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "it never handles SIGINT");
        std::thread::sleep(Duration::from_millis(10));
    }
}
