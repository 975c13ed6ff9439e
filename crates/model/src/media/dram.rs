//! Memory behind one home agent or device: it serves lines as its banks and buses allow.
//!
//! ```text
//!              channel map        one of
//!   arrive --> dpa -> channel --> Coarse    bus and banks as servers
//!     done <--                    Detailed  commands, each held to JEDEC's constraints
//! ```
//!
//! Not modelled: refresh management and row hammer, power-down and self-refresh, ECC words and their scrubbing.

mod address_map;
mod channel_map;
pub mod checker;
mod clock;
mod coarse;
mod command;
mod controller;
mod controller_spec;
mod detailed;
mod device;
mod error;
mod page_policy;
mod queue;
mod refresh;
mod scheduler;
mod shape;
mod standard;
mod timing;

use cxlab_kernel::statistic::Entry;
use serde::Serialize;

pub use address_map::{AddressMap, AddressMapSpec, Field, Hash, Location};
pub use channel_map::{ChannelMap, Granularity, Place};
pub use clock::{Clock, Cycles, Generation, Minimum, TransferRate};
pub use coarse::{Coarse, CoarseSpec, CoarseStats};
pub use command::{BankAddress, Command, Issued};
pub use controller::ControllerStats;
pub use controller_spec::ControllerSpec;
pub use detailed::{Detailed, DetailedSpec};
pub use device::Device;
pub use error::DramError;
pub use page_policy::PagePolicy;
pub use refresh::RefreshMode;
pub use shape::{BankIndex, Shape};
pub use standard::{Dram, Organisation, Part, part_names};
pub use timing::{SameBankRefresh, SameBankRefreshSpec, Timing, TimingSpec};

/// Statistics of one channel. In the detailed model, one sub-channel.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChannelStats {
    pub channel: u32,
    pub entries: Vec<Entry>,
}
