//! A statistic is declared once and tells its unit and meaning with its value.

use cxlab_kernel::statistic::{Group, Unit, Value};
use cxlab_kernel::{Time, statistics};

statistics! {
    /// Statistics of a wire.
    struct WireStats {
        flits: Counter [Flits] "68 B flits sent",
        queueing: Span [Nanoseconds] "mean wait for the wire",
        latency: Latency [Nanoseconds] "time on the wire",
    }
}

#[test]
fn a_group_is_walked_in_the_order_of_its_declaration() {
    let mut stats = WireStats::default();
    stats.flits.add(3);
    stats.queueing.record(Time::from_ns(10));
    stats.queueing.record(Time::from_ns(30));
    for ns in 1..=100 {
        stats.latency.record(Time::from_ns(ns));
    }
    let entries = stats.entries();
    assert_eq!(entries.iter().map(|e| e.name).collect::<Vec<_>>(), ["flits", "queueing", "latency"]);
    assert_eq!((entries[0].unit, entries[0].description), (Unit::Flits, "68 B flits sent"));
    assert_eq!(entries[0].value, Value::Count(3));
    assert_eq!(entries[1].value, Value::Real(20.0));
    let Value::Distribution { count, mean, p99, .. } = entries[2].value else { panic!("a distribution") };
    assert_eq!(count, 100);
    assert!((mean - 50.5).abs() < 0.1 && (p99 - 99.0).abs() < 0.2, "{mean} {p99}");
}
