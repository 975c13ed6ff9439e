use super::machine;
use clap::Args;
use cxlab_caption::Result;
use cxlab_caption::error::Error;
use cxlab_caption::estimator::LinearModel;
use cxlab_caption::sample::Metric;
use cxlab_caption::sensor::Replay;
use std::path::PathBuf;

/// Fit the linear model to samples that carry a throughput, and save it.
#[derive(Args)]
pub struct Fit {
    /// JSONL samples with throughput, over a sweep of the ratio
    samples: PathBuf,

    /// Where to save the model
    #[arg(long, short)]
    output: PathBuf,

    /// Metrics to fit on
    #[arg(long, value_delimiter = ',', value_parser = metric,
          default_value = "norm_ipc,l1_miss_latency_ns,ddr_read_latency_ns")]
    metrics: Vec<Metric>,
}

fn metric(name: &str) -> std::result::Result<Metric, String> {
    let known = Metric::ALL.iter().find(|metric| metric.name() == name);
    known.copied().ok_or_else(|| format!("valid: {}", Metric::ALL.map(Metric::name).join(", ")))
}

impl Fit {
    pub fn execute(mut self) -> Result<u8> {
        self.metrics.sort();
        self.metrics.dedup();
        let samples = Replay::open(&self.samples)?.all()?;
        let model = LinearModel::fit(&samples, &self.metrics, self.samples.display().to_string())?;
        model.save(&self.output)?;
        machine::print(&format!("intercept             {:>12.5}", model.intercept))?;
        for (metric, coefficient) in &model.coefficients {
            machine::print(&format!("{:<22}{coefficient:>12.5}  {}", metric.name(), metric.description()))?;
        }
        let quality = model.quality.ok_or_else(|| Error::Fit { detail: "no quality".into() })?;
        machine::print(&format!(
            "R^2 {:.4}, Pearson {:.4}, {} samples; saved to {}",
            quality.r_squared,
            quality.pearson,
            quality.samples,
            self.output.display()
        ))?;
        Ok(0)
    }
}
