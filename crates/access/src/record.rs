//! One record: sixteen bytes, a closed set of kinds.
//!
//! ```text
//!   word 0: | ...fields of the kind... | kind (4 bits) | vCPU (6 bits) |      word 1: address, time or number
//! ```
//!
//! A `Define` is followed by the block's bytes, padded to whole records. Not carried: register values, the
//! data that was loaded or stored. Its source is the plugin interface of QEMU 10 (docs/devel/tcg-plugins).

use std::num::{NonZeroU32, NonZeroU64};

use crate::marker::Marker;
use crate::page::{Forget, Mapping, Page, PageId, PageSize};
use crate::phase::{Keep, Phase};
pub use crate::words::{RECORD_BYTES, Words};

/// A vCPU, by its number in QEMU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Vcpu(u8);

impl Vcpu {
    /// vCPUs that a record can name.
    pub const MOST: usize = 1 << VCPU_BITS;

    /// # Panics
    /// From [`Vcpu::MOST`] on.
    #[must_use]
    pub const fn new(index: usize) -> Vcpu {
        assert!(index < Vcpu::MOST, "a machine has at most 64 vCPUs");
        Vcpu(index as u8)
    }

    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The vCPU that a record of these words belongs to.
    #[inline]
    #[must_use]
    pub const fn of(words: Words) -> Vcpu {
        Vcpu((words[0] & (Vcpu::MOST as u64 - 1)) as u8)
    }
}

/// Time that PAUSE makes a thread wait: about 140 cycles at 3.8 GHz `[ps]`. Source: Intel 64 optimization manual
/// (248966), "Pause Latency in Skylake Client Microarchitecture". The model's, and the plugin's in its estimates.
pub const PAUSE_PS: u64 = 36_800;

/// The id of a translated block. An id never outlives its bytes: a new translation gets a new id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockId(pub u32);

/// The next event of a vCPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// A block was translated at virtual address `pc`; `length` bytes of code follow `[B]`. If it is `alone`, QEMU has thrown all
    /// earlier translations away: no later record names a block before this one.
    Define { block: BlockId, pc: u64, length: u16, alone: bool },
    /// Execution entered a block: at its first instruction, or in the middle of one that repeats, where a phase began.
    Block { block: BlockId, from: u16 },
    /// An instruction of the current block touched memory.
    Access(MemoryAccess),
    /// A sync point: the reply is the model's time here `[ps]`. The guest goes on when it has the reply to the one that lies
    /// `lag` before.
    Sync { sequence: u64, lag: u8 },
    /// A sync point whose reply is when all before it has committed and all stores have left the core `[ps]`. The guest waits for that
    /// reply. With a line, the core also has its ownership by then, as the home agent has ordered it. What comes next takes a lock in
    /// that line, or gives it back. It is a line of host physical memory, below 2^46.
    Drain { sequence: u64, owns: Option<NonZeroU64> },
    /// The instruction reads the time-stamp counter: the reply is its commit time `[ps]`.
    ClockRead { instruction: u16, sequence: u64 },
    /// No vCPU had anything to do until this model time `[ps]`.
    Idle { until_ps: u64 },
    /// The current block ends before this instruction; it will be entered there as another.
    Cut { instruction: u16 },
    /// The vCPU waits for an interrupt.
    Halt,
    /// Here `woken`, which had halted, goes on.
    Wake { woken: Vcpu },
    /// No vCPU had anything to do until this model time `[ps]`, or until one more than so many requests of devices were done.
    /// Some were under way.
    Rest { until_ps: u64, done: u32 },
    /// A device served a request; the vCPU's time stood still meanwhile and goes on after this long `[ps]`. In traces of
    /// a CXLab whose vCPUs did not go on.
    Device { service_ps: u64 },
    /// Where nothing is timed, no vCPU had anything to do for so long, and a request to a device was under way `[ps]`.
    Rested { span_ps: u64 },
    /// The guest has asked its disk: a payload of this many [`Segment`]s of memory follows. The guest goes on meanwhile.
    Disk { number: u32, write: bool, segments: u16, from: u64 },
    /// The guest has asked for something of a file of the host, which is there so long after `[ps]`. The guest goes on
    /// meanwhile. No other request has this number, of whatever device.
    File { number: u32, service_ps: u64 },
    /// The reply is the time at which everything before is committed `[ps]`.
    Settle { sequence: u64 },
    /// A region of detail begins or ends.
    Mark { marker: Marker },
    /// A page that accesses will name; a payload of its [`Mapping`]'s entries follows. No later record names the page that
    /// it replaces.
    Page { page: PageId, size: PageSize, pcid: u16, global: bool, upper: bool, reads: u8, replaces: Option<PageId> },
    /// The instruction invalidates translations: mov to CR3 or CR4, invlpg, invpcid.
    Invalidate { instruction: u16, forget: Forget },
    /// A phase of a sampled run begins at this position of its schedule (below 2^42). All vCPUs were idle for so long in the
    /// phase before, if that was not timed, beside what [`Record::Rested`] has told `[ps]`. Of the windows before it,
    /// these are kept.
    Sample { phase: Phase, position: u64, keep: Keep, idle_ps: u64 },
    /// Nothing more will come.
    End,
}

/// A part of memory that a disk reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// host physical address `[B]`
    pub physical: u64,
    /// `[B]`
    pub length: u64,
}

impl Segment {
    /// Segments of one request, at most.
    pub const MOST: usize = 1024;

    #[must_use]
    pub fn to_bytes(self) -> [u8; RECORD_BYTES] {
        let mut bytes = [0; RECORD_BYTES];
        bytes[..8].copy_from_slice(&self.physical.to_le_bytes());
        bytes[8..].copy_from_slice(&self.length.to_le_bytes());
        bytes
    }

    /// The segments in the payload of a [`Record::Disk`].
    pub fn all_of(payload: &[u8]) -> impl Iterator<Item = Segment> {
        payload.chunks_exact(RECORD_BYTES).map(|bytes| {
            let [physical, length] =
                [0, 8].map(|at| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes")));
            Segment { physical, length }
        })
    }
}

/// One access: which instruction of the block, where, how large, which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryAccess {
    /// index of the instruction in its block, below 512 (TCG_MAX_INSNS)
    pub instruction: u16,
    /// bytes as a power of two, at most 2^7 `[log2 B]`
    pub size_log2: u8,
    pub store: bool,
    /// host physical address, below 2^52 `[B]`
    pub physical: u64,
    /// how its address was translated; `None` of a device, whose page is not told
    pub page: Option<Page>,
    /// the access went to a device, not to memory
    pub device: bool,
}

/// Records behind a [`Record::Page`]: the addresses of the entries, and a word that is 0.
const MAPPING_RECORDS: usize = (Mapping::MOST_READS * 8).div_ceil(RECORD_BYTES);

pub(crate) const VCPU_BITS: u32 = 6;
const KIND_BITS: u32 = 4;
const KIND: u64 = (1 << KIND_BITS) - 1;
const PAGE_BITS: u32 = 12;
/// Whether a `Define` is alone.
const ALONE_BIT: u32 = 56;
/// Tells a `Drain` from a `Sync`.
const DRAINS: u64 = 1 << 16;
/// Tells a `Drain` with a line from both.
const OWNS: u64 = 1 << 4;
/// Tells an `Invalidate` from a trace's answer, which has nothing but its kind.
const INVALIDATES: u64 = 1 << 40;
/// Tells a `Rest` from an `Idle`, and what is no `Device` from one. Some traces tell more of a `Device` above these.
const RESTS: u64 = 1 << 8;
const IS_DISK: u64 = 1 << 8;
const IS_RESTED: u64 = 1 << 10;
const IS_FILE: u64 = 1 << 11;

mod kind {
    pub const BLOCK: u64 = 1;
    pub const ACCESS: u64 = 2;
    pub const DEFINE: u64 = 3;
    pub const SYNC: u64 = 4;
    pub const CLOCK_READ: u64 = 5;
    pub const IDLE: u64 = 6;
    pub const DEVICE: u64 = 7;
    pub const SETTLE: u64 = 8;
    pub const MARK: u64 = 9;
    pub const END: u64 = 10;
    pub const CUT: u64 = 11;
    pub const HALT: u64 = 12;
    pub const WAKE: u64 = 13;
    pub const PAGE: u64 = 14;
    /// This kind alone, of vCPU 0, is an answer in a trace: an invalidation always has a bit above it
    pub const INVALIDATE: u64 = 15;
    /// 0 alone is no record: a phase always has a bit above it
    pub const SAMPLE: u64 = 0;
}

impl Record {
    /// The record that tells a page's mapping, and the bytes behind it.
    #[must_use]
    pub fn of_page(
        page: PageId,
        mapping: &Mapping,
        replaces: Option<PageId>,
    ) -> (Record, [u8; MAPPING_RECORDS * RECORD_BYTES]) {
        let Mapping { size, pcid, global, upper, reads, entries } = *mapping;
        let mut bytes = [0; MAPPING_RECORDS * RECORD_BYTES];
        for (place, entry) in bytes.chunks_exact_mut(8).zip(entries) {
            place.copy_from_slice(&entry.to_le_bytes());
        }
        (Record::Page { page, size, pcid, global, upper, reads, replaces }, bytes)
    }

    /// As a record of `vcpu`.
    #[inline]
    #[must_use]
    pub fn encode(self, vcpu: Vcpu) -> Words {
        let [first, second] = self.fields();
        [first << VCPU_BITS | u64::from(vcpu.0), second]
    }

    /// Word 0 without the vCPU, and word 1.
    #[inline]
    fn fields(self) -> Words {
        match self {
            Record::Block { block, from } => [kind::BLOCK | u64::from(block.0) << 8 | u64::from(from) << 40, 0],
            Record::Access(access) => access.encode(),
            Record::Define { block, pc, length, alone } => {
                [kind::DEFINE | u64::from(block.0) << 8 | u64::from(length) << 40 | u64::from(alone) << ALONE_BIT, pc]
            }
            Record::Sync { sequence, lag } => [kind::SYNC | u64::from(lag) << 8, sequence],
            Record::Drain { sequence, owns: None } => [kind::SYNC | DRAINS, sequence],
            Record::Drain { sequence, owns: Some(line) } => [kind::SYNC | OWNS | line.get() << 8, sequence],
            Record::ClockRead { instruction, sequence } => [kind::CLOCK_READ | u64::from(instruction) << 8, sequence],
            Record::Idle { until_ps } => [kind::IDLE, until_ps],
            Record::Rest { until_ps, done } => [kind::IDLE | RESTS | u64::from(done) << 16, until_ps],
            Record::Device { service_ps } => [kind::DEVICE, service_ps],
            Record::File { number, service_ps } => [kind::DEVICE | IS_FILE | u64::from(number) << 16, service_ps],
            Record::Rested { span_ps } => [kind::DEVICE | IS_RESTED, span_ps],
            Record::Disk { number, write, segments, from } => {
                let how = u64::from(write) << 9 | u64::from(segments) << 10 | u64::from(number) << 26;
                [kind::DEVICE | IS_DISK | how, from]
            }
            Record::Settle { sequence } => [kind::SETTLE, sequence],
            Record::Mark { marker } => [kind::MARK | u64::from(marker.id()) << 8, 0],
            Record::Sample { phase, position, keep, idle_ps } => {
                [kind::SAMPLE | (phase as u64 + 1) << 8 | keep.encode() << 12 | position << 16, idle_ps]
            }
            Record::End => [kind::END, 0],
            Record::Cut { instruction } => [kind::CUT | u64::from(instruction) << 8, 0],
            Record::Halt => [kind::HALT, 0],
            Record::Wake { woken } => [kind::WAKE | u64::from(woken.0) << 8, 0],
            Record::Page { page, size, pcid, global, upper, reads, replaces } => {
                let replaced = replaces.map_or(0, |page| u64::from(page.0.get()));
                let space = replaced | u64::from(pcid) << 32 | u64::from(global) << 44;
                [
                    kind::PAGE | u64::from(page.0.get()) << 8,
                    space | (size as u64) << 45 | u64::from(reads) << 47 | u64::from(upper) << 50,
                ]
            }
            Record::Invalidate { instruction, forget } => {
                [kind::INVALIDATE | u64::from(instruction) << 8 | INVALIDATES, forget.encode()]
            }
        }
    }

    /// `None` if the words are no record: a foreign or damaged stream.
    #[inline]
    #[must_use]
    pub fn decode(words: Words) -> Option<Record> {
        let [first, second] = [words[0] >> VCPU_BITS, words[1]];
        Some(match first & KIND {
            kind::BLOCK => Record::Block { block: BlockId((first >> 8) as u32), from: (first >> 40) as u16 },
            kind::ACCESS => Record::Access(MemoryAccess::decode([first, second])),
            kind::DEFINE => {
                let (length, alone) = ((first >> 40) as u16, first >> ALONE_BIT & 1 == 1);
                Record::Define { block: BlockId((first >> 8) as u32), pc: second, length, alone }
            }
            kind::SYNC if first & OWNS != 0 => {
                Record::Drain { sequence: second, owns: Some(NonZeroU64::new(first >> 8)?) }
            }
            kind::SYNC if first & DRAINS != 0 => Record::Drain { sequence: second, owns: None },
            kind::SYNC => Record::Sync { sequence: second, lag: (first >> 8) as u8 },
            kind::CLOCK_READ => Record::ClockRead { instruction: (first >> 8) as u16, sequence: second },
            kind::IDLE if first & RESTS != 0 => Record::Rest { until_ps: second, done: (first >> 16) as u32 },
            kind::IDLE => Record::Idle { until_ps: second },
            kind::DEVICE if first & IS_DISK != 0 => {
                let segments = (first >> 10) as u16;
                if usize::from(segments) > Segment::MOST {
                    return None;
                }
                Record::Disk { number: (first >> 26) as u32, write: first >> 9 & 1 == 1, segments, from: second }
            }
            kind::DEVICE if first & IS_FILE != 0 => Record::File { number: (first >> 16) as u32, service_ps: second },
            kind::DEVICE if first & IS_RESTED != 0 => Record::Rested { span_ps: second },
            kind::DEVICE => Record::Device { service_ps: second },
            kind::SETTLE => Record::Settle { sequence: second },
            kind::MARK => Record::Mark { marker: Marker::from_id((first >> 8) as u16)? },
            kind::SAMPLE => {
                let phase = *Phase::ALL.get(((first >> 8) as usize & 0xf).checked_sub(1)?)?;
                let keep = Keep::decode(first >> 12 & ((1 << Keep::BITS) - 1))?;
                Record::Sample { phase, position: first >> 16, keep, idle_ps: second }
            }
            kind::END => Record::End,
            kind::CUT => Record::Cut { instruction: (first >> 8) as u16 },
            kind::HALT => Record::Halt,
            kind::WAKE => Record::Wake { woken: Vcpu((first >> 8) as u8 & (Vcpu::MOST as u8 - 1)) },
            kind::PAGE => Record::Page {
                page: PageId(NonZeroU32::new((first >> 8) as u32)?),
                size: *PageSize::ALL.get((second >> 45 & 3) as usize)?,
                pcid: (second >> 32 & 0xfff) as u16,
                global: second >> 44 & 1 == 1,
                reads: (second >> 47 & 7) as u8,
                upper: second >> 50 & 1 == 1,
                // Traces of a CXLab that replaced no page have 0 here.
                replaces: NonZeroU32::new(second as u32).map(PageId),
            },
            kind::INVALIDATE => {
                Record::Invalidate { instruction: (first >> 8) as u16, forget: Forget::decode(second)? }
            }
            _ => return None,
        })
    }

    /// The block, and from which instruction on, if the words say that one is entered: as `decode`, for those who mostly
    /// meet these.
    #[inline]
    #[must_use]
    pub fn block_of(words: Words) -> Option<(BlockId, u16)> {
        let first = words[0] >> VCPU_BITS;
        (first & KIND == kind::BLOCK).then_some((BlockId((first >> 8) as u32), (first >> 40) as u16))
    }

    /// The access, if the words are one.
    #[inline]
    #[must_use]
    pub fn access_of(words: Words) -> Option<MemoryAccess> {
        let first = words[0] >> VCPU_BITS;
        (first & KIND == kind::ACCESS).then(|| MemoryAccess::decode([first, words[1]]))
    }

    /// Records that follow these words as their payload: as `decode`, for those who mostly meet others.
    #[inline]
    #[must_use]
    pub fn payload_of(words: Words) -> usize {
        match words[0] >> VCPU_BITS & KIND {
            kind::DEFINE | kind::PAGE | kind::DEVICE => Record::decode(words).map_or(0, Record::payload_records),
            _ => 0,
        }
    }

    /// Records that follow this one as its payload.
    #[must_use]
    pub fn payload_records(self) -> usize {
        match self {
            Record::Define { length, .. } => usize::from(length).div_ceil(RECORD_BYTES),
            Record::Page { .. } => MAPPING_RECORDS,
            Record::Disk { segments, .. } => segments.into(),
            _ => 0,
        }
    }
}

impl MemoryAccess {
    // word 0: page (48) | device (1) store (1) size (3) | kind (4)
    // word 1: physical (52) | instruction (12)
    #[inline]
    fn encode(self) -> Words {
        let flags = u64::from(self.size_log2) << 4 | u64::from(self.store) << 7 | u64::from(self.device) << 8;
        [kind::ACCESS | flags | Page::encode(self.page) << 9, self.physical << PAGE_BITS | u64::from(self.instruction)]
    }

    #[inline]
    fn decode([first, second]: Words) -> MemoryAccess {
        MemoryAccess {
            instruction: (second & 0xfff) as u16,
            size_log2: (first >> 4 & 7) as u8,
            store: first >> 7 & 1 == 1,
            device: first >> 8 & 1 == 1,
            physical: second >> PAGE_BITS,
            page: Page::decode(first >> 9),
        }
    }
}
