//! Points of a bench, from JSON to JSON.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use cxlab_model::ModelError;
use cxlab_model::bench::{self, Job, Point, Told};

pub fn point(job: &str) -> Result<String, ModelError> {
    bench::run(&read(job)?).map(|point| written(&point))
}

/// The points of many jobs on so many threads; `None` if `told` stopped them.
pub fn points(
    jobs: &[String],
    threads: NonZeroUsize,
    told: impl FnMut(Told) -> ControlFlow<()>,
) -> Result<Option<Vec<String>>, ModelError> {
    let jobs = jobs.iter().map(|job| read(job)).collect::<Result<Vec<_>, _>>()?;
    Ok(bench::sweep(&jobs, threads, told)?.map(|points| points.iter().map(written).collect()))
}

fn read(job: &str) -> Result<Job, ModelError> {
    let bad_job =
        |error: serde_json::Error| ModelError::Inconsistent { file: "bench".into(), cause: error.to_string() };
    serde_json::from_str(job).map_err(bad_job)
}

fn written(point: &Point) -> String {
    serde_json::to_string(point).expect("plain data is JSON")
}
