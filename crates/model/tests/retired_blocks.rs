//! A guest that makes code without end: the guest keeps the blocks that records may still name.

mod support;

use std::collections::VecDeque;
use std::num::NonZeroU32;

use cxlab_access::record::{MemoryAccess, Words};
use cxlab_access::{BlockId, Keep, Mapping, Page, PageId, PageSize, Phase, Record, Vcpu};
use cxlab_model::Machine;
use cxlab_model::error::ModelError;
use cxlab_model::home::AddressRange;
use cxlab_model::session::Guest;
use cxlab_model::summary::Part;
use support::stream::{Made, payload};
use support::{GIB, quiet};

/// mov rax, [rax]
const CODE: &[u8] = &[0x48, 0x8b, 0x00];
/// The one page of the guest.
const PAGE: PageId = PageId(NonZeroU32::MIN);
/// Blocks that QEMU has room for: then it throws all away.
const ROOM: u32 = 100;
/// Blocks that are kept at most: two rooms, and one for each record that is read ahead.
const MOST: usize = 2 * ROOM as usize + 4096;

/// A stream that is made as it is read: each turn makes a block, and executes it and an earlier one of the same room.
struct Endless {
    told: VecDeque<Words>,
    turn: u32,
    turns: u32,
    /// says where QEMU has thrown all blocks away
    tells: bool,
    /// the turn at which time stops to pass
    warms_from: u32,
    vcpus: usize,
}

impl Endless {
    fn new(turns: u32) -> Endless {
        Endless { told: VecDeque::new(), turn: 0, turns, tells: true, warms_from: u32::MAX, vcpus: 1 }
    }

    fn tell(&mut self, vcpu: usize, record: Record) {
        self.told.push_back(record.encode(Vcpu::new(vcpu)));
    }

    fn next_turn(&mut self) {
        if self.turn == self.warms_from {
            let (phase, keep) = (Phase::Warming, Keep::All);
            self.tell(0, Record::Sample { phase, position: u64::from(self.turn), keep, idle_ps: 0 });
        }
        let block = BlockId(self.turn);
        let alone = self.tells && self.turn.is_multiple_of(ROOM);
        let pc = 0x40_0000 + u64::from(self.turn) * 16;
        self.tell(0, Record::Define { block, pc, length: CODE.len() as u16, alone });
        self.told.extend(payload(CODE));
        if self.turn == 0 {
            let (phase, keep) = (Phase::Measured, Keep::All);
            self.tell(0, Record::Sample { phase, position: 0, keep, idle_ps: 0 });
            (1..self.vcpus).for_each(|vcpu| self.tell(vcpu, Record::Halt));
            let entries = [0x10_0000, 0x10_1000, 0x10_2000, 0x10_3000, 0];
            let mapping = Mapping { size: PageSize::Kib4, pcid: 1, global: false, upper: false, reads: 4, entries };
            let (record, bytes) = Record::of_page(PAGE, &mapping, None);
            self.tell(0, record);
            self.told.extend(payload(&bytes));
        }
        for earlier in [0, self.turn % ROOM / 2] {
            self.tell(0, Record::Block { block: BlockId(self.turn - earlier), from: 0 });
            let physical = 0x100_0000 + u64::from(self.turn % 64) * 64;
            let page = Some(Page::new(PAGE, PageSize::Kib4, 0x1000));
            let load = MemoryAccess { instruction: 0, size_log2: 3, store: false, physical, page, device: false };
            self.tell(0, Record::Access(load));
        }
        self.turn += 1;
    }
}

impl Iterator for Endless {
    type Item = Words;

    fn next(&mut self) -> Option<Words> {
        if self.told.is_empty() && self.turn < self.turns {
            self.next_turn();
        }
        self.told.pop_front()
    }
}

/// The machine after the stream, and how many blocks the guest has then.
fn run(stream: Endless) -> Result<(Machine, usize), ModelError> {
    let ranges = [0, 1].map(|node: u16| AddressRange { start: u64::from(node) * GIB, length: GIB, node });
    let vcpus = stream.vcpus as u16;
    let mut machine = Machine::new(quiet("8468v-asic"), vcpus, &ranges).unwrap();
    let mut guest = Guest::new(Made(stream), vcpus);
    guest.run(&mut machine, |_, _| Ok(()))?;
    let blocks = guest.blocks().count();
    Ok((machine, blocks))
}

/// Millions in a release build.
const TURNS: u32 = if cfg!(debug_assertions) { 30_000 } else { 4_000_000 };

#[test]
fn code_that_comes_and_goes_leaves_what_may_still_be_named() {
    for (warms_from, vcpus) in [(u32::MAX, 1), (1000, 1), (u32::MAX, 2)] {
        let (_, blocks) = run(Endless { warms_from, vcpus, ..Endless::new(TURNS) }).unwrap();
        assert!(blocks <= MOST, "{blocks} of {TURNS} blocks are known, QEMU has {ROOM} at a time");
    }
}

#[test]
fn what_is_dropped_changes_no_result() {
    for warms_from in [u32::MAX, 5000] {
        let statistics = |tells| {
            let (machine, blocks) = run(Endless { tells, warms_from, ..Endless::new(20_000) }).unwrap();
            ((machine.now(), format!("{:?}", Part::tree(&machine))), blocks)
        };
        let ((dropped, few), (kept, all)) = (statistics(true), statistics(false));
        assert!(few < all && all == 20_000, "{few} of {all}");
        assert_eq!(dropped, kept);
    }
}

#[test]
fn a_block_that_was_thrown_away_is_refused_by_name() {
    let mut stream = Endless::new(3 * MOST as u32);
    for _ in 0..2 * MOST {
        stream.next_turn();
    }
    stream.tell(0, Record::Block { block: BlockId(7), from: 0 });
    let Err(error) = run(stream) else { panic!("block 7 was thrown away") };
    assert!(error.to_string().contains("block 7 was never defined, or QEMU has thrown it away"), "{error}");
}
