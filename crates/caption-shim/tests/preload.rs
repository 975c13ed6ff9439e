//! The shim in a real process: ranges get the policy that the control file asks for.
//!
//! Runs on one node. One side is node0. The other one is node63, which no machine here has: the kernel refuses its chunks,
//! and they stay under the thread's policy. The refused side is the one that the first small chunk, and with it the thread, is on.
//! So what numa_maps shows on node0 was bound there.

use cxlab_caption::actuator::ControlFile;
use cxlab_caption::share::CxlShare;
use cxlab_caption::topology::Topology;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const GIB_IN_KIB: f64 = 1024.0 * 1024.0;

fn built(name: &str) -> PathBuf {
    let deps = std::env::current_exe().unwrap().parent().unwrap().to_path_buf();
    let profile = deps.parent().unwrap();
    let places = [profile.join(name), deps.join(name), profile.join("examples").join(name)];
    places.into_iter().find(|path| path.exists()).unwrap_or_else(|| panic!("{name} is not built"))
}

fn preloaded(control: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(built("allocate"));
    command.args(arguments);
    command.env("LD_PRELOAD", built("libcxlab_caption_shim.so")).env("CXLAB_CAPTION_CONTROL", control);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(Stdio::piped());
    command
}

/// The side that is node0.
#[derive(Clone, Copy)]
enum Real {
    Ddr,
    Cxl,
}

fn control_file(path: &Path, real: Real, percent: &str) -> ControlFile {
    let (ddr, cxl) = match real {
        Real::Ddr => ("0", "63"),
        Real::Cxl => ("63", "0"),
    };
    let topology = Topology { ddr: ddr.parse().unwrap(), cxl: cxl.parse().unwrap() };
    let mut control = ControlFile::open(path, &topology, false).unwrap();
    control.apply(percent.parse::<CxlShare>().unwrap()).unwrap();
    control
}

/// KiB under node0's policy in one printed line.
fn on_node0(line: &str) -> f64 {
    let found = line.split("\"prefer (many):0\": ").nth(1);
    found.map_or(0.0, |rest| rest.split([',', '}']).next().unwrap().parse().unwrap())
}

fn share_of_a_gib(real: Real, percent: &str) -> f64 {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("control");
    let _control = control_file(&path, real, percent);
    let output = preloaded(&path, &["large", "1048576"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_eq!(said.matches("the kernel refuses a memory policy").count(), 1, "said once: {said}");
    on_node0(&String::from_utf8_lossy(&output.stdout)) / GIB_IN_KIB
}

/// 64 chunks of 16 MiB: the share is kept to one of them.
#[test]
fn a_large_request_is_spread_by_the_share() {
    for (percent, share) in [("5%", 0.05), ("9.1%", 0.091), ("25%", 0.25), ("40%", 0.4)] {
        let on_cxl = share_of_a_gib(Real::Cxl, percent);
        assert!((on_cxl - share).abs() <= 1.0 / 64.0 + 1e-3, "{percent}: {on_cxl}");
    }
    for (percent, share) in [("50%", 0.5), ("75%", 0.75), ("100%", 1.0)] {
        let on_cxl = 1.0 - share_of_a_gib(Real::Ddr, percent);
        assert!((on_cxl - share).abs() <= 1.0 / 64.0 + 1e-3, "{percent}: {on_cxl}");
    }
}

/// From nothing on CXL to a quarter, between two requests of one process.
#[test]
fn the_application_follows_while_it_runs() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("control");
    let mut control = control_file(&path, Real::Cxl, "0%");
    let mut child = preloaded(&path, &["follow", "1048576"]).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let before = on_node0(&lines.next().unwrap().unwrap());
    control.apply("25%".parse().unwrap()).unwrap();
    writeln!(child.stdin.take().unwrap()).unwrap();
    let after = on_node0(&lines.next().unwrap().unwrap());
    assert!(child.wait().unwrap().success());
    assert_eq!(before, 0.0);
    assert!((after / GIB_IN_KIB - 0.25).abs() <= 1.0 / 64.0 + 1e-3, "{after} KiB");
}

/// Small requests are many; the program does its work and ends as without the shim.
#[test]
fn small_requests_do_no_harm() {
    for percent in ["0%", "50%"] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("control");
        let _control = control_file(&path, Real::Ddr, percent);
        let output = preloaded(&path, &["small", "65536"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Without a control file the program runs as ever, and is told.
#[test]
fn without_a_control_file_it_does_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("nothing");
    let output = preloaded(&path, &["large", "65536"]).output().unwrap();
    assert!(output.status.success());
    assert_eq!(on_node0(&String::from_utf8_lossy(&output.stdout)), 0.0);
    assert!(String::from_utf8_lossy(&output.stderr).contains("the control file cannot be read"));
    // Too short to map: a read would fault.
    std::fs::write(&path, "CAPTION1").unwrap();
    assert!(preloaded(&path, &["large", "65536"]).output().unwrap().status.success());
}

/// A shell with pipes, children and a pager of everyday programs lives with it.
#[test]
fn everyday_programs_live_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("control");
    let _control = control_file(&path, Real::Ddr, "50%");
    let output = Command::new("sh")
        .args(["-c", "seq 200000 | sort -n | tail -1; seq 200000 | sort -n | sort -r | wc -l"])
        .env("LD_PRELOAD", built("libcxlab_caption_shim.so"))
        .env("CXLAB_CAPTION_CONTROL", &path)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "200000\n200000\n");
}
