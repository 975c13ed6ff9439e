//! Descriptions of paths that cannot exist are refused, with the key and what is valid.

use std::path::Path;

use cxlab_kernel::Stream;
use cxlab_model::config::Sourced;
use cxlab_model::cxl::{Expander, ExpanderSpec, Lanes, LinkRate, RatedSpec, ThrottleSpec};

use crate::harness::{device, device_files};

/// Why the device file does not read with `from` replaced by `to`.
fn unreadable(from: &str, to: &str) -> String {
    let (_, text) = device_files().into_iter().find(|(name, _)| name == "dmsim-asic").unwrap();
    assert!(text.contains(from), "{from}");
    toml::from_str::<ExpanderSpec>(&text.replacen(from, to, 1)).unwrap_err().to_string()
}

/// Why a path is refused after `change`.
fn refused(change: impl Fn(&mut ExpanderSpec)) -> String {
    let mut spec = device("dmsim-asic");
    change(&mut spec);
    Expander::new(&spec, Stream::new(0, "refused")).unwrap_err().to_string()
}

#[test]
fn what_does_not_read_is_named_with_what_is_valid() {
    let cases = [
        ("lanes = { value = \"x16\"", "lanes = { value = \"x3\"", "unknown variant `x3`, expected one of `x1`"),
        ("\"32 GT/s\"", "\"64 GT/s\"", "needs 256 B flits"),
        ("\"32 GT/s\"", "\"5 GT/s\"", "valid: `8 GT/s`, `16 GT/s`, `32 GT/s`"),
        ("\"128b/130b\"", "\"8b/10b\"", "`sync header bypass`"),
        ("\"50 ns\"", "\"50\"", "has no unit"),
        ("request_fifo", "request_fifos", "unknown field `request_fifos`, expected one of"),
        ("value = 52, source", "value = -1, source", "-1"),
        ("source = \"CXL-DMSim, table III: CXL memory size\"", "source = \"\"", "source is empty"),
    ];
    for (from, to, part) in cases {
        let message = unreadable(from, to);
        assert!(message.contains(part) && message.contains("line"), "{message}");
    }
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let message = ExpanderSpec::read(Path::new("no-such-device.toml")).unwrap_err().to_string();
    assert!(message.starts_with("CXL020") && message.contains("no-such-device.toml"), "{message}");
}

#[test]
fn a_file_that_describes_an_impossible_path_is_named() {
    let (_, text) = device_files().into_iter().find(|(name, _)| name == "dmsim-asic").unwrap();
    let file = std::env::temp_dir().join(format!("cxlab-impossible-{}.toml", std::process::id()));
    std::fs::write(&file, text.replace("value = 52", "value = 0")).unwrap();
    let message = ExpanderSpec::read(&file).unwrap_err().to_string();
    std::fs::remove_file(&file).unwrap();
    assert!(message.starts_with("CXL001: `root_port.request_fifo`"), "{message}");
    assert!(message.contains(file.to_str().unwrap()), "{message}");
}

#[test]
fn zero_queues_and_credits_are_refused() {
    type Change = fn(&mut ExpanderSpec);
    let zeros: [(&str, Change); 8] = [
        ("root_port.request_fifo", |spec| spec.root_port.request_fifo.value = 0),
        ("root_port.response_fifo", |spec| spec.root_port.response_fifo.value = 0),
        ("root_port.drs_credits", |spec| spec.root_port.drs_credits.value = 0),
        ("root_port.ndr_credits", |spec| spec.root_port.ndr_credits.value = 0),
        ("device.req_credits", |spec| spec.device.req_credits.value = 0),
        ("device.rwd_credits", |spec| spec.device.rwd_credits.value = 0),
        ("device.read_queue", |spec| spec.device.read_queue.value = 0),
        ("device.write_queue", |spec| spec.device.write_queue.value = 0),
    ];
    for (key, zero) in zeros {
        let message = refused(zero);
        assert!(message.starts_with("CXL001") && message.contains(key) && message.contains("at least 1"), "{message}");
    }
}

#[test]
fn a_device_faster_than_its_lanes_is_refused() {
    let rated =
        |gb_s: &str, reads, writes| RatedSpec { bandwidth: Sourced::new(gb_s.parse().unwrap(), "test"), reads, writes };
    // x8 with 128b/130b, one DRS a header slot: 36.141 x 128/130 = 35.585 GB/s at 2:1.
    let x8 = |spec: &mut ExpanderSpec| spec.link.lanes.value = Lanes::X8;
    let message = refused(|spec| {
        x8(spec);
        spec.rated = Some(rated("36 GB/s", 2, 1));
    });
    assert!(message.starts_with("CXL007") && message.contains("35.59 GB/s"), "{message}");
    let message = refused(|spec| spec.rated = Some(rated("1 GB/s", 0, 0)));
    assert!(message.starts_with("CXL008"), "{message}");
    let mut spec = device("dmsim-asic");
    x8(&mut spec);
    spec.rated = Some(rated("35.5 GB/s", 2, 1));
    assert_eq!(spec.check(), Ok(()));
}

#[test]
fn other_impossible_paths_are_refused() {
    let throttle = |floor| ThrottleSpec {
        interval: Sourced::new("1 us".parse().unwrap(), "test"),
        floor: Sourced::new(floor, "test"),
    };
    let cases = [
        (refused(|spec| spec.link.packing.drs_per_header.value = 4), "CXL002", "valid: 1 to 3"),
        // x4 at 16 GT/s: two flits of 8.6 ns are more than the 15 ns of the device they are to be within.
        (
            refused(|spec| {
                spec.link.lanes.value = Lanes::X4;
                spec.link.rate.value = LinkRate::Gt16;
            }),
            "CXL003",
            "device.protocol_latency",
        ),
        (refused(|spec| spec.link.bit_error_rate.value = 0.5), "CXL004", "link.bit_error_rate"),
        (refused(|spec| spec.link.bit_error_rate.value = f64::NAN), "CXL004", "NaN"),
        (refused(|spec| spec.device.dev_load.severe.value = 1.5), "CXL004", "device.dev_load.severe"),
        (refused(|spec| spec.device.dev_load.optimal.value = 0.6), "CXL005", "0.6 < moderate 0.5"),
        (refused(|spec| spec.throttle = Some(throttle(0))), "CXL001", "throttle.floor"),
        (refused(|spec| spec.throttle = Some(throttle(53))), "CXL006", "52 entries"),
    ];
    for (message, code, part) in cases {
        assert!(message.starts_with(code) && message.contains(part), "{message}");
    }
}

#[test]
fn every_device_file_of_the_project_can_exist() {
    for (name, _) in device_files() {
        let spec = device(&name);
        assert_eq!(spec.name, name, "a file bears its device's name");
        Expander::new(&spec, Stream::new(0, "exists")).unwrap();
        // What a run writes as its resolved configuration reads back.
        assert_eq!(toml::from_str::<ExpanderSpec>(&toml::to_string(&spec).unwrap()), Ok(spec));
    }
}
