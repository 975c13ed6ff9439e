//! Other tools' text: MLC's as versions 3.5 to 3.11 print it, multichase's and multiload's as their sources do.

use cxlab_memo::import;
use cxlab_memo::report::{Benchmark, Provenance, Report, table};
use std::path::Path;

fn read(text: &str) -> cxlab_memo::Result<Report> {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), text).expect("written");
    import::read(file.path(), "server", "cxl")
}

fn refused(text: &str) -> String {
    read(text).expect_err("bad text").to_string()
}

const LOADED: &str = "Intel(R) Memory Latency Checker - v3.9a
Command line parameters: --loaded_latency -W2 -c0

Using buffer size of 100.000MiB/thread for reads and an additional 100.000MiB/thread for writes
*** Unable to modify prefetchers (try executing 'modprobe msr')

Measuring Loaded Latencies for the system
Using all the threads from each core if Hyper-threading is enabled
Using Read-only traffic type
Inject\tLatency\tBandwidth
Delay\t(ns)\tMB/sec
==========================
 00000\t806.94\t  47898.1
 00002\t809.36\t  48028.8
 20000\t250.12\t   1237.6
";

#[test]
fn mlc_loaded_latency() {
    let report = read(LOADED).expect("MLC's text");
    assert_eq!(report.benchmark, Benchmark::LoadedLatency);
    assert_eq!((report.machine.as_str(), report.node.as_str()), ("server", "cxl"));
    let points: Vec<_> = report.points.iter().map(|p| (p.delay, p.latency_ns, p.bandwidth_mb_s)).collect();
    let expected = [(0, 806.94, 47898.1), (2, 809.36, 48028.8), (20000, 250.12, 1237.6)];
    assert_eq!(points, expected.map(|(d, l, b)| (Some(d), Some(l), Some(b))));
    assert!(report.points.iter().all(|p| p.mix.as_deref() == Some("1:0")));
    let Provenance::Imported(from) = &report.provenance else { panic!("imported") };
    assert_eq!((from.tool.as_str(), from.command.as_deref()), ("Intel MLC v3.9a", Some("--loaded_latency -W2 -c0")));
}

/// The simulated bench's shape: machine, node, settings, points of delay, latency_ns, bandwidth_mb_s; nothing that a point lacks.
#[test]
fn the_json_shape() {
    let json = serde_json::to_value(read(LOADED).expect("MLC's text")).expect("JSON");
    assert_eq!(json["machine"], "server");
    assert_eq!(json["node"], "cxl");
    assert!(json["settings"].is_object());
    let expected = serde_json::json!({ "delay": 0, "mix": "1:0", "latency_ns": 806.94, "bandwidth_mb_s": 47898.1 });
    assert_eq!(json["points"][0], expected);
}

#[test]
fn mlc_columns_come_out_as_they_went_in() {
    let printed = table::render(&read(LOADED).expect("MLC's text"));
    assert!(
        printed.contains("Inject  Latency Bandwidth\nDelay   (ns)    MB/sec\n=========================="),
        "{printed}"
    );
    assert!(printed.contains(" 00000  806.94    47898.1\n"), "{printed}");
}

#[test]
fn mlc_matrices_make_one() {
    let report = read(
        "Intel(R) Memory Latency Checker - v3.11b
Measuring idle latencies for random access (in ns)...
\t\tNuma node
Numa node\t     0\t     1\t
       0\t  90.6\t 146.8\t
       1\t 145.3\t     -\t

Measuring Memory Bandwidths between nodes within system
Bandwidths are in MB/sec (1 MB/sec = 1,000,000 Bytes/sec)
Using all the threads from each core if Hyper-threading is enabled
Using Read-only traffic type
                Numa node
Numa node            0       1
       0        96183.4 31682.2
       1        31639.1 -
",
    )
    .expect("MLC's text");
    assert_eq!(report.benchmark, Benchmark::Matrix);
    let cells: Vec<_> = report.points.iter().map(|p| (p.from, p.to, p.latency_ns, p.bandwidth_mb_s)).collect();
    let expected = [(0, 0, 90.6, 96183.4), (0, 1, 146.8, 31682.2), (1, 0, 145.3, 31639.1)];
    assert_eq!(cells, expected.map(|(f, t, l, b)| (Some(f), Some(t), Some(l), Some(b))));
}

#[test]
fn mlc_maximum_bandwidths_and_idle_latency() {
    let report = read(
        "Measuring Maximum Memory Bandwidths for the system
Measuring Peak Injection Memory Bandwidths for the system
Bandwidths are in MB/sec (1 MB/sec = 1,000,000 Bytes/sec)
Using all the threads from each core if Hyper-threading is enabled
Using traffic with the following read-write ratios
ALL Reads        :      34557.4
3:1 Reads-Writes :      30623.5
Stream-triad like:      31875.7
Intel(R) Memory Latency Checker - v3.10
",
    )
    .expect("MLC's text");
    let points: Vec<_> = report.points.iter().map(|p| (p.mix.as_deref().unwrap(), p.bandwidth_mb_s.unwrap())).collect();
    assert_eq!(points, [("1:0", 34557.4), ("3:1", 30623.5), ("Stream-triad like", 31875.7)]);
    let idle = read("Using buffer size of 200.000MiB\nEach iteration took 186.5 base frequency clocks (\t89.0\tns)\n")
        .unwrap();
    assert_eq!((idle.benchmark, idle.points[0].latency_ns), (Benchmark::Latency, Some(89.0)));
    assert_eq!(idle.settings["buffer_size"], "200.000MiB");
}

#[test]
fn bad_lines_are_named() {
    let bad = |from: &str, to: &str| refused(&LOADED.replace(from, to));
    let error = bad("809.36", "8o9.36");
    assert!(error.contains("line 14") && error.contains("\"8o9.36\"") && error.contains("latency"), "{error}");
    assert!(bad(" 00002\t809.36\t  48028.8", " 00002\t809.36").contains("line 14: three columns"));
    assert!(bad("00002", "0x2").contains("inject delay \"0x2\""));
    for worthless in ["-48028.8", "nan", "inf", "0"] {
        assert!(bad("48028.8", worthless).contains("above zero"), "{worthless}");
    }
    let matrix = "Measuring idle latencies (in ns)...\n Numa node\nNuma node 0 1\n 0 90.6\n";
    assert!(refused(matrix).contains("line 4: node 0: 1 figures for 2 nodes"), "{}", refused(matrix));
    let both = format!("{LOADED}Each iteration took 186.5 base frequency clocks (\t89.0\tns)\n");
    assert!(refused(&both).contains("line 16"), "{}", refused(&both));
}

#[test]
fn multichase_prints_one_latency() {
    let report =
        read("nr_threads = 1\npage_size = 4096 bytes (ulong)\n  97.101  avg=97.101\n98.541\n").expect("its text");
    assert_eq!(report.points.iter().map(|p| p.latency_ns).collect::<Vec<_>>(), [Some(98.541)]);
    assert_eq!(report.settings["nr_threads"], "1");
    assert_eq!(report.settings.len(), 2);
}

/// 90000 MiB/s are 94371.84 MB/s; one chasing thread at 100 ns adds a line of 64 B each 100 ns: 640 MB/s.
#[test]
fn multiload_in_millions_of_bytes() {
    let report = read(
        "Samples\t, Byte/thd\t, ChaseThds\t, ChaseNS\t, ChaseMibs\t, ChDeviate\t, LoadThds\t, LdMaxMibs\t, LdAvgMibs\t, LdDeviate\t, ChaseArg\t, MemLdArg
5     \t, 268435456  \t, 1       \t, 100.000 \t, 76      \t, 0.010   \t, 15      \t, 91000   \t, 90000   \t, 0.020   \t, chaseload\t, stream-sum
",
    )
    .expect("its text");
    assert_eq!(report.benchmark, Benchmark::LoadedLatency);
    let point = &report.points[0];
    assert_eq!((point.threads, point.latency_ns), (Some(15), Some(100.0)));
    assert!((point.bandwidth_mb_s.unwrap() - (94371.84 + 640.0)).abs() < 1e-6);
    assert!(
        refused("Samples, Byte/thd, ChaseThds, ChaseNS\n5, 1, 1\n").contains("line 2: the column LoadThds is missing")
    );
}

#[test]
fn what_is_no_such_text_is_refused_with_what_would_be() {
    for text in ["", "hello\n", "Function Best Rate MB/s\nCopy: 1\n", "\u{0}\u{1}"] {
        let error = refused(text);
        assert!(error.contains("Intel MLC") && error.contains("multichase"), "{error}");
    }
    assert!(refused("Intel(R) Memory Latency Checker - v3.9a\n").contains("no figure"));
    let error = import::read(Path::new("/nonexistent"), "m", "n").expect_err("no file").to_string();
    assert!(error.contains("/nonexistent"), "{error}");
}
