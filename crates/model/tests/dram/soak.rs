//! A billion commands of all standards, page policies, and refreshes: each is held to the standard by the checker.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cxlab_kernel::{Stream, Time};
use cxlab_model::media::dram::checker::check;

use super::checker::assert_clean;
use super::harness::{closed, random_mix, sequential_mix};
use super::machine::{log, lone, sub_channel, variants};

#[path = "../support/share.rs"]
mod share;

/// Accesses of a round: many times what a controller holds, and tens of refreshes.
const ROUND: u64 = 100_000;

/// Between two lines that tell how far the test is.
const TOLD_EVERY: Duration = Duration::from_secs(60);

/// Commands so far, of all workers.
struct Progress {
    commands: AtomicU64,
    wanted: u64,
}

impl Progress {
    /// Counts commands that were checked. The worker that was given `told` also prints the sum now and then.
    fn add(&self, commands: u64, told: Option<&mut Instant>) {
        let sum = self.commands.fetch_add(commands, Ordering::Relaxed) + commands;
        if let Some(told) = told.filter(|told| told.elapsed() >= TOLD_EVERY) {
            *told = Instant::now();
            println!("soak: {sum} of {} DRAM commands, 0 violations so far", self.wanted);
        }
    }
}

/// Rounds of random traffic until this worker has seen so many commands: commands and rounds.
fn worker(number: u64, wanted: u64, progress: &Progress) -> (u64, u64) {
    let mut told = Instant::now();
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
        let in_flight = 1 + random.below(160) as usize;
        closed(&mut memory, in_flight, &traffic);
        let log = log(&memory);
        let (name, ranks, controller) = (spec.dram.name(), *spec.ranks, &spec.controller);
        let round = format!(
            "worker {number}, round {rounds}: {name}, {ranks} ranks, {:?} pages, {:?} refresh, age limit {}, \
             {reads} reads to {writes} writes, {in_flight} in flight",
            *controller.page_policy, *controller.refresh, *controller.age_limit,
        );
        assert_clean(&round, &check(&lone(name), ranks, log));
        commands += log.len() as u64;
        rounds += 1;
        progress.add(log.len() as u64, (number == 0).then_some(&mut told));
    }
    (commands, rounds)
}

#[test]
#[ignore = "minutes: make soak"]
fn soak_a_billion_commands() {
    let workers = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let wanted = share::share_of(1_000_000_000);
    let (each, progress) = (wanted / workers, &Progress { commands: AtomicU64::new(0), wanted });
    let done: Vec<(u64, u64)> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..workers).map(|number| scope.spawn(move || worker(number, each, progress))).collect();
        all.into_iter().map(|worker| worker.join().expect("a violation ends the test")).collect()
    });
    let (commands, rounds) = done.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    println!("soak: {commands} DRAM commands in {rounds} rounds, 0 violations");
}
