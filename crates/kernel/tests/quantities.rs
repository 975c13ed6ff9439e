//! Quantities keep their unit on the way in and out, and refuse what has none.

use cxlab_kernel::{Bandwidth, Bytes, Frequency, Time};
use proptest::prelude::*;

#[test]
fn a_time_is_written_as_jedec_writes_it() {
    assert_eq!("13.75ns".parse(), Ok(Time::from_ps(13_750)));
    assert_eq!("7.8 us".parse(), Ok(Time::from_ns(7_800)));
    assert_eq!(Time::from_ps(13_750).to_string(), "13.75 ns");
}

#[test]
fn a_number_without_a_unit_is_refused_with_the_valid_ones() {
    let message = "50".parse::<Time>().unwrap_err().to_string();
    assert!(message.contains("no unit") && message.contains("ps, ns, us, ms, s"), "{message}");
    let message = "50 MHz".parse::<Time>().unwrap_err().to_string();
    assert!(message.contains("`MHz`") && message.contains("ns"), "{message}");
    for text in ["", "ns", "1.2.3 ns", "-4 ns", "1e3 ns", ". ns"] {
        assert!(text.parse::<Time>().is_err(), "{text:?}");
    }
    assert!("0.5 ps".parse::<Time>().unwrap_err().to_string().contains("finer"));
    assert!("99999999999999999999 s".parse::<Time>().unwrap_err().to_string().contains("too large"));
    assert!("0 GHz".parse::<Frequency>().is_err());
    assert!("0 GB/s".parse::<Bandwidth>().is_err());
}

#[test]
fn a_line_over_a_ddr5_4800_channel_takes_its_bytes_over_its_rate() {
    // 64 bytes at 38.4 GB/s: 1.6667 ns, and a wire is never early.
    let rate: Bandwidth = "38.4 GB/s".parse().unwrap();
    assert_eq!(Bytes::new(64) / rate, Time::from_ps(1667));
}

#[test]
fn cycles_do_not_drift() {
    // 3 cycles at 3 GHz are 1 ns although one is 333.33 ps.
    let clock: Frequency = "3 GHz".parse().unwrap();
    assert_eq!(clock.cycles(3), Time::from_ns(1));
    assert_eq!(clock.period(), Time::from_ps(333));
    assert_eq!(clock.ticks(Time::from_ns(1000)), 3000);
}

proptest! {
    #[test]
    fn what_is_written_reads_back(ps in 0u64..1_000_000_000_000_000, hz in 1u64..10_000_000_000) {
        let time = Time::from_ps(ps);
        prop_assert_eq!(time.to_string().parse::<Time>().unwrap(), time);
        let clock = Frequency::from_hz(hz).unwrap();
        prop_assert_eq!(clock.to_string().parse::<Frequency>().unwrap(), clock);
    }
}
