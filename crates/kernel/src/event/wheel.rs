//! A timing wheel: events of the next microsecond, by the slot of time that they fall into.
//!
//! ```text
//!   slots    [ . | o | . | . | o | . ]    one ring; `now` stands in one slot, all events lie less than a lap ahead
//!                  |           |
//!   entries        3 -> 7      5          the events of a slot, in their order
//! ```
//!
//! A slot is [`SLOT_PS`] wide, so it seldom holds more than one event. Two levels of bits find the next slot that
//! holds any. An event a lap or more ahead does not fit: the queue keeps it elsewhere.
//!
//! Source: Varghese and Lauck, "Hashed and hierarchical timing wheels", SOSP 1987, scheme 4, with slots in order.

use crate::Time;

/// Width of a slot `[ps]`.
const SLOT_PS: u64 = 1 << SLOT_LOG2;
const SLOT_LOG2: u32 = 9;
/// Slots of a lap: 64 words of 64 bits, whose words one more word sums up.
const SLOTS: usize = 64 * 64;
/// A lap: what lies as far ahead does not fit `[ps]`.
const LAP_PS: u64 = SLOT_PS * SLOTS as u64;

/// A slot of the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(u16);

impl Slot {
    fn of(at: Time) -> Slot {
        Slot((at.as_ps() >> SLOT_LOG2) as u16 % SLOTS as u16)
    }

    /// Less than [`SLOTS`], as the compiler sees.
    #[inline]
    fn index(self) -> usize {
        usize::from(self.0) % SLOTS
    }
}

#[derive(Clone, Debug)]
struct Entry<E> {
    at: Time,
    event: E,
    /// the next entry of the slot, after the last one the first; of a free entry the next free one
    next: u32,
}

/// Events that are less than a lap ahead.
#[derive(Clone, Debug)]
pub struct Wheel<E> {
    /// the last entry of each slot that holds any; its `next` is the first
    last: Box<[u32; SLOTS]>,
    /// a bit for each slot that holds an entry
    slots: [u64; 64],
    /// a bit for each word of `slots` that is not zero
    words: u64,
    entries: Vec<Entry<E>>,
    free: Option<u32>,
    count: usize,
}

impl<E: Copy> Wheel<E> {
    pub fn new() -> Self {
        Wheel {
            last: Box::new([0; SLOTS]),
            slots: [0; 64],
            words: 0,
            entries: Vec::with_capacity(256),
            free: None,
            count: 0,
        }
    }

    pub fn len(&self) -> usize {
        self.count
    }

    /// The slot for an event `at` a time not before `now`, or `None` if that is a lap ahead or more.
    #[inline]
    pub fn slot(now: Time, at: Time) -> Option<Slot> {
        // The slot of `now` must not also stand for a lap later.
        let begins = now.as_ps() & !(SLOT_PS - 1);
        (at.as_ps() - begins < LAP_PS).then(|| Slot::of(at))
    }

    /// Put an event into its slot, behind those that are not later.
    #[inline]
    pub fn insert(&mut self, slot: Slot, at: Time, event: E) {
        self.count += 1;
        let entry = match self.free {
            Some(free) => {
                let next = self.entries[free as usize].next;
                self.free = (next != free).then_some(next);
                free
            }
            None => self.grow(at, event),
        };
        let index = slot.index();
        let (word, bit) = (index / 64, 1 << (index % 64));
        let mut next = entry;
        if self.slots[word] & bit == 0 {
            self.slots[word] |= bit;
            self.words |= 1 << word;
            self.last[index] = entry;
        } else {
            let mut before = self.last[index];
            if at >= self.entries[before as usize].at {
                self.last[index] = entry;
            } else {
                before = self.before(before, at);
            }
            next = std::mem::replace(&mut self.entries[before as usize].next, entry);
        }
        self.entries[entry as usize] = Entry { at, event, next };
    }

    /// The entry of a slot behind which an event at `at` goes: it is earlier than the slot's last.
    fn before(&self, last: u32, at: Time) -> u32 {
        let mut before = last;
        loop {
            let next = self.entries[before as usize].next;
            if self.entries[next as usize].at > at {
                return before;
            }
            before = next;
        }
    }

    /// The first slot from that of `now` on that holds an entry.
    #[inline]
    pub fn first(&self, now: Time) -> Option<Slot> {
        let from = Slot::of(now).index();
        let (word, bit) = (from / 64, from % 64);
        let here = self.slots[word] >> bit;
        if here != 0 {
            return Some(Slot((from + here.trailing_zeros() as usize) as u16));
        }
        // The words after this one, and this one again for what is nearly a lap ahead.
        let after = self.words.rotate_right(word as u32 + 1);
        if after == 0 {
            return None;
        }
        let word = (word + 1 + after.trailing_zeros() as usize) % 64;
        Some(Slot((word * 64 + self.slots[word].trailing_zeros() as usize) as u16))
    }

    /// Time of the first entry of a slot that holds one.
    #[inline]
    pub fn head(&self, slot: Slot) -> Time {
        let last = &self.entries[self.last[slot.index()] as usize];
        self.entries[last.next as usize].at
    }

    /// The event of the first entry of a slot that holds one.
    #[inline]
    pub fn first_of(&self, slot: Slot) -> E {
        let last = &self.entries[self.last[slot.index()] as usize];
        self.entries[last.next as usize].event
    }

    /// All events, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &E> {
        let bits = |word: u64| (0..64).filter(move |bit| word >> bit & 1 == 1);
        let slots = bits(self.words).flat_map(move |word| bits(self.slots[word]).map(move |bit| word * 64 + bit));
        slots.flat_map(move |slot| {
            let last = self.last[slot];
            // From the last to the first, and on until the last again.
            let next = move |entry: &u32| Some(self.entries[*entry as usize].next).filter(|next| *next != last);
            std::iter::successors(Some(last), next).map(|entry| &self.entries[entry as usize].event)
        })
    }

    /// Take the first entry of a slot that holds one.
    #[inline]
    pub fn take(&mut self, slot: Slot) -> (Time, E) {
        self.count -= 1;
        let index = slot.index();
        let last = self.last[index];
        let first = self.entries[last as usize].next;
        if first == last {
            self.slots[index / 64] &= !(1 << (index % 64));
            if self.slots[index / 64] == 0 {
                self.words &= !(1 << (index / 64));
            }
        } else {
            self.entries[last as usize].next = self.entries[first as usize].next;
        }
        let entry = &mut self.entries[first as usize];
        let taken = (entry.at, entry.event);
        // A free entry that is the last of its list leads to itself.
        entry.next = self.free.unwrap_or(first);
        self.free = Some(first);
        taken
    }

    /// A place that no entry has had.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, at: Time, event: E) -> u32 {
        let index = u32::try_from(self.entries.len()).expect("fewer than 2^32 events are ahead");
        self.entries.push(Entry { at, event, next: index });
        index
    }
}
