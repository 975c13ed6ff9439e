//! Laws: bytes on the channels, conservation of frames, the same bits twice.

use cxlab_kernel::Time;
use cxlab_kernel::statistic::Value;
use cxlab_model::apps::{AppSpec, Distribution, Ycsb};
use cxlab_model::request::NodeId;
use cxlab_model::study::{Order, ProcessSpec, Session, StudySpec, TieringKind};

use super::system::{bind, capacity, process, run, store, study, weighted};

/// A store that sleeps: nearly all lines on the channels are the kernel's.
fn sleeping_store(tiering: TieringKind) -> StudySpec {
    let AppSpec::KeyValue(mut spec) = store(Distribution::Uniform, Ycsb::C) else { unreachable!() };
    // Compute of 100 us a request: about forty lines each.
    spec.compute = Time::from_ns(100_000);
    StudySpec {
        capacity: capacity(400, 1000),
        tiering,
        warm: Time::ZERO,
        measure: Time::from_ns(20_000_000),
        ..study(vec![process(AppSpec::KeyValue(spec), 1, 600, bind("cxl"))])
    }
}

/// A store that only reads, on less memory than it has pages.
fn swapping_store() -> StudySpec {
    let app = store(Distribution::Uniform, Ycsb::C);
    StudySpec {
        capacity: std::collections::BTreeMap::from([("dram".into(), 500)]),
        swap: true,
        measure: Time::from_ns(10_000_000),
        ..study(vec![process(app, 2, 600, bind("dram"))])
    }
}

#[test]
fn a_migration_is_4096_bytes_read_and_4096_bytes_written() {
    let (session, interval) = run(&sleeping_store(TieringKind::NumaBalancing));
    let stats = session.system().os().stats();
    let moved = stats.promotions.get() + stats.demotions.get();
    assert!(moved > 100, "{moved} pages moved");
    assert_eq!(stats.copied_lines.get(), moved * 64);
    let lines = |of: fn(&cxlab_model::home::NodeStats) -> u64| -> u64 {
        session.machine().nodes().map(|(node, _)| of(node)).sum()
    };
    let written = lines(|node| node.write_backs.get());
    // A page that is under way at the end has been written in part. Nothing else writes: the store only reads.
    assert!((moved * 64..=moved * 64 + 128).contains(&written), "{written} lines written for {moved} pages");
    let read = lines(|node| node.loads.get() + node.stores.get());
    let most_by_requests = interval.processes[0].work * 50;
    // What a request has just read is in the caches when its page is copied: less than one line in ten.
    assert!(read + moved * 6 >= moved * 64, "{read} lines read for {moved} pages");
    assert!(read <= moved * 64 + 128 + most_by_requests, "{read} lines read for {moved} pages");
}

#[test]
fn a_first_touch_clears_its_page_and_a_page_is_placed_once() {
    let app = AppSpec::Streaming {};
    let untouched = ProcessSpec { order: Order::Untouched, ..process(app, 2, 60, weighted(2, 1)) };
    let spec = StudySpec { warm: Time::ZERO, measure: Time::from_ns(120_000), ..study(vec![untouched]) };
    let (session, interval) = run(&spec);
    assert_eq!(session.system().os().stats().first_touches.get(), 60);
    assert_eq!(session.system().os().resident(0), [40, 20]);
    assert!(interval.processes[0].kernel_share > 0.05, "{interval:?}");
}

#[test]
fn frames_are_neither_lost_nor_made() {
    let spec = StudySpec { measure: Time::from_ns(5_000_000), ..sleeping_store(TieringKind::Tpp) };
    let (mut session, _) = run(&spec);
    let before: u64 = session.system().os().resident(0).iter().sum();
    assert_eq!(before, 600, "every page is somewhere");
    for _ in 0..3 {
        session.place_anew(0, &bind("cxl")).unwrap();
        session.advance(Time::from_ns(10_000)).unwrap();
        assert_eq!(session.system().os().resident(0).iter().sum::<u64>(), 600);
    }
}

#[test]
fn the_same_study_gives_the_same_bits() {
    let spec = StudySpec { measure: Time::from_ns(3_000_000), ..sleeping_store(TieringKind::NumaBalancing) };
    assert_eq!(run(&spec).1, run(&spec).1);
}

#[test]
fn other_cores_are_interrupted_for_a_demotion_and_lose_that_time() {
    let mut spec = sleeping_store(TieringKind::Tpp);
    spec.processes[0].threads = 3;
    spec.capacity = capacity(300, 1000);
    spec.processes[0].mempolicy = weighted(1, 1);
    let (session, interval) = run(&spec);
    let stats = session.system().os().stats();
    assert!(stats.demotions.get() > 10, "{interval:?}");
    assert!(stats.interrupts.get() >= 3 * stats.demotions.get(), "kswapd's core interrupts all three");
}

#[test]
fn a_store_that_does_not_fit_reads_from_the_ssd_and_waits_as_long_as_that_takes() {
    let (session, interval) = run(&swapping_store());
    let stats = session.system().os().stats();
    assert!(stats.swap_ins.get() > 10, "{interval:?}");
    // 80 us of the drive at least (os::SSD); few commands at once, so no queue.
    let waited = stats.swap_wait_ns.mean_ns().unwrap();
    assert!((80_000.0..90_000.0).contains(&waited), "{waited} ns");
}

#[test]
fn each_page_that_the_ssd_moves_is_64_lines_on_the_channels() {
    // The store only reads, so nothing else writes to memory.
    let (session, _) = run(&swapping_store());
    let stats = session.system().os().stats();
    let columns = |name: &str| -> u64 {
        let channels = session.machine().ports(NodeId(0)).flat_map(|port| port.channels);
        let entries = channels.flat_map(|channel| channel.entries).filter(|entry| entry.name == name);
        entries.map(|entry| if let Value::Count(count) = entry.value { count } else { panic!("{entry:?}") }).sum()
    };
    let (swapped_in, swapped_out) = (stats.swap_ins.get() * 64, stats.swap_outs.get() * 64);
    assert!(swapped_in > 640);
    // Pages may be under way when counting begins, and lines in the write queues when it ends.
    assert!(columns("writes").abs_diff(swapped_in) <= 4 * 64, "{} {swapped_in}", columns("writes"));
    assert!(columns("reads") >= swapped_out, "{} {swapped_out}", columns("reads"));
}

#[test]
fn a_node_that_is_full_is_an_error_that_says_what_to_do() {
    let spec =
        StudySpec { capacity: capacity(100, 100), ..study(vec![process(AppSpec::Embedding {}, 1, 300, bind("dram"))]) };
    let message = Session::new(&spec).map(drop).unwrap_err().to_string();
    assert!(message.contains("CFG004") && message.contains("swap"), "{message}");
}
