//! Machines laid out as files: nodes, tiers, HMAT, governors, and what is said of them. Lists, pages, prefetchers.

use cxlab_kernel::Bytes;
use cxlab_memo::host::{Access, Disturbance, Host, Nodes, Tree, caveats, decode_prefetchers};
use cxlab_memo::page::{PageSize, huge_bytes};
use cxlab_memo::tsc::{Ticks, Tsc};
use cxlab_memo::{cpu, list};
use proptest::prelude::*;
use tempfile::TempDir;

fn tree(files: &[(&str, &str)]) -> (TempDir, Tree) {
    let folder = TempDir::new().expect("a folder");
    for (path, text) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(path, text).expect("a file");
    }
    let tree = Tree::at(folder.path());
    (folder, tree)
}

/// Two nodes as on a server with one CXL card: node 1 has memory and no CPUs, in a slower tier.
const SERVER: &[(&str, &str)] = &[
    ("sys/devices/system/node/node0/cpulist", "0-3\n"),
    ("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal:  65536 kB\nNode 0 MemFree:  32768 kB\n"),
    ("sys/devices/system/node/node0/distance", "10 14\n"),
    ("sys/devices/system/node/node0/access0/initiators/read_latency", "97\n"),
    ("sys/devices/system/node/node0/access0/initiators/read_bandwidth", "76800\n"),
    ("sys/devices/system/node/node1/cpulist", "\n"),
    ("sys/devices/system/node/node1/meminfo", "Node 1 MemTotal:  131072 kB\nNode 1 MemFree:  131072 kB\n"),
    ("sys/devices/system/node/node1/distance", "14 10\n"),
    ("sys/devices/system/node/node1/access1/initiators/read_latency", "244\n"),
    ("sys/devices/system/node/node1/access1/initiators/write_latency", "250\n"),
    ("sys/devices/system/node/node2/cpulist", "4-7\n"),
    ("sys/devices/system/node/node2/meminfo", "Node 2 MemTotal:  0 kB\nNode 2 MemFree:  0 kB\n"),
    ("sys/devices/virtual/memory_tiering/memory_tier4/nodelist", "0\n"),
    ("sys/devices/virtual/memory_tiering/memory_tier22/nodelist", "1\n"),
    ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"),
    ("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n"),
    ("sys/devices/system/cpu/cpu0/cache/index0/level", "1\n"),
    ("sys/devices/system/cpu/cpu0/cache/index0/size", "48K\n"),
    ("sys/devices/system/cpu/cpu0/cache/index3/level", "3\n"),
    ("sys/devices/system/cpu/cpu0/cache/index3/size", "61440K\n"),
    ("sys/devices/system/cpu/intel_pstate/no_turbo", "0\n"),
    ("proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Xeon of a test\n"),
    ("proc/sys/kernel/numa_balancing", "2\n"),
    ("proc/loadavg", "3.50 1.00 0.50 1/100 12345\n"),
];

#[test]
fn nodes_tiers_and_hmat() {
    let (_folder, tree) = tree(SERVER);
    let nodes = Nodes::read(&tree).expect("nodes");
    let all: Vec<_> = nodes.iter().collect();
    assert_eq!(all.iter().map(|n| n.tier).collect::<Vec<_>>(), [Some(4), Some(22), None]);
    assert_eq!((all[0].memory, all[0].free), (Bytes::mib(64), Bytes::mib(32)));
    assert_eq!((&all[0].cpus, &all[0].distances), (&vec![0, 1, 2, 3], &vec![10, 14]));
    assert!(all[1].cpus.is_empty());
    let access = Access {
        class: 1,
        read_latency_ns: Some(244),
        write_latency_ns: Some(250),
        read_bandwidth_mb_s: None,
        write_bandwidth_mb_s: None,
    };
    assert_eq!(all[1].hmat, [access]);
    assert_eq!(nodes.of_cpu(5).map(|n| n.id), Some(2));
    assert_eq!(nodes.with_memory().map(|n| n.id).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn a_node_without_memory_is_refused_with_those_that_have_some() {
    let (_folder, tree) = tree(SERVER);
    let nodes = Nodes::read(&tree).expect("nodes");
    for node in [2, 9] {
        let error = nodes.require_memory(node).expect_err("no memory").to_string();
        assert!(error.contains(&format!("node {node}")) && error.ends_with("Nodes with memory: 0-1"), "{error}");
    }
}

#[test]
fn what_makes_figures_unreliable() {
    let (_folder, tree) = tree(SERVER);
    let host = Host::read(&tree).expect("a host");
    assert_eq!(host.processor.last_level_cache, Some(Bytes::mib(60)));
    assert_eq!(host.processor.turbo, Some(true));
    let tsc = Tsc { hz: 2.1e9, spread_ppm: 5000.0, invariant: false, cost: Ticks(20) };
    let disturbance = Disturbance { preemptions: 7, steal_ms: 30, major_faults: 0 };
    let said = caveats(&host, &tsc, Some((Bytes::mib(64), PageSize::Base, &disturbance))).join("\n");
    for word in [
        "load average 3.5",
        "powersave",
        "turbo is on",
        "prefetchers unknown",
        "invariant",
        "5000 ppm",
        "numa_balancing",
        "less than four times",
        "TLB",
        "preempted 7 times",
        "30 ms",
    ] {
        assert!(said.contains(word), "{word:?} in:\n{said}");
    }
    assert!(!said.contains("HMAT"), "this machine has figures:\n{said}");
}

/// A quiet, well-set machine has nothing to say but that it is virtual, if it is.
#[test]
fn a_quiet_machine_is_not_doubted() {
    let (_folder, tree) = tree(&[
        ("sys/devices/system/node/node0/cpulist", "0"),
        ("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: 65536 kB"),
        ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance"),
        ("sys/devices/system/cpu/cpu0/cache/index3/level", "3"),
        ("sys/devices/system/cpu/cpu0/cache/index3/size", "1024K"),
        ("proc/loadavg", "0.01 0.00 0.00 1/100 1"),
    ]);
    let mut host = Host::read(&tree).expect("a host");
    host.hypervisor = None;
    host.prefetchers = decode_prefetchers("GenuineIntel", 0xf);
    let tsc = Tsc { hz: 2e9, spread_ppm: 1.0, invariant: true, cost: Ticks(20) };
    let disturbance = Disturbance { preemptions: 0, steal_ms: 0, major_faults: 0 };
    let said = caveats(&host, &tsc, Some((Bytes::mib(64), PageSize::Huge, &disturbance)));
    assert_eq!(said, Vec::<String>::new());
}

/// Intel SDM vol. 4, MSR 1A4H: a set bit disables; bit 1 is the L2 adjacent line prefetcher.
#[test]
fn prefetcher_bits() {
    let on = |vendor, value| -> Vec<&str> {
        let all = decode_prefetchers(vendor, value).expect("a known vendor");
        all.into_iter().filter(|p| p.enabled).map(|p| p.name).collect()
    };
    assert_eq!(on("GenuineIntel", 0b0010), ["L2 stream", "L1 next line", "L1 stride"]);
    assert_eq!(on("GenuineIntel", 0b1111), Vec::<&str>::new());
    assert_eq!(on("AuthenticAMD", 0b10_1000), ["L1 stream", "L1 stride", "L1 region"]);
    assert_eq!(decode_prefetchers("CentaurHauls", 0), None);
}

/// Documentation/filesystems/proc.rst: a mapping's range, then its fields; only mappings of the range count.
#[test]
fn huge_pages_in_smaps() {
    let smaps = "7f0000000000-7f0000400000 rw-p 00000000 00:00 0\nSize: 4096 kB\nAnonHugePages:  4096 kB\n\
                 7f0000400000-7f0000800000 rw-p 00000000 00:00 0\nAnonHugePages:  2048 kB\n\
                 7f1000000000-7f1000200000 rw-p 00000000 00:00 0\nAnonHugePages:  2048 kB\n";
    assert_eq!(huge_bytes(smaps, 0x7f00_0000_0000, 8 << 20), Bytes::mib(6));
    assert_eq!(huge_bytes(smaps, 0x7f00_0040_0000, 4 << 20), Bytes::mib(2));
    assert_eq!(huge_bytes(smaps, 0x7e00_0000_0000, 1 << 20), Bytes::ZERO);
}

#[test]
fn cpus_that_are_not_allowed() {
    let error = cpu::choose(Some("0-9"), &[0, 1, 4]).expect_err("CPU 2 is not allowed").to_string();
    assert!(error.contains("CPU 2") && error.contains("0-1,4"), "{error}");
    assert_eq!(cpu::choose(Some("4,0"), &[0, 1, 4]).expect("allowed"), [0, 4]);
    for text in ["", "x", "3-1", "1,,2", "0-99999999"] {
        assert!(cpu::choose(Some(text), &[0]).is_err(), "{text:?}");
    }
}

proptest! {
    #[test]
    fn lists_read_back(numbers in prop::collection::btree_set(0usize..2000, 0..100)) {
        let numbers: Vec<usize> = numbers.into_iter().collect();
        prop_assert_eq!(list::parse(&list::write(&numbers)), Some(numbers));
    }
}

/// On this very machine: memory is where it was asked to be, which the allocation itself checks with move_pages(2).
mod common;

#[test]
fn memory_is_on_its_node() {
    let buffer = common::buffer(Bytes::mib(1));
    assert_eq!(buffer.lines(), 16384);
    assert_eq!(buffer.start() as usize % (2 << 20), 0, "aligned to 2 MiB");
}

/// The counter against a sleep: it cannot be shorter than asked for.
#[test]
fn the_clock_keeps_time() {
    let tsc = Tsc::calibrate().expect("a counter");
    let began = cxlab_memo::tsc::now();
    std::thread::sleep(std::time::Duration::from_millis(20));
    let slept = tsc.between(began, cxlab_memo::tsc::now());
    assert!(slept >= 20e6 * (1.0 - 1e-3), "{slept} ns");
}
