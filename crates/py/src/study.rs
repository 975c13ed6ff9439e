//! Studies, from JSON to JSON: one interval, or a run of Caption over many.

mod caption;

use cxlab_model::ModelError;
use cxlab_model::study::{Session, StudySpec};

pub use caption::{CaptionJob, Execution, Outcome, caption};

fn bad(error: impl ToString) -> ModelError {
    ModelError::Inconsistent { file: "study".into(), cause: error.to_string() }
}

/// Run a study: warm-up, then one interval.
pub fn study(job: &str) -> Result<String, ModelError> {
    let spec: StudySpec = serde_json::from_str(job).map_err(bad)?;
    let interval = Session::new(&spec)?.run()?;
    Ok(serde_json::to_string(&interval).expect("plain data is JSON"))
}
