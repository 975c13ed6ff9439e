//! Descriptions of paths that cannot exist are refused, with the key and what is valid.

use cxlab_kernel::Stream;
use cxlab_model::config;
use cxlab_model::cxl::{Lanes, LinkRate, ThrottleSpec};
use cxlab_model::document::{Kind, library, shipped_file};
use cxlab_model::fabric::{ExpanderSpec, Fabric, RatedSpec};
use cxlab_model::fact::Sourced;

use crate::harness::{Media, Store, device};

/// Why the device file does not read with `from` replaced by `to`.
fn unreadable(from: &str, to: &str) -> String {
    let text = shipped_file("devices/dmsim-asic.toml").unwrap();
    assert!(text.contains(from), "{from}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    std::fs::write(&file, text.replacen(from, to, 1)).unwrap();
    config::device(file.to_str().unwrap()).unwrap_err().to_string()
}

/// Why a path is refused after `change`.
fn refused(change: impl Fn(&mut ExpanderSpec)) -> String {
    let mut spec = device("dmsim-asic");
    change(&mut spec);
    let media = Store::new(Media::fixed(cxlab_kernel::Time::ZERO));
    Fabric::default().add_expander(&spec, &[], media, Stream::new(0, "refused")).unwrap_err().to_string()
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
        ("value = 52, source", "value = 0, source", "root_port.request_fifo = 0"),
        ("value = 52, source", "value = 4294967295, source", "valid: 1 to 4096"),
        ("source = \"CXL-DMSim, table III: CXL memory size\"", "source = \"\"", "source is empty"),
    ];
    for (from, to, part) in cases {
        let message = unreadable(from, to);
        assert!(message.contains(part) && message.contains("mine.toml:"), "{message}");
    }
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let message = config::device("no-such-device.toml").unwrap_err().to_string();
    assert!(message.starts_with("CFG001") && message.contains("no-such-device.toml"), "{message}");
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
    for name in library::names(Kind::Device) {
        let spec = device(&name);
        assert_eq!(spec.name, name, "a file bears its device's name");
        let media = Store::new(Media::fixed(cxlab_kernel::Time::ZERO));
        Fabric::default().add_expander(&spec, &[], media, Stream::new(0, "exists")).unwrap();
        // What a run writes as its resolved configuration reads back.
        assert_eq!(toml::from_str::<ExpanderSpec>(&toml::to_string(&spec).unwrap()), Ok(spec));
    }
}
