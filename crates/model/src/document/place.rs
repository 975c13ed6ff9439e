//! Where a value of a configuration was written.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Author of a value. If a value has no source, its author decides what stands there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    /// a file that comes with CXLab: each value has a source
    Shipped,
    /// a file of the user's
    User,
    /// `--set` on the command line
    CommandLine,
}

impl Author {
    /// The source of a value that is written without one; shipped files must give it.
    pub fn source(self) -> Option<&'static str> {
        match self {
            Author::Shipped => None,
            Author::User => Some("given by the user"),
            Author::CommandLine => Some("set on the command line"),
        }
    }
}

/// A file, or the options of the command line.
#[derive(Debug, PartialEq, Eq)]
pub struct Origin {
    pub author: Author,
    /// as messages name it: `data/hosts/xeon-8468v.toml`, the user's path, or `--set KEY=VALUE`
    pub file: String,
    /// folder of a user's file; names of other files in it are relative to this
    pub folder: Option<PathBuf>,
}

/// A value's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub origin: Arc<Origin>,
    pub line: usize,
    pub column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.origin.author {
            Author::CommandLine => write!(f, "{}", self.origin.file),
            Author::Shipped | Author::User => write!(f, "{}:{}:{}", self.origin.file, self.line, self.column),
        }
    }
}
