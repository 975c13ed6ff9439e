//! Machine files: what is shipped is sound, what is wrong is refused with file, line and what is valid.

use cxlab_model::config::{Path, Socket, machine_names};
use cxlab_model::request::NodeId;
use cxlab_model::{MachineSpec, ModelError};

const MACHINE: &str = include_str!("../../../data/machines/8468v-asic.toml");

fn load(text: &str) -> Result<MachineSpec, ModelError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    std::fs::write(&path, text).unwrap();
    MachineSpec::load(path.to_str().unwrap())
}

#[test]
fn every_shipped_machine_loads_and_is_held_to_physics() {
    assert!(machine_names().iter().any(|name| name == "8468v-asic"));
    for name in machine_names() {
        let spec = MachineSpec::load(&name).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(spec.name, name, "a machine is found by its name");
        let dram = spec.idle_latency(NodeId(0));
        for (number, node) in spec.nodes.iter().enumerate() {
            let far = matches!(node.path, Path::Cxl { .. }) || node.socket == Socket::Other;
            let latency = spec.idle_latency(NodeId(number as u16));
            assert_eq!(far, latency > dram, "{name}: {} is never nearer than the socket's own", node.name);
        }
        assert!(*spec.host.l1.latency < *spec.host.l2.latency);
        assert!(spec.host.core.frequency.cycles(spec.host.l2.latency.0) < *spec.host.llc.latency);
        assert!(*spec.host.llc.latency < dram);
    }
}

#[test]
fn a_mistake_is_named_with_its_place_and_what_is_valid() {
    for (wrong, right, wanted) in [
        ("ranks = {", "ramks = {", &["mine.toml:12:", "unknown field `ramks`", "interleave"][..]),
        ("\"2 us\"", "\"2 MHz\"", &["mine.toml:20:", "`MHz`", "ps, ns, us, ms, s"]),
        ("\"256 B\"", "\"256\"", &["mine.toml:13:", "no unit", "KiB"]),
        ("source = \"CXL-DMSim table I: #Memory channels\"", "source = \" \"", &["mine.toml:11:", "source is empty"]),
        ("host = \"xeon-8468v\"", "host = \"xeon-8469\"", &["CFG003", "no host `xeon-8469`", "xeon-8468v"]),
        ("value = \"dmsim-asic\"", "value = \"dmsim\"", &["CFG003", "no device `dmsim`", "dmsim-asic, dmsim-fpga"]),
        ("channels = { value = 2", "channels = { value = 0", &["mine.toml", "channels"]),
        ("name = \"cxl\"", "name = \"dram\"", &["mine.toml", "different names"]),
    ] {
        assert!(MACHINE.contains(wrong), "{wrong}");
        let message = load(&MACHINE.replacen(wrong, right, 1)).unwrap_err().to_string();
        for part in wanted {
            assert!(message.contains(part), "{right}: `{part}` is not in: {message}");
        }
    }
    assert!(load(MACHINE).is_ok());
}

#[test]
fn a_name_or_path_that_is_not_there_lists_what_is() {
    let message = MachineSpec::load("8468").unwrap_err().to_string();
    assert!(message.contains("CFG003") && message.contains("8468v-asic, 8468v-fpga"), "{message}");
    let message = MachineSpec::load("none.toml").unwrap_err().to_string();
    assert!(message.contains("CFG001") && message.contains("none.toml"), "{message}");
}
