//! Pre-conditioning: how full and how fragmented a drive is when a run begins.
//!
//! A fragmented drive is as long uniform random writes leave it. Its blocks were written one after the other, and the
//! older a block is, the fewer of its units are still valid. With greedy collection the share of valid units falls
//! geometrically from 1 to the share `u` of the next victim. The share of valid units of all blocks is then
//! `(1 - u) / ln(1 / u)` (Desnoyers, SYSTOR 2012, 4). So the state of any block is a formula. A drive of terabytes costs
//! a few bytes a block.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::geometry::{BlockId, Geometry, Logical, Slot};

/// State of a drive when a run begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Precondition {
    /// all units written once, in order; the rest of the blocks is erased
    Full,
    /// all units written, then at random for a long time
    Fragmented,
}

/// Places of a die's units before the first write of a run.
#[derive(Clone, Debug)]
pub struct Layout {
    /// number of units before each block, in the order of writing; the last entry counts all units
    before: Vec<u32>,
    block_units: u32,
    logical: u64,
    /// unit `n` is at rank `n x multiplier` modulo `logical`
    multiplier: u64,
    inverse: u64,
}

impl Layout {
    /// Places the units of a die in its first `blocks` blocks.
    pub fn new(how: Precondition, geometry: &Geometry, blocks: u32) -> Layout {
        let (logical, block_units) = (geometry.logical, geometry.units_per_block());
        let before = match how {
            Precondition::Full => (0..=blocks).map(|block| (block * block_units).min(logical)).collect(),
            Precondition::Fragmented => {
                let all = f64::from(logical);
                let least = victim_share(all / (f64::from(blocks) * f64::from(block_units)));
                let part = |block: u32| (1.0 - least.powf(f64::from(block) / f64::from(blocks))) / (1.0 - least);
                (0..=blocks).map(|block| (all * part(block)).round() as u32).collect()
            }
        };
        let multiplier = match how {
            Precondition::Full => 1,
            Precondition::Fragmented => scatter(u64::from(logical)),
        };
        let logical = u64::from(logical);
        Layout { before, block_units, logical, multiplier, inverse: inverse(multiplier, logical) }
    }

    /// Number of units that the block holds.
    pub fn units_of(&self, block: BlockId) -> u32 {
        let at = block.0 as usize;
        match (self.before.get(at), self.before.get(at + 1)) {
            (Some(first), Some(after)) => after - first,
            _ => 0,
        }
    }

    /// Place of a unit.
    pub fn slot(&self, unit: Logical) -> Slot {
        let rank = (u64::from(unit.0) * self.multiplier % self.logical) as u32;
        let block = self.before.partition_point(|before| *before <= rank) - 1;
        let (nth, held) = (rank - self.before[block], self.before[block + 1] - self.before[block]);
        let place = u64::from(nth) * u64::from(self.block_units) / u64::from(held);
        Slot { block: BlockId(block as u32), place: place as u32 }
    }

    /// The units of a block with their places, in the order of their places.
    pub fn units_in(&self, block: BlockId) -> impl Iterator<Item = (u32, Logical)> {
        let held = self.units_of(block);
        let first = self.before.get(block.0 as usize).copied().unwrap_or(0);
        let (block_units, inverse, logical) = (self.block_units, self.inverse, self.logical);
        (0..held).map(move |nth| {
            let place = u64::from(nth) * u64::from(block_units) / u64::from(held);
            (place as u32, Logical((u128::from(first + nth) * u128::from(inverse) % u128::from(logical)) as u32))
        })
    }
}

/// Share of valid units in greedy collection's victim, if `share` of all units is valid. Found by bisection.
fn victim_share(share: f64) -> f64 {
    let (mut low, mut high) = (1e-9, 1.0 - 1e-9);
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if (1.0 - middle) / -middle.ln() < share { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// A number near the golden section of `count`, without a common divisor with it. Multiples of the number lie far apart
/// (Knuth vol. 3, 6.4).
fn scatter(count: u64) -> u64 {
    let start = (count as f64 * 0.618_033_988_75) as u64;
    (start.max(1)..).find(|number| greatest_divisor(*number, count) == 1).expect("count + 1 has no divisor in common")
}

fn greatest_divisor(first: u64, second: u64) -> u64 {
    if second == 0 { first } else { greatest_divisor(second, first % second) }
}

/// The inverse of `number` modulo `count`, by the extended algorithm of Euclid (Knuth vol. 2, 4.5.2).
fn inverse(number: u64, count: u64) -> u64 {
    let (mut rest, mut next) = (i128::from(count), i128::from(number));
    let (mut factor, mut next_factor) = (0i128, 1i128);
    while next != 0 {
        let times = rest / next;
        (rest, next) = (next, rest - times * next);
        (factor, next_factor) = (next_factor, factor - times * next_factor);
    }
    factor.rem_euclid(i128::from(count)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_unit_has_one_place_and_the_place_knows_its_unit() {
        let geometry = Geometry {
            channels: 1,
            dies: 1,
            planes: 2,
            stripes: 16,
            units_per_page: 4,
            blocks: 80,
            logical: 9_001,
            unit_bytes: 4096,
        };
        for how in [Precondition::Full, Precondition::Fragmented] {
            let layout = Layout::new(how, &geometry, 76);
            let mut seen = std::collections::HashSet::new();
            for unit in (0..geometry.logical).map(Logical) {
                let slot = layout.slot(unit);
                assert!(slot.place < geometry.units_per_block() && seen.insert((slot.block, slot.place)));
                assert!(layout.units_in(slot.block).any(|found| found == (slot.place, unit)));
            }
            let all: u32 = (0..80).map(|block| layout.units_of(BlockId(block))).sum();
            assert_eq!(all, geometry.logical);
        }
    }
}
