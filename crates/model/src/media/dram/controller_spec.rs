//! A controller as a machine file describes it.

use cxlab_kernel::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::DramError;
use super::address_map::AddressMapSpec;
use super::page_policy::PagePolicy;
use super::refresh::RefreshMode;
use crate::fact::Sourced;

/// A controller as a machine file describes it. All channels of a memory have the same controller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ControllerSpec {
    /// reads that a sub-channel schedules from `[entries]`
    pub read_queue: Sourced<u32>,
    /// posted writes that a sub-channel holds `[entries]`
    pub write_queue: Sourced<u32>,
    /// writes that start a drain `[entries]`
    pub write_high_mark: Sourced<u32>,
    /// writes that end it `[entries]`
    pub write_low_mark: Sourced<u32>,
    /// commands of a turn of reads or writes, if as many wait, while the other side waits too
    pub commands_per_turn: Sourced<u32>,
    /// after this long in its queue a request goes before all others `[us]`
    pub age_limit: Sourced<Time>,
    pub page_policy: Sourced<PagePolicy>,
    pub refresh: Sourced<RefreshMode>,
    /// refreshes that a rank may owe while reads wait for it, or writes that are being drained
    pub postponed_refreshes: Sourced<u32>,
    /// last beat of a read at the pins to the requester's side of the controller `[ns]`
    pub return_latency: Sourced<Time>,
    pub address_map: AddressMapSpec,
}

impl ControllerSpec {
    /// Checks the rules for any controller, whatever its DRAM.
    pub(super) fn check(&self) -> Result<(), DramError> {
        let counts = [
            ("read_queue", *self.read_queue, "1 to 4096 entries"),
            ("write_queue", *self.write_queue, "1 to 4096 entries"),
            ("commands_per_turn", *self.commands_per_turn, "1 to 4096 commands"),
        ];
        for (key, value, valid) in counts {
            if !(1..=4096).contains(&value) {
                return Err(DramError::out_of_range(key, value, valid));
            }
        }
        let (high, low) = (*self.write_high_mark, *self.write_low_mark);
        if !(1..=*self.write_queue).contains(&high) {
            return Err(DramError::out_of_range("write_high_mark", high, "1 to write_queue"));
        }
        if low >= high {
            return Err(DramError::out_of_range("write_low_mark", low, "less than write_high_mark"));
        }
        if *self.age_limit == Time::ZERO {
            return Err(DramError::out_of_range("age_limit", *self.age_limit, "more than 0 ns"));
        }
        Ok(())
    }
}
