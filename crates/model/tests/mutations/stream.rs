//! Streams of records by hand: each kind of record, and each kind of instruction that a reader tells apart.

use std::num::NonZeroU32;

use cxlab_access::record::MemoryAccess;
use cxlab_access::trace::Entry;
use cxlab_access::{
    BlockId, Draw, Forget, Keep, Mapping, Marker, Page, PageId, PageSize, Phase, Record, Segment, Vcpu,
};
use proptest::prelude::*;

/// Which stream.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// one vCPU, in detail
    One,
    /// two, one of which halts and is woken
    Two,
    /// one, with phases of a sampled run
    Sampled,
    /// one, with a disk that it asks, rests for, and asks again while another answer is due
    Disk,
}

impl Kind {
    pub const ALL: [Kind; 4] = [Kind::One, Kind::Two, Kind::Sampled, Kind::Disk];

    pub fn vcpus(self) -> u16 {
        if matches!(self, Kind::Two) { 2 } else { 1 }
    }
}

pub fn kinds() -> impl Strategy<Value = Kind> {
    prop::sample::select(Kind::ALL.to_vec())
}

const USER: u64 = 0x40_0000;
const KERNEL: u64 = 0xffff_ffff_8100_0000;

/// Code by block: where, and its bytes (Intel SDM vol. 2).
const BLOCKS: [(u64, &[u8]); 8] = [
    // mov rax, [rax]; add [rcx], rdx; nop; jz
    (USER, &[0x48, 0x8b, 0x00, 0x48, 0x01, 0x11, 0x90, 0x74, 0x10]),
    // rep movsb
    (USER + 0x20, &[0xf3, 0xa4]),
    // rdtsc; div rcx
    (USER + 0x40, &[0x0f, 0x31, 0x48, 0xf7, 0xf1]),
    // pause
    (USER + 0x60, &[0xf3, 0x90]),
    // mov [rcx], rdx; lock add [rcx], rdx; clflush [rax]; movnti [rcx], rax; sfence
    (KERNEL, &[0x48, 0x89, 0x11, 0xf0, 0x48, 0x01, 0x11, 0x0f, 0xae, 0x38, 0x48, 0x0f, 0xc3, 0x01, 0x0f, 0xae, 0xf8]),
    // mov cr3, rax; invlpg [rax]
    (KERNEL + 0x40, &[0x0f, 0x22, 0xd8, 0x0f, 0x01, 0x38]),
    // mov eax, [rdx], of a device
    (KERNEL + 0x60, &[0x8b, 0x02]),
    // prefetcht0 [rax]; vmovups ymm0, [rcx]; ret
    (USER + 0x80, &[0x0f, 0x18, 0x08, 0xc5, 0xfc, 0x10, 0x01, 0xc3]),
];

/// Where pages are: DRAM, CXL, DRAM in huge pages.
const PAGES: [(u64, PageSize); 3] =
    [(0x20_0000, PageSize::Kib4), (0x1_0000_3000, PageSize::Kib4), (0x40_0000, PageSize::Mib2)];

/// Entries on their way into a trace.
#[derive(Default)]
struct Writer {
    entries: Vec<Entry>,
    vcpu: Vcpu,
    clock_reads: u64,
    syncs: [u64; 2],
}

impl Writer {
    fn tell(&mut self, record: Record) {
        self.entries.push(Entry::Words(record.encode(self.vcpu)));
    }

    fn tell_with(&mut self, record: Record, payload: &[u8]) {
        self.tell(record);
        for bytes in payload.chunks(16) {
            let mut whole = [0; 16];
            whole[..bytes.len()].copy_from_slice(bytes);
            let both = u128::from_le_bytes(whole);
            self.entries.push(Entry::Words([both as u64, (both >> 64) as u64]));
        }
    }

    fn block(&mut self, block: u32) {
        self.tell(Record::Block { block: BlockId(block), from: 0 });
    }

    /// An access to line `line` of a page.
    fn access(&mut self, instruction: u16, store: bool, page: usize, line: u64) {
        let (start, size) = PAGES[page];
        let id = PageId(NonZeroU32::new(page as u32 + 1).unwrap());
        let page = Some(Page::new(id, size, start >> size.shift()));
        let physical = start + line * 64;
        self.tell(Record::Access(MemoryAccess { instruction, size_log2: 3, store, physical, page, device: false }));
    }

    fn answer(&mut self) {
        self.entries.push(Entry::Answer(1_000_000 * self.entries.len() as u64));
    }

    fn sync(&mut self) {
        let sequence = &mut self.syncs[self.vcpu.index()];
        *sequence += 1;
        let sequence = *sequence;
        self.tell(Record::Sync { sequence, lag: 0 });
        self.answer();
    }

    fn settle(&mut self) {
        self.clock_reads += 1;
        self.tell(Record::Settle { sequence: self.clock_reads });
        self.answer();
    }

    fn definitions(&mut self) {
        for ((pc, code), block) in BLOCKS.into_iter().zip(0..) {
            let define = Record::Define { block: BlockId(block), pc, length: code.len() as u16, alone: block == 0 };
            self.tell_with(define, code);
        }
        for ((_, size), id) in PAGES.into_iter().zip(1..) {
            let entries = [0x10_0000, 0x10_1000, 0x10_2000, 0x10_3000, 0].map(|entry: u64| entry + u64::from(id) * 8);
            let reads = if size == PageSize::Kib4 { 4 } else { 3 };
            let mapping = Mapping { size, pcid: 1, global: false, upper: false, reads, entries };
            let (record, payload) = Record::of_page(PageId(NonZeroU32::new(id).unwrap()), &mapping, None);
            self.tell_with(record, &payload);
        }
    }

    /// Some of everything.
    fn round(&mut self, line: u64) {
        self.block(0);
        self.access(0, false, 0, line);
        self.access(1, false, 1, line);
        self.access(1, true, 1, line);
        self.block(1);
        for next in 0..3 {
            self.access(0, false, 2, line + next);
            self.access(0, true, 0, line + next);
        }
        self.sync();
        self.block(2);
        self.clock_reads += 1;
        self.tell(Record::ClockRead { instruction: 0, sequence: self.clock_reads });
        self.answer();
        self.block(3);
        self.block(4);
        self.access(0, true, 2, line + 40);
        self.access(1, false, 2, line + 41);
        self.access(1, true, 2, line + 41);
        self.access(2, false, 2, line + 40);
        self.access(3, true, 1, line + 5);
        self.block(5);
        self.tell(Record::Invalidate { instruction: 0, forget: Forget::Space { pcid: 1 } });
        self.tell(Record::Invalidate { instruction: 1, forget: Forget::Page(PageId(NonZeroU32::MIN)) });
        self.block(6);
        let device = MemoryAccess {
            instruction: 0,
            size_log2: 2,
            store: false,
            physical: 0xfe00_0000,
            page: None,
            device: true,
        };
        self.tell(Record::Access(device));
        self.tell(Record::Device { service_ps: 80_000_000 });
        self.tell(Record::File { number: 1000, service_ps: 80_000_000 });
        self.block(7);
        self.tell(Record::Cut { instruction: 1 });
        self.block(7);
        self.access(0, false, 1, line + 9);
        self.access(1, false, 1, line + 8);
        self.settle();
    }

    fn idle(&mut self) {
        self.settle();
        self.tell(Record::Idle { until_ps: 1_000_000_000 });
    }

    /// A page of DRAM and one of CXL memory go to the disk or come from there.
    fn ask_disk(&mut self, number: u32, write: bool, from: u64) {
        let segments = [PAGES[0].0, PAGES[1].0].map(|physical| Segment { physical, length: 4096 });
        let payload: Vec<u8> = segments.into_iter().flat_map(Segment::to_bytes).collect();
        self.tell_with(Record::Disk { number, write, segments: segments.len() as u16, from }, &payload);
    }

    fn disk(&mut self) {
        self.ask_disk(1, true, 1 << 20);
        self.round(40);
        self.ask_disk(2, false, 1 << 20);
        for done in 0..2 {
            self.settle();
            self.tell(Record::Rest { until_ps: 2_000_000_000, done });
        }
    }

    fn phases(&mut self) {
        let phases =
            [Phase::Warming, Phase::Detailed, Phase::Measured, Phase::Detailed, Phase::Warming, Phase::Detailed];
        for (phase, position) in phases.into_iter().zip(1..) {
            let keep = if position % 3 == 0 { Keep::OneOfEachPair(Draw::of(position)) } else { Keep::All };
            self.tell(Record::Sample { phase, position: position * 100, keep, idle_ps: 0 });
            if phase == Phase::Warming {
                self.block(0);
                self.access(0, false, 0, position);
                self.block(4);
                self.tell(Record::Cut { instruction: 1 });
                self.access(2, true, 1, position);
                self.tell(Record::Rested { span_ps: 1_000 });
            } else {
                self.round(position);
            }
        }
    }
}

/// The entries of a stream.
pub fn entries(kind: Kind) -> Vec<Entry> {
    let mut writer = Writer::default();
    writer.definitions();
    writer.tell(Record::Mark { marker: Marker::ProgramStart });
    writer.round(0);
    writer.round(8);
    match kind {
        Kind::One => writer.idle(),
        Kind::Two => {
            writer.tell(Record::Mark { marker: Marker::RegionBegin });
            writer.vcpu = Vcpu::new(1);
            writer.round(16);
            writer.tell(Record::Halt);
            writer.vcpu = Vcpu::new(0);
            writer.round(24);
            writer.tell(Record::Wake { woken: Vcpu::new(1) });
            writer.vcpu = Vcpu::new(1);
            writer.round(30);
            writer.tell(Record::Mark { marker: Marker::Counters });
            writer.vcpu = Vcpu::new(0);
            writer.tell(Record::Mark { marker: Marker::RegionEnd });
        }
        Kind::Sampled => writer.phases(),
        Kind::Disk => writer.disk(),
    }
    writer.round(3);
    writer.tell(Record::Mark { marker: Marker::ProgramEnd });
    writer.tell(Record::End);
    writer.entries
}
