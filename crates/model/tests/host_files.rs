//! Files of the host: each request takes its declared time from when it was asked, and requests overlap.

mod support;

use cxlab_kernel::Time;
use cxlab_model::feed::Step;
use cxlab_model::summary::Summary;
use support::Script;

const SERVICE: Time = Time::from_ns(80_000);
/// No timer rings before.
const NEVER: Time = Time::from_ns(1_000_000_000);

fn ask(number: u32) -> Step {
    Step::File { number, service: SERVICE }
}

fn rest(done: u64) -> Step {
    Step::Rest { until: NEVER, done }
}

/// The times at which a core's questions were answered, how long it waited for I/O, and the numbers of what was done.
fn run(write: impl FnOnce(&mut Script)) -> (Vec<Time>, f64, Vec<u32>) {
    let mut machine = support::machine("8468v-asic");
    let mut script = Script::default();
    write(&mut script);
    let mut feeds = [script];
    machine.run(&mut feeds, |_| Ok(())).unwrap();
    let [Script { clock_answers, .. }] = feeds;
    (clock_answers, Summary::of(&machine).time.io_s, machine.take_requests_done())
}

#[test]
fn a_core_that_rests_goes_on_when_the_file_is_there() {
    let (at, io_s, done) = run(|script| {
        script.step(ask(3)).step(rest(0)).settle();
    });
    assert_eq!((at, done), (vec![SERVICE], vec![3]));
    assert!((io_s - SERVICE.as_seconds()).abs() < 1e-15);
}

#[test]
fn a_request_takes_its_time_from_when_it_was_asked_whatever_is_done_meanwhile() {
    let computes = Step::Delay { span: Time::from_ns(30_000) };
    let (at, io_s, _) = run(|script| {
        script.step(ask(1)).step(computes).step(rest(0)).settle();
    });
    assert_eq!(at, [SERVICE]);
    assert!((io_s - 50e-6).abs() < 1e-12, "{io_s}");
    // Who computes for longer does not wait at all.
    let computes = Step::Delay { span: Time::from_ns(90_000) };
    let (at, io_s, _) = run(|script| {
        script.step(ask(1)).step(computes).step(rest(0)).settle();
    });
    assert_eq!((at, io_s), (vec![Time::from_ns(90_000)], 0.0));
}

#[test]
fn requests_overlap() {
    let between = Step::Delay { span: Time::from_ns(10_000) };
    let (at, _, done) = run(|script| {
        script.step(ask(1)).step(between).step(ask(2)).step(rest(0)).settle();
        script.step(rest(1)).settle();
    });
    assert_eq!(at, [SERVICE, SERVICE + Time::from_ns(10_000)]);
    assert_eq!(done, [1, 2]);
}
