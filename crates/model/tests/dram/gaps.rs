//! Known gaps: each test holds the model as it is, and fails when the gap closes.

use cxlab_kernel::Time;
use cxlab_model::media::dram::Command;

use super::harness::{closed, open, read, sequential_mix, steady_gb_s, write};
use super::machine::{Lines, coarse, log, spec, unrefreshed};

/// DRM-1: silicon opens the rows of the writes that wait while the last reads are still on the bus.
#[test]
fn no_row_of_a_write_is_opened_while_reads_are_served() {
    let mut spec = spec("DDR5-4800");
    (spec.controller.write_high_mark.value, spec.controller.write_low_mark.value) = (2, 0);
    let lines = Lines::new(&spec);
    let reads = (0..32).map(|column| (Time::ZERO, read(lines.at(0, 0, 0, 1, column))));
    let writes = (0..8).map(|bank| (Time::from_ns(1), write(lines.at(0, bank % 8, 1, 2, 0))));
    let mut memory = unrefreshed(&spec);
    open(&mut memory, &reads.chain(writes).collect::<Vec<_>>());
    let letter = |command| match command {
        Command::Activate => 'A',
        Command::Read | Command::ReadAutoPrecharge => 'R',
        Command::Write | Command::WriteAutoPrecharge => 'W',
        _ => '.',
    };
    let commands: String = log(&memory).iter().map(|issued| letter(issued.command)).collect();
    let (reads, _) = commands.split_once('W').unwrap();
    let (_, after_the_first) = reads.split_once('R').unwrap();
    let (before_the_last, _) = after_the_first.rsplit_once('R').unwrap();
    assert!(!before_the_last.contains('A'), "{commands}");
}

/// DRM-4: a bus that turns between reads and writes loses time; the coarse one does not.
#[test]
fn the_coarse_model_carries_a_mix_as_fast_as_reads() {
    let bandwidth = |reads, writes| steady_gb_s(&closed(&mut coarse(), 256, &sequential_mix(20_000, reads, writes)));
    let (reads, mix) = (bandwidth(1, 0), bandwidth(1, 1));
    assert!(mix >= 0.99 * reads, "{mix} of {reads} GB/s");
}
