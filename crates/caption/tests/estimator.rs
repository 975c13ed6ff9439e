//! The linear model: the published one, and fits of planes that are known.

use cxlab_caption::estimator::{LinearModel, pearson};
use cxlab_caption::sample::{Metric, Sample};
use cxlab_caption::units::{Nanoseconds, Seconds};
use proptest::prelude::*;

fn sample(norm_ipc: f64, l1: f64, ddr: f64) -> Sample {
    Sample {
        norm_ipc: Some(norm_ipc),
        l1_miss_latency_ns: Some(Nanoseconds(l1)),
        ddr_read_latency_ns: Some(Nanoseconds(ddr)),
        ..Sample::at(Seconds(1.0))
    }
}

/// By hand: 99.55281 x 0.8 - 0.04686 x 50 - 0.48751 x 120 = 79.642248 - 2.343 - 58.5012.
#[test]
fn the_published_model() {
    let y = LinearModel::published().estimate(&sample(0.8, 50.0, 120.0), "a test").unwrap();
    assert!((y - 18.798048).abs() < 1e-9);
}

#[test]
fn a_missing_metric_is_named() {
    let lacking = Sample { ddr_read_latency_ns: None, ..sample(0.8, 50.0, 120.0) };
    let message = LinearModel::published().estimate(&lacking, "the stream").unwrap_err().to_string();
    assert!(message.contains("CAP011") && message.contains("the stream") && message.contains("ddr_read_latency_ns"));
    assert!(message.contains("norm_ipc, l1_miss_latency_ns"), "says what there is: {message}");
}

/// By hand: (1,2), (2,4), (3,5): covariance 3/2... r = 3 / sqrt(2 x 14/3) = 0.98198.
#[test]
fn pearson_by_hand() {
    assert!((pearson(&[1.0, 2.0, 3.0], &[2.0, 4.0, 5.0]) - 3.0 / (2.0f64 * 14.0 / 3.0).sqrt()).abs() < 1e-12);
    assert_eq!(pearson(&[1.0, 2.0], &[3.0, 3.0]), 0.0);
}

/// One metric, by hand: x 0 1 2 3, y 1 3 2 5: slope 1.1, intercept 1.1, R^2 = 1 - 2.7 / 8.75.
#[test]
fn a_fit_by_hand() {
    let points = [(0.0, 1.0), (1.0, 3.0), (2.0, 2.0), (3.0, 5.0)];
    let samples: Vec<_> = points.iter().map(|(x, y)| Sample { throughput: Some(*y), ..sample(*x, 0.0, 0.0) }).collect();
    let model = LinearModel::fit(&samples, &[Metric::NormIpc], "by hand".into()).unwrap();
    assert!((model.coefficients[&Metric::NormIpc] - 1.1).abs() < 1e-12);
    assert!((model.intercept - 1.1).abs() < 1e-12);
    let quality = model.quality.unwrap();
    assert!((quality.r_squared - (1.0 - 2.7 / 8.75)).abs() < 1e-12);
    // With one metric, R^2 is Pearson's square.
    assert!((quality.pearson.powi(2) - quality.r_squared).abs() < 1e-12);
    assert_eq!(quality.samples, 4);
}

#[test]
fn what_cannot_be_fitted_is_said() {
    let with = |samples: &[Sample], metrics: &[Metric]| {
        LinearModel::fit(samples, metrics, "test".into()).unwrap_err().to_string()
    };
    let full = |n: u32| Sample { throughput: Some(f64::from(n)), ..sample(f64::from(n), 2.0 * f64::from(n), 7.0) };
    let ten: Vec<_> = (0..10).map(full).collect();
    assert!(with(&ten[..2], &[Metric::NormIpc]).contains("give more"));
    assert!(with(&ten, &[Metric::DdrReadLatencyNs]).contains("never changes"));
    assert!(with(&ten, &[Metric::NormIpc, Metric::L1MissLatencyNs]).contains("move together"));
    assert!(with(&ten, &[Metric::CxlReadLatencyNs]).contains("sample 1 has no cxl_read_latency_ns"));
    assert!(
        with(&[sample(1.0, 1.0, 1.0), full(2), full(3)], &[Metric::NormIpc]).contains("sample 1 has no throughput")
    );
}

#[test]
fn a_model_survives_its_file_and_a_wrong_file_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model.json");
    LinearModel::published().save(&path).unwrap();
    assert_eq!(LinearModel::load(&path).unwrap(), LinearModel::published());
    for (wrong, says) in [
        ("{}", "format"),
        (r#"{"format":"x","provenance":"","intercept":0,"coefficients":{"ipc":1}}"#, "caption-linear-model-1"),
        (r#"{"format":"caption-linear-model-1","provenance":"","intercept":0,"coefficients":{"cpi":1}}"#, "norm_ipc"),
        (r#"{"format":"caption-linear-model-1","provenance":"","intercept":0,"coefficients":{}}"#, "no coefficient"),
    ] {
        std::fs::write(&path, wrong).unwrap();
        let message = LinearModel::load(&path).unwrap_err().to_string();
        assert!(message.contains("CAP020") && message.contains(says), "{message}");
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "no half-written file is left");
}

proptest! {
    /// Points on a plane give the plane back.
    #[test]
    fn a_plane_is_recovered(
        a in -100.0..100.0f64, b in -10.0..10.0f64, c in 1.0..10.0f64,
        points in proptest::collection::vec((0.1..3.0f64, 10.0..200.0f64), 8..40),
    ) {
        let samples: Vec<_> = points.iter().map(|(ipc, ddr)| Sample { throughput: Some(a + b * ipc + c * ddr), ..sample(*ipc, 0.0, *ddr) }).collect();
        let model = LinearModel::fit(&samples, &[Metric::NormIpc, Metric::DdrReadLatencyNs], "a plane".into()).unwrap();
        prop_assert!((model.intercept - a).abs() < 1e-6);
        prop_assert!((model.coefficients[&Metric::NormIpc] - b).abs() < 1e-6);
        prop_assert!((model.coefficients[&Metric::DdrReadLatencyNs] - c).abs() < 1e-6);
        prop_assert!(model.quality.unwrap().r_squared > 1.0 - 1e-9);
    }
}
