//! The flash translation layer of a die: the place of each unit, the free blocks, and the next step of collection.
//!
//! ```text
//!   erased --first unit--> filling --last unit--> closed --chosen--> collected --copies programmed, erase--> erased
//! ```
//!
//! The order is safe against a loss of power: a block is erased only after each copy of its units is in the cells. The
//! drive's capacitors keep the data in the write buffer. Hosts and collection fill blocks of their own.
//!
//! Not modelled: units that move from die to die, static wear levelling, bad blocks, the map's own pages.

use rustc_hash::FxHashMap;

use super::collector::{Candidate, Collector};
use super::geometry::{BlockId, Geometry, Logical, Slot};
use super::precondition::{Layout, Precondition};

/// Writer of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    Host,
    Collection,
}

/// A stripe that is full and has to be programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stripe {
    pub block: BlockId,
    pub number: u32,
}

/// The units of one page that collection copies.
#[derive(Clone, Debug)]
pub struct Copies {
    pub block: BlockId,
    pub stripe: u32,
    pub plane: u32,
    pub units: Vec<(u32, Logical)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Erased,
    Filling,
    Closed,
    Collected,
}

#[derive(Clone, Debug)]
struct Block {
    phase: Phase,
    /// units whose newest data are in this block
    valid: u32,
    /// stripes that are in the cells
    programmed: u32,
    erases: u32,
    /// number of units written to the die before the last one in this block
    written_at: u64,
    /// units in the order of their places; `None` if the block is as pre-conditioning left it
    units: Option<Vec<Logical>>,
}

/// A block whose units are being copied.
#[derive(Clone, Debug)]
struct Victim {
    block: BlockId,
    /// units still to be copied, those of the first page last
    units: Vec<(u32, Logical)>,
}

/// A block without valid units, which may be erased after this stripe is in the cells.
#[derive(Clone, Copy, Debug)]
struct Emptied {
    block: BlockId,
    after: Option<Stripe>,
}

/// State of a die's translation layer.
#[derive(Clone, Debug)]
pub struct Ftl {
    geometry: Geometry,
    collector: Collector,
    /// collection works while fewer blocks than this are erased
    free_blocks: usize,
    layout: Layout,
    /// units that have been written since pre-conditioning
    moved: FxHashMap<u32, Slot>,
    blocks: Vec<Block>,
    erased: Vec<BlockId>,
    host: Option<BlockId>,
    collection: Option<BlockId>,
    victim: Option<Victim>,
    emptied: Vec<Emptied>,
    /// number of units that hosts and collection have written
    written: u64,
    /// the last stripe that collection has put a unit into; `None` once the stripe is in the cells
    last_copy: Option<Stripe>,
}

impl Ftl {
    pub fn new(geometry: Geometry, collector: Collector, free_blocks: u32, how: Precondition) -> Ftl {
        let block_units = geometry.units_per_block();
        // Two blocks stay free for the next writes.
        let used = match how {
            Precondition::Full => geometry.logical.div_ceil(block_units),
            Precondition::Fragmented => geometry.blocks - free_blocks - 1,
        };
        let layout = Layout::new(how, &geometry, used);
        let block = |number: u32| {
            let held = number < used;
            Block {
                phase: if held { Phase::Closed } else { Phase::Erased },
                valid: layout.units_of(BlockId(number)),
                programmed: if held { geometry.stripes } else { 0 },
                erases: 0,
                written_at: 0,
                units: None,
            }
        };
        let blocks: Vec<Block> = (0..geometry.blocks).map(block).collect();
        let erased = (used..geometry.blocks).rev().map(BlockId).collect();
        let (moved, emptied) = (FxHashMap::default(), Vec::new());
        let free_blocks = free_blocks as usize;
        Ftl {
            geometry,
            collector,
            free_blocks,
            layout,
            moved,
            blocks,
            erased,
            host: None,
            collection: None,
            victim: None,
            emptied,
            written: 0,
            last_copy: None,
        }
    }

    /// Number of blocks that are full before the first write of a run. These are the first blocks.
    pub fn full_blocks(&self) -> u32 {
        self.geometry.blocks - self.erased.len() as u32
    }

    /// Place of a unit's newest data. Until their stripe is programmed they are in the write buffer.
    pub fn slot(&self, unit: Logical) -> Slot {
        self.moved.get(&unit.0).copied().unwrap_or_else(|| self.layout.slot(unit))
    }

    /// Whether the data of this place are in the cells. If not, the write buffer has them.
    pub fn is_programmed(&self, slot: Slot) -> bool {
        self.geometry.stripe(slot.place) < self.block(slot.block).programmed
    }

    /// Whether there is room for a unit. The last erased block is reserved for collection.
    pub fn has_room(&self, writer: Writer) -> bool {
        match writer {
            Writer::Host => self.host.is_some() || self.erased.len() > 1,
            Writer::Collection => self.collection.is_some() || !self.erased.is_empty(),
        }
    }

    /// Gives the unit a new place. Returns the stripe that the unit fills, which has to be programmed.
    pub fn write(&mut self, unit: Logical, writer: Writer) -> Option<Stripe> {
        let old = self.slot(unit);
        self.block_mut(old.block).valid -= 1;
        self.written += 1;
        let (id, written) = (self.frontier(writer), self.written);
        let (geometry, block) = (self.geometry, &mut self.blocks[id.0 as usize]);
        let units = block.units.get_or_insert_default();
        let place = units.len() as u32;
        units.push(unit);
        (block.valid, block.written_at) = (block.valid + 1, written);
        let (number, full) = (geometry.stripe(place), units.len() as u32 == geometry.units_per_block());
        if full {
            block.phase = Phase::Closed;
            *self.frontier_of(writer) = None;
        }
        self.moved.insert(unit.0, Slot { block: id, place });
        let stripe = Stripe { block: id, number };
        if writer == Writer::Collection {
            self.last_copy = Some(stripe);
        }
        (place + 1).is_multiple_of(geometry.units_per_stripe()).then_some(stripe)
    }

    fn frontier_of(&mut self, writer: Writer) -> &mut Option<BlockId> {
        match writer {
            Writer::Host => &mut self.host,
            Writer::Collection => &mut self.collection,
        }
    }

    /// The block that the writer fills. A new block is the least worn one.
    fn frontier(&mut self, writer: Writer) -> BlockId {
        if let Some(block) = *self.frontier_of(writer) {
            return block;
        }
        let blocks = &self.blocks;
        let worn = |place: &usize| blocks[self.erased[*place].0 as usize].erases;
        let least = (0..self.erased.len()).rev().min_by_key(worn).expect("whoever writes has asked for room");
        let block = self.erased.swap_remove(least);
        self.block_mut(block).phase = Phase::Filling;
        *self.frontier_of(writer) = Some(block);
        block
    }

    /// Notes that a stripe is in the cells.
    pub fn programmed(&mut self, stripe: Stripe) {
        self.block_mut(stripe.block).programmed = stripe.number + 1;
        if self.last_copy == Some(stripe) {
            self.last_copy = None;
        }
        for emptied in self.emptied.iter_mut().filter(|emptied| emptied.after == Some(stripe)) {
            emptied.after = None;
        }
    }

    /// Whether there are too few erased blocks.
    pub fn wants_collection(&self) -> bool {
        self.erased.len() < self.free_blocks
    }

    /// A block that may be erased now.
    pub fn next_erase(&mut self) -> Option<BlockId> {
        let place = self.emptied.iter().position(|emptied| emptied.after.is_none())?;
        Some(self.emptied.swap_remove(place).block)
    }

    /// Whether [`Ftl::next_copies`] or [`Ftl::next_erase`] would have something to do.
    pub fn collects(&self) -> bool {
        self.victim.is_some()
            || self.emptied.iter().any(|emptied| emptied.after.is_none())
            || (self.wants_collection() && self.candidates().next().is_some())
    }

    /// The next page of the block that is collected. Without such a block, one is chosen if there are too few erased
    /// blocks.
    pub fn next_copies(&mut self) -> Option<Copies> {
        loop {
            if self.victim.is_none() {
                if !self.wants_collection() {
                    return None;
                }
                self.choose_victim()?;
            }
            let victim = self.victim.take().expect("there is one");
            let id = victim.block;
            if let Some(copies) = self.page_of(victim) {
                return Some(copies);
            }
            self.emptied.push(Emptied { block: id, after: self.last_copy });
            // A copy that is not yet in the cells needs more copies to fill its stripe.
            self.last_copy?;
        }
    }

    /// The next page of the victim that has valid units.
    fn page_of(&mut self, mut victim: Victim) -> Option<Copies> {
        let (geometry, block) = (self.geometry, victim.block);
        let page = |place: u32| (geometry.stripe(place), geometry.plane(place));
        let mut units = Vec::new();
        while let Some((place, unit)) = victim.units.last().copied() {
            let same = units.first().is_none_or(|(first, _)| page(*first) == page(place));
            if !same {
                break;
            }
            victim.units.pop();
            if self.slot(unit) == (Slot { block, place }) {
                units.push((place, unit));
            }
        }
        let (stripe, plane) = page(units.first()?.0);
        self.victim = Some(victim);
        Some(Copies { block, stripe, plane, units })
    }

    /// Copies a unit of a page that was read, unless hosts have written the unit meanwhile.
    pub fn copy(&mut self, block: BlockId, (place, unit): (u32, Logical)) -> Copied {
        if self.slot(unit) != (Slot { block, place }) {
            return Copied::Overwritten;
        }
        Copied::Moved(self.write(unit, Writer::Collection))
    }

    /// Notes that a block is erased.
    pub fn erased(&mut self, block: BlockId) {
        let state = self.block_mut(block);
        assert_eq!(state.valid, 0, "a block with valid units is never erased");
        (state.phase, state.programmed, state.units) = (Phase::Erased, 0, None);
        state.erases += 1;
        self.erased.push(block);
    }

    fn candidates(&self) -> impl Iterator<Item = Candidate> {
        let all = (0..).map(BlockId).zip(&self.blocks);
        let block_units = self.geometry.units_per_block();
        let may = move |block: &Block| {
            block.phase == Phase::Closed && block.programmed == self.geometry.stripes && block.valid < block_units
        };
        all.filter(move |(_, block)| may(block)).map(|(id, block)| Candidate {
            block: id,
            valid: block.valid,
            age: self.written - block.written_at,
        })
    }

    fn choose_victim(&mut self) -> Option<()> {
        let Candidate { block, .. } = self.collector.choose(self.candidates(), self.geometry.units_per_block())?;
        let state = self.block_mut(block);
        state.phase = Phase::Collected;
        let held: Vec<(u32, Logical)> = match &state.units {
            Some(units) => (0..).zip(units.iter().copied()).collect(),
            None => self.layout.units_in(block).collect(),
        };
        let valid = |(place, unit): &(u32, Logical)| self.slot(*unit) == (Slot { block, place: *place });
        let units: Vec<_> = held.into_iter().rev().filter(valid).collect();
        self.victim = Some(Victim { block, units });
        Some(())
    }

    fn block(&self, id: BlockId) -> &Block {
        &self.blocks[id.0 as usize]
    }

    fn block_mut(&mut self, id: BlockId) -> &mut Block {
        &mut self.blocks[id.0 as usize]
    }

    /// The least and the greatest number of erases of a block.
    pub fn wear(&self) -> (u32, u32) {
        let erases = || self.blocks.iter().map(|block| block.erases);
        (erases().min().unwrap_or(0), erases().max().unwrap_or(0))
    }
}

/// Result of copying a unit that collection has read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copied {
    Overwritten,
    /// the unit's new stripe, if that is full
    Moved(Option<Stripe>),
}
