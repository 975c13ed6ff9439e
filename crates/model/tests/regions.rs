//! Regions that Linux committed: each line has its device, and devices add up until the host binds.

mod support;

use cxlab_kernel::Time;
use cxlab_model::Machine;
use cxlab_model::config::Path;
use cxlab_model::cxl::{Lanes, LinkRate};
use cxlab_model::home::{AddressRange, Region};
use cxlab_model::machine::Retraining;

use support::{Script, quiet, shuffled};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
/// A window begins where QEMU puts it: above DRAM, at a multiple of 256 MiB.
const WINDOW: u64 = 17 * 256 * MIB;

fn machine(ways: u8, granularity: u64) -> Machine {
    let spec = quiet("8468v-asic");
    let dram = AddressRange { start: 0, length: GIB, node: 0 };
    let region = Region { node: 1, base: WINDOW, size: GIB, granularity, targets: (0..ways).collect() };
    let mut machine = Machine::with_regions(spec, 1, &[dram], &[region]).unwrap();
    machine.keep_checks();
    machine
}

fn reads(machine: &Machine) -> Vec<u64> {
    let node = machine.spec().node("cxl").unwrap();
    machine.ports(node).map(|port| port.expander.unwrap().device.counts.reads.get()).collect()
}

fn run(machine: &mut Machine, lines: impl Iterator<Item = u64>) {
    let mut script = Script::default();
    for address in lines {
        script.independent_load(address);
    }
    script.settle();
    machine.run(&mut [script], |_| Ok(())).unwrap();
}

/// CXL 2.0, 8.2.5.12: granule g of the region is on target g modulo ways.
#[test]
fn granules_go_round_the_devices() {
    for (ways, granularity) in [(1, 256), (2, 256), (4, 1024), (4, 4096)] {
        let mut machine = machine(ways, granularity);
        // The first line of granules 0, 1, 2, 3, 4, 5.
        run(&mut machine, (0..6).map(|granule| WINDOW + granule * granularity));
        let mut expected = vec![0; usize::from(ways)];
        for granule in 0..6 {
            expected[granule % usize::from(ways)] += 1;
        }
        assert_eq!(reads(&machine), expected, "{ways} ways of {granularity} B");
    }
}

/// Links of x1 at 8 GT/s bind one device, and two; then one core's fill buffers do (16 lines in 284 ns: 3.6 GB/s).
#[test]
fn devices_add_up_until_the_core_binds() {
    let gb_s = |ways| {
        let mut machine = machine(ways, 256);
        machine.retrain(Retraining { node: 1, at: Time::ZERO, lanes: Lanes::X1, rate: LinkRate::Gt8 }).unwrap();
        let count = 20_000;
        run(&mut machine, shuffled(WINDOW, GIB, count));
        // Without the time in which the link is trained.
        (count * 64) as f64 / (machine.now() - Time::from_ns(50_000)).as_ns()
    };
    let one = gb_s(1);
    assert!((gb_s(2) / one - 2.0).abs() < 0.06, "two devices: {} of {one}", gb_s(2));
    assert!(gb_s(4) / one < 4.0 && gb_s(4) < 3.7, "four devices: {} of {one}", gb_s(4));
}

#[test]
fn a_region_that_is_larger_than_its_device_is_refused() {
    let spec = quiet("8468v-asic");
    let Path::Cxl { expander, .. } = &spec.nodes[1].path else { panic!("node 1 is CXL") };
    let size = expander.capacity().get() * 2;
    let region = Region { node: 1, base: 0, size, granularity: 256, targets: vec![0] };
    let Err(error) = Machine::with_regions(spec, 1, &[], &[region]) else { panic!("it was taken") };
    assert!(error.to_string().contains("CXL015"), "{error}");
}
