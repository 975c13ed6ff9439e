//! The model as a Python module, `cxlab._model`.
//!
//! ```text
//!   machine_names, load_machine   machines and their figures, as JSON
//!   machine_entries               every value of a machine, with its source and bounds, as JSON
//!   machine_schema                the JSON schema of machine files
//!   shipped_file                  a machine's, host's or device's file as it is written
//!   causes, statistics, errors    what the words of results and errors mean
//!   stages                        where a request's time can go, in the order of its way
//!   simulate                      the model's side of a live run, until the guest's program ends
//!   replay                        the same from a recorded trace
//!   bench_point, bench_points     one point of a bench; many on several threads
//!   run_study, run_caption        applications under an operating system; Caption above it
//!   validation_figures            silicon's figures, validation/points.toml
//!   border_schema                 the JSON schema of everything that crosses here
//! ```
//!
//! Everything crosses as JSON text: one schema for the command line, for files and for Python.

mod bench;
mod border;
mod explained;
mod job;
mod machines;
mod so_far;
mod study;

use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use pyo3::exceptions::PyException;
use pyo3::prelude::*;

use cxlab_model::ModelError;
use cxlab_model::bench::Told;
use cxlab_model::mem::Stage;

pyo3::create_exception!(
    _model,
    CxlabError,
    PyException,
    "An error of CXLab; `code` is stable, the text is for people."
);

fn raise(py: Python<'_>, error: &ModelError) -> PyErr {
    let exception = CxlabError::new_err(error.to_string());
    // An exception that cannot carry its code still carries its text.
    let _ = exception.value(py).setattr("code", error.code());
    exception
}

/// Names of the machines that come with CXLab.
#[pyfunction]
fn machine_names() -> Vec<String> {
    cxlab_model::config::machine_names()
}

/// Read a machine, changed by settings: JSON of its key figures and its whole description.
#[pyfunction]
fn load_machine(py: Python<'_>, name_or_path: &str, settings: Vec<String>) -> PyResult<String> {
    machines::describe(name_or_path, &settings).map_err(|error| raise(py, &error))
}

/// Every value of a machine with its key, source, place, bounds and what it was fitted to: JSON.
#[pyfunction]
fn machine_entries(py: Python<'_>, name_or_path: &str, settings: Vec<String>) -> PyResult<String> {
    machines::entries(name_or_path, &settings).map_err(|error| raise(py, &error))
}

/// The JSON schema of machine files.
#[pyfunction]
fn machine_schema() -> String {
    cxlab_model::config::machine_schema().to_string()
}

/// The text of a file that comes with CXLab, by its path in `data/`; nothing if there is none.
#[pyfunction]
fn shipped_file(path: &str) -> Option<&'static str> {
    cxlab_model::config::shipped_file(path)
}

/// Where a request's time can go, in the order of its way: (name, place, what happens there).
#[pyfunction]
fn stages() -> Vec<(&'static str, &'static str, &'static str)> {
    Stage::ALL.iter().map(|stage| (stage.name(), stage.place().name(), stage.description())).collect()
}

/// Causes that a core's time is charged to beside stages: (name, what the core does then).
#[pyfunction]
fn causes() -> Vec<(&'static str, &'static str)> {
    explained::causes()
}

/// Every statistic of a run on a machine, by name or from a file: JSON of a part.
#[pyfunction]
fn statistics(py: Python<'_>, name_or_path: &str) -> PyResult<String> {
    explained::statistics(name_or_path).map_err(|error| raise(py, &error))
}

/// Every error of the model: (code, text).
#[pyfunction]
fn errors() -> Vec<(String, String)> {
    explained::errors()
}

/// Bytes of shared memory that the ring takes.
#[pyfunction]
fn ring_bytes() -> usize {
    cxlab_access::Ring::bytes(cxlab_access::ring::CAPACITY)
}

/// The guest's time as its plugin last showed it in the ring of this descriptor `[ps]`.
#[pyfunction]
fn ring_time_ps(ring: i32) -> std::io::Result<u64> {
    // SAFETY: the caller's descriptor stays open during the call.
    let descriptor = unsafe { std::os::fd::BorrowedFd::borrow_raw(ring) };
    Ok(cxlab_access::Ring::open(descriptor)?.header().virtual_ps.load(std::sync::atomic::Ordering::Relaxed))
}

/// Run the model on a live guest until its program ends: the summary, JSON.
#[pyfunction]
fn simulate(py: Python<'_>, job: &str) -> PyResult<String> {
    py.detach(|| job::simulate(job)).map_err(|error| raise(py, &error))
}

/// Run the model on a recorded trace: the summary, JSON.
#[pyfunction]
fn replay(py: Python<'_>, job: &str) -> PyResult<String> {
    py.detach(|| job::replay(job)).map_err(|error| raise(py, &error))
}

/// Run one point of a bench: the point, JSON. Other threads may run others meanwhile.
#[pyfunction]
fn bench_point(py: Python<'_>, job: &str) -> PyResult<String> {
    py.detach(|| bench::point(job)).map_err(|error| raise(py, &error))
}

/// Run many points of a bench on so many threads: the points in the order of the jobs, JSON.
///
/// `ended` is called after each point. What it raises, and what a signal raises, ends the sweep.
#[pyfunction]
fn bench_points(py: Python<'_>, jobs: Vec<String>, threads: NonZeroUsize, ended: Py<PyAny>) -> PyResult<Vec<String>> {
    let mut raised = None;
    let told = |told: Told| {
        let heard = Python::attach(|py| match told {
            Told::Ended => ended.call0(py).map(|_| ()).and_then(|()| py.check_signals()),
            Told::Working => py.check_signals(),
        });
        heard.map_or_else(
            |error| {
                raised = Some(error);
                ControlFlow::Break(())
            },
            |()| ControlFlow::Continue(()),
        )
    };
    let done = py.detach(|| bench::points(&jobs, threads, told));
    match raised {
        Some(error) => Err(error),
        None => done.map(Option::unwrap_or_default).map_err(|error| raise(py, &error)),
    }
}

/// Run applications under an operating system: an interval, JSON.
#[pyfunction]
fn run_study(py: Python<'_>, job: &str) -> PyResult<String> {
    py.detach(|| study::study(job)).map_err(|error| raise(py, &error))
}

/// Have Caption steer applications of the model: its executions, JSON.
///
/// `heard` is called with each execution when it ends. What it raises ends the run.
#[pyfunction]
fn run_caption(py: Python<'_>, job: &str, heard: Py<PyAny>) -> PyResult<String> {
    let mut raised = None;
    let mut tell = |execution: &str| match Python::attach(|py| heard.call1(py, (execution,))) {
        Ok(_) => ControlFlow::Continue(()),
        Err(error) => {
            raised = Some(error);
            ControlFlow::Break(())
        }
    };
    let done = py.detach(|| study::caption(job, &mut tell));
    match raised {
        Some(error) => Err(error),
        None => done.map_err(|error| raise(py, &error)),
    }
}

/// Silicon's figures that a bench can answer: TOML.
#[pyfunction]
fn validation_figures() -> &'static str {
    include_str!("../../../validation/points.toml")
}

/// The JSON schema of everything that crosses here, by name of the type: results and jobs.
#[pyfunction]
fn border_schema() -> String {
    border::schema()
}

#[pymodule]
fn _model(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("CxlabError", module.py().get_type::<CxlabError>())?;
    module.add_function(wrap_pyfunction!(machine_names, module)?)?;
    module.add_function(wrap_pyfunction!(load_machine, module)?)?;
    module.add_function(wrap_pyfunction!(machine_entries, module)?)?;
    module.add_function(wrap_pyfunction!(machine_schema, module)?)?;
    module.add_function(wrap_pyfunction!(shipped_file, module)?)?;
    module.add_function(wrap_pyfunction!(stages, module)?)?;
    module.add_function(wrap_pyfunction!(causes, module)?)?;
    module.add_function(wrap_pyfunction!(statistics, module)?)?;
    module.add_function(wrap_pyfunction!(errors, module)?)?;
    module.add_function(wrap_pyfunction!(ring_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(ring_time_ps, module)?)?;
    module.add_function(wrap_pyfunction!(simulate, module)?)?;
    module.add_function(wrap_pyfunction!(replay, module)?)?;
    module.add_function(wrap_pyfunction!(bench_point, module)?)?;
    module.add_function(wrap_pyfunction!(bench_points, module)?)?;
    module.add_function(wrap_pyfunction!(run_study, module)?)?;
    module.add_function(wrap_pyfunction!(run_caption, module)?)?;
    module.add_function(wrap_pyfunction!(border_schema, module)?)?;
    module.add_function(wrap_pyfunction!(validation_figures, module)?)
}
