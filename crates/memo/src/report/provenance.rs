//! Provenance of figures: enough to make them again, and to doubt them.

use crate::host::{Disturbance, Host};
use crate::isa::Isa;
use crate::page::PageSize;
use crate::tsc::Tsc;
use serde::Serialize;

#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Provenance {
    Measured(Box<Measured>),
    Imported(Imported),
}

#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    pub tool: &'static str,
    pub version: &'static str,
    pub command: Vec<String>,
    /// UTC, RFC 3339.
    pub started: String,
    pub host: Host,
    pub tsc: Tsc,
    pub instruction_set: Isa,
    pub pages: PageSize,
    pub cpus: Vec<usize>,
    pub seed: u64,
    /// How a figure is made of samples.
    pub method: String,
    pub disturbance: Disturbance,
    /// Reasons why the figures are unreliable.
    pub caveats: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Imported {
    /// The program that measured, with its version if it says so.
    pub tool: String,
    pub file: String,
    /// Its command line, if it says so.
    pub command: Option<String>,
}
