//! HDM decoders: which device holds a host physical address, and where in it.
//!
//! ```text
//!                     IG+8+IW     IG+8          0
//!   HPA - base  | 51 ..    | way, IW bits | IG+8 bits |     2^IW ways, granularity 2^(IG+8) bytes
//!                   |            |              |
//!   DPA offset  | 51 ..          gone       IG+8 bits |     way -> target list -> device
//! ```
//!
//! One `HdmDecoder` stands for the chain of decoders of host bridge and devices that describe one range. Where
//! several ranges use a device they follow each other in it, in the order of their bases.
//!
//! Not modelled: 3, 6, 12 and 16 ways, which need a division by three or are CXL 3.x. Also not modelled: XOR interleave
//! of host bridges, DPA skip, decoders that are changed while memory is in use.
//!
//! Source: CXL 2.0, 8.2.5.12 (HDM decoder capability structure and the decode of an address).

use cxlab_kernel::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ExpanderSpec;
use crate::addr::{Dpa, Hpa};
use crate::cxl::CxlError;
use crate::fact::Sourced;

/// Base and the share of each way are multiples of this (CXL 2.0, 8.2.5.12: bits 31:28 are the lowest).
const ALIGNMENT: Bytes = Bytes::mib(256);
const WAYS: [usize; 4] = [1, 2, 4, 8];
/// Granularities, as log2 of bytes: 256 B to 16 KiB.
const GRANULARITY_BITS: std::ops::RangeInclusive<u32> = 8..=14;

/// A device of the machine, counted from 0 in the order of its machine file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TargetId(pub u8);

/// One range of host physical addresses and the devices that it is interleaved over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HdmDecoderSpec {
    /// first byte of the range `[bytes from 0]`
    pub base: Sourced<Bytes>,
    /// length of the range `[bytes]`
    pub size: Sourced<Bytes>,
    /// bytes in a row on one device [256 B to 16 KiB, a power of two]
    pub granularity: Sourced<Bytes>,
    /// a device for each way [1, 2, 4, 8 of them]
    pub targets: Sourced<Vec<TargetId>>,
}

/// Equal devices that one node is interleaved over, by an HDM decoder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeviceInterleave {
    /// 1, 2, 4 or 8
    pub devices: Sourced<u8>,
    /// bytes in a row on one device, 256 B to 16 KiB
    pub granularity: Sourced<Bytes>,
}

/// The decoders of a machine, by base.
#[derive(Clone, Debug)]
pub struct HdmDecoders {
    decoders: Vec<HdmDecoder>,
}

/// A decoder as the bit fields of the picture.
#[derive(Clone, Debug)]
struct HdmDecoder {
    base: u64,
    size: u64,
    /// IG + 8
    granularity_bits: u32,
    /// IW
    way_bits: u32,
    /// by way: the device, and the first byte of the range in it
    targets: Vec<(TargetId, u64)>,
}

impl HdmDecoders {
    /// Decoders of offsets from 0 over the whole of equal devices.
    ///
    /// # Errors
    /// As [`HdmDecoders::new`].
    pub fn interleaved(interleave: &DeviceInterleave, device: &ExpanderSpec) -> Result<HdmDecoders, CxlError> {
        let devices = *interleave.devices;
        let all = Bytes::new(device.capacity().get() * u64::from(devices));
        let sourced = |value| Sourced::new(value, "the whole of the devices");
        let decoder = HdmDecoderSpec {
            base: sourced(Bytes::new(0)),
            size: sourced(all),
            granularity: interleave.granularity.clone(),
            targets: Sourced::new((0..devices).map(TargetId).collect(), "each device once"),
        };
        HdmDecoders::new(&[decoder], &vec![device; usize::from(devices)])
    }

    /// Decoders over `devices`, which targets count from 0.
    ///
    /// # Errors
    /// `CXL010` to `CXL018`: what a decoder cannot be, with what is valid.
    pub fn new(specs: &[HdmDecoderSpec], devices: &[&ExpanderSpec]) -> Result<HdmDecoders, CxlError> {
        let mut specs: Vec<&HdmDecoderSpec> = specs.iter().collect();
        specs.sort_by_key(|spec| *spec.base);
        let mut used = vec![0; devices.len()];
        let mut decoders: Vec<HdmDecoder> = Vec::new();
        for spec in specs {
            let decoder = HdmDecoder::new(spec, devices, &mut used)?;
            if let Some(before) = decoders.last().filter(|before| decoder.base < before.base + before.size) {
                return Err(CxlError::Overlap { first: before.base, second: decoder.base });
            }
            decoders.push(decoder);
        }
        Ok(HdmDecoders { decoders })
    }

    /// The device that holds `hpa`, and where; `None` where no decoder claims it.
    #[must_use]
    pub fn decode(&self, hpa: Hpa) -> Option<(TargetId, Dpa)> {
        let after = self.decoders.partition_point(|decoder| decoder.base <= hpa.get());
        let decoder = &self.decoders[after.checked_sub(1)?];
        let offset = hpa.get() - decoder.base;
        (offset < decoder.size).then(|| decoder.decode(offset))
    }

    /// The host physical address of a place in a device; `None` where no decoder leads there.
    #[must_use]
    pub fn encode(&self, target: TargetId, dpa: Dpa) -> Option<Hpa> {
        self.decoders.iter().find_map(|decoder| decoder.encode(target, dpa))
    }
}

impl HdmDecoder {
    fn new(spec: &HdmDecoderSpec, devices: &[&ExpanderSpec], used: &mut [u64]) -> Result<HdmDecoder, CxlError> {
        let ways = spec.targets.len();
        if !WAYS.contains(&ways) {
            return Err(CxlError::Ways { ways });
        }
        let granularity = *spec.granularity;
        let granularity_bits = granularity.get().checked_ilog2().filter(|bits| GRANULARITY_BITS.contains(bits));
        let granularity_bits = granularity_bits.filter(|_| granularity.get().is_power_of_two());
        let granularity_bits = granularity_bits.ok_or(CxlError::Granularity { value: granularity })?;
        let (base, size) = (spec.base.get(), spec.size.get());
        if size == 0 {
            return Err(CxlError::Empty);
        }
        aligned("base", base, ALIGNMENT)?;
        aligned("size", size, Bytes::new(ALIGNMENT.get() * ways as u64))?;
        check_targets(&spec.targets, devices)?;
        let share = size / ways as u64;
        let mut targets = Vec::with_capacity(ways);
        for &target in spec.targets.iter() {
            let index = usize::from(target.0);
            targets.push((target, used[index]));
            used[index] += share;
            let (needed, capacity) = (Bytes::new(used[index]), devices[index].capacity());
            if needed > capacity {
                return Err(CxlError::TooLarge { target: target.0, needed, capacity });
            }
        }
        Ok(HdmDecoder { base, size, granularity_bits, way_bits: ways.ilog2(), targets })
    }

    fn decode(&self, offset: u64) -> (TargetId, Dpa) {
        let (ig, iw) = (self.granularity_bits, self.way_bits);
        let way = (offset >> ig) & ((1 << iw) - 1);
        let (target, first) = self.targets[way as usize];
        let below = offset & ((1 << ig) - 1);
        (target, Dpa::new(first + (offset >> (ig + iw) << ig | below)))
    }

    fn encode(&self, target: TargetId, dpa: Dpa) -> Option<Hpa> {
        let (ig, iw) = (self.granularity_bits, self.way_bits);
        let way = self.targets.iter().position(|(other, _)| *other == target)?;
        let offset = dpa.get().checked_sub(self.targets[way].1)?;
        let below = offset & ((1 << ig) - 1);
        let offset = ((offset >> ig << iw) | way as u64) << ig | below;
        (offset < self.size).then(|| Hpa::new(self.base + offset))
    }
}

fn aligned(key: &'static str, value: u64, multiple: Bytes) -> Result<(), CxlError> {
    if value.is_multiple_of(multiple.get()) { Ok(()) } else { Err(CxlError::Alignment { key, value, multiple }) }
}

/// Each target exists, stands there once, and is the equal of the first.
fn check_targets(targets: &[TargetId], devices: &[&ExpanderSpec]) -> Result<(), CxlError> {
    for (way, target) in targets.iter().enumerate() {
        if usize::from(target.0) >= devices.len() {
            return Err(CxlError::NoSuchTarget { target: target.0, devices: devices.len() });
        }
        if targets[..way].contains(target) {
            return Err(CxlError::TargetTwice { target: target.0 });
        }
        let (first, other) = (devices[usize::from(targets[0].0)], devices[usize::from(target.0)]);
        if first != other {
            return Err(CxlError::UnequalTargets {
                first: first.name.clone(),
                first_capacity: first.capacity(),
                other: other.name.clone(),
                other_capacity: other.capacity(),
            });
        }
    }
    Ok(())
}
