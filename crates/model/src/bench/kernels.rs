//! The kernels: what a latency thread, a load thread, STREAM and memo do.

use cxlab_kernel::{Bytes, Stream, Time};

use super::buffers::Buffer;
use super::embedding::Embedding;
use super::job::{Instruction, Isa, Mix, Pattern, Store, StreamKernel};
use crate::addr::{Hpa, LINE_BYTES};
use crate::frontend::{Action, Kernel};

/// What a core runs.
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
    /// What it reaches: the first lines of a buffer.
    fn reach(&self) -> (&Buffer, u64) {
        match self {
            Thread::Chase(Chase { buffer, .. }) => (buffer, buffer.lines().min(Chase::MOST_LINES)),
            Thread::Traffic(Traffic { buffer, .. })
            | Thread::Triad(Triad { buffer, .. })
            | Thread::Memo(Memo { buffer, .. }) => (buffer, buffer.lines()),
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

    /// Whether it leaves changed lines in the caches for long.
    pub fn stores(&self) -> bool {
        match self {
            Thread::Chase(_) | Thread::Memo(_) | Thread::Walk(_) | Thread::Embedding(_) => false,
            Thread::Traffic(traffic) => traffic.mix.writes > 0 && traffic.store == Store::Ordinary,
            Thread::Triad(_) => true,
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

/// The latency thread: each address comes from the line before, at random.
#[derive(Clone, Debug)]
pub struct Chase {
    buffer: Buffer,
    random: Stream,
}

impl Chase {
    /// As far as lat_mem_rd goes (CXL-DMSim figure 10): beyond all caches, within the second TLB on pages of 2 MiB.
    const MOST_LINES: u64 = (1 << 30) / LINE_BYTES;

    pub fn new(buffer: Buffer, random: Stream) -> Chase {
        Chase { buffer, random }
    }

    fn act(&mut self) -> Action {
        Action::Chase(self.buffer.line(self.random.below(self.buffer.lines().min(Self::MOST_LINES))))
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

/// A load thread: loads and stores in a fixed ratio, a line each, a delay after every four (as the EuroSys'24
/// artifact's rates at long delays show for all reads: 256 B a delay at 3.0 GHz).
#[derive(Clone, Debug)]
pub struct Traffic {
    buffer: Buffer,
    random: Stream,
    mix: Mix,
    store: Store,
    pattern: Pattern,
    delay: Time,
    /// accesses so far
    count: u64,
    /// the delay after this many has been given
    delayed: u64,
    /// Bresenham's error: how far stores lag behind their share
    lag: u32,
}

impl Traffic {
    /// Accesses between two delays.
    const BURST: u64 = 4;

    pub fn new(buffer: Buffer, mut random: Stream, mix: Mix, store: Store, pattern: Pattern, delay: Time) -> Traffic {
        let count = random.below(buffer.lines()) / Self::BURST * Self::BURST;
        Traffic { buffer, random, mix, store, pattern, delay, count, delayed: count, lag: 0 }
    }

    /// Loads and stores in a group: an ordinary store reads its line too.
    fn shares(&self) -> (u32, u32) {
        let Mix { reads, writes } = self.mix;
        match self.store {
            Store::Ordinary => (reads - writes, writes),
            Store::NonTemporal => (reads, writes),
        }
    }

    #[inline]
    fn act(&mut self) -> Action {
        if self.delay > Time::ZERO && self.count.is_multiple_of(Self::BURST) && self.delayed != self.count {
            self.delayed = self.count;
            return Action::Delay(self.delay);
        }
        let number = match self.pattern {
            Pattern::Sequential => self.count,
            Pattern::Random => self.random.below(self.buffer.lines()),
        };
        let line = self.buffer.line(number);
        self.count += 1;
        let (loads, stores) = self.shares();
        self.lag += stores;
        if self.lag < loads + stores {
            return Action::Load(line);
        }
        self.lag -= loads + stores;
        match self.store {
            Store::Ordinary => Action::Store(line),
            Store::NonTemporal => Action::NonTemporal(line),
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
/// The paper's own source (ece-fast-lab/cxl_type3_tests, memo_ae/src) draws its 16 lines in 64 KiB and flushes all of these,
/// which on scattered pages of 4 KiB is as here; it counts the clock's and the fences' own cycles, here nobody does.
///
/// The flushes find nothing in the caches. Without the pause batches fall into step with the memory's refreshes: one
/// that waits for a refresh ends with it, and so the next one meets the next refresh.
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
