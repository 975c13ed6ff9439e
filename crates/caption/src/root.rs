//! The one door to the machine's files in /sys, /proc and /run. A test can give it a temporary tree.

use crate::error::{Error, Result};
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root(PathBuf);

impl Root {
    /// The running machine.
    pub fn machine() -> Root {
        Root("/".into())
    }

    pub fn at(directory: impl Into<PathBuf>) -> Root {
        Root(directory.into())
    }

    pub fn path(&self, below: impl AsRef<Path>) -> PathBuf {
        self.0.join(below)
    }

    /// Text without the line's end.
    pub fn read(&self, below: impl AsRef<Path>) -> Result<String> {
        read(&self.path(below))
    }
}

pub fn read(path: &Path) -> Result<String> {
    let text = std::fs::read_to_string(path).map_err(Error::io("read", path))?;
    Ok(text.trim_end().to_string())
}

/// One attribute and what is to stand in it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attribute {
    pub path: PathBuf,
    pub content: String,
}

impl Attribute {
    /// Reads an attribute as it stands now.
    pub fn current(path: PathBuf) -> Result<Attribute> {
        let content = read(&path)?;
        Ok(Attribute { path, content })
    }

    /// One write call: an attribute takes its value whole. Never creates a file.
    pub fn write(&self) -> Result<()> {
        std::fs::OpenOptions::new()
            .write(true)
            .truncate(true)
            .open(&self.path)
            .and_then(|mut file| file.write_all(format!("{}\n", self.content).as_bytes()))
            .map_err(Error::io("write", &self.path))
    }

    /// Writes and reads back: CAP042 where something else sets it too.
    pub fn set(&self) -> Result<()> {
        self.write()?;
        let found = read(&self.path)?;
        if found == self.content {
            return Ok(());
        }
        Err(Error::NotTaken { path: self.path.clone(), wrote: self.content.clone(), found })
    }
}

impl std::fmt::Display for Attribute {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} <- {}", self.path.display(), self.content)
    }
}
