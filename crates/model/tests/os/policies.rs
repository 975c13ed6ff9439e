//! Policies, decision by decision, as their sources have them.

use cxlab_kernel::Time;
use cxlab_model::os::OsStats;
use cxlab_model::os::policy::{HintFault, NumaBalancing, NumaBalancingSpec, Reserve, Tpp, TppSpec};

const fn ms(count: u64) -> Time {
    Time::from_ns(count * 1_000_000)
}

fn fault(latency: Time, free: usize) -> HintFault {
    HintFault { latency, active: false, free, capacity: 1600 }
}

#[test]
fn numa_balancing_promotes_what_is_touched_within_the_threshold() {
    // Linux: hot_threshold_ms 1000, and 1 ms here stands for 1 s; latency >= threshold is cold.
    let mut policy = NumaBalancing::new(NumaBalancingSpec::LINUX);
    let mut stats = OsStats::default();
    let just_below = Time::from_ps(ms(1).as_ps() - 1);
    assert_eq!(policy.judge(ms(5), fault(just_below, 10), &mut stats).promote, Some(Reserve::HighWatermark));
    assert_eq!(policy.judge(ms(5), fault(ms(1), 10), &mut stats).promote, None);
    assert_eq!((stats.candidates.get(), stats.refused_cold.get()), (1, 1));
}

#[test]
fn numa_balancing_promotes_anything_while_a_sixteenth_is_free() {
    let mut policy = NumaBalancing::new(NumaBalancingSpec::LINUX);
    let mut stats = OsStats::default();
    assert!(policy.judge(ms(5), fault(ms(50), 101), &mut stats).promote.is_some());
    assert!(policy.judge(ms(5), fault(ms(50), 100), &mut stats).promote.is_none());
}

#[test]
fn the_hot_threshold_goes_up_where_few_are_hot_and_down_where_too_many_are() {
    // numa_promotion_adjust_threshold: steps of an eighth of the default, up to twice, down to one step.
    let few = NumaBalancingSpec::LINUX;
    let mut policy = NumaBalancing::new(few);
    let mut stats = OsStats::default();
    for period in 1..20 {
        policy.judge(ms(61 * period), fault(ms(9), 10), &mut stats);
    }
    assert_eq!(policy.threshold(), few.hot_threshold * 2);

    let many = NumaBalancingSpec { rate_limit: 1, adjust_period: ms(1), ..few };
    let mut policy = NumaBalancing::new(many);
    for step in 1..200 {
        policy.judge(Time::from_ns(100_000 * step), fault(Time::from_ns(10), 10), &mut stats);
    }
    assert_eq!(policy.threshold(), Time::from_ps(many.hot_threshold.as_ps() / 8));
}

#[test]
fn the_rate_limit_holds_in_every_period() {
    let spec = NumaBalancingSpec { rate_limit: 10, ..NumaBalancingSpec::LINUX };
    let mut policy = NumaBalancing::new(spec);
    let mut stats = OsStats::default();
    let promoted = (0..1000)
        .filter(|n| policy.judge(Time::from_ns(n * 10_000), fault(Time::ZERO, 10), &mut stats).promote.is_some());
    // 10 ms, ten periods of at most ten pages.
    assert!((90..=100).contains(&promoted.count()));
}

#[test]
fn tpp_promotes_only_what_was_touched_twice() {
    let mut policy = Tpp::new(TppSpec::PUBLISHED);
    let mut stats = OsStats::default();
    let first = policy.judge(fault(Time::ZERO, 0), &mut stats);
    assert_eq!((first.promote, first.activate), (None, true));
    let second = policy.judge(HintFault { active: true, ..fault(Time::ZERO, 0) }, &mut stats);
    assert_eq!(second.promote, Some(Reserve::Nothing), "promotions do not wait for the watermark");
}
