//! Two nodes on one card: each sees the other's load, and each has its own part of the device.

mod support;

use cxlab_kernel::{Bytes, Time};
use cxlab_model::config::{Path, ShareSpec, shipped_file};
use cxlab_model::cxl::{Lanes, LinkRate};
use cxlab_model::fact::Sourced;
use cxlab_model::home::AddressRange;
use cxlab_model::{Machine, MachineSpec};

use support::{GIB, Script, quiet};

/// Lines that each core reads.
const LINES: u64 = 4_000;

/// Node `cxl-b` is the upper half of the card of node `cxl`, whose link is so narrow that one core fills it.
fn spec() -> MachineSpec {
    let mut spec = quiet("8468v-asic");
    let mut other = spec.nodes[1].clone();
    other.name = "cxl-b".into();
    for (node, shared) in [(&mut spec.nodes[1], None), (&mut other, Some("cxl"))] {
        let Path::Cxl { expander, share, .. } = &mut node.path else { panic!("node 1 is CXL") };
        (expander.link.lanes.value, expander.link.rate.value) = (Lanes::X1, LinkRate::Gt8);
        let from = Sourced::new(Bytes::new(32 * GIB), "half of the card");
        *share = shared.map(|node: &str| ShareSpec { node: node.into(), from });
        // A flit takes 68.1 ns on such a link: more than the latencies that contain it elsewhere.
        expander.link.wire_time.value = cxlab_model::cxl::WireTime::OnTop;
        expander.rated = None;
    }
    spec.nodes.push(other);
    spec
}

/// Core n reads lines of these nodes' memories: the time that all took.
fn run(nodes: &[u64]) -> (Machine, Time) {
    let ranges: Vec<_> = (0..3).map(|node| AddressRange { start: u64::from(node) * GIB, length: GIB, node }).collect();
    let mut machine = Machine::new(spec(), nodes.len() as u16, &ranges).unwrap();
    let script = |node: &u64| {
        let mut script = Script::default();
        for line in 0..LINES {
            script.independent_load(node * GIB + line * 64 * 67 % GIB / 64 * 64);
        }
        script.settle();
        script
    };
    let mut scripts: Vec<Script> = nodes.iter().map(script).collect();
    machine.run(&mut scripts, |_| Ok(())).unwrap();
    let end = scripts.iter().map(|script| script.clock_answers[0]).max().unwrap();
    (machine, end)
}

#[test]
fn two_nodes_of_one_card_share_its_bandwidth() {
    let (one, other) = (run(&[1]).1, run(&[2]).1);
    assert!((one.as_ns() / other.as_ns() - 1.0).abs() < 0.01, "alone: {one} and {other}");
    let (machine, together) = run(&[1, 2]);
    // The link carries twice the lines.
    assert!((together.as_ns() / one.as_ns() / 2.0 - 1.0).abs() < 0.03, "{together} together, {one} alone");
    // One card: whichever node asks, it tells of both.
    for node in ["cxl", "cxl-b"] {
        let node = machine.spec().node(node).unwrap();
        let reads: Vec<u64> =
            machine.ports(node).map(|port| port.expander.unwrap().device.counts.reads.get()).collect();
        assert_eq!(reads, [2 * LINES], "{node:?}");
    }
}

#[test]
fn a_machine_file_says_which_node_shares_whose_card() {
    let text = shipped_file("machines/8468v-asic.toml").unwrap();
    let load = |shared: &str| {
        let node = "[nodes.cxl-b]\ndescription = \"the upper half of the card\"\n";
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("machine.toml");
        std::fs::write(&file, format!("{text}\n{node}[nodes.cxl-b.shared]\n{shared}\n")).unwrap();
        MachineSpec::load(file.to_str().unwrap()).map_err(|error| error.to_string())
    };
    let from = "from = { value = \"32 GiB\", source = \"half of the card\" }";
    let spec = load(&format!("node = \"cxl\"\n{from}")).unwrap();
    let node = spec.node("cxl-b").unwrap();
    assert_eq!(spec.idle_latency(node), spec.idle_latency(spec.node("cxl").unwrap()));
    let wrong = load(&format!("node = \"dram\"\n{from}")).unwrap_err();
    assert!(wrong.contains("no node `dram` with devices") && wrong.contains("valid: cxl"), "{wrong}");
    let beyond = load(&format!("node = \"cxl\"\n{}", from.replace("32", "64"))).unwrap_err();
    assert!(beyond.contains("shared: from = 64 GiB") && beyond.contains("capacity"), "{beyond}");
}
