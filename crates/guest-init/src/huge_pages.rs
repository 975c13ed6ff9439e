//! Transparent huge pages of 2 MiB go to every program that touches enough, to those that ask by madvise, or to nobody.
//!
//! Debian's kernel gives them to every program, and Ubuntu's to those that ask. Source: Linux 6.12,
//! Documentation/admin-guide/mm/transhuge.rst.

use std::fs;

use serde::Deserialize;

use crate::error::{Doing, Result};

const SETTING: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

/// A choice other than the kernel's own default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HugePages {
    Madvise,
    Never,
}

impl HugePages {
    pub fn set(self) -> Result<()> {
        let word = match self {
            HugePages::Madvise => "madvise",
            HugePages::Never => "never",
        };
        fs::write(SETTING, word).doing(|| format!("writing {word} to {SETTING}"))
    }
}
