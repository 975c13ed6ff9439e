//! Machine files: what is shipped is sound, what is wrong is refused with file, line and what is valid.

use cxlab_model::config::{Path, machine_names};
use cxlab_model::home::Socket;
use cxlab_model::media::MemorySpec;
use cxlab_model::request::NodeId;
use cxlab_model::{MachineSpec, ModelError};

/// A user's machine: another machine, and what differs.
const MINE: &str = r#"description = "mine"
based_on = "8468v-asic"

[host]
core.fill_buffers = 20

[nodes.dram.memory.detailed]
ranks = 1
interleave = "512 B"
controller.age_limit = "3 us"
"#;

fn load(text: &str) -> Result<MachineSpec, ModelError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    std::fs::write(&path, text).unwrap();
    MachineSpec::load(path.to_str().unwrap())
}

fn set(machine: &str, settings: &[&str]) -> Result<MachineSpec, ModelError> {
    let settings: Vec<_> = settings.iter().map(|setting| (*setting).to_owned()).collect();
    MachineSpec::load_with(machine, &settings)
}

#[test]
fn every_shipped_machine_loads_and_is_held_to_physics() {
    assert!(machine_names().iter().any(|name| name == "8468v-asic"));
    for name in machine_names() {
        let spec = MachineSpec::load(&name).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(spec.name, name, "a machine is found by its name");
        let dram = spec.idle_latency(NodeId(0));
        for (number, node) in spec.nodes.iter().enumerate() {
            let away = node.sub_numa_cluster.as_deref() != spec.nodes[0].sub_numa_cluster.as_deref();
            let far = matches!(node.path, Path::Cxl { .. }) || node.socket == Socket::Other || away;
            let latency = spec.idle_latency(NodeId(number as u16));
            assert_eq!(far, latency > dram, "{name}: {} is never nearer than the core's own", node.name);
        }
        assert!(*spec.host.l1.latency < *spec.host.l2.latency);
        assert!(spec.host.core.frequency.cycles(spec.host.l2.latency.0) < *spec.host.llc.latency);
        assert!(*spec.host.llc.latency < dram);
    }
}

#[test]
fn a_mistake_is_named_with_its_place_and_what_is_valid() {
    for (wrong, right, wanted) in [
        ("ranks = 1", "ramks = 1", &["mine.toml:8:1", "unknown field `ramks`", "interleave"][..]),
        ("\"3 us\"", "\"2 MHz\"", &["mine.toml:10:", "`MHz`", "ps, ns, us, ms, s", "valid: 1 ns to 1 s"]),
        ("\"512 B\"", "\"512\"", &["mine.toml:9:1", "nodes.dram.memory.detailed.interleave", "no unit", "KiB"]),
        ("fill_buffers = 20", "fill_buffers = 0", &["mine.toml:5:", "host.core.fill_buffers = 0", "1 to 4096"]),
        ("= 20", "= { value = 20, source = \" \" }", &["mine.toml:5:", "source is empty"]),
        ("= 20", "= { value = 20, soruce = \"x\" }", &["mine.toml:5:", "`soruce`", "`source`"]),
        ("= \"8468v-asic\"", "= \"8468\"", &["CFG003", "no machine `8468`", "8468v-asic, 8468v-fpga"]),
        ("[host]", "[host]\nmicroarchitecture = \"cove\"", &["CFG003", "no core `cove`", "golden-cove"]),
        ("[nodes.dram.memory.detailed]", "[nodes.cxl]\ndevice = \"x\"\n[nodes.dram.memory.detailed]", &["dmsim-asic"]),
        ("ranks = 1", "ranks = 3", &["mine.toml", "nodes.dram", "ranks", "1, 2 or 4"]),
        ("[host]", "without = [\"hots\"]\n[host]", &["mine.toml:4:1", "no `hots`", "host"]),
        ("[host]", "node_names = [\"dram\", \"far\"]\n[host]", &["mine.toml:4:", "\"far\" is no node", "dram, cxl"]),
        ("description", "based_on = 5\ndescription", &["mine.toml", "duplicate key"]),
    ] {
        assert!(MINE.contains(wrong), "{wrong}");
        let message = load(&MINE.replacen(wrong, right, 1)).unwrap_err().to_string();
        for part in wanted {
            assert!(message.contains(part), "{right}: `{part}` is not in: {message}");
        }
    }
}

#[test]
fn a_users_file_says_what_differs_and_need_not_say_where_it_is_from() {
    let (mine, base) = (load(MINE).unwrap(), MachineSpec::load("8468v-asic").unwrap());
    assert_eq!((mine.name.as_str(), *mine.host.core.fill_buffers), ("mine", 20));
    assert_eq!(mine.host.core.fill_buffers.source, "given by the user");
    assert_eq!(mine.host.l1, base.host.l1);
    assert_eq!(mine.nodes[1], base.nodes[1]);
    let sourced = load(&MINE.replace("= 20", "= { value = 20, source = \"my lab\" }")).unwrap();
    assert_eq!(sourced.host.core.fill_buffers.source, "my lab");
}

const COARSE: &str = r#"coarse = { latency = "50 ns", banks = 16, bank_busy = "48 ns", bandwidth = "10 GB/s", channels = 1, interleave = "256 B" }
"#;

#[test]
fn memory_of_another_kind_goes_before_that_of_the_base() {
    let base = "description = \"other memory\"\nbased_on = \"8468v-asic\"\n";
    let dram = format!("{base}[nodes.dram.memory]\n{COARSE}");
    for (text, node) in [
        (dram.clone(), "dram"),
        (format!("{dram}[nodes.cxl.device.memory]\n{COARSE}"), "cxl"),
        // In a part that a machine changes, and in a node that is based on another.
        (format!("{dram}[nodes.cxl.device]\nbased_on = \"a1000\"\n[nodes.cxl.device.memory]\n{COARSE}"), "cxl"),
        (format!("{base}[nodes.far]\nbased_on = \"cxl\"\n[nodes.far.device.memory]\n{COARSE}"), "far"),
    ] {
        let spec = load(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        let place = usize::from(spec.node(node).unwrap().0);
        let (Path::Dram { memory } | Path::Cxl { memory, .. }) = &spec.nodes[place].path;
        assert!(matches!(memory, MemorySpec::Coarse(_)), "{text}");
        // What was fitted of the detailed model goes with it.
        let gone = format!("nodes.{node}.");
        let kept = |key: &str| key.starts_with(&gone) && key.contains("detailed");
        assert!(!spec.fitted.iter().any(|fitted| kept(&fitted.key)), "{text}");
    }
}

#[test]
fn switches_of_a_device_have_names_and_can_be_set() {
    let switch = r#"description = "a card behind a switch"
based_on = "8468v-asic"
[nodes.cxl.switches.leaf]
port_to_port = "60 ns"
req_credits = 64
rwd_credits = 64
drs_credits = 64
ndr_credits = 64
[nodes.cxl.switches.leaf.link]
lanes = "x16"
rate = "32 GT/s"
encoding = "128b/130b"
flight = "5 ns"
wire_time = "on top"
bit_error_rate = 1e-12
retry_latency = "100 ns"
packing = { drs_per_header = 1, ndr_with_drs = 1, ndr_per_header = 2 }
"#;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("switch.toml");
    std::fs::write(&file, switch).unwrap();
    let set = |setting: &[String]| MachineSpec::load_with(file.to_str().unwrap(), setting);
    let port_to_port = |spec: &MachineSpec| match &spec.nodes[1].path {
        Path::Cxl { switches, .. } => *switches[0].port_to_port,
        Path::Dram { .. } => panic!("node 1 is CXL"),
    };
    assert_eq!(port_to_port(&set(&[]).unwrap()), "60 ns".parse().unwrap());
    let setting = |value: &str| [format!("nodes.cxl.switches.leaf.port_to_port={value}")];
    assert_eq!(port_to_port(&set(&setting("70 ns")).unwrap()), "70 ns".parse().unwrap());
    let wrong = set(&setting("1 s")).unwrap_err().to_string();
    assert!(wrong.contains("port_to_port") && wrong.contains("100 us"), "{wrong}");
}

#[test]
fn a_host_is_a_file_of_15_lines() {
    let host = r#"description = "a processor of 8 cores"
microarchitecture = "golden-cove"
cores = 8
core.frequency = "3 GHz"
core.tsc = "2 GHz"
prefetch.enabled = true
llc = { slices = 8, slice_capacity = "1.875 MiB", ways = 15, replacement = "lru", latency = "30 ns" }
mesh = { to_home = "18 ns", columns = 4, rows = 2, hop_across = "1 ns", hop_along = "0.5 ns", home_to_memory = "5 ns" }
home = { requests = 32 }
"#;
    assert!(host.lines().count() <= 15);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("small.toml"), host).unwrap();
    let machine = folder.path().join("mine.toml");
    std::fs::write(&machine, "based_on = \"8468v-asic\"\nhost = \"small.toml\"\n").unwrap();
    let spec = MachineSpec::load(machine.to_str().unwrap()).unwrap();
    assert_eq!((spec.host.name.as_str(), *spec.host.cores), ("small", 8));
    assert_eq!(*spec.host.core.reorder_buffer, 512, "Golden Cove's");
}

#[test]
fn files_that_are_based_on_each_other_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (name, base) in [("a", "b"), ("b", "a")] {
        std::fs::write(folder.path().join(format!("{name}.toml")), format!("based_on = \"{base}.toml\"\n")).unwrap();
    }
    let message = MachineSpec::load(folder.path().join("a.toml").to_str().unwrap()).unwrap_err().to_string();
    assert!(message.contains("based_on leads back") && message.contains("b.toml"), "{message}");
}

#[test]
fn a_setting_of_the_command_line_is_checked_like_a_file() {
    let spec = set("8468v-asic", &["nodes.cxl.device.root_port.response_fifo=128", "host.core.tsc = 2 GHz"]).unwrap();
    let Path::Cxl { expander, .. } = &spec.nodes[1].path else { panic!("a CXL node") };
    assert_eq!(*expander.root_port.response_fifo, 128);
    assert_eq!(expander.root_port.response_fifo.source, "set on the command line");
    assert_eq!(spec.host.core.tsc.source, "set on the command line");
    assert_eq!(*expander.root_port.request_fifo, 52, "the rest is as it was");
    let part = set("8468v-asic", &["nodes.cxl.device=dmsim-fpga"]).unwrap();
    assert_eq!(part.nodes[1].path, MachineSpec::load("8468v-fpga").unwrap().nodes[1].path);
    let dram = set("8468v-asic", &["nodes.dram.memory.detailed.dram=DDR5-5600"]).unwrap();
    assert!(dram.peak_read_gb_s(NodeId(0)) > 40.0, "5600 MT/s x 8 B");
    for (setting, wanted) in [
        ("nodes.cxl.device.root_port.response_fifos=1", &["CFG005: --set", "response_fifos", "response_fifo"][..]),
        ("nodes.far.device.root_port.response_fifo=1", &["no node `far`", "dram, cxl"]),
        ("host.core.frequency=3", &["host.core.frequency = 3", "valid: 100 MHz to 20 GHz"]),
        ("host.core.frequency=100000 GHz", &["out of bounds", "100 MHz to 20 GHz"]),
        ("host.l1.latency=0 cycles", &["out of bounds", "1 cycles to 100 cycles"]),
        ("host.core=5", &["host.core is a table", "fill_buffers"]),
        ("host.core.fill_buffers.depth=5", &["is a value", "depth"]),
        ("host.core.fill_buffers", &["KEY=VALUE"]),
        ("=5", &["KEY=VALUE"]),
        ("nodes.cxl.device=cz121", &["no device `cz121`", "cz120"]),
        ("hots.core.fill_buffers=5", &["hots", "host"]),
    ] {
        let message = set("8468v-asic", &[setting]).unwrap_err().to_string();
        for part in wanted {
            assert!(message.contains(part), "{setting}: `{part}` is not in: {message}");
        }
    }
}

#[test]
fn a_key_that_is_given_anew_is_no_longer_fitted() {
    let fitted = |spec: MachineSpec| spec.fitted.into_iter().map(|fitted| fitted.key).collect::<Vec<_>>();
    let key = "nodes.cxl.device.root_port.bridge_latency".to_owned();
    assert!(fitted(set("spr-a1000", &[]).unwrap()).contains(&key));
    assert!(!fitted(set("spr-a1000", &[&format!("{key}=40 ns")]).unwrap()).contains(&key));
    for copy in ["nodes.cxl2", "nodes.cxl-remote"] {
        let copied = format!("{copy}.device.root_port.bridge_latency");
        assert!(fitted(MachineSpec::load("spr-a1000").unwrap()).contains(&copied), "{copied}");
    }
}

#[test]
fn a_name_or_path_that_is_not_there_lists_what_is() {
    let message = MachineSpec::load("8468").unwrap_err().to_string();
    assert!(message.contains("CFG003") && message.contains("8468v-asic, 8468v-fpga"), "{message}");
    let message = MachineSpec::load("none.toml").unwrap_err().to_string();
    assert!(message.contains("CFG001") && message.contains("none.toml"), "{message}");
}
