//! A machine's sys, proc and run in a temporary directory: DDR node0, CXL node1, automatic weights 9:2.

#![allow(dead_code)]

use std::path::{Path, PathBuf};

pub struct Tree(tempfile::TempDir);

impl Tree {
    /// `auto`: the name of the automatic flag's file.
    pub fn new(auto: &str) -> Tree {
        let tree = Tree(tempfile::tempdir().unwrap());
        tree.put("sys/devices/system/node/has_memory", "0-1");
        tree.put("sys/devices/system/node/has_cpu", "0");
        tree.put(WEIGHTS.to_string() + "/node0", "9");
        tree.put(WEIGHTS.to_string() + "/node1", "2");
        tree.put(format!("{WEIGHTS}/{auto}"), "true");
        tree
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn put(&self, path: impl AsRef<Path>, text: &str) {
        let path = self.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{text}\n")).unwrap();
    }

    pub fn read(&self, path: impl AsRef<Path>) -> String {
        std::fs::read_to_string(self.path().join(path)).unwrap().trim().to_string()
    }

    /// node0:node1. A file, unlike an attribute, is empty for an instant while it is written.
    pub fn weights(&self) -> String {
        let node = |name: &str| loop {
            let text = self.read(format!("{WEIGHTS}/{name}"));
            if !text.is_empty() {
                return text;
            }
        };
        format!("{}:{}", node("node0"), node("node1"))
    }

    pub fn journal(&self) -> PathBuf {
        self.path().join("run/cxlab-caption/journal.json")
    }
}

pub const WEIGHTS: &str = "sys/kernel/mm/mempolicy/weighted_interleave";
