//! A billion commands of all standards, page policies, and refreshes: each is held to the standard by the checker.

use cxlab_kernel::{Stream, Time};
use cxlab_model::media::dram::checker::check;

use super::checker::assert_clean;
use super::harness::{closed, random_mix, sequential_mix};
use super::machine::{log, lone, sub_channel, variants};

#[path = "../support/share.rs"]
mod share;

/// Accesses of a round: many times what a controller holds, and tens of refreshes.
const ROUND: u64 = 100_000;

/// Rounds of random traffic until this worker has seen so many commands: commands and rounds.
fn worker(number: u64, wanted: u64) -> (u64, u64) {
    let (variants, mut random) = (variants(), Stream::new(number, "soak"));
    let (mut commands, mut rounds) = (0, 0);
    while commands < wanted {
        let mut spec = variants[random.below(variants.len() as u64) as usize].clone();
        spec.controller.age_limit.value = Time::from_ns(50 + random.below(2_950));
        let (reads, writes) = (1 + random.below(3), random.below(4));
        let traffic = if random.below(4) == 0 {
            sequential_mix(ROUND, reads, writes)
        } else {
            random_mix(ROUND, 1 << (6 + random.below(18)), reads, writes)
        };
        let mut memory = sub_channel(&spec);
        closed(&mut memory, 1 + random.below(160) as usize, &traffic);
        let log = log(&memory);
        let round = format!("worker {number}, round {rounds}: {spec:?}");
        assert_clean(&round, &check(&lone(spec.dram.name()), *spec.ranks, log));
        commands += log.len() as u64;
        rounds += 1;
    }
    (commands, rounds)
}

#[test]
#[ignore = "minutes: make soak"]
fn soak_a_billion_commands() {
    let workers = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let each = share::share_of(1_000_000_000) / workers;
    let done: Vec<(u64, u64)> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..workers).map(|number| scope.spawn(move || worker(number, each))).collect();
        all.into_iter().map(|worker| worker.join().expect("a violation ends the test")).collect()
    });
    let (commands, rounds) = done.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    println!("soak: {commands} DRAM commands in {rounds} rounds, 0 violations");
}
