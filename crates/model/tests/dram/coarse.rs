//! The laws of the coarse model.

use cxlab_kernel::Time;
use cxlab_model::media::dram::{CoarseSpec, DramError};
use cxlab_model::media::{Memory, MemorySpec};
use proptest::prelude::*;

use super::harness::{closed, open, random_mix, read, sequential_reads, steady_gb_s, write};
use super::machine::{COARSE, coarse as memory};

fn spec() -> CoarseSpec {
    toml::from_str(COARSE).unwrap()
}

#[test]
fn a_read_alone_takes_the_latency_exactly_and_a_write_alone_is_taken_at_once() {
    let alone = open(&mut memory(), &[(Time::from_ns(5), read(17)), (Time::from_ns(500), write(99))]);
    assert_eq!(alone[0].latency(), Time::from_ns(80));
    assert_eq!(alone[1].latency(), Time::ZERO);
}

#[test]
fn a_bank_serves_one_access_a_row_cycle() {
    let lives = open(&mut memory(), &[(Time::ZERO, read(0)), (Time::ZERO, read(0))]);
    assert_eq!(lives[1].latency(), Time::from_ns(80 + 48));
}

#[test]
fn a_stream_reaches_the_bandwidth_within_one_percent() {
    let lives = closed(&mut memory(), 256, &sequential_reads(20_000));
    let (peak, got) = (2.0 * 38.4, steady_gb_s(&lives));
    assert!(got <= peak && got > 0.99 * peak, "{got} of {peak} GB/s");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn no_more_is_done_by_any_time_than_the_buses_carry(in_flight in 1usize..200, reads in 1u64..4, writes in 0u64..4) {
        let lives = closed(&mut memory(), in_flight, &random_mix(2_000, 1 << 20, reads, writes));
        let mut done: Vec<_> = lives.iter().map(|life| life.done).collect();
        done.sort_unstable();
        for (index, at) in done.iter().enumerate() {
            // a write is done when its line starts on the bus: one more a channel than have left it
            let carried = at.as_ns() * 2.0 * 38.4 + 2.0 * 64.0;
            prop_assert!(index as f64 * 64.0 <= carried);
        }
    }

    #[test]
    fn little_the_number_in_flight_is_throughput_times_latency(in_flight in 1usize..200) {
        let lives = closed(&mut memory(), in_flight, &random_mix(20_000, 1 << 20, 1, 0));
        let middle = &lives[lives.len() / 4..lives.len() * 3 / 4]; // neither filling nor draining
        let mean = middle.iter().map(|life| life.latency().as_ns()).sum::<f64>() / middle.len() as f64;
        let in_memory = steady_gb_s(&lives) / 64.0 * mean;
        prop_assert!((in_memory / in_flight as f64 - 1.0).abs() < 0.02, "{} of {}", in_memory, in_flight);
    }
}

#[test]
fn an_unknown_key_is_refused_with_the_valid_ones() {
    let error = toml::from_str::<CoarseSpec>(&format!("{COARSE}\nspeed = 1")).unwrap_err().to_string();
    for word in ["unknown field `speed`", "latency", "bank_busy", "bandwidth", "interleave"] {
        assert!(error.contains(word), "{error}");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let mut none = spec();
    none.banks.value = 0;
    let error = Memory::new(&MemorySpec::Coarse(none)).unwrap_err();
    assert!(matches!(error, DramError::OutOfRange { key: "banks", .. }), "{error}");
    let mut faster = spec();
    faster.latency.value = Time::from_ps(1);
    let error = Memory::new(&MemorySpec::Coarse(faster)).unwrap_err();
    assert!(matches!(error, DramError::OutOfRange { key: "latency", .. }), "{error}");
}
