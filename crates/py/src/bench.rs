//! A point of a bench, from JSON to JSON.

use cxlab_model::ModelError;
use cxlab_model::bench::{self, Job};

pub fn point(job: &str) -> Result<String, ModelError> {
    let bad_job =
        |error: serde_json::Error| ModelError::Inconsistent { file: "bench".into(), cause: error.to_string() };
    let job: Job = serde_json::from_str(job).map_err(bad_job)?;
    let point = bench::run(&job)?;
    Ok(serde_json::to_string(&point).expect("plain data is JSON"))
}
