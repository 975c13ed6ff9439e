//! A CXL region as the guest's Linux committed it: its window of host physical addresses and its devices.
//!
//! The HDM decoders are programmed with the region's base, size, ways and granularity, in place of the machine file's
//! interleave. Not modelled: a region that changes while the machine runs.
//!
//! Source: Linux, Documentation/ABI/testing/sysfs-bus-cxl (region attributes).

use cxlab_kernel::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::AddressRange;
use crate::fabric::{ExpanderSpec, HdmDecoderSpec, HdmDecoders, TargetId};
use crate::fact::Sourced;

/// A committed region.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Region {
    /// whose memory it is, by place in the machine file
    pub node: u16,
    /// first byte of it `[host physical address]`
    pub base: u64,
    /// `[bytes]`
    pub size: u64,
    /// bytes in a row on one device
    pub granularity: u64,
    /// by position in the region: the device, by place among the node's
    pub targets: Vec<u8>,
}

impl Region {
    #[must_use]
    pub fn range(&self) -> AddressRange {
        AddressRange { start: self.base, length: self.size, node: self.node }
    }

    /// Decoders of host physical addresses over devices that are all `expander`.
    ///
    /// # Errors
    /// Names the decoder property that is not valid.
    pub fn decoders(&self, expander: &ExpanderSpec) -> Result<HdmDecoders, String> {
        let source = "committed by the guest's Linux";
        let bytes = |value| Sourced::new(Bytes::new(value), source);
        let decoder = HdmDecoderSpec {
            base: bytes(self.base),
            size: bytes(self.size),
            granularity: bytes(self.granularity),
            targets: Sourced::new(self.targets.iter().copied().map(TargetId).collect(), source),
        };
        HdmDecoders::new(&[decoder], &vec![expander; self.targets.len()]).map_err(|error| error.to_string())
    }
}
