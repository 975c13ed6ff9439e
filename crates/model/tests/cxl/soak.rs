//! A hundred million flits over links with bit errors: every access ends, and no credit is lost or made.

use cxlab_kernel::{Stream, Time};
use cxlab_model::fabric::Occupancy;

use crate::harness::{Bench, Media, Mix, device};

#[path = "../support/share.rs"]
mod share;

const DEVICES: [&str; 4] = ["a1000", "cz120", "dmsim-asic", "dmsim-fpga"];
const ROUND: u64 = 200_000;

#[test]
#[ignore = "minutes: make soak"]
fn soak_a_hundred_million_flits() {
    let (wanted, mut random) = (share::share_of(100_000_000), Stream::new(1, "soak"));
    let (mut flits, mut retries, mut rounds) = (0, 0, 0);
    while flits < wanted {
        let mut spec = device(DEVICES[rounds % DEVICES.len()]);
        // From none to one flit in twenty: 544 bits each.
        spec.link.bit_error_rate.value = [0.0, 1e-7, 1e-5, 9e-5][random.below(4) as usize];
        let mix = Mix { reads: 1 + random.below(3) as u32, writes: random.below(4) as u32 };
        let mut bench = Bench::new(&spec, Media { latency: Time::from_ns(50), gap: Time::from_ns(1) });
        let run = bench.closed_loop(1 + random.below(800) as u32, mix, ROUND);
        assert_eq!(run.accesses, ROUND, "round {rounds}: accesses were lost");
        // Credits that are on their way back arrive within a microsecond.
        let end = bench.machine.queue.now() + Time::from_ns(1_000);
        assert_eq!(bench.path.occupancy(end), Occupancy::default(), "round {rounds}: something is held at rest");
        let stats = bench.path.stats(end);
        for counts in [&stats.m2s.counts, &stats.s2m.counts] {
            flits += counts.flits.get();
            retries += counts.retries.get();
        }
        rounds += 1;
    }
    println!("soak: {flits} flits in {rounds} rounds, {retries} sent again, no access and no credit lost");
}
