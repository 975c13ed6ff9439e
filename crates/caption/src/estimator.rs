//! M2: a linear model from counter values to the performance of the memory subsystem.
//!
//! ```text
//!   samples with throughput --fit--> Y = b0 + b1 X1 + b2 X2 + ... --estimate--> one number for the tuner
//! ```
//! Does not model: non-linear effects; the tuner needs only the direction of a change of Y (equation 1's discussion).
//! Source: MICRO'23 equation (1); the published coefficients are those of its artifact (config.py, "Config #1").

use crate::error::{Error, Result};
use crate::sample::{Metric, Sample};
use nalgebra::{DMatrix, DVector};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

const FORMAT: &str = "caption-linear-model-1";

/// How well a fitted model explains the samples that made it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quality {
    /// Coefficient of determination, about the mean.
    pub r_squared: f64,
    /// Pearson correlation of the estimate with the throughput; the tuner works where it is well above 0.
    pub pearson: f64,
    pub samples: usize,
}

/// Y = intercept + sum of coefficient x metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinearModel {
    format: String,
    /// Source of the points that it was fitted on.
    pub provenance: String,
    pub intercept: f64,
    pub coefficients: BTreeMap<Metric, f64>,
    /// Absent for a model that was published without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quality: Option<Quality>,
}

impl LinearModel {
    /// Coefficients as published: DLRM, 24 threads, on one Sapphire Rapids machine; no intercept.
    pub fn published() -> LinearModel {
        LinearModel {
            format: FORMAT.into(),
            provenance: "MICRO'23 artifact: DLRM on a Sapphire Rapids".into(),
            intercept: 0.0,
            coefficients: BTreeMap::from([
                (Metric::NormIpc, 99.55281),
                (Metric::L1MissLatencyNs, -0.04686),
                (Metric::DdrReadLatencyNs, -0.48751),
            ]),
            quality: None,
        }
    }

    /// Least squares over `samples`, with an intercept. CAP021 where they do not determine the model.
    pub fn fit(samples: &[Sample], metrics: &[Metric], provenance: String) -> Result<LinearModel> {
        let refused = |detail: String| Error::Fit { detail };
        let unknowns = metrics.len() + 1;
        if samples.len() <= unknowns {
            return Err(refused(format!("{} samples for {unknowns} unknowns; give more", samples.len())));
        }
        let missing = |name: &str, number: usize| refused(format!("sample {number} has no {name}"));
        let mut columns = Vec::with_capacity(samples.len() * metrics.len());
        let mut throughput = Vec::with_capacity(samples.len());
        for (index, sample) in samples.iter().enumerate() {
            throughput.push(sample.throughput.ok_or_else(|| missing("throughput", index + 1))?);
            for metric in metrics {
                columns.push(sample.metric(*metric).ok_or_else(|| missing(metric.name(), index + 1))?);
            }
        }
        let x = DMatrix::from_row_slice(samples.len(), metrics.len(), &columns);
        let y = DVector::from_vec(throughput);
        let (slopes, intercept) = least_squares(x.clone(), &y, metrics)?;
        let estimate = (x * &slopes).add_scalar(intercept);
        Ok(LinearModel {
            format: FORMAT.into(),
            provenance,
            intercept,
            coefficients: metrics.iter().copied().zip(slopes.iter().copied()).collect(),
            quality: Some(Quality::of(estimate.as_slice(), y.as_slice())),
        })
    }

    /// CAP011 where the sample lacks a metric of the model.
    pub fn estimate(&self, sample: &Sample, source_name: &str) -> Result<f64> {
        self.coefficients.iter().try_fold(self.intercept, |sum, (metric, coefficient)| {
            let value = sample.metric(*metric).ok_or_else(|| Error::MissingMetric {
                source_name: source_name.to_string(),
                metric: metric.name(),
                needed_by: format!("the model ({})", self.provenance),
                given: sample.given(),
            })?;
            Ok(sum + coefficient * value)
        })
    }

    pub fn load(path: &Path) -> Result<LinearModel> {
        let refused = |detail: String| Error::Model { path: path.to_path_buf(), detail };
        let text = std::fs::read_to_string(path).map_err(Error::io("read", path))?;
        let model: LinearModel = serde_json::from_str(&text).map_err(|e| refused(e.to_string()))?;
        if model.format != FORMAT {
            return Err(refused(format!("its format is {:?}; valid: {FORMAT:?}", model.format)));
        }
        if model.coefficients.is_empty() {
            return Err(refused("it has no coefficient".into()));
        }
        Ok(model)
    }

    /// Whole or not at all.
    pub fn save(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self).expect("a model is plain data") + "\n";
        crate::atomic::write(path, &text)
    }
}

/// Slopes and intercept; columns are centred and scaled first, so that one tolerance tells a rank.
fn least_squares(mut x: DMatrix<f64>, y: &DVector<f64>, metrics: &[Metric]) -> Result<(DVector<f64>, f64)> {
    let mut centres = Vec::new();
    for (mut column, metric) in x.column_iter_mut().zip(metrics) {
        let centre = column.mean();
        column.add_scalar_mut(-centre);
        let spread = column.norm();
        if spread <= 1e-12 * centre.abs() || spread == 0.0 {
            return Err(Error::Fit { detail: format!("{} never changes; vary the ratio more", metric.name()) });
        }
        column /= spread;
        centres.push((centre, spread));
    }
    let svd = x.svd(true, true);
    if svd.rank(1e-9) < metrics.len() {
        let names: Vec<_> = metrics.iter().map(|m| m.name()).collect();
        return Err(Error::Fit { detail: format!("{} move together; drop one of them", names.join(", ")) });
    }
    let mut slopes = svd.solve(&y.add_scalar(-y.mean()), 1e-12).expect("both factors were computed");
    let mut intercept = y.mean();
    for (slope, (centre, spread)) in slopes.iter_mut().zip(centres) {
        *slope /= spread;
        intercept -= *slope * centre;
    }
    Ok((slopes, intercept))
}

impl Quality {
    fn of(estimate: &[f64], truth: &[f64]) -> Quality {
        let mean = truth.iter().sum::<f64>() / truth.len() as f64;
        let total: f64 = truth.iter().map(|t| (t - mean).powi(2)).sum();
        let residual: f64 = truth.iter().zip(estimate).map(|(t, e)| (t - e).powi(2)).sum();
        Quality { r_squared: 1.0 - residual / total, pearson: pearson(estimate, truth), samples: truth.len() }
    }
}

/// Pearson correlation of two series of one length; 0 where one of them never changes.
pub fn pearson(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len() as f64;
    let (mean_a, mean_b) = (a.iter().sum::<f64>() / n, b.iter().sum::<f64>() / n);
    let dot = |p: &[f64], mp: f64, q: &[f64], mq: f64| p.iter().zip(q).map(|(x, y)| (x - mp) * (y - mq)).sum::<f64>();
    let scale = (dot(a, mean_a, a, mean_a) * dot(b, mean_b, b, mean_b)).sqrt();
    if scale > 0.0 { dot(a, mean_a, b, mean_b) / scale } else { 0.0 }
}
