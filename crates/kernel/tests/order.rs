//! Time that goes back ends a debug build, and is counted in a release build (`cargo test --release`).

use cxlab_kernel::{Server, Time, order};

#[test]
#[cfg_attr(debug_assertions, should_panic(expected = "came after"))]
fn a_span_that_would_be_negative_is_counted_and_zero() {
    order::forget();
    assert_eq!(Time::from_ns(1) - Time::from_ns(2), Time::ZERO);
    let mut time = Time::from_ns(3);
    time -= Time::from_ns(5);
    assert_eq!(time, Time::ZERO);
    let broken = order::broken().expect("two spans were negative");
    assert_eq!((broken.count, broken.had_come_ps, broken.came_ps), (2, 2_000, 1_000));
    order::forget();
    assert_eq!(order::broken(), None);
}

#[test]
#[cfg_attr(debug_assertions, should_panic(expected = "a customer of a server"))]
fn a_customer_that_comes_before_the_last_one_is_counted() {
    order::forget();
    let mut server = Server::default();
    server.reserve(Time::from_ns(2), Time::from_ns(1));
    server.reserve(Time::from_ns(1), Time::from_ns(1));
    assert_eq!(order::broken().map(|broken| (broken.what, broken.count)), Some(("a customer of a server", 1)));
}

#[test]
fn times_in_order_break_nothing() {
    order::forget();
    let mut server = Server::default();
    for ns in [1, 1, 2] {
        server.reserve(Time::from_ns(ns), Time::from_ns(1));
    }
    assert_eq!(Time::from_ns(2) - Time::from_ns(2), Time::ZERO);
    assert_eq!(order::broken(), None);
}
