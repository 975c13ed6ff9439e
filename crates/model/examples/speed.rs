//! Simulated requests, many at once, for a clock or a profiler: `speed PATH REQUESTS`.
//!
//! ```text
//!   ddr       one DDR5-4800 channel, detailed, random lines, two reads to a write, 256 in flight
//!   cxl       root port, link and device of dmsim-asic, two reads to a write, 512 in flight, media of 50 ns
//!   machine   spr-a1000: 16 load threads on node cxl, random lines, two reads to a write, cores and caches included
//! ```
//!
//! Prints the requests simulated; `scripts/model_speed.py` runs it.

#[path = "../tests/cxl/harness.rs"]
mod cxl;
#[path = "../tests/dram/harness.rs"]
#[allow(dead_code)] // the tests use all of it
mod dram;
#[path = "../tests/dram/machine.rs"]
#[allow(dead_code)]
mod server;

use cxlab_kernel::Time;
use cxlab_model::bench::{self, ChaseOrder, Isa, Job, Mix, Pages, Pattern, Share, Store, Work};

/// Rows that random lines are spread over, far more than there are banks.
const LINES: u64 = 1 << 24;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (path, requests) = (arguments.next(), arguments.next().and_then(|text| text.parse::<u64>().ok()));
    let run = match path.as_deref() {
        Some("ddr") => ddr,
        Some("cxl") => expander,
        Some("machine") => machine,
        _ => usage(),
    };
    println!("{}", run(requests.filter(|requests| *requests >= 1000).unwrap_or_else(|| usage())));
}

fn usage() -> ! {
    eprintln!("usage: speed ddr|cxl|machine REQUESTS; REQUESTS is a number from 1000 on");
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
            seed,
        };
        let point = bench::run(&job).expect("a shipped machine with such a node");
        done += (point.bandwidth_mb_s * point.simulated_us / 64.0) as u64;
    }
    done
}
