//! The kernels of the bench: a latency thread, a load thread, STREAM and memo.

use cxlab_kernel::{Bytes, Stream, Time};

use super::buffers::Buffer;
use super::embedding::Embedding;
use super::job::{Instruction, Isa, StreamKernel};
use super::order::Order;
use super::round::Round;
use super::traffic::Traffic;
use crate::addr::{Hpa, LINE_BYTES};
use crate::feed::{Action, Kernel};

/// A thread that a core runs.
#[derive(Clone, Debug)]
pub enum Thread {
    Chase(Chase),
    Traffic(Traffic),
    Triad(Triad),
    Memo(Memo),
    Walk(Walk),
    Embedding(Embedding),
}

impl Thread {
    /// Lines that it reaches: the first of a buffer, or of the first of two buffers.
    fn reach(&self) -> (&Buffer, u64) {
        match self {
            Thread::Chase(Chase { buffer, lines, .. }) => (buffer, *lines),
            Thread::Traffic(traffic) => {
                let buffer = traffic.buffers().next().expect("a load thread has an array");
                (buffer, buffer.lines())
            }
            Thread::Triad(Triad { buffer, .. }) | Thread::Memo(Memo { buffer, .. }) => (buffer, buffer.lines()),
            Thread::Walk(Walk { buffer, lines, .. }) => (buffer, *lines),
            Thread::Embedding(embedding) => (embedding.buffer(), embedding.buffer().lines()),
        }
    }

    /// Lines that it reaches.
    pub fn lines(&self) -> u64 {
        self.reach().1
    }

    /// Any of them.
    pub fn anywhere(&self, random: &mut Stream) -> Hpa {
        let (buffer, lines) = self.reach();
        buffer.line(random.below(lines))
    }

    /// Its rounds through each of its buffers, without end.
    pub fn rounds(&self) -> Vec<Round<'_>> {
        match self {
            Thread::Chase(Chase { buffer, order, stride, lines, count }) => {
                vec![Round { buffer, order, lines: *lines, next: *count * *stride, stores: false, reads: true }]
            }
            Thread::Traffic(traffic) => traffic.rounds().collect(),
            Thread::Triad(_) | Thread::Memo(_) | Thread::Walk(_) | Thread::Embedding(_) => Vec::new(),
        }
    }

    /// Whether it leaves changed lines in the caches for long.
    pub fn stores(&self) -> bool {
        match self {
            Thread::Chase(_) | Thread::Memo(_) | Thread::Walk(_) | Thread::Embedding(_) => false,
            Thread::Traffic(traffic) => traffic.stores(),
            Thread::Triad(_) => true,
        }
    }

    /// Lines that it has read or written by its own account, of so many loads and stores.
    pub fn lines_moved(&self, loads: u64, stores: u64) -> u64 {
        match self {
            Thread::Traffic(traffic) => traffic.lines_moved(loads, stores),
            _ => loads,
        }
    }
}

impl Kernel for Thread {
    #[inline]
    fn act(&mut self) -> Action {
        match self {
            Thread::Chase(chase) => chase.act(),
            Thread::Traffic(traffic) => traffic.act(),
            Thread::Triad(triad) => triad.act(),
            Thread::Memo(memo) => memo.act(),
            Thread::Walk(walk) => walk.act(),
            Thread::Embedding(embedding) => embedding.act(),
        }
    }

    fn settled(&mut self, at: Time) {
        match self {
            Thread::Memo(memo) => memo.settled(at),
            Thread::Walk(walk) => walk.settled(at),
            Thread::Chase(_) | Thread::Traffic(_) | Thread::Triad(_) | Thread::Embedding(_) => {}
        }
    }
}

/// The latency thread: each address comes from the line before. In Intel MLC it goes through its buffer block by
/// block (`-D`, "random access range for latency thread", 4096). It reads every other line of 512 KiB once, in a
/// random order that is the same for each block. Lines in between are left to the spatial prefetcher. In lat_mem_rd
/// and in Mess every line of the buffer comes once, in a random order.
#[derive(Clone, Debug)]
pub struct Chase {
    buffer: Buffer,
    order: Order,
    /// lines from one place of the order to the next
    stride: u64,
    /// lines of the buffer that it reaches
    lines: u64,
    count: u64,
}

impl Chase {
    /// As far as lat_mem_rd goes (CXL-DMSim figure 10): beyond all caches, within the second TLB on pages of 2 MiB.
    pub const MOST_LINES: u64 = (1 << 30) / LINE_BYTES;
    /// Lines from one that is read to the next: 128 B where MLC chases at random, by a public modified copy of MLC.
    const MLC_STRIDE: u64 = 2;

    /// Intel MLC's chase, by an order within blocks.
    pub fn in_blocks(buffer: Buffer, order: Order, mut random: Stream) -> Chase {
        let lines = buffer.lines();
        let count = random.below(lines / Self::MLC_STRIDE);
        Chase { buffer, order, stride: Self::MLC_STRIDE, lines, count }
    }

    /// The chase of lat_mem_rd and of Mess.
    pub fn over_buffer(buffer: Buffer, mut random: Stream) -> Chase {
        let lines = buffer.lines();
        let order = Order::whole(lines, &mut random);
        Chase { buffer, order, stride: 1, lines, count: 0 }
    }

    fn act(&mut self) -> Action {
        let number = self.order.line(self.count) * self.stride;
        self.count += 1;
        Action::Chase(self.buffer.line(number % self.lines))
    }
}

/// A chase of known length over the first lines of a buffer, at random: what lat_mem_rd and MLC read off a buffer's size.
/// Each line is drawn anew; a cyclic permutation would find nothing in an LRU cache that is a little too small.
#[derive(Clone, Debug)]
pub struct Walk {
    buffer: Buffer,
    lines: u64,
    random: Stream,
    left: u64,
    begun: Option<Time>,
    /// of all its loads
    pub time: Option<Time>,
}

impl Walk {
    pub const LOADS: u64 = 20_000;

    pub fn new(buffer: Buffer, random: Stream, size: Bytes) -> Walk {
        let lines = size.get() / LINE_BYTES;
        Walk { buffer, lines, random, left: Self::LOADS, begun: None, time: None }
    }

    /// Lines of the buffer that it walks over.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// The next line.
    pub fn draw(&mut self) -> Hpa {
        self.buffer.line(self.random.below(self.lines))
    }

    fn act(&mut self) -> Action {
        if self.time.is_some() {
            return Action::End;
        }
        if self.begun.is_none() || self.left == 0 {
            return Action::Settle;
        }
        self.left -= 1;
        Action::Chase(self.draw())
    }

    fn settled(&mut self, at: Time) {
        match self.begun {
            None => self.begun = Some(at),
            Some(begun) => self.time = Some(at - begun),
        }
    }
}

/// A kernel of STREAM over three arrays.
#[derive(Clone, Debug)]
pub struct Triad {
    buffer: Buffer,
    kernel: StreamKernel,
    /// lines done
    count: u64,
    /// operand of the line that is next
    operand: usize,
}

impl Triad {
    pub fn new(buffer: Buffer, kernel: StreamKernel) -> Triad {
        Triad { buffer, kernel, count: 0, operand: 0 }
    }

    /// Arrays read and the one written, a = 0, b = 1, c = 2 (stream.c 5.10).
    fn arrays(&self) -> (&'static [u64], u64) {
        match self.kernel {
            StreamKernel::Copy => (&[0], 2),
            StreamKernel::Scale => (&[2], 1),
            StreamKernel::Add => (&[0, 1], 2),
            StreamKernel::Triad => (&[1, 2], 0),
        }
    }

    fn act(&mut self) -> Action {
        let (read, written) = self.arrays();
        let third = self.buffer.lines() / 3;
        let place = self.count % third;
        if let Some(array) = read.get(self.operand) {
            self.operand += 1;
            return Action::Load(self.buffer.line(array * third + place));
        }
        (self.operand, self.count) = (0, self.count + 1);
        Action::Store(self.buffer.line(written * third + place))
    }
}

/// Batches of 16 random accesses, as crates/memo has them (MICRO'23, 4.1):
///
/// ```text
///   pause at random | clflush x 16 | fence | clock | 16 accesses back to back | fence | clock
/// ```
///
/// The paper's own source (ece-fast-lab/cxl_type3_tests, memo_ae/src) draws its 16 lines in 64 KiB and flushes all of
/// these. On scattered pages of 4 KiB that is the same as here. The paper's source counts the cycles of the clock and
/// of the fences, and this kernel does not.
///
/// The flushes find nothing in the caches. Without the pause, batches fall into step with the memory's refreshes. A
/// batch that waits for a refresh ends with it. So the next batch meets the next refresh.
#[derive(Clone, Debug)]
pub struct Memo {
    buffer: Buffer,
    random: Stream,
    instruction: Instruction,
    isa: Isa,
    left: usize,
    lines: [Hpa; Memo::BATCH],
    /// place in the batch
    step: usize,
    begun: Option<Time>,
    /// time of each batch
    pub batches: Vec<Time>,
}

impl Memo {
    /// Accesses of a batch.
    pub const BATCH: usize = 16;
    /// The longest pause: longer than any tREFI (JESD79-4: 7.8 us; JESD79-5: 3.9 us).
    const PAUSE: Time = Time::from_ns(10_000);

    pub fn new(buffer: Buffer, random: Stream, instruction: Instruction, isa: Isa, batches: usize) -> Memo {
        let lines = [Hpa::new(0); Memo::BATCH];
        Memo { buffer, random, instruction, isa, left: batches, lines, step: 0, begun: None, batches: Vec::new() }
    }

    fn act(&mut self) -> Action {
        const FLUSHED: usize = 1 + Memo::BATCH;
        const FENCED: usize = FLUSHED + 1;
        const BEGUN: usize = FENCED + 1;
        if self.left == 0 {
            return Action::End;
        }
        let (step, accesses) = (self.step, self.accesses());
        self.step += 1;
        match step {
            0 => Action::Delay(Time::from_ps(self.random.below(Memo::PAUSE.as_ps()))),
            1..FLUSHED => self.flush(step - 1),
            FLUSHED => Action::Fence,
            FENCED => Action::Settle,
            _ if step < BEGUN + Memo::BATCH * accesses => {
                self.access((step - BEGUN) / accesses, (step - BEGUN) % accesses)
            }
            _ if step == BEGUN + Memo::BATCH * accesses => Action::Fence,
            _ => {
                self.step = 0;
                self.left -= 1;
                Action::Settle
            }
        }
    }

    fn flush(&mut self, place: usize) -> Action {
        self.lines[place] = self.buffer.line(self.random.below(self.buffer.lines()));
        Action::Flush(self.lines[place])
    }

    /// Instructions for each line.
    fn accesses(&self) -> usize {
        self.isa.accesses() + usize::from(self.instruction == Instruction::StoreAndWriteBack)
    }

    /// One of the accesses to the line at this place of the batch.
    fn access(&self, place: usize, part: usize) -> Action {
        if part == self.isa.accesses() {
            // As long as a clwb; whether the line stays is no matter, for the next batch draws others.
            return Action::Flush(self.lines[place]);
        }
        let part_bytes = LINE_BYTES / self.isa.accesses() as u64;
        let at = Hpa::new(self.lines[place].get() + part as u64 * part_bytes);
        match (self.instruction, self.isa) {
            (Instruction::Load | Instruction::NonTemporalLoad, _) => Action::Load(at),
            (Instruction::Store | Instruction::StoreAndWriteBack, _) => Action::Store(at),
            (Instruction::NonTemporalStore, Isa::Avx512) => Action::NonTemporal(at),
            (Instruction::NonTemporalStore, Isa::Avx2) => Action::NonTemporalHalf(at),
        }
    }

    fn settled(&mut self, at: Time) {
        match self.begun.take() {
            None => self.begun = Some(at),
            Some(begun) => self.batches.push(at - begun),
        }
    }
}
