//! Traces that were changed under a valid checksum: each is read to its end or refused by name, within a moment.
//!
//! ```text
//!   a stream of records by hand --mutations--> trace file --> replay, sampled, placed anew --> a result, or an error
//! ```
//!
//! `FUZZ_SECONDS` says for how long mutations are drawn (default 5). The draw is the same each time. What was found once
//! stays in `found.rs`.

mod found;
mod mutation;
mod replaying;
mod stream;

use std::time::{Duration, Instant};

use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

use replaying::{Verdict, judge};
use stream::Kind;

/// Mutated traces for each draw of the runner: its memory of them is given back between two.
const CASES: u32 = 16;

#[test]
fn the_streams_are_whole_before_they_are_changed() {
    for kind in Kind::ALL {
        for (way, verdict) in judge(kind, &[]) {
            assert_eq!(verdict, Verdict::Read, "{kind:?}, {way}");
        }
    }
}

#[test]
fn what_was_found_once_is_refused_or_read() {
    for (kind, mutations) in found::found() {
        for (way, verdict) in judge(kind, &mutations) {
            assert!(verdict.is_good(), "{kind:?}, {way}, {mutations:?}: {verdict:?}");
        }
    }
}

#[test]
fn no_change_of_a_trace_ends_in_a_panic_or_takes_for_ever() {
    let seconds = std::env::var("FUZZ_SECONDS").map_or(5.0, |text| text.parse().expect("FUZZ_SECONDS is a number"));
    let until = Instant::now() + Duration::from_secs_f64(seconds);
    let mut drawn = 0u64;
    while Instant::now() < until {
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&drawn.to_le_bytes());
        let config = Config { cases: CASES, failure_persistence: None, max_shrink_time: 60_000, ..Config::default() };
        let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed));
        let outcome = runner.run(&(stream::kinds(), mutation::mutations()), |(kind, mutations)| {
            match judge(kind, &mutations).into_iter().find(|(_, verdict)| !verdict.is_good()) {
                None => Ok(()),
                Some((way, verdict)) => Err(TestCaseError::fail(format!("{way}: {verdict:?}"))),
            }
        });
        match outcome {
            Ok(()) => {}
            Err(TestError::Fail(why, (kind, mutations))) => {
                panic!("{why}\nput into found.rs:\n(Kind::{kind:?}, vec!{mutations:?}),")
            }
            Err(TestError::Abort(why)) => panic!("{why}"),
        }
        drawn += 1;
    }
    println!("{} changed traces", drawn * u64::from(CASES));
}
