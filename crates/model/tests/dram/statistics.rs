//! The statistics agree with the command log and with one another.

use cxlab_kernel::Time;
use cxlab_kernel::statistic::Value;
use cxlab_model::media::Memory;
use cxlab_model::media::dram::Command;
use cxlab_model::mem::AccessKind;

use super::harness::{closed, random_mix};
use super::machine::{coarse, log, peak_gb_s, server, sub_channel};

fn value(memory: &Memory, elapsed: Time, name: &str) -> f64 {
    let stats = memory.stats(elapsed);
    let entry = stats[0].entries.iter().find(|entry| entry.name == name).unwrap_or_else(|| panic!("no {name}"));
    match entry.value {
        Value::Count(count) => count as f64,
        Value::Real(real) => real,
        Value::Distribution { count, .. } => count as f64,
    }
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
