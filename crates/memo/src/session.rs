//! A session holds what every measurement of one run shares: clock, instruction set, place of its memory,
//! interruption.

use crate::buffer::Buffer;
use crate::error::Result;
use crate::host::Nodes;
use crate::interrupt::Interrupt;
use crate::isa::Isa;
use crate::page::PageSize;
use crate::roi::Roi;
use crate::tsc::Tsc;
use cxlab_kernel::Bytes;

#[derive(Clone, Debug)]
pub struct Session {
    pub tsc: Tsc,
    pub isa: Isa,
    pub nodes: Nodes,
    /// Where the measured memory is.
    pub node: u32,
    pub pages: PageSize,
    /// CPUs for threads, in the order in which they are taken.
    pub cpus: Vec<usize>,
    /// The seed of every random sequence.
    pub seed: u64,
    pub roi: Roi,
    pub interrupt: Interrupt,
}

impl Session {
    pub fn buffer(&self, size: Bytes) -> Result<Buffer> {
        Buffer::on(self.node, &self.nodes, size, self.pages)
    }
}
