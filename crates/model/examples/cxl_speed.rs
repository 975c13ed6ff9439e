//! How fast the CXL path is simulated: `cargo run --release -p cxlab-model --example cxl_speed [ACCESSES]`.
//!
//! A full path with a media of one latency: unloaded, at the depth of its FIFOs, and with all of them full.
//! One access at a time to callgrind: `valgrind --tool=callgrind target/release/examples/cxl_speed 200000`.

#[path = "../tests/cxl/harness.rs"]
mod harness;

use std::time::Instant;

use cxlab_kernel::Time;
use harness::{Bench, Media, Mix, device};

fn main() {
    let accesses = match std::env::args().nth(1).map(|text| text.parse::<u64>()) {
        None => 2_000_000,
        Some(Ok(accesses)) if accesses >= 1000 => accesses,
        Some(_) => {
            eprintln!("usage: cxl_speed [ACCESSES]; ACCESSES is a number from 1000 on");
            std::process::exit(2);
        }
    };
    println!(
        "{:<12} {:>6} {:>9} {:>11} {:>13} {:>8}",
        "device", "reads", "in flight", "events each", "M accesses/s", "GB/s"
    );
    for (mix, reads) in [(Mix { reads: 1, writes: 0 }, "100 %"), (Mix { reads: 2, writes: 1 }, "67 %")] {
        for window in [1, 48, 512] {
            let spec = device("dmsim-asic");
            let mut bench = Bench::new(&spec, Media::fixed(Time::from_ns(50)));
            let start = Instant::now();
            let run = bench.closed_loop(window, mix, accesses);
            let rate = run.accesses as f64 / start.elapsed().as_secs_f64() / 1e6;
            let events = run.events as f64 / run.accesses as f64;
            println!("{:<12} {reads:>6} {window:>9} {events:>11.2} {rate:>13.2} {:>8.2}", spec.name, run.gb_s());
        }
    }
}
