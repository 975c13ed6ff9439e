use super::machine::{self, Machine};
use clap::Args;
use cxlab_caption::Result;
use cxlab_caption::place;
use cxlab_caption::weights::Placement;

/// Start a program at a static share of CXL memory.
#[derive(Args)]
pub struct Place {
    /// Pages on DDR : pages on CXL, as 3:1, or the CXL share, as 25%
    ratio: String,

    #[command(flatten)]
    machine: Machine,

    /// Print what would be written and set; start nothing
    #[arg(long)]
    dry_run: bool,

    /// The program and its arguments
    #[arg(last = true, required = true)]
    command: Vec<String>,
}

impl Place {
    pub fn execute(self) -> Result<u8> {
        let topology = self.machine.topology(self.dry_run)?;
        let placement = Placement::parse(&self.ratio, topology.counts())?;
        let root = self.machine.root();
        let place = place::Place { root, topology, placement, guardian: machine::this_program() };
        if self.dry_run {
            place.describe()?.iter().try_for_each(|line| machine::print(line))?;
            return Ok(0);
        }
        place.run(&self.command)
    }
}
