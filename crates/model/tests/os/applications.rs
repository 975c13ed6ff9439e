//! Applications: their laws of access, and what placement does to them.

use cxlab_kernel::{Stream, Time};
use cxlab_model::apps::{AppSpec, Arrivals, Distribution, Keys, Ycsb};
use cxlab_model::os::Mempolicy;
use cxlab_model::study::StudySpec;

use super::system::{bind, process, run, store, study, weighted};

#[test]
fn zipfian_ranks_have_the_frequencies_of_their_law() {
    // P(rank 0) = 1 / zeta(n), P(rank 0 .. k) = zeta(k) / zeta(n), theta = 0.99 (YCSB).
    let zeta = |n: u64| (1..=n).map(|rank| (rank as f64).powf(-0.99)).sum::<f64>();
    let keys = Keys::new(Distribution::Zipfian, 10_000);
    let mut random = Stream::new(7, "test");
    let ranks: Vec<u64> = (0..200_000).map(|_| keys.rank(&mut random)).collect();
    for first in [1, 10, 100, 1000] {
        let share = ranks.iter().filter(|rank| **rank < first).count() as f64 / ranks.len() as f64;
        let wanted = zeta(first) / zeta(10_000);
        // Gray's approximation is exact for the first two ranks and within some percent beyond.
        assert!((share / wanted - 1.0).abs() < 0.06, "first {first}: {share} for {wanted}");
    }
}

#[test]
fn arrivals_have_their_rate_and_are_irregular_as_poisson() {
    let mut arrivals = Arrivals::poisson(1e6, Stream::new(3, "test"));
    let times: Vec<f64> = (0..50_000).map(|_| arrivals.take().as_ns()).collect();
    let spans: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mean = spans.iter().sum::<f64>() / spans.len() as f64;
    let variance = spans.iter().map(|span| (span - mean).powi(2)).sum::<f64>() / spans.len() as f64;
    assert!((mean / 1000.0 - 1.0).abs() < 0.02, "{mean} ns");
    assert!((variance.sqrt() / mean - 1.0).abs() < 0.03, "an exponential's deviation is its mean");
}

fn work(app: &AppSpec, threads: u16, mempolicy: Mempolicy) -> f64 {
    run(&study(vec![process(app.clone(), threads, 16_000, mempolicy)])).1.processes[0].work_per_second
}

#[test]
fn bandwidth_bound_programs_are_best_where_the_bandwidths_put_them() {
    let app = AppSpec::Embedding {};
    // All reads: the peaks of both nodes, each alone.
    let peak = |node: &str| {
        let (_, interval) = run(&study(vec![process(app.clone(), 16, 16_000, bind(node))]));
        interval.nodes[node].read_mb_s
    };
    let (dram, cxl) = (peak("dram"), peak("cxl"));
    let best_share = cxl / (dram + cxl);
    let nearest = (best_share * 20.0).round() as u32;
    let at = |twentieths: u32| work(&app, 16, weighted(20 - twentieths, twentieths));
    let best = at(nearest);
    assert!(best > at(nearest + 2) && best > at(nearest - 2), "{best_share}");
    assert!(best > 1.1 * work(&app, 16, bind("dram")));
}

#[test]
fn a_latency_bound_store_is_best_on_dram() {
    let app = store(Distribution::Uniform, Ycsb::A);
    let throughput = |mempolicy| {
        let spec = study(vec![process(app.clone(), 1, 8192, mempolicy)]);
        let (_, interval) = run(&StudySpec { measure: Time::from_ns(3_000_000), ..spec });
        interval.processes[0].work_per_second
    };
    let shares = [bind("dram"), weighted(3, 1), weighted(1, 1), weighted(1, 3), bind("cxl")];
    let throughputs: Vec<f64> = shares.into_iter().map(throughput).collect();
    assert!(throughputs.windows(2).all(|pair| pair[0] > pair[1]), "{throughputs:?}");
}
