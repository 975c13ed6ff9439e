//! SHiP-PC is SRRIP that learns, for each instruction, whether the lines that it brings are used again.
//!
//! ```text
//!   instruction -- hash --> signature: 14 bits -- counter: 3 bits
//!     hit:      the counter of the line's own signature goes up         insertion: counter 0 -> distant future
//!     eviction: goes down, if the line was never used again                        else      -> long, as SRRIP
//! ```
//!
//! Victims and hits are those of SRRIP. A scan by one instruction therefore cannot push out what another one uses.
//! Source: Wu, Jaleel, Hasenplaugh, Martonosi, Steely, Emer, MICRO 2011, section 3, DOI 10.1145/2155620.2155671.
//! Three assumptions stand where the paper prints nothing. Counters begin at 1, so an instruction is trusted until
//! one of its lines leaves unused. A line that no instruction brings is inserted as SRRIP does, and teaches nothing.
//! A write-back is no use of a line. Not modelled: counters for each core, sampled sets.

use std::num::NonZeroU16;

use super::srrip;
use crate::cache::entry::Entry;
use crate::cache::reference::{ProgramCounter, Reference, ReferenceKind};

/// Bits of a signature; there are 16 K counters.
const SIGNATURE_BITS: u32 = 14;
/// The most that a counter of three bits holds.
const MOST: u8 = 7;
/// First value of a counter.
const FIRST: u8 = 1;

/// The hash of an instruction, plus 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Signature(NonZeroU16);

impl Signature {
    fn of(instruction: ProgramCounter) -> Signature {
        Signature(NonZeroU16::MIN.saturating_add(instruction.hash(SIGNATURE_BITS) as u16))
    }

    fn counter(self) -> usize {
        usize::from(self.0.get() - 1)
    }
}

/// State that SHiP keeps of a line.
#[derive(Clone, Copy, Debug, Default)]
struct Brought {
    /// the instruction that brought it, if one did
    by: Option<Signature>,
    /// it was used since
    used: bool,
}

/// The counters, and the signature of each line.
#[derive(Clone, Debug)]
pub struct Ship {
    counters: Box<[u8]>,
    lines: Box<[Brought]>,
    ways: usize,
}

impl Ship {
    pub fn new(sets: usize, ways: usize) -> Ship {
        let counters = vec![FIRST; 1 << SIGNATURE_BITS].into();
        Ship { counters, lines: vec![Brought::default(); sets * ways].into(), ways }
    }

    /// Expected at once; whoever brought it is trusted more.
    pub fn used(&mut self, set: usize, row: &mut [Entry], way: usize, by: Reference) {
        if by.kind == ReferenceKind::WriteBack {
            return;
        }
        srrip::used(row, way);
        let line = &mut self.lines[set * self.ways + way];
        line.used = true;
        if let Some(signature) = line.by {
            let counter = &mut self.counters[signature.counter()];
            *counter = MOST.min(*counter + 1);
        }
    }

    /// That of SRRIP; whoever brought it is trusted less if nobody has used it.
    pub fn victim(&mut self, set: usize, row: &mut [Entry]) -> usize {
        let way = srrip::victim(row);
        let line = self.lines[set * self.ways + way];
        if let Some(signature) = line.by.filter(|_| !line.used) {
            let counter = &mut self.counters[signature.counter()];
            *counter = counter.saturating_sub(1);
        }
        way
    }

    /// Expected in the distant future if lines of its instruction are not used again.
    pub fn filled(&mut self, set: usize, row: &mut [Entry], way: usize, by: Reference) {
        let signature = by.instruction.map(Signature::of);
        self.lines[set * self.ways + way] = Brought { by: signature, used: false };
        srrip::filled(row, way);
        if signature.is_some_and(|signature| self.counters[signature.counter()] == 0) {
            row[way].set_rereference(Entry::MOST_REREFERENCE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::addr::{Hpa, LINE_BYTES};
    use crate::cache::reference::CoreId;
    use crate::cache::{LineState, Replacement, Tags};

    const LONG: u8 = Entry::MOST_REREFERENCE - 1;
    const DISTANT: u8 = Entry::MOST_REREFERENCE;
    /// Instructions.
    const LOOP: u64 = 1;
    const SCAN: u64 = 2;

    fn by(instruction: u64) -> Reference {
        let instruction = Some(ProgramCounter::new(instruction));
        Reference { instruction, ..Reference::of_core(CoreId(0), ReferenceKind::Load) }
    }

    /// Load a line: whether it was there.
    fn load(tags: &mut Tags, number: u64, by: Reference) -> bool {
        let line = Hpa::new(number * LINE_BYTES);
        let hit = tags.touch(0, line, by).is_some();
        if !hit {
            tags.insert(0, line, LineState::Exclusive, by);
        }
        hit
    }

    /// The prediction that a new line is inserted with.
    fn inserted(tags: &mut Tags, number: u64, by: Reference) -> u8 {
        assert!(!load(tags, number, by), "line {number} is new");
        tags.find(0, Hpa::new(number * LINE_BYTES)).unwrap().rereference()
    }

    #[test]
    fn a_scan_by_one_instruction_leaves_the_working_set_of_another() {
        // Four ways, two lines in use (0 each). Under SRRIP a scan fills the two other ways, and each two of its
        // lines let all others age by one. They age the third time after line 6 of the scan, and line 7 takes a line
        // in use. Under SHiP the first line of the scan that leaves unused makes all later ones leave first, at any
        // length.
        let survives = |policy, length: u64| {
            let mut tags = Tags::new(1, 4, policy);
            for number in [1, 2, 1, 2] {
                load(&mut tags, number, by(LOOP));
            }
            for number in 100..100 + length {
                assert!(!load(&mut tags, number, by(SCAN)));
            }
            // Line 2 first: a miss would let another line leave.
            [2, 1].map(|number| load(&mut tags, number, by(LOOP)))
        };
        assert_eq!(survives(Replacement::Srrip, 6), [true, true]);
        assert_eq!(survives(Replacement::Srrip, 7), [true, false]);
        for length in [6, 7, 1000] {
            assert_eq!(survives(Replacement::Ship, length), [true, true], "a scan of {length} lines");
        }
    }

    #[test]
    fn a_counter_of_three_bits_saturates_at_both_ends() {
        let mut tags = Tags::new(1, 1, Replacement::Ship);
        // One line, used twenty times: its counter is at 7. It leaves used, so nothing goes down for it.
        assert_eq!(inserted(&mut tags, 0, by(LOOP)), LONG);
        (0..20).for_each(|_| assert!(load(&mut tags, 0, by(LOOP))));
        // Each line from the second on pushes one out that nobody has used: the seventh of them finds the counter at 0.
        for dead in 0..20 {
            let wanted = if dead < 7 { LONG } else { DISTANT };
            assert_eq!(inserted(&mut tags, 1 + dead, by(LOOP)), wanted, "{dead} lines have left unused");
        }
        // Far below 0 it would take more than one use to be trusted again.
        assert!(load(&mut tags, 20, by(LOOP)));
        assert_eq!(inserted(&mut tags, 21, by(LOOP)), LONG);
    }

    #[test]
    fn what_no_instruction_asks_for_teaches_nothing() {
        let mut tags = Tags::new(1, 1, Replacement::Ship);
        let walk = Reference::of_core(CoreId(0), ReferenceKind::Walk);
        for number in 0..20 {
            assert_eq!(inserted(&mut tags, number, walk), LONG);
        }
        // A write-back is no use: the line leaves as unused, and the counter goes from 1 to 0.
        assert_eq!(inserted(&mut tags, 20, by(LOOP)), LONG);
        assert!(load(&mut tags, 20, Reference::of_core(CoreId(0), ReferenceKind::WriteBack)));
        assert_eq!(inserted(&mut tags, 21, by(LOOP)), DISTANT);
    }
}
