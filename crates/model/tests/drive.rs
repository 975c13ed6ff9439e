//! A drive: what holds for the time of its commands, by the figures of its parts.

mod support;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use cxlab_access::{Keep, Phase};
use cxlab_kernel::statistic::Value;
use cxlab_kernel::{Bytes, Time};
use cxlab_model::addr::Hpa;
use cxlab_model::drive::{Around, Command, Drive, DriveSpec, Due, UNIT_BYTES};
use cxlab_model::feed::Step;
use cxlab_model::mem::{AccessKind, Tag};
use cxlab_model::{Machine, MachineSpec};
use support::{GIB, Script};

/// Time that a line takes to memory or from there in these tests.
const MEMORY: Time = Time::from_ns(100);

fn spec() -> DriveSpec {
    MachineSpec::load("8468v-asic").unwrap().drive.expect("the machine has a drive")
}

/// Events in their order; memory takes each line at once.
#[derive(Default)]
struct Host {
    events: BinaryHeap<Reverse<(Time, u64, usize)>>,
    due: Vec<Due>,
    moved: Vec<(Time, Hpa, AccessKind)>,
}

impl Around for Host {
    fn wake(&mut self, at: Time, due: Due) {
        self.due.push(due);
        self.events.push(Reverse((at, self.due.len() as u64, self.due.len() - 1)));
    }

    fn access(&mut self, now: Time, line: Hpa, kind: AccessKind, tag: Tag) {
        self.moved.push((now, line, kind));
        self.wake(now + MEMORY, Due::Line(tag));
    }
}

/// When commands that begin together are done, in the order of their ends; and what moved.
fn run(spec: &DriveSpec, commands: &[Command]) -> (Vec<(u32, Time)>, Host) {
    let (mut drive, mut host, mut done) = (Drive::new(spec).unwrap(), Host::default(), Vec::new());
    for (number, command) in (1..).zip(commands) {
        drive.tell(number, command.clone());
        host.wake(Time::ZERO, Due::Begin(number));
    }
    while let Some(Reverse((now, _, place))) = host.events.pop() {
        let due = host.due[place];
        drive.step(now, due, &mut host);
        done.extend(drive.take_news().into_iter().map(|number| (number, now)));
    }
    assert_eq!(drive.done().0, commands.len() as u64);
    (done, host)
}

/// Pages in a row, from the drive's unit `unit` on.
fn pages(kind: AccessKind, unit: u64, pages: u64) -> Command {
    Command::new(kind, unit * UNIT_BYTES, &[(Hpa::new(unit * UNIT_BYTES), pages * UNIT_BYTES)])
}

fn read(unit: u64) -> Command {
    pages(AccessKind::Read, unit, 1)
}

/// Times of a unit: in the cells, on the bus of its channel, on the link, in the controller.
fn parts(spec: &DriveSpec) -> [Time; 4] {
    let (part, unit) = (spec.flash.part.part(), Bytes::new(UNIT_BYTES));
    [*part.read, unit / *part.bus, unit / *spec.link, *spec.flash.controller_latency]
}

#[test]
fn a_read_alone_takes_what_its_parts_take_and_the_data_sheets_85_us() {
    let spec = spec();
    let [cells, bus, link, controller] = parts(&spec);
    let (done, host) = run(&spec, &[read(5)]);
    assert_eq!(done, [(1, cells + bus + controller + link + MEMORY)]);
    // Samsung, PM983 specification rev. 1.0: 85 us typical of random reads.
    assert!((done[0].1.as_ns() / 85_000.0 - 1.0).abs() < 0.01, "{:?}", done[0].1);
    assert_eq!(host.moved.len(), 64);
    assert!(host.moved.iter().all(|(_, _, kind)| *kind == AccessKind::Write));
}

#[test]
fn reads_of_different_channels_take_only_their_turns_on_the_link() {
    let spec = spec();
    let alone = run(&spec, &[read(0)]).0[0].1;
    let count = u64::from(*spec.flash.channels);
    let commands: Vec<_> = (0..count).map(read).collect();
    let (done, _) = run(&spec, &commands);
    let [_, _, link, _] = parts(&spec);
    assert_eq!(done.last().unwrap().1, alone + link * (count - 1));
}

#[test]
fn reads_of_one_die_follow_each_other() {
    let spec = spec();
    let dies = u64::from(*spec.flash.channels * *spec.flash.dies);
    let [cells, bus, ..] = parts(&spec);
    let (done, _) = run(&spec, &[read(3), read(3 + dies), read(3 + 2 * dies)]);
    let times: Vec<_> = done.iter().map(|(_, at)| *at).collect();
    assert_eq!((times[1] - times[0], times[2] - times[1]), (cells + bus, cells + bus));
    assert_eq!(spec.die_time(), cells + bus);
}

#[test]
fn what_was_answered_meanwhile_keeps_nobody_from_the_link() {
    let spec = spec();
    let alone = run(&spec, &[read(0)]).0[0].1;
    let (mut drive, mut host) = (Drive::new(&spec).unwrap(), Host::default());
    for number in 1..=8 {
        drive.tell(number, read(number.into()));
        host.wake(Time::ZERO, Due::Begin(number));
    }
    let mut done = Vec::new();
    while let Some(Reverse((now, _, place))) = host.events.pop() {
        let due = host.due[place];
        drive.step(now, due, &mut host);
        if due == Due::Begin(7) {
            drive.answered_meanwhile();
        }
        done.extend(drive.take_news().into_iter().map(|number| (number, now)));
    }
    // The last has not begun when the others are answered. All come from the cells at one time.
    assert!(done.contains(&(8, alone)), "{done:?}");
}

#[test]
fn a_large_read_takes_as_much_longer_as_its_bytes_take_on_the_link() {
    let spec = spec();
    let alone = run(&spec, &[read(0)]).0[0].1;
    let [_, bus, link, _] = parts(&spec);
    // As many pages as there are dies: each channel brings the pages of its dies while the link carries those before.
    let (channels, dies) = (u64::from(*spec.flash.channels), u64::from(*spec.flash.dies));
    assert!(link * channels > bus, "the link is what limits");
    let count = channels * dies;
    let (done, _) = run(&spec, &[pages(AccessKind::Read, 0, count)]);
    assert_eq!(done, [(1, alone + link * (count - 1))]);
}

#[test]
fn a_deep_queue_reads_what_the_dies_give_and_not_more_than_the_link() {
    let spec = spec();
    let dies = u64::from(*spec.flash.channels * *spec.flash.dies);
    let [cells, bus, ..] = parts(&spec);
    let commands: Vec<_> = (0..dies * 64).map(read).collect();
    let (done, _) = run(&spec, &commands);
    let seconds = done.last().unwrap().1.as_seconds();
    let (rate, most) = (commands.len() as f64 / seconds, dies as f64 / (cells + bus).as_seconds());
    assert!(rate <= most && rate > 0.95 * most, "{rate} of {most}");
    // The data sheet: up to 540,000 a second.
    assert!((0.9..1.1).contains(&(rate / 540_000.0)), "{rate}");
    assert!(rate * UNIT_BYTES as f64 <= 3.2e9);
}

#[test]
fn a_write_is_done_when_its_lines_are_in_the_write_buffer() {
    let spec = spec();
    let [_, _, link, controller] = parts(&spec);
    let (done, host) = run(&spec, &[pages(AccessKind::Write, 9, 1)]);
    assert_eq!(done, [(1, link.max(MEMORY) + controller)]);
    assert!(host.moved.iter().all(|(_, _, kind)| *kind == AccessKind::Read));
}

/// A machine with two nodes of a GiB, whose core asks for `command` and then rests until it is done.
fn asked(command: Command) -> (Machine, Time) {
    let mut machine = support::machine("8468v-asic");
    machine.tell_drive(7, command).unwrap();
    let mut script = Script::default();
    script.step(Step::Disk { number: 7 }).step(Step::Rest { until: Time::from_ns(1_000_000), done: 0 }).settle();
    let mut feeds = [script];
    machine.run(&mut feeds, |_| Ok(())).unwrap();
    assert_eq!(machine.take_requests_done(), [7]);
    let at = feeds[0].clock_answers[0];
    (machine, at)
}

/// Reads and writes of the channels of each node.
fn on_channels(machine: &Machine) -> Vec<(u64, u64)> {
    let count = |name: &str, stats: &cxlab_model::machine::PortStats| -> u64 {
        let entries = stats.channels.iter().flat_map(|channel| &channel.entries);
        let of_name = entries.filter(|entry| entry.name == name);
        of_name.map(|entry| if let Value::Count(count) = entry.value { count } else { 0 }).sum()
    };
    (0..2)
        .map(|node| {
            let ports: Vec<_> = machine.ports(cxlab_model::request::NodeId(node)).collect();
            (ports.iter().map(|port| count("reads", port)).sum(), ports.iter().map(|port| count("writes", port)).sum())
        })
        .collect()
}

#[test]
fn the_lines_of_a_command_go_over_the_channels_of_their_pages_nodes() {
    let both = [(Hpa::new(1 << 20), UNIT_BYTES), (Hpa::new(GIB + (1 << 20)), 2 * UNIT_BYTES)];
    let (machine, _) = asked(Command::new(AccessKind::Write, 0, &both));
    assert_eq!(on_channels(&machine), [(64, 0), (128, 0)]);
}

#[test]
fn a_core_that_rests_goes_on_when_the_drive_has_read() {
    let [cells, bus, link, controller] = parts(&spec());
    let (_, at) = asked(read(5));
    let drive = cells + bus + link + controller;
    // A write is done when the memory controller has it. Of 64 some may wait, and 64 take 107 ns of a channel of 38.4 GB/s.
    assert!(at >= drive && at < drive + Time::from_ns(107), "{at:?} of {drive:?}");
}

#[test]
fn a_rest_ends_at_the_timer_where_the_drive_is_slower() {
    let mut machine = support::machine("8468v-asic");
    machine.tell_drive(1, read(0)).unwrap();
    let mut script = Script::default();
    script.step(Step::Disk { number: 1 }).step(Step::Rest { until: Time::from_ns(20_000), done: 0 }).settle();
    script.step(Step::Rest { until: Time::from_ns(1_000_000), done: 0 }).settle();
    // It has done one by now: nobody rests for that.
    script.step(Step::Rest { until: Time::from_ns(2_000_000), done: 0 }).settle();
    let mut feeds = [script];
    machine.run(&mut feeds, |_| Ok(())).unwrap();
    let times = &feeds[0].clock_answers;
    assert_eq!(times[0], Time::from_ns(20_000));
    assert!(times[1] > Time::from_ns(80_000) && times[1] < Time::from_ns(90_000), "{times:?}");
    assert_eq!(times[2], times[1]);
}

#[test]
fn warming_begins_while_the_drive_reads_and_the_detail_behind_it_has_the_rest() {
    let mut machine = support::machine("8468v-asic");
    machine.tell_drive(1, read(5)).unwrap();
    let sample = |phase| Step::Sample { phase, position: 0, keep: Keep::All };
    let mut script = Script::default();
    script.step(Step::Disk { number: 1 }).store(0).step(sample(Phase::Warming)).settle().step(sample(Phase::Detailed));
    script.step(Step::Rest { until: Time::from_ns(1_000_000), done: 0 }).settle();
    let mut feeds = [script];
    machine.run(&mut feeds, |_| Ok(())).unwrap();
    // What the store asks of DRAM ends before warming begins: about 0.1 us.
    let [warming, rested] = feeds[0].clock_answers[..] else { panic!("two questions") };
    assert!(warming > Time::from_ns(50) && warming < Time::from_ns(1000), "{warming}");
    assert!(rested > Time::from_ns(80_000) && rested < Time::from_ns(90_000), "{rested}");
}

#[test]
fn a_line_without_memory_is_refused_by_its_address() {
    let mut machine = support::machine("8468v-asic");
    let command = Command::new(AccessKind::Read, 0, &[(Hpa::new(64 * GIB), UNIT_BYTES)]);
    let error = machine.tell_drive(1, command).unwrap_err();
    assert!(error.to_string().contains("0x1000000000"), "{error}");
}

#[test]
fn gst_10_a_write_comes_from_memory_though_a_core_has_changed_the_line() {
    let mut machine = support::machine("8468v-asic");
    machine.tell_drive(1, pages(AccessKind::Write, 0, 1)).unwrap();
    let mut script = Script::default();
    script.store(0).settle().step(Step::Fence);
    script.step(Step::Disk { number: 1 }).step(Step::Rest { until: Time::from_ns(1_000_000), done: 0 }).settle();
    machine.run(&mut [script], |_| Ok(())).unwrap();
    // One read for ownership, and 64 of the drive: none is answered by the cache that has the line.
    assert_eq!(on_channels(&machine)[0].0, 65);
}
