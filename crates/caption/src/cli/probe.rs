use super::machine::{self, Machine};
use clap::Args;
use cxlab_caption::Result;
use cxlab_caption::actuator::Interleave;
use cxlab_caption::sensor::Perf;
use std::time::Duration;

/// Say what this machine has of what Caption needs; exit 1 where something is missing.
#[derive(Args)]
pub struct Probe {
    #[command(flatten)]
    machine: Machine,
}

impl Probe {
    pub fn execute(self) -> Result<u8> {
        let root = self.machine.root();
        let topology = self.machine.topology(false);
        let weights = topology.as_ref().ok().map(|topology| {
            let interleave = Interleave::new(&root, topology.clone(), false)?;
            let current = interleave.current()?;
            Ok(current.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n          "))
        });
        let counters = Perf::open(&root, Duration::from_secs(1)).map(|perf| perf.name());
        let nodes = topology.map(|t| t.to_string());
        let mut complete = true;
        let found = [Some(("nodes", nodes)), weights.map(|w| ("weights", w)), Some(("counters", counters))];
        for (what, found) in found.into_iter().flatten() {
            complete &= found.is_ok();
            let text = found.unwrap_or_else(|missing| missing.to_string());
            machine::print(&format!("{what:<10}{text}"))?;
        }
        Ok(u8::from(!complete))
    }
}
