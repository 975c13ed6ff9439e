//! The statistics agree with the command log and with one another.

use std::time::{Duration, Instant};

use cxlab_kernel::Time;
use cxlab_kernel::statistic::Value;
use cxlab_model::media::Memory;
use cxlab_model::media::dram::{Command, Detailed};
use cxlab_model::mem::AccessKind;

use super::harness::{closed, open, random_mix, read, write};
use super::machine::{coarse, log, lone, peak_gb_s, server, sub_channel, variants};

fn value(memory: &Memory, elapsed: Time, name: &str) -> f64 {
    let stats = memory.stats(elapsed);
    let entry = stats[0].entries.iter().find(|entry| entry.name == name).unwrap_or_else(|| panic!("no {name}"));
    match entry.value {
        Value::Count(count) => count as f64,
        Value::Real(real) => real,
        Value::Distribution { count, .. } => count as f64,
    }
}

/// A controller without a log counts the refreshes of idle time at once; one with a log sends each of them. No figure may
/// tell the two apart: neither the number of refreshes nor when later accesses are done.
#[test]
fn refreshes_of_idle_time_are_counted_as_if_each_were_sent() {
    for spec in variants() {
        let interval = *spec.dram.dram().timing.t_refi;
        let mut arrivals = Vec::new();
        let mut at = Time::from_ns(1);
        // Idle for none to a thousand intervals, and a prime number of picoseconds past that.
        for (number, intervals) in [0, 1, 2, 3, 5, 9, 30, 1000, 2].into_iter().enumerate() {
            at += interval * intervals + Time::from_ps(104_729);
            let line = number as u64 * 4099;
            arrivals.extend([
                (at, read(line)),
                (at, write(line + 1)),
                (at + Time::from_ns(70), read(line + (1 << 18))),
            ]);
        }
        let mut stepped = sub_channel(&spec);
        let mut skipped = Memory::Detailed(Detailed::with_dram(&spec, &lone(spec.dram.name())).unwrap());
        let what = format!("{} {:?} {} ranks", spec.dram.name(), *spec.controller.refresh, *spec.ranks);
        assert_eq!(open(&mut skipped, &arrivals), open(&mut stepped, &arrivals), "{what}");
        let refreshes = [&skipped, &stepped].map(|memory| value(memory, at, "refreshes"));
        assert_eq!(refreshes[0], refreshes[1], "{what}");
        // 1052 intervals of idle time: as many all-bank refreshes of each rank.
        assert!(refreshes[0] >= 1052.0 * f64::from(*spec.ranks), "{what}: {refreshes:?}");
    }
}

/// A day of idle time has 2 * 10^10 refreshes of a rank: to step through them would take an hour.
#[test]
fn a_day_of_idle_time_is_over_at_once() {
    let day = Time::from_ns(86_400 * 1_000_000_000);
    let spec = server("DDR5-4800");
    let mut memory = Memory::Detailed(Detailed::with_dram(&spec, &lone("DDR5-4800")).unwrap());
    let begun = Instant::now();
    open(&mut memory, &[(Time::from_ns(1), read(0)), (day, read(0))]);
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    let expected = day.as_ns() / spec.dram.dram().timing.t_refi.as_ns();
    assert!((value(&memory, day, "refreshes") - expected).abs() <= expected * 1e-3, "{expected}");
}

#[test]
fn what_is_counted_is_what_the_log_shows() {
    let mut memory = sub_channel(&server("DDR5-4800"));
    let traffic = random_mix(20_000, 1 << 18, 2, 1);
    let lives = closed(&mut memory, 96, &traffic);
    let end = lives.iter().map(|life| life.done).max().unwrap();
    let of = |name: &str| value(&memory, end, name);
    let sent =
        |wanted: &dyn Fn(Command) -> bool| log(&memory).iter().filter(|sent| wanted(sent.command)).count() as f64;
    assert_eq!(of("reads"), sent(&|command| matches!(command, Command::Read | Command::ReadAutoPrecharge)));
    assert_eq!(of("writes"), sent(&|command| matches!(command, Command::Write | Command::WriteAutoPrecharge)));
    assert_eq!(of("activates"), sent(&|command| command == Command::Activate));
    assert_eq!(of("refreshes"), sent(&|command| command == Command::RefreshAll));
    assert_eq!(of("row_hits") + of("row_misses") + of("row_conflicts"), of("reads") + of("writes"));
    let reads = traffic.iter().filter(|(_, kind)| *kind == AccessKind::Read).count() as f64;
    assert_eq!(of("reads") + of("forwarded_reads"), reads);
    assert_eq!(of("read_latency"), reads);
    let lines = of("reads") + of("writes");
    let utilisation = lines * 64.0 / end.as_ns() / peak_gb_s("DDR5-4800");
    assert!((of("bus_utilisation") / utilisation - 1.0).abs() < 1e-6);
    // Little: reads in the queue are their rate times their wait
    let occupancy = of("reads") / end.as_ns() * of("read_queue_latency");
    assert!((of("read_queue_occupancy") / occupancy - 1.0).abs() < 1e-6);
}

#[test]
fn the_coarse_model_counts_its_lines_and_its_bus() {
    let mut memory = coarse();
    let lives = closed(&mut memory, 64, &random_mix(10_000, 1 << 18, 1, 1));
    let end = lives.iter().map(|life| life.done).max().unwrap();
    let (reads, writes) = (value(&memory, end, "reads"), value(&memory, end, "writes"));
    let utilisation = (reads + writes) * 64.0 / end.as_ns() / 38.4;
    assert!((value(&memory, end, "bus_utilisation") / utilisation - 1.0).abs() < 1e-3);
}

#[test]
fn the_same_accesses_give_the_same_commands() {
    let run = || {
        let mut memory = sub_channel(&server("DDR5-5600"));
        closed(&mut memory, 80, &random_mix(5000, 1 << 20, 1, 1));
        log(&memory).to_vec()
    };
    assert_eq!(run(), run());
}
