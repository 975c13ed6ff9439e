//! Explains words of results and errors, from where each is declared: statistics, causes of the CPI stack, errors.
//!
//! ```text
//!   a machine at rest  --Part::tree-->  every statistic that a run on it has
//!   #[error("CFG001: ...")]         -->  every code of the model and of traces
//! ```

use cxlab_model::core::Cause;
use cxlab_model::home::AddressRange;
use cxlab_model::summary::Part;
use cxlab_model::{Machine, MachineSpec, ModelError};

/// The files that declare the model's errors: the attribute of each variant is its text.
const ERRORS: [&str; 2] = [include_str!("../../model/src/error.rs"), include_str!("../../access/src/trace.rs")];

/// Causes that a core's time is charged to beside stages: name and description.
pub fn causes() -> Vec<(&'static str, &'static str)> {
    Cause::ALL.iter().map(|cause| (cause.name(), cause.description())).collect()
}

/// Every statistic of a run on a machine, JSON of a [`Part`] whose values are those of a machine at rest.
pub fn statistics(name_or_path: &str) -> Result<String, ModelError> {
    const NODE_BYTES: u64 = 1 << 30;
    let spec = MachineSpec::load(name_or_path)?;
    let range = |node: u16| AddressRange { start: u64::from(node) * NODE_BYTES, length: NODE_BYTES, node };
    let ranges: Vec<_> = (0..spec.nodes.len() as u16).map(range).collect();
    let machine = Machine::new(spec, 1, &ranges)?;
    Ok(serde_json::to_string(&Part::tree(&machine)).expect("plain data is JSON"))
}

/// The code and the text of every error that the model can end with; braces stand for what a message says. If the
/// variant has a comment, the text begins with it.
pub fn errors() -> Vec<(String, String)> {
    let of = |source: &&str| {
        let parts: Vec<_> = source.split("#[error(").collect();
        parts.windows(2).filter_map(|pair| declared(pair[0], pair[1])).collect::<Vec<_>>()
    };
    ERRORS.iter().flat_map(of).collect()
}

/// The code and the text from what stands around `#[error(`; none of an error that passes on another one.
fn declared(before: &str, attribute: &str) -> Option<(String, String)> {
    let comments = before.lines().rev().skip(1).map_while(|line| line.trim().strip_prefix("/// "));
    let mut comment: Vec<_> = comments.collect();
    comment.reverse();
    let text = attribute.trim_start().strip_prefix('"')?;
    let text = text.split("\"\n").next()?.split("\")]").next()?;
    // A backslash at the end of a line goes on with the next one.
    let whole: String = text.split("\\\n").map(str::trim_start).collect();
    let (code, rest) = whole.split_once(": ")?;
    comment.push(rest);
    Some((code.to_owned(), comment.join(" ")))
}
