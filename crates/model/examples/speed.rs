//! Simulated requests, many at once, for a clock or a profiler: `speed PATH REQUESTS`.
//!
//! ```text
//!   ddr       one DDR5-4800 channel, detailed, random lines, two reads to a write, 256 in flight
//!   cxl       root port, link and device of dmsim-asic, two reads to a write, 512 in flight, media of 50 ns
//!   cache     dmsim-asic with the cache of dmsim-ssd, which has every page, two reads to a write, 512 in flight
//!   flash     64 dies of Z-NAND on 16 channels, full, two random writes to a read, 256 in flight: operations of the dies
//!   detail    tests/golden/traces/qsort.trace in detail, mostly its program's start, as often as it takes: instructions of the guest
//!   misses    the same of chase.trace, whose loads wait for CXL memory one after another
//!   threads   the same of stream4.trace, four processors that stream through DRAM and CXL memory
//!   machine   spr-a1000: 16 load threads on node cxl, random lines, two reads to a write, cores and caches included
//! ```
//!
//! Prints the requests simulated; `scripts/model_speed.py` runs it.

#[path = "../tests/cxl/harness.rs"]
mod cxl;
#[path = "../tests/dram/harness.rs"]
#[allow(dead_code)] // the tests use all of it
mod dram;
#[path = "../tests/flash/harness.rs"]
#[allow(dead_code)]
mod drive;
#[path = "../tests/dram/machine.rs"]
#[allow(dead_code)]
mod server;

use std::collections::VecDeque;

use cxlab_kernel::{Stream, Time};
use cxlab_model::MachineSpec;
use cxlab_model::bench::{self, ChaseOrder, Isa, Job, Mix, Pages, Pattern, Share, Store, Work};
use cxlab_model::config::Path;
use cxlab_model::home::AddressRange;
use cxlab_model::machine::Machine;
use cxlab_model::mem::AccessKind;
use cxlab_model::session::{Answers, Guest, Replay};

/// Rows that random lines are spread over, far more than there are banks.
const LINES: u64 = 1 << 24;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (path, requests) = (arguments.next(), arguments.next().and_then(|text| text.parse::<u64>().ok()));
    let run = match path.as_deref() {
        Some("ddr") => ddr,
        Some("cxl") => expander,
        Some("cache") => device_cache,
        Some("flash") => flash,
        Some("machine") => machine,
        Some("detail") => |instructions| detail(instructions, "qsort", "8468v-asic", 1),
        Some("misses") => |instructions| detail(instructions, "chase", "8468v-fpga", 1),
        Some("threads") => |instructions| detail(instructions, "stream4", "spr-a1000", 4),
        _ => usage(),
    };
    println!("{}", run(requests.filter(|requests| *requests >= 1000).unwrap_or_else(|| usage())));
}

fn usage() -> ! {
    eprintln!(
        "usage: speed ddr|cxl|cache|flash|machine|detail|misses|threads REQUESTS; REQUESTS is a number from 1000 on"
    );
    std::process::exit(2)
}

fn ddr(requests: u64) -> u64 {
    let stream = dram::random_mix(requests, LINES, 2, 1);
    let mut memory = server::memory(&server::server("DDR5-4800"));
    dram::closed(&mut memory, 256, &stream).len() as u64
}

fn expander(requests: u64) -> u64 {
    let mut bench = cxl::Bench::new(&cxl::device("dmsim-asic"), cxl::Media::fixed(Time::from_ns(50)));
    bench.closed_loop(512, cxl::Mix { reads: 2, writes: 1 }, requests).accesses
}

/// Hits of a device's cache.
fn device_cache(requests: u64) -> u64 {
    let (device, media) = (cxl::device("dmsim-asic"), cxl::Media::fixed(Time::from_ns(50)));
    let mut bench = cxl::Bench::new(&device, media);
    let machine = MachineSpec::load("dmsim-ssd").expect("a shipped machine");
    let cached = machine.nodes.into_iter().find_map(|node| match node.path {
        Path::Cxl { flash, .. } => flash,
        _ => None,
    });
    let cache = cached.expect("its node has a cache").cache;
    let flash = cxl::Store::new(cxl::Media::fixed(Time::from_ns(75_000)));
    let capacity = device.capacity();
    bench.path.fabric.put_cache(bench.path.way, &cache, capacity, flash).expect("a cache that fits");
    let accesses = bench.closed_loop(512, cxl::Mix { reads: 2, writes: 1 }, requests).accesses;
    let stats = bench.path.stats(Time::from_ns(1)).device_cache.expect("it has a cache");
    assert_eq!(stats.misses.get(), 0, "every page is there");
    accesses
}

/// Operations of the dies: reads, programs, erases.
fn flash(operations: u64) -> u64 {
    const UNITS: u64 = 1 << 21;
    let mut spec = drive::spec("z-nand", drive::small);
    (spec.channels.value, spec.dies.value) = (16, 4);
    let mut bench = drive::Bench::new(&spec, UNITS);
    let mut random = Stream::new(1, "requests");
    let mut waiting = VecDeque::new();
    loop {
        let stats = bench.flash.stats();
        let done = [&stats.reads, &stats.copy_reads, &stats.programs, &stats.erases].map(|count| count.get());
        let done = done.iter().sum();
        if done >= operations {
            return done;
        }
        let kind = if random.below(3) == 0 { AccessKind::Read } else { AccessKind::Write };
        waiting.push_back(bench.ask(random.below(UNITS), kind));
        if waiting.len() == 256 {
            bench.finish(waiting.pop_front().expect("some wait"));
        }
    }
}

/// The guest's instructions. Each time has a machine of its own; the first are made ahead, so that a difference of two short runs
/// has none of them.
fn detail(instructions: u64, trace: &str, machine: &str, cores: u16) -> u64 {
    const TRACES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/traces");
    const AHEAD: usize = 2;
    let machine = || {
        let path = format!("{TRACES}/{trace}.trace");
        let source = Replay::open(path.as_ref(), Answers::MayDiffer).expect("a golden trace");
        let recorded: serde_json::Value = serde_json::from_str(source.description()).expect("it is JSON");
        let ranges = recorded["nodes"].as_array().expect("nodes").iter().flat_map(node_ranges).collect::<Vec<_>>();
        let spec = MachineSpec::load(machine).expect("a shipped machine");
        (source, Machine::new(spec, cores, &ranges).expect("the machine of the trace"))
    };
    let mut ready: Vec<_> = (0..AHEAD).map(|_| machine()).collect();
    let mut done = 0;
    while done < instructions {
        let (source, mut machine) = ready.pop().unwrap_or_else(machine);
        Guest::new(source, cores).run(&mut machine, |_, _| Ok(())).expect("a whole trace");
        done += machine
            .cores()
            .iter()
            .map(|core| core.stats.user_instructions.get() + core.stats.kernel_instructions.get())
            .sum::<u64>();
    }
    done
}

/// Ranges of a node in a trace's description.
fn node_ranges(node: &serde_json::Value) -> Vec<AddressRange> {
    let ranges: Vec<(u64, u64)> = serde_json::from_value(node["ranges"].clone()).expect("pairs");
    let node = node["node"].as_u64().expect("a number") as u16;
    ranges.into_iter().map(|(start, length)| AddressRange { start, length, node }).collect()
}

/// Points are as long as the bench makes them: as many as it takes.
fn machine(requests: u64) -> u64 {
    let mix = Mix { reads: 2, writes: 1 };
    let (store, pattern) = (Store::NonTemporal, Pattern::Random);
    let (chase, isa) = (ChaseOrder::Blocks, Isa::Avx512);
    let work = Work::LoadedLatency { mix, store, pattern, latency_thread: false, chase, isa };
    let share = Share { node: "cxl".into(), weight: 1 };
    let (mut done, mut seed) = (0, 0);
    while done < requests {
        seed += 1;
        let (machine, placement) = ("spr-a1000".into(), vec![share.clone()]);
        let (pages, page_tables) = (Pages::Mib2, None);
        let job = Job {
            machine,
            set: Vec::new(),
            placement,
            threads: 16,
            delay: 0,
            work,
            prefetch: None,
            pages,
            page_tables,
            of_cache: None,
            check: false,
            seed,
        };
        let point = bench::run(&job).expect("a shipped machine with such a node");
        done += (point.bandwidth_mb_s * point.simulated_us / 64.0) as u64;
    }
    done
}
