//! Fitted keys: numbers that were chosen so that the model meets a measurement, and which measurement it was.
//!
//! ```toml
//! [[fitted]]
//! key = "root_port.bridge_latency"
//! point = "EuroSys'24 artifact: 244 ns, one idle thread"
//! ```
//!
//! A file lists the keys of its own; a machine has those of all its parts. A key that is given anew is no longer fitted.

use serde::{Deserialize, Serialize};

use super::read;
use super::tree::{Mistake, Tree, Value};

/// A key and the point that its value was fitted to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fitted {
    /// path of the value in this file
    pub key: String,
    /// the measurement: document, figure or table, and what it says
    pub point: String,
}

impl Fitted {
    /// The keys of its path.
    #[must_use]
    pub fn keys(&self) -> Vec<&str> {
        self.key.split('.').collect()
    }

    pub(super) fn is_within(&self, path: &str) -> bool {
        self.within(path).is_some() || self.key == path
    }

    /// Seen from the part at `path`.
    pub(super) fn within(&self, path: &str) -> Option<Fitted> {
        let key = self.key.strip_prefix(path)?.strip_prefix('.')?.to_owned();
        Some(Fitted { key, point: self.point.clone() })
    }

    /// Seen from what has the part at `path`.
    pub(super) fn below(self, path: &str) -> Fitted {
        let key = if path.is_empty() { self.key } else { format!("{path}.{}", self.key) };
        Fitted { key, point: self.point }
    }
}

/// Takes the list of a file out of its tree.
pub fn take(tree: &mut Tree) -> Result<Vec<Fitted>, Mistake> {
    let Some(list) = tree.table_mut().and_then(|table| table.shift_remove("fitted")) else { return Ok(Vec::new()) };
    match &list.value {
        Value::Array(items) => items.iter().map(|item| read::read(item, "fitted")).collect(),
        _ => {
            Err(Mistake { cause: format!("fitted = {}; valid: [[fitted]] tables", list.written()), place: list.place })
        }
    }
}
