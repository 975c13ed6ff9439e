//! The options that say which machine, and which of its nodes.

use clap::Args;
use cxlab_caption::error::{Error, Result};
use cxlab_caption::root::Root;
use cxlab_caption::topology::{NodeSet, Topology};
use std::io::Write;
use std::path::PathBuf;

#[derive(Args)]
pub struct Machine {
    /// DDR nodes, as 0 or 0-1 [default: nodes with memory and processors]
    #[arg(long, value_name = "NODES")]
    ddr: Option<NodeSet>,

    /// CXL nodes [default: nodes with memory and no processor; name them on machines with HBM]
    #[arg(long, value_name = "NODES")]
    cxl: Option<NodeSet>,

    /// Look for sys, proc and run below this directory
    #[arg(long, value_name = "DIRECTORY", default_value = "/")]
    root: PathBuf,
}

impl Machine {
    pub fn root(&self) -> Root {
        Root::at(&self.root)
    }

    /// As found; in a dry run on a machine without CXL memory, one node is assumed, and said so.
    pub fn topology(&self, dry: bool) -> Result<Topology> {
        let detected = Topology::detect(&self.root(), self.ddr.clone(), self.cxl.clone());
        let missing = matches!(
            detected,
            Err(Error::OneNode { .. } | Error::Topology { .. } | Error::UnknownNode { .. } | Error::Io { .. })
        );
        if !dry || !missing {
            return detected;
        }
        let assumed = Topology::assumed(&self.root(), self.ddr.clone(), self.cxl.clone())?;
        say(&format!("this machine does not have these nodes; the dry run assumes {assumed}"));
        Ok(assumed)
    }
}

/// A line for the person, beside the output.
pub fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "cxlab-caption: {text}");
}

/// A line of the output; a closed pipe is an error, not a panic.
pub fn print(text: &str) -> Result<()> {
    writeln!(std::io::stdout(), "{text}").map_err(Error::io("write", "standard output"))
}

/// This program, for the guardian: the file may have been replaced, the running image has not.
pub fn this_program() -> PathBuf {
    "/proc/self/exe".into()
}

/// "100MB/s", "1.5GB/s": decimal, as bandwidths are.
pub fn rate(text: &str) -> std::result::Result<u64, String> {
    let refused = || "valid: a rate as 100MB/s, units KB/s, MB/s, GB/s".to_string();
    let units = [("KB/s", 1e3), ("MB/s", 1e6), ("GB/s", 1e9)];
    let (number, scale) =
        units.iter().find_map(|(unit, scale)| text.strip_suffix(unit).map(|n| (n, scale))).ok_or_else(refused)?;
    let number: f64 = number.trim().parse().map_err(|_| refused())?;
    let rate = number * scale;
    if (4096.0..1e12).contains(&rate) { Ok(rate as u64) } else { Err(refused()) }
}
