use super::machine::{self, Machine};
use clap::Args;
use cxlab_caption::Result;
use cxlab_caption::journal::Journal;
use cxlab_caption::lock::Lock;

/// Put back the weights that a killed controller and its guardian left behind.
#[derive(Args)]
pub struct Restore {
    #[command(flatten)]
    machine: Machine,
}

impl Restore {
    pub fn execute(self) -> Result<u8> {
        let root = self.machine.root();
        let _alone = Lock::take(&root)?;
        match Journal::restore(&Journal::path(&root))? {
            Some(journal) => journal.attributes.iter().try_for_each(|a| machine::print(&a.to_string()))?,
            None => machine::print("nothing to restore")?,
        }
        Ok(0)
    }
}
