//! A recorded guest whose pages are placed again: the same program, as another memory policy would have laid it out.
//!
//! ```text
//!   first reading:   which frames a program touched through addresses of its own, in the order of first touch
//!   second reading:  Access(frame 7, line 3)  ->  Access(the node that the policy gives frame 7, same offset, line 3)
//! ```
//!
//! A frame keeps its offset in the node, so rows and channels of the memory see the same pattern. Frames that make up
//! a huge page go together, as Linux interleaves them (mm/mempolicy.c, Linux 6.12). Kernel accesses to a program's
//! frames follow them: clearing, copies. Its page tables are placed by its policy too, as Linux allocates them
//! (alloc_pages there); they take turns of their own. Not modelled: what else the kernel allocates for the program, and
//! files' pages, stay where they were recorded. If a frame changed hands within the run, it counts as the program's
//! from the start.

use std::path::Path;

use cxlab_access::record::{MemoryAccess, Record, Words};
use cxlab_access::ring::{Behind, Reply};
use cxlab_access::trace::{Entry, TraceReader};
use cxlab_access::{Mapping, PageId, PageSize, Vcpu};
use indexmap::IndexMap;
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::RecordSource;
use super::payload::payload;
use crate::addr::PAGE_BYTES;
use crate::error::ModelError;
use crate::home::AddressRange;

/// Base pages in a huge page of 2 MiB.
const HUGE: u64 = 512;

/// Placement of a program's pages: nodes, and the pages in a row that each gets. A single node has all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy(pub Vec<(u16, u32)>);

impl Policy {
    /// The node of the page that is touched as the `turn`th.
    fn node(&self, turn: u64) -> u16 {
        let all: u64 = self.0.iter().map(|(_, weight)| u64::from(*weight)).sum();
        let mut place = turn % all.max(1);
        for (node, weight) in &self.0 {
            match place.checked_sub(u64::from(*weight)) {
                None => return *node,
                Some(rest) => place = rest,
            }
        }
        unreachable!("the place is below the sum of the weights")
    }
}

/// Use of a frame by a program. Each use takes turns of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    SmallPage,
    /// of 2 MiB or more
    HugePage,
    /// a page table that leads to a page which the program touched
    Table,
}

/// For each frame of the program's (physical address / 4096) the frame that takes its place.
#[derive(Debug, Default)]
pub struct PageMap(FxHashMap<u64, u64>);

impl PageMap {
    /// Read the whole trace for what its programs touch, and place that by `policy`.
    pub fn read(path: &Path, policy: &Policy, ranges: &[AddressRange]) -> Result<PageMap, ModelError> {
        let mut trace = TraceReader::open(path)?;
        let mut touched: IndexMap<u64, Use, FxBuildHasher> = IndexMap::default();
        // Of each page the frames of its tables, until they are noted with its first touch.
        let mut programs: FxHashMap<PageId, Vec<u64>> = FxHashMap::default();
        while let Some(entry) = trace.next_entry()? {
            let Entry::Words(words) = entry else { continue };
            match Record::decode(words) {
                Some(Record::Access(MemoryAccess { physical, page: Some(page), .. })) => {
                    if let Some(tables) = programs.get_mut(&page.id) {
                        let here = if page.size() == PageSize::Kib4 { Use::SmallPage } else { Use::HugePage };
                        tables.drain(..).for_each(|table| _ = touched.entry(table).or_insert(Use::Table));
                        touched.entry(physical / PAGE_BYTES).or_insert(here);
                    }
                }
                Some(record) => {
                    // A reader gives a payload's words as they are: no answer comes between them.
                    let payload = payload(record.payload_records(), &format_args!("{record:?}"), || {
                        Ok(trace.next_entry()?.and_then(Entry::words))
                    })?;
                    if let Record::Page { page, upper, replaces, reads, .. } = record {
                        replaces.map(|replaced| programs.remove(&replaced));
                        if !upper {
                            let entries =
                                Mapping::entries_of(&payload).expect("the record says how many bytes there are");
                            programs
                                .insert(page, entries.iter().take(reads.into()).map(|at| at / PAGE_BYTES).collect());
                        }
                    }
                }
                None => return Err(ModelError::Stream { cause: format!("{words:x?} is no record") }),
            }
        }
        PageMap::of(&touched, policy, ranges)
    }

    fn of(
        touched: &IndexMap<u64, Use, FxBuildHasher>,
        policy: &Policy,
        ranges: &[AddressRange],
    ) -> Result<PageMap, ModelError> {
        let offset = |frame: &u64| Offset::of(*frame, ranges);
        let pages = touched.iter().filter(|(_, used)| **used != Use::Table);
        let recorded = pages.filter_map(|(frame, _)| offset(frame)).map(|from| from.node).next();
        let mut nodes: FxHashMap<u64, u16> = FxHashMap::default();
        let (mut map, mut turns) = (FxHashMap::default(), [0, 0, 0]);
        for (&frame, &used) in touched {
            let Some(from) = offset(&frame) else { continue };
            if recorded != Some(from.node) {
                if used == Use::Table {
                    continue;
                }
                let cause = "its programs' pages are on more nodes than one: record it with --membind of a node that holds \
                     them all, or without a policy";
                return Err(ModelError::Inconsistent { file: "placement".into(), cause: cause.into() });
            }
            let turn = &mut turns[used as usize];
            let mut next = || (policy.node(*turn), *turn += 1).0;
            let node = if used == Use::HugePage { *nodes.entry(frame / HUGE).or_insert_with(next) } else { next() };
            map.insert(frame, Offset { node, ..from }.frame(ranges)?);
        }
        Ok(PageMap(map))
    }

    /// The address that takes the place of an address `[B]`.
    fn moved(&self, physical: u64) -> u64 {
        self.0.get(&(physical / PAGE_BYTES)).map_or(physical, |frame| frame * PAGE_BYTES + physical % PAGE_BYTES)
    }

    fn place(&self, access: MemoryAccess) -> MemoryAccess {
        if access.device { access } else { MemoryAccess { physical: self.moved(access.physical), ..access } }
    }
}

/// Records to come that are no records of their own, whatever they look like.
#[derive(Clone, Copy, Debug)]
enum Payload {
    /// so many of code, or of what a disk moves
    Other(usize),
    /// so many of the addresses of a page's entries
    Entries(usize),
}

/// A frame by its place in the memory of its node.
#[derive(Clone, Copy, Debug)]
struct Offset {
    node: u16,
    frames: u64,
}

impl Offset {
    fn of(frame: u64, ranges: &[AddressRange]) -> Option<Offset> {
        let inside = |range: &&AddressRange| {
            (frame * PAGE_BYTES).checked_sub(range.start).is_some_and(|offset| offset < range.length)
        };
        let range = ranges.iter().find(inside)?;
        let below: u64 = ranges
            .iter()
            .filter(|other| other.node == range.node && other.start < range.start)
            .map(|other| other.length)
            .sum();
        Some(Offset { node: range.node, frames: frame - range.start / PAGE_BYTES + below / PAGE_BYTES })
    }

    fn frame(self, ranges: &[AddressRange]) -> Result<u64, ModelError> {
        let mut of_node: Vec<_> = ranges.iter().filter(|range| range.node == self.node).collect();
        of_node.sort_by_key(|range| range.start);
        let mut left = self.frames;
        for range in of_node {
            match left.checked_sub(range.length / PAGE_BYTES) {
                None => return Ok(range.start / PAGE_BYTES + left),
                Some(rest) => left = rest,
            }
        }
        let cause = format!(
            "node {} of the recorded run has no room for pages that were recorded elsewhere: record on a machine that \
             has that node, with --memory that is the same for each node",
            self.node
        );
        Err(ModelError::Inconsistent { file: "placement".into(), cause })
    }
}

/// A source whose accesses go where a page map says.
pub struct Placed<S> {
    pub source: S,
    map: PageMap,
    payload: Payload,
}

impl<S> Placed<S> {
    #[must_use]
    pub fn new(source: S, map: PageMap) -> Placed<S> {
        Placed { source, map, payload: Payload::Other(0) }
    }

    fn place(&mut self, words: Words) -> Words {
        match &mut self.payload {
            Payload::Other(0) | Payload::Entries(0) => {}
            Payload::Other(left) => {
                *left -= 1;
                return words;
            }
            Payload::Entries(left) => {
                *left -= 1;
                return words.map(|entry| self.map.moved(entry));
            }
        }
        if let Some(access) = Record::access_of(words) {
            return Record::Access(self.map.place(access)).encode(Vcpu::of(words));
        }
        let records = Record::payload_of(words);
        let page = records > 0 && matches!(Record::decode(words), Some(Record::Page { .. }));
        self.payload = if page { Payload::Entries(records) } else { Payload::Other(records) };
        words
    }
}

impl<S: RecordSource> RecordSource for Placed<S> {
    fn words(&mut self) -> Result<Option<Words>, ModelError> {
        Ok(self.source.words()?.map(|words| self.place(words)))
    }

    fn words_at_hand(&mut self) -> Result<Option<Words>, ModelError> {
        Ok(self.source.words_at_hand()?.map(|words| self.place(words)))
    }

    fn request_done(&mut self, number: u32) {
        self.source.request_done(number);
    }

    fn slept(&mut self, vcpu: Vcpu, ps: u64) {
        self.source.slept(vcpu, ps);
    }

    fn answer_sync(&mut self, vcpu: Vcpu, sequence: u64, ps: u64) -> Result<(), ModelError> {
        self.source.answer_sync(vcpu, sequence, ps)
    }

    fn answer_clock(&mut self, sequence: u64, ps: u64) -> Result<(), ModelError> {
        self.source.answer_clock(sequence, ps)
    }

    fn put_off(&mut self, reply: Reply, sequence: u64, behind: Behind) {
        self.source.put_off(reply, sequence, behind);
    }

    fn is_recorded_elsewhere(&self) -> bool {
        self.source.is_recorded_elsewhere()
    }

    fn share_read(&self) -> Option<f64> {
        self.source.share_read()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANGES: [AddressRange; 3] = [
        AddressRange { start: 0, length: 4 << 20, node: 0 },
        AddressRange { start: 8 << 20, length: 4 << 20, node: 0 },
        AddressRange { start: 16 << 20, length: 8 << 20, node: 1 },
    ];

    /// Frames in the order of first touch, those of `huge` in pages of 2 MiB.
    fn placed(frames: &[u64], huge: &[u64], policy: &[(u16, u32)]) -> Result<PageMap, ModelError> {
        let used = |frame| if huge.contains(frame) { Use::HugePage } else { Use::SmallPage };
        let touched = frames.iter().map(|frame| (*frame, used(frame))).collect();
        PageMap::of(&touched, &Policy(policy.to_vec()), &RANGES)
    }

    #[test]
    fn page_tables_take_turns_of_their_own_where_the_pages_were_recorded() {
        // Of the tables 5, 6 and 4097 the last is on the other node, where no page is: it stays.
        let touched = [(5, Use::Table), (4097, Use::Table), (9, Use::SmallPage), (6, Use::Table), (4, Use::SmallPage)];
        let policy = Policy(vec![(1, 1), (0, 1)]);
        let map = PageMap::of(&touched.into_iter().collect(), &policy, &RANGES).unwrap();
        assert_eq!((map.0[&9], map.0[&4]), (4096 + 9, 4));
        assert_eq!((map.0[&5], map.0[&6], map.0.get(&4097)), (4096 + 5, 6, None));
        assert_eq!((map.moved(5 * 4096 + 24), map.moved(4097 * 4096 + 8)), ((4096 + 5) * 4096 + 24, 4097 * 4096 + 8));
    }

    #[test]
    fn a_bound_page_keeps_its_offset_in_the_node() {
        // Frame 2049 is 1 page into the second range of node 0, 4 MiB and a page into the node.
        let map = placed(&[3, 2049], &[], &[(1, 1)]).unwrap();
        assert_eq!((map.0[&3], map.0[&2049]), (4096 + 3, 4096 + 1025));
    }

    #[test]
    fn small_pages_take_turns_in_the_order_of_first_touch() {
        let map = placed(&[9, 4, 7], &[], &[(0, 1), (1, 1)]).unwrap();
        assert_eq!((map.0[&9], map.0[&4], map.0[&7]), (9, 4096 + 4, 7));
        let map = placed(&[9, 4, 7, 5], &[], &[(0, 3), (1, 1)]).unwrap();
        assert_eq!([9, 4, 7, 5].map(|frame| map.0[&frame] > 4096), [false, false, false, true]);
    }

    #[test]
    fn a_huge_page_moves_as_one() {
        // Frames 512..1023 are one huge page; frame 4 is a page of its own.
        let map = placed(&[4, 512, 600, 513], &[512, 600, 513], &[(1, 1), (0, 1)]).unwrap();
        assert_eq!([512, 600, 513].map(|frame| map.0[&frame]), [4608, 4696, 4609]);
        assert_eq!(map.0[&4], 4100);
    }

    #[test]
    fn a_recording_over_several_nodes_and_a_node_too_small_are_refused() {
        assert!(placed(&[4, 4096], &[], &[(0, 1)]).unwrap_err().to_string().contains("more nodes than one"));
        let ranges = [RANGES[0], AddressRange { start: 16 << 20, length: 1 << 20, node: 1 }];
        let touched = [(1000, Use::SmallPage)].into_iter().collect();
        let error = PageMap::of(&touched, &Policy(vec![(1, 1)]), &ranges).unwrap_err();
        assert!(error.to_string().contains("has no room for pages"));
    }
}
