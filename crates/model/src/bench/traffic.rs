//! A load thread of Intel MLC. It loads from one array and stores to another in a fixed ratio, with a delay after
//! every four lines.
//!
//! ```text
//!   2:1   load r0  store w0  load r1  store w1  | delay |  load r2 ...       a store reads its line, too
//! ```
//!
//! A thread reads one array of 100 MiB and writes another. Source: MLC prints "Using buffer size of 100.000MiB/thread
//! for reads and an additional 100.000MiB/thread for writes". A delay follows every 256 B. That fits the EuroSys'24
//! artifact's rates for reads at long delays and 3.0 GHz. Each load or store moves a whole line, or 32 B with AVX2.
//! MLC's own move 16 B, so it takes four.

use cxlab_kernel::{Stream, Time};

use super::buffers::Buffer;
use super::job::{Isa, Mix, Store};
use super::order::Order;
use super::round::Round;
use crate::addr::{Hpa, LINE_BYTES};
use crate::feed::Action;

/// An array and how far its thread has come in it.
#[derive(Clone, Debug)]
struct Array {
    buffer: Buffer,
    turn: u64,
}

/// A load thread.
#[derive(Clone, Debug)]
pub struct Traffic {
    order: Order,
    loaded: Array,
    /// what is stored to; `None` of a mix of loads alone
    stored: Option<Array>,
    mix: Mix,
    store: Store,
    isa: Isa,
    /// the second half of a line that has been begun
    half: Option<Action>,
    delay: Time,
    /// lines begun so far
    count: u64,
    /// the delay after this many has been given
    delayed: u64,
    /// Bresenham's error: how far stores lag behind their share
    lag: u32,
}

impl Traffic {
    /// Lines between two delays.
    const BURST: u64 = 4;
    /// Lines of an array: 100 MiB.
    pub const LINES: u64 = (100 << 20) / LINE_BYTES;

    pub fn new(
        loaded: Buffer,
        stored: Option<Buffer>,
        mut random: Stream,
        order: Order,
        (mix, store, isa): (Mix, Store, Isa),
    ) -> Traffic {
        let mut array = |buffer: Buffer| {
            let turn = random.below(buffer.lines()) / Self::BURST * Self::BURST;
            Array { buffer, turn }
        };
        let (loaded, stored) = (array(loaded), stored.map(array));
        let delay = Time::ZERO;
        Traffic { order, loaded, stored, mix, store, isa, half: None, delay, count: 0, delayed: 0, lag: 0 }
    }

    /// From now on it waits so long after every four lines. Where it is among its lines does not change.
    pub fn wait_between(&mut self, delay: Time) {
        self.delay = delay;
    }

    /// Its arrays.
    pub fn buffers(&self) -> impl Iterator<Item = &Buffer> {
        std::iter::once(&self.loaded).chain(&self.stored).map(|array| &array.buffer)
    }

    /// Its rounds through them.
    pub fn rounds(&self) -> impl Iterator<Item = Round<'_>> {
        let loaded = std::iter::once((&self.loaded, false)).filter(|_| self.loads());
        let stored = self.stored.iter().map(|array| (array, true));
        loaded.chain(stored).map(|(array, stores)| Round {
            buffer: &array.buffer,
            order: &self.order,
            lines: array.buffer.lines(),
            next: array.turn,
            stores,
            reads: !stores || self.store == Store::Ordinary,
        })
    }

    /// Lines of its arrays.
    pub fn lines(&self) -> u64 {
        self.buffers().map(Buffer::lines).sum()
    }

    /// Whether it loads lines at all.
    pub fn loads(&self) -> bool {
        self.shares().0 > 0
    }

    /// Whether it leaves changed lines in the caches for long.
    pub fn stores(&self) -> bool {
        self.mix.writes > 0 && self.store == Store::Ordinary
    }

    /// Lines that it has read or written by its own account, of so many loads and stores.
    pub fn lines_moved(&self, loads: u64, stores: u64) -> u64 {
        let accesses = match self.store {
            Store::Ordinary => loads + 2 * stores,
            Store::NonTemporal => loads + stores,
        };
        accesses / self.accesses()
    }

    /// Instructions for each line.
    pub fn accesses(&self) -> u64 {
        self.isa.accesses() as u64
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
    fn next_line(array: &mut Array, order: &Order) -> Hpa {
        let line = array.buffer.line(order.line(array.turn));
        array.turn += 1;
        line
    }

    #[inline]
    pub fn act(&mut self) -> Action {
        if let Some(half) = self.half.take() {
            return half;
        }
        if self.delay > Time::ZERO && self.count.is_multiple_of(Self::BURST) && self.delayed != self.count {
            self.delayed = self.count;
            return Action::Delay(self.delay);
        }
        self.count += 1;
        let (loads, stores) = self.shares();
        self.lag += stores;
        if self.lag < loads + stores {
            let line = Self::next_line(&mut self.loaded, &self.order);
            return self.begin(line, Action::Load);
        }
        self.lag -= loads + stores;
        let stored = self.stored.as_mut().expect("a mix with stores has an array for them");
        let line = Self::next_line(stored, &self.order);
        match (self.store, self.isa) {
            (Store::Ordinary, _) => self.begin(line, Action::Store),
            (Store::NonTemporal, Isa::Avx512) => self.begin(line, Action::NonTemporal),
            (Store::NonTemporal, Isa::Avx2) => self.begin(line, Action::NonTemporalHalf),
        }
    }

    /// The first access to a line; the second one comes next.
    #[inline]
    fn begin(&mut self, line: Hpa, action: fn(Hpa) -> Action) -> Action {
        self.half = match self.isa {
            Isa::Avx512 => None,
            Isa::Avx2 => Some(action(Hpa::new(line.get() + LINE_BYTES / 2))),
        };
        action(line)
    }
}
