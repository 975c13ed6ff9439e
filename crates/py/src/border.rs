//! The JSON schema of what crosses between Rust and Python. `scripts/generate_border.py` writes the Python types from
//! it.
//!
//! ```text
//!   a struct with Serialize or Deserialize --JsonSchema--> schema --generate_border.py--> python/cxlab/border.py
//! ```

use cxlab_model::bench::{Job, Point};
use cxlab_model::config::Entry;
use cxlab_model::study::{Interval, StudySpec};
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;

use crate::job::{LiveJob, Recorded, ReplayJob, RunResult};
use crate::machines::MachineFigures;
use crate::so_far::SoFar;
use crate::study::{CaptionJob, Execution, Outcome};

/// A function of the module: name, arguments (name, Python type) and what it returns.
type Function = (&'static str, &'static [(&'static str, &'static str)], &'static str);

/// Every function, for `_model.pyi`. `tests/python/test_border.py` compares it with the compiled module.
const FUNCTIONS: &[Function] = &[
    ("bench_point", &[("job", "str")], "str"),
    ("bench_points", &[("jobs", "list[str]"), ("threads", "int"), ("ended", "Callable[[], None]")], "list[str]"),
    ("border_schema", &[], "str"),
    ("causes", &[], "list[tuple[str, str]]"),
    ("errors", &[], "list[tuple[str, str]]"),
    ("load_machine", &[("name_or_path", "str"), ("settings", "list[str]")], "str"),
    ("machine_entries", &[("name_or_path", "str"), ("settings", "list[str]")], "str"),
    ("machine_names", &[], "list[str]"),
    ("machine_schema", &[], "str"),
    ("replay", &[("job", "str")], "str"),
    ("ring_bytes", &[], "int"),
    ("ring_time_ps", &[("ring", "int")], "int"),
    ("run_caption", &[("job", "str"), ("heard", "Callable[[str], None]")], "str"),
    ("run_study", &[("job", "str")], "str"),
    ("shipped_file", &[("path", "str")], "str | None"),
    ("simulate", &[("job", "str")], "str"),
    ("stages", &[], "list[tuple[str, str, str]]"),
    ("statistics", &[("name_or_path", "str")], "str"),
    ("validation_figures", &[], "str"),
];

/// Add types and all that they are made of.
macro_rules! types {
    ($generator:expr, $($type:ty),*) => { $( $generator.subschema_for::<$type>(); )* };
}

/// The schema of every type that crosses, by name.
pub fn schema() -> String {
    let mut results = SchemaSettings::draft2020_12().for_serialize().into_generator();
    types!(results, MachineFigures, Entry, Point, Interval, RunResult, SoFar, Execution, Outcome);
    let mut jobs = SchemaSettings::draft2020_12().into_generator();
    types!(jobs, Job, StudySpec, CaptionJob, LiveJob, ReplayJob, Recorded);
    let definitions = |mut generator: SchemaGenerator| generator.take_definitions(true);
    serde_json::json!({ "results": definitions(results), "jobs": definitions(jobs), "functions": FUNCTIONS })
        .to_string()
}
