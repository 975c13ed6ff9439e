//! Moves the resident pages of one process towards the share, no faster than a rate.
//!
//! ```text
//!   /proc/PID/smaps -> private anonymous ranges -> units -> a cursor goes round, some hundred units at a time:
//!     locate -> how many units should be on CXL? -> move the difference, evenly spaced
//! ```
//! A unit is a page. In a range with huge pages it is 2 MiB, because the kernel moves a huge page whole. If asked for
//! half of its pages, it would move all of them, and back again at the next round [seen on 6.12]. Does not model:
//! huge pages of other sizes, pages shared by processes. Source: man 2 move_pages, man 5 proc_pid_maps.

use crate::error::{Error, Result};
use crate::mempolicy::{self, PageStatus};
use crate::root::Root;
use crate::share::CxlShare;
use crate::topology::{NodeSet, Topology};
use std::time::Duration;

const PAGE: u64 = 4096;
/// Size of a huge page on x86-64 `[B]`.
const HUGE: u64 = 2 << 20;
/// Units looked at in one go.
const BATCH: usize = 256;
/// Steps to rest after a round that found every page in its place: looking costs the program's time, too.
const RESTS: u32 = 64;
/// Bytes looked at for each byte that may move: a balanced process must not be searched through at every interval.
const LOOKS: u64 = 64;

#[derive(Clone, Debug)]
pub struct ReplacementSpec {
    pub pid: u32,
    /// Moved at most `[B/s]`.
    pub rate: u64,
}

/// Result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// All was in its place not long ago.
    Rested,
    /// Pages were looked at, and perhaps moved: what is sampled meanwhile is the controller's work, too.
    Worked,
}

/// Pages that a step moves in one call. Each call waits until no processor holds a page back (lru_cache_disable in
/// mm/swap.c).
#[derive(Debug, Default)]
struct Moves {
    addresses: Vec<u64>,
    /// One for each address.
    nodes: Vec<i32>,
    /// CXL pages owed by rounding in the batches before: from 0, so that a round finds what the one before left.
    carry: f64,
}

impl Moves {
    fn bytes(&self) -> u64 {
        self.addresses.len() as u64 * PAGE
    }
}

#[derive(Debug)]
pub struct Replacement {
    spec: ReplacementSpec,
    root: Root,
    topology: Topology,
    /// The address where the walk goes on.
    cursor: u64,
    /// Bytes that the rate allows and that were not used `[B]`.
    allowance: u64,
    /// Where all pages are in their places, and how many steps ago that was seen.
    balanced: Option<(CxlShare, u32)>,
    moved_pages: u64,
}

impl Replacement {
    /// CAP060 where the process's memory may not be looked at.
    pub fn new(spec: ReplacementSpec, root: Root, topology: Topology) -> Result<Replacement> {
        let replacement = Replacement { spec, root, topology, cursor: 0, allowance: 0, balanced: None, moved_pages: 0 };
        replacement.ranges()?;
        Ok(replacement)
    }

    pub fn moved_pages(&self) -> u64 {
        self.moved_pages
    }

    /// Walks on for an interval's worth of bytes, at most once round, and moves what is out of place.
    pub fn step(&mut self, share: CxlShare, interval: Duration) -> Result<Effort> {
        let earned = (self.spec.rate as f64 * interval.as_secs_f64()) as u64;
        // No more than one second is saved up: an idle controller must not end in a burst.
        self.allowance = (self.allowance + earned).min(self.spec.rate.max(HUGE));
        if self.rests(share) {
            return Ok(Effort::Rested);
        }
        let mut looks = self.allowance.saturating_mul(LOOKS);
        let mut whole_round = true;
        let mut moves = Moves::default();
        for batch in self.round()?.chunks(BATCH) {
            let bytes = batch.iter().map(Unit::bytes).sum();
            if self.allowance < moves.bytes() + PAGE || looks == 0 {
                whole_round = false;
                break;
            }
            looks = looks.saturating_sub(bytes);
            whole_round &= self.balance(batch, share, &mut moves)?;
            self.cursor = batch.last().map_or(0, |last| last.end);
        }
        let moved = self.relocate(&moves)?;
        self.allowance = self.allowance.saturating_sub(moved * PAGE);
        self.balanced = (whole_round && moved == moves.addresses.len() as u64).then_some((share, 0));
        self.moved_pages += moved;
        Ok(Effort::Worked)
    }

    fn rests(&mut self, share: CxlShare) -> bool {
        match &mut self.balanced {
            Some((at, steps)) if *at == share && *steps < RESTS => {
                *steps += 1;
                true
            }
            _ => false,
        }
    }

    /// Every unit of the process, from the cursor round to it.
    fn round(&self) -> Result<Vec<Unit>> {
        let all: Vec<Unit> = self.ranges()?.into_iter().flat_map(Range::units).collect();
        let from = all.partition_point(|unit| unit.start < self.cursor);
        Ok([&all[from..], &all[..from]].concat())
    }

    /// Adds what a batch has out of place; false where the rate does not allow all of it.
    fn balance(&self, units: &[Unit], share: CxlShare, moves: &mut Moves) -> Result<bool> {
        let sides = self.sides(units)?;
        let (chosen, owed) = plan_moves(&sides, share, moves.carry);
        moves.carry = owed;
        for (nth, index) in chosen.into_iter().enumerate() {
            let pages = units[index].addresses();
            if moves.bytes() + pages.len() as u64 * PAGE > self.allowance {
                return Ok(false);
            }
            let to = if sides[index] == Some(true) { &self.topology.ddr } else { &self.topology.cxl };
            let node = to.iter().nth(nth % to.len()).expect("a topology has both kinds");
            moves.nodes.extend(pages.iter().map(|_| node as i32));
            moves.addresses.extend(pages);
        }
        Ok(true)
    }

    /// For each unit whether most of its resident pages are on CXL; none where none is on a node that we know.
    fn sides(&self, units: &[Unit]) -> Result<Vec<Option<bool>>> {
        let addresses: Vec<u64> = units.iter().flat_map(Unit::addresses).collect();
        let status = mempolicy::locate(self.spec.pid, &addresses)?;
        let mut rest = &status[..];
        let side = |unit: &Unit| {
            let (own, next) = rest.split_at((unit.bytes() / PAGE) as usize);
            rest = next;
            let (ddr, cxl) = (count(own, &self.topology.ddr), count(own, &self.topology.cxl));
            (ddr + cxl > 0).then_some(cxl > ddr)
        };
        Ok(units.iter().map(side).collect())
    }

    /// Pages that are on their node now and were not before. Looked at again after the call: a huge page's other pages are
    /// refused by name, and move all the same.
    fn relocate(&self, Moves { addresses, nodes, .. }: &Moves) -> Result<u64> {
        if addresses.is_empty() {
            return Ok(0);
        }
        let arrived = |status: &[PageStatus]| {
            status.iter().zip(nodes).filter(|(page, node)| **page == PageStatus::Node(**node as u32)).count() as u64
        };
        let before = arrived(&mempolicy::locate(self.spec.pid, addresses)?);
        mempolicy::relocate(self.spec.pid, addresses, nodes)?;
        let after = arrived(&mempolicy::locate(self.spec.pid, addresses)?);
        Ok(after.saturating_sub(before))
    }

    /// Private, writable, anonymous ranges.
    fn ranges(&self) -> Result<Vec<Range>> {
        let smaps = self.root.path(format!("proc/{}/smaps", self.spec.pid));
        let text = std::fs::read_to_string(&smaps).map_err(|source| Error::MovePages { pid: self.spec.pid, source })?;
        Ok(anonymous_ranges(&text))
    }
}

fn count(pages: &[PageStatus], nodes: &NodeSet) -> usize {
    let on = |page: &&PageStatus| matches!(page, PageStatus::Node(node) if nodes.contains(*node));
    pages.iter().filter(on).count()
}

/// Pages that move as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unit {
    start: u64,
    end: u64,
}

impl Unit {
    fn bytes(&self) -> u64 {
        self.end - self.start
    }

    fn addresses(&self) -> Vec<u64> {
        (self.start..self.end).step_by(PAGE as usize).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub start: u64,
    pub end: u64,
    pub has_huge_pages: bool,
}

impl Range {
    /// Pages, or the aligned 2 MiB that lie in it, with what is left at either end.
    fn units(self) -> impl Iterator<Item = Unit> {
        let unit = if self.has_huge_pages { HUGE } else { PAGE };
        let end_of = move |start: u64| ((start / unit + 1) * unit).min(self.end);
        let first = (self.start < self.end).then(|| Unit { start: self.start, end: end_of(self.start) });
        std::iter::successors(first, move |unit| {
            (unit.end < self.end).then(|| Unit { start: unit.end, end: end_of(unit.end) })
        })
    }
}

/// From the text of smaps: a head line for each range, then "Name:  value kB" lines.
pub fn anonymous_ranges(smaps: &str) -> Vec<Range> {
    let mut ranges: Vec<Range> = Vec::new();
    let mut wanted = false;
    for line in smaps.lines() {
        let first = line.split_whitespace().next().unwrap_or("");
        if let Some(name) = first.strip_suffix(':') {
            if let ("AnonHugePages", true, Some(range)) = (name, wanted, ranges.last_mut()) {
                range.has_huge_pages = !line.ends_with(" 0 kB");
            }
            continue;
        }
        let range = anonymous_range(line);
        wanted = range.is_some();
        ranges.extend(range.map(|(start, end)| Range { start, end, has_huge_pages: false }));
    }
    ranges
}

/// Parses `start-end rw-p offset device inode [name]`, where the inode is 0 and the name is none, the heap or the stack.
fn anonymous_range(line: &str) -> Option<(u64, u64)> {
    let mut fields = line.split_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let access = fields.next()?;
    let inode = fields.nth(2)?;
    let name = fields.next().unwrap_or("");
    let ours = access.starts_with("rw") && access.ends_with('p') && inode == "0";
    let special = name.starts_with('[') && name != "[heap]" && name != "[stack]" && !name.starts_with("[anon");
    let parse = |text| u64::from_str_radix(text, 16).ok();
    (ours && !special).then_some((parse(start)?, parse(end)?))
}

/// Chooses the pages of a batch that change sides, so that it holds the share. The second value is the rounding to
/// carry on.
///
/// `on_cxl`: for each page whether it is on CXL, or none where it cannot be moved. The pages chosen are evenly spaced.
pub fn plan_moves(on_cxl: &[Option<bool>], share: CxlShare, carry: f64) -> (Vec<usize>, f64) {
    let resident = on_cxl.iter().flatten().count() as f64;
    let wanted = resident * share.fraction() + carry;
    let target = wanted.round().clamp(0.0, resident);
    let have = on_cxl.iter().flatten().filter(|cxl| **cxl).count() as f64;
    let surplus_on_cxl = have > target;
    let candidates: Vec<usize> =
        on_cxl.iter().enumerate().filter(|(_, side)| **side == Some(surplus_on_cxl)).map(|(i, _)| i).collect();
    let count = (have - target).abs() as usize;
    let moves = (0..count).map(|nth| candidates[nth * candidates.len() / count]).collect();
    (moves, wanted - target)
}
