//! Geometry: how the bytes of a drive are divided into dies, blocks, stripes, pages and units.
//!
//! ```text
//!   drive -> channel -> die -> block -> stripe (a page of each plane) -> page -> unit (what the FTL maps)
//! ```
//!
//! Unit `n` of the drive is unit `n / dies` of die `n % dies`. A block here is a block of each plane, because one
//! command erases them together. One command programs a stripe.

use cxlab_kernel::Bytes;

use super::FlashSpec;
use super::error::FlashError;

/// Least number of blocks of a die without data: two being filled, two erased, and one to collect from.
pub const LEAST_SPARE: u64 = 5;

/// A unit of a die, by the host's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Logical(pub u32);

/// A block of a die.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockId(pub u32);

/// A place of a die that holds a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    pub block: BlockId,
    /// number of the place, from the first stripe of the block on
    pub place: u32,
}

/// The shape of each die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    pub channels: u32,
    pub dies: u32,
    pub planes: u32,
    /// stripes of a block; a plane's block has as many pages
    pub stripes: u32,
    pub units_per_page: u32,
    pub blocks: u32,
    /// units of a die that the host sees
    pub logical: u32,
    pub unit_bytes: u64,
}

impl Geometry {
    /// # Errors
    /// [`FlashError`] names the invalid parameter and the valid values.
    pub fn new(spec: &FlashSpec, capacity: Bytes, unit: Bytes) -> Result<Geometry, FlashError> {
        let part = spec.part.part();
        let (page, unit_bytes) = (part.page.get(), unit.get());
        if unit_bytes > part.stripe().get() || unit_bytes < 512 || !unit_bytes.is_power_of_two() {
            let valid = "a power of two, 512 B to the planes' pages of a part together";
            return Err(FlashError::out_of_range("cache.line", unit, valid));
        }
        // A unit larger than a page lies on several planes. The model counts it as one larger page.
        let units_per_page = (page / unit_bytes).max(1) as u32;
        let planes = (part.stripe().get() / unit_bytes) as u32 / units_per_page;
        let (channels, dies, stripes) = (*spec.channels, *spec.channels * *spec.dies, *part.pages);
        let block_units = u64::from(stripes) * u64::from(units_per_page) * u64::from(planes);
        let share = *spec.over_provisioning;
        let logical = (capacity.get() / unit_bytes).div_ceil(u64::from(dies));
        let physical = (logical as f64 * (1.0 + share)).ceil() as u64;
        let blocks = physical.div_ceil(block_units);
        let spare = blocks - logical.div_ceil(block_units).min(blocks);
        if spare < LEAST_SPARE {
            return Err(FlashError::TooFewBlocks { share: share.to_string(), spare, blocks, least: LEAST_SPARE });
        }
        let fits = |units: u64| u32::try_from(units).ok();
        let (Some(blocks), Some(logical)) = (fits(blocks), fits(blocks * block_units).and(fits(logical))) else {
            return Err(FlashError::out_of_range("device.capacity", capacity, "at most 2^32 units a die"));
        };
        Ok(Geometry { channels, dies, planes, stripes, units_per_page, blocks, logical, unit_bytes })
    }

    /// Number of a die's blocks beyond those that its units fill.
    #[must_use]
    pub fn spare(&self) -> u32 {
        self.blocks - self.logical.div_ceil(self.units_per_block())
    }

    #[must_use]
    pub fn units_per_stripe(&self) -> u32 {
        self.units_per_page * self.planes
    }

    #[must_use]
    pub fn units_per_block(&self) -> u32 {
        self.units_per_stripe() * self.stripes
    }

    /// The die of a unit of the drive, and the unit's number within that die.
    #[must_use]
    pub fn locate(&self, unit: u64) -> (u32, Logical) {
        let dies = u64::from(self.dies);
        ((unit % dies) as u32, Logical((unit / dies) as u32 % self.logical))
    }

    /// The channel of a die. Neighbouring dies are on different channels.
    #[must_use]
    pub fn channel(&self, die: u32) -> u32 {
        die % self.channels
    }

    #[must_use]
    pub fn stripe(&self, place: u32) -> u32 {
        place / self.units_per_stripe()
    }

    #[must_use]
    pub fn plane(&self, place: u32) -> u32 {
        place % self.units_per_stripe() / self.units_per_page
    }
}
