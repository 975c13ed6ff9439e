//! Event tables, formats and the arithmetic from counts to a sample.

use cxlab_caption::root::Root;
use cxlab_caption::sensor::events::{Counts, ProcessorId, Role, tables};
use cxlab_caption::sensor::pmu::Pmu;
use cxlab_caption::units::Seconds;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

fn put(root: &Path, path: &str, text: &str) {
    let path = root.join("sys/bus/event_source/devices").join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn fields(pairs: &[(&str, u64)]) -> BTreeMap<String, u64> {
    pairs.iter().map(|(name, value)| (name.to_string(), *value)).collect()
}

fn processor(vendor: &str, family: u32, model: u32) -> ProcessorId {
    ProcessorId { vendor: vendor.into(), family, model }
}

/// Models by Linux arch/x86/include/asm/intel-family.h, and AMD's families 19h and 1Ah.
#[test]
fn a_processor_finds_its_table() {
    for (vendor, family, model, name) in [
        ("GenuineIntel", 6, 0x8f, "Intel Sapphire Rapids, Emerald Rapids, Granite Rapids"),
        ("GenuineIntel", 6, 0xcf, "Intel Sapphire Rapids, Emerald Rapids, Granite Rapids"),
        ("GenuineIntel", 6, 0xad, "Intel Sapphire Rapids, Emerald Rapids, Granite Rapids"),
        ("AuthenticAMD", 0x19, 0x11, "AMD Zen 4, Zen 5"),
        ("AuthenticAMD", 0x19, 0xa0, "AMD Zen 4, Zen 5"),
        ("AuthenticAMD", 0x1a, 0x02, "AMD Zen 4, Zen 5"),
    ] {
        assert_eq!(processor(vendor, family, model).table().unwrap().name, name);
    }
    // Ice Lake and Zen 3 have other events.
    for (vendor, family, model) in [("GenuineIntel", 6, 0x6a), ("AuthenticAMD", 0x19, 0x01)] {
        assert!(processor(vendor, family, model).table().unwrap_err().to_string().starts_with("CAP051"));
    }
}

#[test]
fn cpuinfo_names_the_processor() {
    let text =
        "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: Intel(R) Xeon(R)\n";
    assert_eq!(ProcessorId::parse(text), Some(processor("GenuineIntel", 6, 143)));
    assert_eq!(ProcessorId::parse("Processor : AArch64\n"), None);
}

/// Every table computes the paper's three metrics, names its source, and has no event twice.
#[test]
fn every_table_is_complete() {
    for table in tables().unwrap() {
        assert!(!table.source.is_empty() && !table.processor_names().is_empty());
        let roles: BTreeSet<Role> = table.events.iter().map(|event| event.role).collect();
        let mut counts = Counts::default();
        roles.iter().for_each(|role| counts.add(*role, 1e9));
        let sample = table.sample(&counts, Duration::from_secs(1), Seconds(1.0));
        assert!(sample.norm_ipc.is_some() && sample.ipc.is_some(), "{}", table.name);
        assert!(sample.l1_miss_latency_ns.is_some() && sample.ddr_read_latency_ns.is_some(), "{}", table.name);
        assert!(sample.cxl_read_latency_ns.is_some(), "{}", table.name);
        let encodings: BTreeSet<_> = table.events.iter().map(|event| (&event.pmu, &event.config)).collect();
        assert_eq!(encodings.len(), table.events.len(), "{}: an event stands twice", table.name);
    }
}

/// The kernel's SPR format is umask = config:8-15,32-63; the published raw event is 0x10c8178200000135.
#[test]
fn a_split_field_fills_its_ranges_in_order() {
    let tree = tempfile::tempdir().unwrap();
    put(tree.path(), "uncore_cha_3/type", "71\n");
    put(tree.path(), "uncore_cha_3/cpumask", "0,60\n");
    put(tree.path(), "uncore_cha_3/format/event", "config:0-7\n");
    put(tree.path(), "uncore_cha_3/format/umask", "config:8-15,32-63\n");
    put(tree.path(), "uncore_cha_free_running/type", "99\n");
    let root = Root::at(tree.path());
    let units = Pmu::find(&root, "uncore_cha").unwrap();
    assert_eq!(units.len(), 1, "only numbered units: {units:?}");
    assert_eq!((units[0].kind, &units[0].processors[..]), (71, &[0, 60][..]));
    let encoded = units[0].encode(&root, "READS", &fields(&[("event", 0x35), ("umask", 0x10_c817_8201)])).unwrap();
    assert_eq!(encoded.config, 0x10c8_1782_0000_0135);
    // A value that does not fit, and a field that is not there.
    let refused = |pairs: &[(&str, u64)]| units[0].encode(&root, "READS", &fields(pairs)).unwrap_err().to_string();
    assert!(refused(&[("event", 0x135)]).contains("CAP052"));
    assert!(refused(&[("sliceid", 3)]).contains("no format field sliceid"));
}

/// By hand, for one second: two cores of 2 GHz nominal run half of the time, at 3 GHz.
/// Instructions 3e9 / core cycles 3e9 = 1.0; / nominal 4e9 = 0.75.
/// L1: 9e9 / 3e8 + 5 = 35 cycles at 3 GHz = 11.67 ns.
/// DDR: CHAs of 2.5 GHz: 5e10 / 2e8 = 250 cycles = 100 ns.
/// CXL: 2e10 / 2e7 = 1000 cycles = 400 ns; 2e7 x 64 B / s = 1.28 GB/s.
#[test]
fn intel_counts_become_a_sample() {
    let mut counts = Counts::default();
    for _core in 0..2 {
        counts.add(Role::Instructions, 1.5e9);
        counts.add(Role::CoreCycles, 1.5e9);
        counts.add(Role::NominalCycles, 2e9);
        counts.add(Role::UnhaltedNominalCycles, 1e9);
        counts.add(Role::L1MissOccupancy, 4.5e9);
        counts.add(Role::L1Misses, 1e8); // L1_MISS
        counts.add(Role::L1Misses, 0.5e8); // FB_HIT
    }
    for _cha in 0..4 {
        counts.add(Role::UncoreCycles, 2.5e9);
        counts.add(Role::DdrOccupancy, 1.25e10);
        counts.add(Role::DdrReads, 0.5e8);
        counts.add(Role::CxlOccupancy, 0.0);
        counts.add(Role::CxlReads, 0.0);
        counts.add(Role::ExpanderOccupancy, 0.5e10);
        counts.add(Role::ExpanderReads, 0.5e7);
    }
    let table = processor("GenuineIntel", 6, 143).table().unwrap();
    let sample = table.sample(&counts, Duration::from_secs(1), Seconds(7.0));
    let close = |found: Option<f64>, by_hand: f64| (found.unwrap() - by_hand).abs() < 1e-9 * by_hand;
    assert_eq!(sample.time_s, Seconds(7.0));
    assert!(close(sample.ipc, 1.0) && close(sample.norm_ipc, 0.75));
    assert!(close(sample.l1_miss_latency_ns.map(|l| l.0), 35.0 / 3.0));
    assert!(close(sample.ddr_read_latency_ns.map(|l| l.0), 100.0));
    assert!(close(sample.cxl_read_latency_ns.map(|l| l.0), 400.0));
    assert!(close(sample.cxl_read_bandwidth_gb_s.map(|b| b.0), 1.28));
}

/// AMD's sampled latency counts tens of ns: 1.2e6 over 1e5 requests is 120 ns. No CXL read, no CXL latency.
#[test]
fn amd_counts_become_a_sample() {
    let mut counts = Counts::default();
    counts.add(Role::DdrLatencyTensOfNs, 1.2e6);
    counts.add(Role::DdrLatencyRequests, 1e5);
    counts.add(Role::CxlLatencyTensOfNs, 0.0);
    counts.add(Role::CxlLatencyRequests, 0.0);
    let sample =
        processor("AuthenticAMD", 26, 2).table().unwrap().sample(&counts, Duration::from_secs(1), Seconds(1.0));
    assert!((sample.ddr_read_latency_ns.unwrap().0 - 120.0).abs() < 1e-9);
    assert_eq!(sample.cxl_read_latency_ns, None);
    assert_eq!(sample.l1_miss_latency_ns, None);
}
