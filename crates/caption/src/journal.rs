//! The journal: the values of the attributes before the first write. It is on disk before that write.
//!
//! Lives in /run: it is gone after a reboot, as the weights are. Read by the guardian, by the next start, and by `restore`.

use crate::error::{Error, Result};
use crate::root::{Attribute, Root};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

const FORMAT: &str = "caption-journal-1";

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Journal {
    format: String,
    /// The controller that wrote it.
    pub process: u32,
    /// In the order in which to put them back.
    pub attributes: Vec<Attribute>,
}

impl Journal {
    pub fn path(root: &Root) -> PathBuf {
        crate::lock::directory(root).join("journal.json")
    }

    pub fn new(attributes: Vec<Attribute>) -> Journal {
        Journal { format: FORMAT.into(), process: std::process::id(), attributes }
    }

    pub fn save(&self, path: &Path) -> Result<()> {
        crate::atomic::write(path, &serde_json::to_string_pretty(self).expect("a journal is plain data"))
    }

    /// None where there is nothing to put back.
    pub fn load(path: &Path) -> Result<Option<Journal>> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(Error::io("read", path)(e)),
        };
        let refused = |detail: String| Error::Journal { path: path.to_path_buf(), detail };
        let journal: Journal = serde_json::from_str(&text).map_err(|e| refused(e.to_string()))?;
        if journal.format != FORMAT {
            return Err(refused(format!("its format is {:?}; valid: {FORMAT:?}", journal.format)));
        }
        Ok(Some(journal))
    }

    /// Puts everything back that can be, then removes the journal; the first failure keeps it.
    pub fn restore(path: &Path) -> Result<Option<Journal>> {
        let Some(journal) = Journal::load(path)? else {
            return Ok(None);
        };
        let failures: Vec<Error> = journal.attributes.iter().filter_map(|a| a.write().err()).collect();
        if let Some(first) = failures.into_iter().next() {
            return Err(first);
        }
        std::fs::remove_file(path).map_err(Error::io("remove", path))?;
        Ok(Some(journal))
    }
}
