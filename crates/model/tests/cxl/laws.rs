//! Laws that hold for any path under any traffic, and the throughput that each buffer alone allows.

use cxlab_kernel::Time;
use cxlab_model::cxl::{Encoding, Lanes, LinkRate, Occupied, WireTime};
use cxlab_model::fabric::{ExpanderSpec, Occupancy};
use cxlab_model::mem::{AccessKind, Stage};
use proptest::prelude::*;

use crate::harness::{Bench, Life, Media, Mix, device};
use crate::link_bound::link_bound;

/// The stages of a way without switches.
const STAGES: [Stage; 8] = [
    Stage::RootPortQueue,
    Stage::HostOut,
    Stage::LinkM2s,
    Stage::DeviceIn,
    Stage::DeviceQueue,
    Stage::Media,
    Stage::LinkS2m,
    Stage::HostIn,
];

const READS: Mix = Mix { reads: 1, writes: 0 };

fn ns(text: &str) -> Time {
    text.parse().unwrap()
}

/// Any path: small buffers, any link, errors that are frequent.
fn any_path() -> impl Strategy<Value = ExpanderSpec> {
    let depths = prop::array::uniform8(1u32..7);
    let link = (0usize..3, any::<bool>(), any::<bool>(), prop_oneof![Just(0.0), Just(1e-5), Just(9e-5)]);
    let packing = (1u8..=3, 0u8..=2, 1u8..=3);
    (depths, link, packing, 0u64..9).prop_map(|(depths, (lanes, fast, bypass, errors), packing, flight)| {
        let mut spec = link_bound([Lanes::X4, Lanes::X8, Lanes::X16][lanes], packing);
        set_depths(&mut spec, depths);
        spec.link.rate.value = if fast { LinkRate::Gt32 } else { LinkRate::Gt16 };
        spec.link.encoding.value = if bypass { Encoding::SyncHeaderBypass } else { Encoding::SyncHeader };
        spec.link.bit_error_rate.value = errors;
        spec.link.flight.value = Time::from_ns(flight);
        spec.device.protocol_latency.value = ns("30 ns");
        spec
    })
}

fn set_depths(spec: &mut ExpanderSpec, depths: [u32; 8]) {
    let (port, device) = (&mut spec.root_port, &mut spec.device);
    let [request_fifo, response_fifo, drs, ndr, req, rwd, read_queue, write_queue] = depths;
    (port.request_fifo.value, port.response_fifo.value) = (request_fifo, response_fifo);
    (port.drs_credits.value, port.ndr_credits.value) = (drs, ndr);
    (device.req_credits.value, device.rwd_credits.value) = (req, rwd);
    (device.read_queue.value, device.write_queue.value) = (read_queue, write_queue);
}

fn any_traffic() -> impl Strategy<Value = Vec<(Time, AccessKind)>> {
    prop::collection::vec((0u64..20_000, any::<bool>()), 1..150).prop_map(|gaps| {
        let mut now = 0;
        let access = |(gap, read): (u64, bool)| {
            now += if gap > 10_000 { 0 } else { gap };
            (Time::from_ps(now), if read { AccessKind::Read } else { AccessKind::Write })
        };
        gaps.into_iter().map(access).collect()
    })
}

proptest! {
    #[test]
    fn every_access_completes_and_its_stages_add_up(spec in any_path(), traffic in any_traffic()) {
        let mut bench = Bench::new(&spec, Media { latency: ns("50 ns"), gap: ns("1 ns") });
        let lives = bench.together(&traffic);
        for (life, (started, kind)) in lives.iter().zip(&traffic) {
            prop_assert_eq!(life.started, *started);
            let stages = life.stages();
            prop_assert_eq!(stages.iter().map(|(stage, _)| *stage).collect::<Vec<_>>(), STAGES);
            prop_assert_eq!(stages.iter().map(|(_, time)| *time).sum::<Time>(), life.ended - life.started);
            let unloaded: Time = spec.unloaded(&[], *kind).iter().map(|(_, time)| *time).sum();
            prop_assert!(life.ended - life.started >= unloaded + ns("50 ns"));
        }
        balances(&bench, &traffic);
        // At rest nothing is held: no credit was lost, none made.
        let end = lives.iter().map(|life| life.ended).max().unwrap() + ns("1 us");
        prop_assert_eq!(bench.path.occupancy(end), Occupancy::default());
    }

    #[test]
    fn an_access_alone_takes_the_stages_of_its_description(spec in any_path(), write in any::<bool>()) {
        let mut spec = spec;
        spec.link.bit_error_rate.value = 0.0;
        let kind = if write { AccessKind::Write } else { AccessKind::Read };
        let (bridge, host, device) = (ns("50 ns"), ns("14 ns"), ns("30 ns"));
        for (wire_time, wires) in [(WireTime::Within, 0), (WireTime::OnTop, 1)] {
            spec.link.wire_time.value = wire_time;
            let life = Bench::new(&spec, Media::fixed(ns("50 ns"))).alone(kind);
            let unloaded = spec.unloaded(&[], kind).into_iter();
            let expected: Vec<_> = unloaded.map(|(stage, time)| match stage {
                Stage::Media => (stage, ns("50 ns")),
                _ => (stage, time),
            }).collect();
            prop_assert_eq!(life.stages(), expected);
            // A message with data is two flits, one without is one; both fly.
            let flits = spec.link.flit_clock().flits(1) + spec.link.flit_clock().flits(2);
            let wires = (flits + *spec.link.flight * 2) * wires;
            prop_assert_eq!(life.ended, (bridge + host + device) * 2 + ns("50 ns") + wires);
        }
    }

    #[test]
    fn buffers_hold_at_most_their_depth(spec in any_path(), traffic in any_traffic()) {
        let mut bench = Bench::new(&spec, Media { latency: ns("50 ns"), gap: ns("1 ns") });
        let (port, device) = (&spec.root_port, &spec.device);
        bench.watch(&traffic, |seen: Occupancy| {
            for (Occupied { used, .. }, depth) in [
                // One for reads, one for writes.
                (seen.request_fifo, 2 * *port.request_fifo),
                (seen.response_fifo, *port.response_fifo),
                (seen.drs_credits, *port.drs_credits),
                (seen.ndr_credits, *port.ndr_credits),
                (seen.req_credits, *device.req_credits),
                (seen.rwd_credits, *device.rwd_credits),
                (seen.read_queue, *device.read_queue),
                (seen.write_queue, *device.write_queue),
            ] {
                assert!(used <= depth, "{used} of {depth}");
            }
        });
    }

    #[test]
    fn the_same_inputs_give_the_same_bits(spec in any_path(), traffic in any_traffic()) {
        let run = || Bench::new(&spec, Media::fixed(ns("50 ns"))).together(&traffic);
        let ends = |lives: Vec<Life>| lives.into_iter().map(|life| life.ended).collect::<Vec<_>>();
        prop_assert_eq!(ends(run()), ends(run()));
    }
}

/// Each Req has its DRS, each RwD its NDR; slots and flits agree with the messages.
fn balances(bench: &Bench, traffic: &[(Time, AccessKind)]) {
    let reads = traffic.iter().filter(|(_, kind)| *kind == AccessKind::Read).count() as u64;
    let writes = traffic.len() as u64 - reads;
    let stats = bench.path.stats(ns("1 us"));
    let (m2s, s2m, device) = (&stats.m2s.counts, &stats.s2m.counts, &stats.device.counts);
    assert_eq!((m2s.without_data.get(), m2s.with_data.get()), (reads, writes));
    assert_eq!((s2m.with_data.get(), s2m.without_data.get()), (reads, writes));
    assert_eq!((device.reads.get(), device.writes.get()), (reads, writes));
    assert_eq!(stats.root_port.counts.requests.get(), reads + writes);
    let loads = [&device.light_load, &device.optimal_load, &device.moderate_overload, &device.severe_overload];
    assert_eq!(loads.iter().map(|load| load.get()).sum::<u64>(), reads + writes);
    assert_eq!((m2s.data_slots.get(), s2m.data_slots.get()), (4 * writes, 4 * reads));
    assert_eq!(m2s.header_slots.get(), reads + writes);
    for wire in [m2s, s2m] {
        let slots = wire.header_slots.get() + wire.data_slots.get() + wire.empty_slots.get();
        assert_eq!(slots, 4 * wire.flits.get());
    }
}

/// GB/s of a stream that keeps `spec` full, media of 50 ns.
fn saturated(spec: &ExpanderSpec, mix: Mix) -> f64 {
    Bench::new(spec, Media::fixed(ns("50 ns"))).closed_loop(600, mix, 20_000).gb_s()
}

fn assert_close(simulated: f64, expected: f64, percent: f64) {
    let error = (simulated / expected - 1.0) * 100.0;
    assert!(error.abs() <= percent, "{simulated} for {expected}: {error:+.3} %");
}

#[test]
fn the_fifos_of_cxl_dmsim_bound_its_bandwidth() {
    // Little: 52 lines in 208 ns, 48 in 298 ns; a read's response FIFO entry is reserved for the whole path.
    assert_close(saturated(&device("dmsim-asic"), READS), 52.0 * 64.0 / 208.0, 0.2);
    assert_close(saturated(&device("dmsim-fpga"), READS), 48.0 * 64.0 / 298.0, 0.2);
}

#[test]
fn a_write_takes_no_entry_of_the_response_fifo() {
    // Its NDR brings no data: with room in all else, writes reach the link's bound of five M2S slots a line.
    let mut spec = link_bound(Lanes::X16, (1, 2, 2));
    spec.root_port.response_fifo.value = 1;
    let writes = Mix { reads: 0, writes: 1 };
    assert_close(saturated(&spec, writes), spec.link.bound(0, 1).unwrap() / 1e9, 0.5);
}

#[test]
fn each_buffer_bounds_by_its_loop() {
    // x16, bypass: a flit is 1.0625 ns. Latencies contain the wire; a credit flies back in one flit.
    let roomy = || link_bound(Lanes::X16, (1, 2, 2));
    let line = |entries: f64, loop_ns: f64| entries * 64.0 / loop_ns;

    let mut spec = roomy(); // Req on the wire and through the protocol: 15 ns; credit back
    spec.device.req_credits.value = 2;
    assert_close(saturated(&spec, READS), line(2.0, 15.0 + 1.0625), 0.2);

    let mut spec = roomy(); // DRS of two flits, credit back; with one credit no two DRS share a flit
    spec.root_port.drs_credits.value = 1;
    assert_close(saturated(&spec, READS), line(1.0, 2.125 + 1.0625), 0.2);

    let mut spec = roomy(); // media, protocol, DRS of two flits
    spec.device.read_queue.value = 8;
    assert_close(saturated(&spec, READS), line(8.0, 50.0 + 15.0 + 2.125), 0.2);

    let mut spec = roomy(); // bridge and protocol of the host, Req of one flit
    spec.root_port.request_fifo.value = 8;
    assert_close(saturated(&spec, READS), line(8.0, 64.0 + 1.0625), 0.2);
}

#[test]
fn a_class_without_credits_does_not_hold_up_the_other() {
    use AccessKind::{Read, Write};
    let last = |spec: &ExpanderSpec, kinds: [AccessKind; 4]| {
        let traffic = kinds.map(|kind| (Time::ZERO, kind));
        Bench::new(spec, Media::fixed(ns("50 ns"))).together(&traffic)[3].ended
    };
    let roomy = link_bound(Lanes::X16, (1, 0, 1));
    // CXL 2.0, 3.3: classes are independent. Where the three before it wait for credits, the last passes them.
    let mut one_rwd = roomy.clone();
    one_rwd.device.rwd_credits.value = 1;
    assert!(last(&one_rwd, [Write, Write, Write, Read]) < last(&roomy, [Write, Write, Write, Read]));
    let mut one_drs = roomy.clone();
    one_drs.root_port.drs_credits.value = 1;
    assert!(last(&one_drs, [Read, Read, Read, Write]) < last(&roomy, [Read, Read, Read, Write]));
}

#[test]
fn latency_rises_with_load_and_bandwidth_stays_below_the_bound() {
    let spec = link_bound(Lanes::X8, (1, 2, 2));
    let bound = spec.link.bound(2, 1).unwrap() / 1e9;
    let (mut before, mut bandwidth_before) = (0.0, 0.0);
    for window in [1, 4, 16, 48, 96, 192] {
        let mut bench = Bench::new(&spec, Media::fixed(ns("50 ns")));
        let run = bench.closed_loop(window, Mix { reads: 2, writes: 1 }, 20_000);
        // Little: in flight over throughput.
        let latency = f64::from(window) * 64.0 / run.gb_s();
        assert!(latency >= before * 0.999, "{window}: {latency} ns after {before} ns");
        assert!(run.gb_s() <= bound * 1.001 && run.gb_s() >= bandwidth_before * 0.999, "{window}: {}", run.gb_s());
        (before, bandwidth_before) = (latency, run.gb_s());
    }
}

#[test]
fn littles_law_holds_in_every_buffer() {
    // Open traffic, in flight integrated from the outside, against residence times summed inside.
    let spec = link_bound(Lanes::X8, (2, 0, 2));
    let mut bench = Bench::new(&spec, Media { latency: ns("50 ns"), gap: ns("2 ns") });
    let kind = |index: u64| if index.is_multiple_of(3) { AccessKind::Write } else { AccessKind::Read };
    let traffic: Vec<_> = (0..3000).map(|index| (Time::from_ps(index * 1900), kind(index))).collect();
    let (mut area, mut since, mut held) = ([0.0; 2], Time::ZERO, [0; 2]);
    bench.watch_timed(&traffic, |now, seen| {
        let dt = (now - since).as_ns();
        (area[0], area[1]) = (area[0] + dt * f64::from(held[0]), area[1] + dt * f64::from(held[1]));
        (since, held) = (now, [seen.response_fifo.used, seen.read_queue.used]);
    });
    let stats = bench.path.stats(since);
    let elapsed = since.as_ns();
    assert_close(area[0] / elapsed, stats.root_port.response_fifo, 0.1);
    // The queue entry ends between two events of the bench: the last flit's end.
    assert_close(area[1] / elapsed, stats.device.read_queue, 2.0);
}

#[test]
fn a_saturated_wire_is_busy_all_the_time() {
    let mut bench = Bench::new(&link_bound(Lanes::X8, (1, 2, 2)), Media::fixed(ns("50 ns")));
    bench.closed_loop(600, READS, 20_000);
    let stats = bench.path.stats(bench.machine.queue.now());
    assert!(stats.s2m.utilisation > 0.99 && stats.s2m.utilisation <= 1.0, "{}", stats.s2m.utilisation);
    // A Req slot for five DRS slots, and flits of one Req as long as the wire is nearly idle.
    assert!(stats.m2s.utilisation < 0.85, "{}", stats.m2s.utilisation);
}
