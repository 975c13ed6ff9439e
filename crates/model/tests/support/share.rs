//! How long a soak test runs: all of its events, or a share of them.

/// So many of `events` as `CXLAB_SOAK_SHARE` says, from 0 to 1; without it, all.
pub fn share_of(events: u64) -> u64 {
    let share = std::env::var("CXLAB_SOAK_SHARE").map_or(1.0, |text| {
        let share: f64 = text.parse().unwrap_or_else(|_| panic!("CXLAB_SOAK_SHARE={text}: valid: 0 to 1, as 0.01"));
        assert!((0.0..=1.0).contains(&share), "CXLAB_SOAK_SHARE={text}: valid: 0 to 1, as 0.01");
        share
    });
    (events as f64 * share) as u64
}
