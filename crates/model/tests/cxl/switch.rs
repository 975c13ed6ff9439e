//! A switch between root port and device: its time and its second link are on top, its wires bound, its ports are shared.

use cxlab_kernel::{EventQueue, Stream, Time};
use cxlab_model::addr::Dpa;
use cxlab_model::cxl::Lanes;
use cxlab_model::fabric::{Due, ExpanderSpec, Fabric, SwitchSpec, WayId};
use cxlab_model::fact::Sourced;
use cxlab_model::mem::{Access, AccessKind, Driver, Extent, Stage, Tag};

use crate::harness::{Bench, Media, Mix, Store, device};
use crate::link_bound::link_bound;

const READS: Mix = Mix { reads: 1, writes: 0 };

fn ns(text: &str) -> Time {
    text.parse().unwrap()
}

/// A switch with a link below it that is as the expander's own, but for its lanes.
fn switch(spec: &ExpanderSpec, lanes: Lanes) -> SwitchSpec {
    let credits = || Sourced::new(1024, "so many that they never bound");
    let mut link = spec.link.clone();
    link.lanes.value = lanes;
    SwitchSpec {
        port_to_port: Sourced::new(ns("35 ns"), "chosen by this test"),
        req_credits: credits(),
        rwd_credits: credits(),
        drs_credits: credits(),
        ndr_credits: credits(),
        link,
    }
}

/// CXL-DMSim table III adds up to 208 ns. A switch adds 35 ns each way and the flits of the second link. A read is one flit
/// out and two back, a write two out and one back. Both are 3 x 544 bits x 130/128 / 512 GT/s = 3.237 ns. Its flight is 0.
#[test]
fn a_switch_adds_its_ports_and_the_flits_of_its_second_link() {
    let spec = device("dmsim-asic");
    for kind in [AccessKind::Read, AccessKind::Write] {
        let switches = [switch(&spec, Lanes::X16)];
        let life = Bench::behind(&spec, &switches, Media::fixed(ns("50 ns"))).alone(kind);
        assert_eq!(life.ended - life.started, ns("281.237 ns"), "{kind:?}");
        let spent = |wanted| life.stages().iter().filter(|(stage, _)| *stage == wanted).map(|(_, time)| *time).sum();
        let (out, back): (Time, Time) = (spent(Stage::SwitchOut), spent(Stage::SwitchBack));
        assert_eq!((out, back), (ns("35 ns"), ns("35 ns")), "{kind:?}");
        let stated: Time = spec.unloaded(&switches, kind).iter().map(|(_, time)| *time).sum();
        assert_eq!(stated + ns("50 ns"), life.ended - life.started, "{kind:?}");
    }
}

/// Two switches, the second behind the first: twice that.
#[test]
fn a_hop_repeats() {
    let spec = device("dmsim-asic");
    let switches = [switch(&spec, Lanes::X16), switch(&spec, Lanes::X16)];
    let life = Bench::behind(&spec, &switches, Media::fixed(ns("50 ns"))).alone(AccessKind::Read);
    assert_eq!(life.ended - life.started, ns("354.474 ns"));
    let stages: Vec<Stage> = life.stages().iter().map(|(stage, _)| *stage).collect();
    assert!(stages.is_sorted(), "stages are declared in the order of the way: {stages:?}");
    assert_eq!(stages.len(), 8 + 2 * 4);
}

/// 24.09 GB/s of reads on x8, half of it on x4 (tests/cxl/link_bound.rs): the narrower of two links bounds, wherever it is.
#[test]
fn the_narrower_link_bounds() {
    for (above, below, expected) in
        [(Lanes::X8, Lanes::X8, 24.09), (Lanes::X8, Lanes::X4, 24.09 / 2.0), (Lanes::X4, Lanes::X8, 24.09 / 2.0)]
    {
        let spec = link_bound(above, (1, 2, 2));
        let switches = [switch(&spec, below)];
        let mut bench = Bench::behind(&spec, &switches, Media::fixed(ns("50 ns")));
        let simulated = bench.closed_loop(1024, READS, 20_000).gb_s();
        assert!((simulated / expected - 1.0).abs() < 0.005, "{above:?} {below:?}: {simulated} for {expected}");
    }
}

/// A switch whose receive buffer holds one Req passes one at a time: a credit comes back when the message has left.
#[test]
fn the_receive_buffer_of_a_switch_bounds() {
    let spec = link_bound(Lanes::X8, (1, 2, 2));
    let mut one = switch(&spec, Lanes::X8);
    one.req_credits.value = 1;
    let mut bench = Bench::behind(&spec, &[one], Media::fixed(ns("50 ns")));
    let simulated = bench.closed_loop(64, READS, 2_000).gb_s();
    // A flit of 544 bits on x8 at 32 GT/s takes 2.125 ns, and nothing flies. The entry is held over 35 ns of ports: from the end
    // of the first link's flit to the end of the next link's. Its credit is a flit back, then the next flit starts.
    let expected = 64.0 / (35.0 + 3.0 * 2.125);
    assert!((simulated / expected - 1.0).abs() < 0.02, "{simulated} for {expected}");
}

/// Drives a fabric of several ways with a closed loop on each.
#[derive(Default)]
struct Loops {
    queue: EventQueue<Option<Due>>,
    ends: EventQueue<Tag>,
}

impl Driver<Due> for Loops {
    fn wake(&mut self, at: Time, wake: Due) {
        self.queue.schedule(at, Some(wake));
    }

    fn done(&mut self, at: Time, tag: Tag) {
        self.ends.schedule(at, tag);
        self.queue.schedule(at, None);
    }
}

/// GB/s of reads on each way, each with so many in flight.
fn reads_together(fabric: &mut Fabric<Store>, ways: &[WayId], window: u32, until: Time) -> Vec<f64> {
    let mut loops = Loops::default();
    let mut counts = vec![0u64; ways.len()];
    let access = |tag: u32| Access { dpa: Dpa::new(u64::from(tag) * 64), kind: AccessKind::Read, tag: Tag(tag) };
    for tag in 0..window * ways.len() as u32 {
        fabric.enter(Time::ZERO, ways[(tag / window) as usize], access(tag), Extent::Line, &mut loops);
    }
    while let Some((now, due)) = loops.queue.pop() {
        if now > until {
            break;
        }
        match due {
            Some(due) => fabric.wake(now, due, &mut loops),
            None => {
                let (_, Tag(tag)) = loops.ends.pop().expect("an end for each");
                let way = (tag / window) as usize;
                counts[way] += 1;
                fabric.enter(now, ways[way], access(tag), Extent::Line, &mut loops);
            }
        }
    }
    counts.iter().map(|count| 64.0 * *count as f64 / until.as_ns()).collect()
}

/// Two root ports above one switch: their links meet in the switch's one port below, which 24.09 GB/s of reads bound.
#[test]
fn two_links_meet_in_one_port() {
    let spec = link_bound(Lanes::X8, (1, 2, 2));
    let below = switch(&spec, Lanes::X8);
    let build = || {
        let mut fabric = Fabric::default();
        let store = Store::new(Media::fixed(ns("50 ns")));
        let one = fabric.add_expander(&spec, std::slice::from_ref(&below), store, Stream::new(1, "errors")).unwrap();
        let errors = Stream::new(2, "errors");
        let two = fabric.add_root_port_before(one, &spec.root_port, None, &below, &spec.link, errors).unwrap();
        (fabric, [one, two])
    };
    let until = Time::from_ns(100_000);
    for alone in 0..2 {
        let (mut fabric, ways) = build();
        let found = reads_together(&mut fabric, &ways[alone..=alone], 256, until)[0];
        assert!((found / 24.09 - 1.0).abs() < 0.02, "way {alone} alone: {found}");
    }
    let (mut fabric, ways) = build();
    let found = reads_together(&mut fabric, &ways, 256, until);
    assert!(((found[0] + found[1]) / 24.09 - 1.0).abs() < 0.02, "together: {found:?}");
    assert!((found[0] / found[1] - 1.0).abs() < 0.05, "equal parts: {found:?}");
}
