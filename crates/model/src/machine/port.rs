//! A port: what lies between a home agent and the cells, channels alone or a type-3 device before them.

use cxlab_kernel::Time;

use crate::cxl::{Expander, ExpanderStats};
use crate::dram::{ChannelStats, Memory};

/// A port, by its place in the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortId(pub u16);

/// What lies between the home agent and the cells.
pub enum Port {
    Dram(Memory),
    Cxl(Box<Expander>, Memory),
}

/// What a port tells of the time since counting began.
pub struct PortStats {
    /// root port, both directions of the link, device
    pub expander: Option<ExpanderStats>,
    pub channels: Vec<ChannelStats>,
}

impl Port {
    pub fn stats(&self, elapsed: Time) -> PortStats {
        match self {
            Port::Dram(memory) => PortStats { expander: None, channels: memory.stats(elapsed) },
            Port::Cxl(expander, memory) => {
                PortStats { expander: Some(expander.stats(elapsed)), channels: memory.stats(elapsed) }
            }
        }
    }

    /// Count from here.
    pub fn clear_stats(&mut self) {
        match self {
            Port::Dram(memory) => memory.clear_stats(),
            Port::Cxl(expander, memory) => {
                expander.clear_stats();
                memory.clear_stats();
            }
        }
    }
}
