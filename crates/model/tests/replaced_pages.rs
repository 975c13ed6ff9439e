//! A guest that maps and unmaps pages without end: the machine keeps those that records may still name.

mod support;

use std::collections::VecDeque;
use std::num::NonZeroU32;

use cxlab_access::record::{MemoryAccess, Words};
use cxlab_access::{BlockId, Forget, Keep, Mapping, Page, PageId, PageSize, Phase, Record, Vcpu};
use cxlab_model::Machine;
use cxlab_model::error::ModelError;
use cxlab_model::home::AddressRange;
use cxlab_model::session::Guest;
use cxlab_model::summary::Part;
use support::stream::{Made, payload};
use support::{GIB, quiet};

/// Pages that the guest has mapped at a time.
const LIVE: u32 = 1000;
/// mov rax, [rax]
const LOAD: &[u8] = &[0x48, 0x8b, 0x00];
/// A page is touched again this many pages after it was mapped, and once more when it is about to be replaced.
const AGAIN: u32 = 10;
/// Pages that the machine may keep beside the live ones: two batches of replaced ones, and what is read ahead.
const SLACK: usize = 3 * 4096;

/// A stream that is made as it is read: each turn maps a page in the place of an old one, and loads through it.
struct Endless {
    told: VecDeque<Words>,
    turn: u32,
    turns: u32,
    /// tells which page each new one replaces
    replaces: bool,
    /// the turn at which time stops to pass, and caches and TLBs are only warmed
    warms_from: u32,
    vcpus: usize,
}

fn id(number: u32) -> PageId {
    PageId(NonZeroU32::new(number).unwrap())
}

impl Endless {
    fn new(turns: u32) -> Endless {
        let (told, warms_from) = (VecDeque::new(), u32::MAX);
        Endless { told, turn: 0, turns, replaces: true, warms_from, vcpus: 1 }
    }

    fn tell(&mut self, vcpu: usize, record: Record) {
        self.told.push_back(record.encode(Vcpu::new(vcpu)));
    }

    fn load(&mut self, vcpu: usize, page: u32) {
        self.tell(vcpu, Record::Block { block: BlockId(0), from: 0 });
        let physical = 0x100_0000 + u64::from(page % 4096) * 4096;
        let page = Some(Page::new(id(page), PageSize::Kib4, u64::from(page)));
        let load = MemoryAccess { instruction: 0, size_log2: 3, store: false, physical, page, device: false };
        self.tell(vcpu, Record::Access(load));
    }

    fn map(&mut self, page: u32) {
        let entry = |level: u64| 0x10_0000 + level * 4096 + u64::from(page) % 512 * 8;
        let entries = [entry(0), entry(1), entry(2), entry(3), 0];
        let mapping = Mapping { size: PageSize::Kib4, pcid: 1, global: false, upper: false, reads: 4, entries };
        let replaces = page.checked_sub(LIVE).and_then(NonZeroU32::new).map(PageId).filter(|_| self.replaces);
        let (record, bytes) = Record::of_page(id(page), &mapping, replaces);
        self.tell(0, record);
        self.told.extend(payload(&bytes));
    }

    fn next_turn(&mut self) {
        if self.turn == 0 {
            self.tell(0, Record::Define { block: BlockId(0), pc: 0x40_0000, length: LOAD.len() as u16, alone: false });
            self.told.extend(payload(LOAD));
            let (phase, keep) = (Phase::Measured, Keep::All);
            self.tell(0, Record::Sample { phase, position: 0, keep, idle_ps: 0 });
            (1..self.vcpus).for_each(|vcpu| self.tell(vcpu, Record::Halt));
        }
        if self.turn == self.warms_from {
            let (phase, keep) = (Phase::Warming, Keep::All);
            self.tell(0, Record::Sample { phase, position: u64::from(self.turn), keep, idle_ps: 0 });
        }
        self.turn += 1;
        let page = self.turn;
        // The last access to the oldest page stands right before its end.
        if page > LIVE {
            self.load(0, page - LIVE);
        }
        self.map(page);
        self.load(0, page);
        if page > AGAIN {
            self.load(0, page - AGAIN);
        }
        if page.is_multiple_of(64) {
            let forget = Forget::Page(id(page - page.min(AGAIN) + 1));
            self.tell(0, Record::Invalidate { instruction: 0, forget });
        }
        if page.is_multiple_of(512) {
            self.tell(0, Record::Invalidate { instruction: 0, forget: Forget::Space { pcid: 1 } });
        }
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

/// The machine after the stream.
fn run(stream: Endless) -> Result<Machine, ModelError> {
    let ranges = [0, 1].map(|node: u16| AddressRange { start: u64::from(node) * GIB, length: GIB, node });
    let vcpus = stream.vcpus as u16;
    let mut machine = Machine::new(quiet("8468v-asic"), vcpus, &ranges).unwrap();
    Guest::new(Made(stream), vcpus).run(&mut machine, |_, _| Ok(()))?;
    Ok(machine)
}

fn assert_few_are_known(machine: &Machine, turns: u32) {
    let known = machine.known_pages();
    assert!(known >= LIVE as usize, "live pages are known");
    assert!(known <= LIVE as usize + SLACK, "{known} of {turns} pages are known, {LIVE} are mapped");
}

#[test]
fn pages_that_come_and_go_leave_those_that_are_mapped() {
    /// Millions in a release build.
    const TURNS: u32 = if cfg!(debug_assertions) { 100_000 } else { 4_000_000 };
    assert_few_are_known(&run(Endless::new(TURNS)).unwrap(), TURNS);
}

#[test]
fn pages_that_come_and_go_while_nothing_is_timed_leave_those_that_are_mapped() {
    const TURNS: u32 = 100_000;
    assert_few_are_known(&run(Endless { warms_from: 1000, ..Endless::new(TURNS) }).unwrap(), TURNS);
}

#[test]
fn a_halted_vcpu_keeps_no_page() {
    const TURNS: u32 = 100_000;
    assert_few_are_known(&run(Endless { vcpus: 2, ..Endless::new(TURNS) }).unwrap(), TURNS);
}

#[test]
fn what_is_dropped_changes_no_result() {
    const TURNS: u32 = 30_000;
    let results = |replaces, warms_from| {
        let machine = run(Endless { replaces, warms_from, ..Endless::new(TURNS) }).unwrap();
        (machine.known_pages(), machine.now(), format!("{:?}", Part::tree(&machine)))
    };
    for warms_from in [u32::MAX, 15_000] {
        let (few, time, statistics) = results(true, warms_from);
        let (all, all_time, all_statistics) = results(false, warms_from);
        assert!(few < all && all == TURNS as usize, "{few} of {all} pages are known");
        assert_eq!((time, statistics), (all_time, all_statistics));
    }
}

#[test]
fn a_page_that_is_named_after_another_has_replaced_it_is_an_error() {
    for warms_from in [u32::MAX, 1000] {
        let mut stream = Endless { warms_from, ..Endless::new(20_000) };
        stream.told = stream.by_ref().collect();
        stream.load(0, 1);
        if warms_from == u32::MAX {
            // The stream goes on until the load is committed.
            stream.tell(0, Record::Settle { sequence: 1 });
        }
        let error =
            run(stream).err().unwrap_or_else(|| panic!("page 1 was replaced, warms from {warms_from}")).to_string();
        assert!(
            error.starts_with("RUN001") && error.contains("page 1 is named after another has replaced it"),
            "{error}"
        );
    }
}
