//! Files of /proc, /sys and /dev below a root, so that tests can lay out a machine of their own.

use std::path::{Path, PathBuf};

#[derive(Clone, Debug)]
pub struct Tree {
    root: PathBuf,
}

impl Tree {
    #[must_use]
    pub fn real() -> Tree {
        Tree::at("/")
    }

    #[must_use]
    pub fn at(root: impl Into<PathBuf>) -> Tree {
        Tree { root: root.into() }
    }

    #[must_use]
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root.join(path)
    }

    /// Trimmed contents; `None` if the file is missing, empty or not for us.
    #[must_use]
    pub fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        let text = std::fs::read_to_string(self.path(path)).ok()?;
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_string())
    }

    #[must_use]
    pub fn number(&self, path: impl AsRef<Path>) -> Option<u64> {
        self.text(path)?.parse().ok()
    }

    /// The numbers of entries such as `node0`, ascending.
    #[must_use]
    pub fn numbered(&self, folder: &str, prefix: &str) -> Vec<u32> {
        let entries = std::fs::read_dir(self.path(folder)).into_iter().flatten().flatten();
        let names = entries.filter_map(|e| e.file_name().into_string().ok());
        let mut numbers: Vec<u32> = names.filter_map(|n| n.strip_prefix(prefix)?.parse().ok()).collect();
        numbers.sort_unstable();
        numbers
    }
}
