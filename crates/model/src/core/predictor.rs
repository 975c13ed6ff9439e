//! The branch predictor: the direction and the target of each branch, and whether the front end had guessed them.
//!
//! ```text
//!   conditional   TAGE: a bimodal table, and tagged tables that see longer and longer histories
//!   indirect      the target last seen at this branch with this history
//!   return        a stack of return addresses
//!   direct        always right: the target is in the instruction
//! ```
//!
//! Source: A. Seznec and P. Michaud, A case for (partially) tagged geometric history length branch prediction, JILP 8
//! (2006). The tables are about as large as that paper's. The sizes in Golden Cove are not published. Not modelled: the branch target
//! buffer's capacity, and the lines that a wrong path fetches and touches.

use crate::feed::{Branch, Outcome};

/// Bits of history that each tagged table sees: a geometric series, as in the paper.
const HISTORIES: [u32; 4] = [8, 20, 48, 120];
const TAGGED_BITS: u32 = 12;
const BIMODAL_BITS: u32 = 14;
const TARGET_BITS: u32 = 12;
const RETURNS: usize = 16;
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The counter behind a tag, in a byte.
#[derive(Clone, Copy, Debug, Default)]
struct Counter(i8);

impl Counter {
    fn new(taken: bool) -> Counter {
        Counter(if taken { 0 } else { -2 })
    }

    /// 3 bits; 0 and more mean taken
    fn value(self) -> i8 {
        self.0 >> 1
    }

    /// it was right when the next shorter history was wrong
    fn useful(self) -> bool {
        self.0 & 1 != 0
    }

    fn set(&mut self, value: i8, useful: bool) {
        self.0 = value << 1 | i8::from(useful);
    }
}

/// A table of counters with tags. Tags are looked up much more often than counters, so they lie by themselves.
#[derive(Clone, Debug)]
struct Tagged {
    tags: Box<[u16]>,
    counters: Box<[Counter]>,
}

impl Tagged {
    fn new() -> Tagged {
        Tagged { tags: vec![0; 1 << TAGGED_BITS].into(), counters: vec![Counter::default(); 1 << TAGGED_BITS].into() }
    }
}

/// The front end's memory of branches.
#[derive(Clone, Debug)]
pub struct Predictor {
    bimodal: Box<[i8]>,
    tagged: [Tagged; HISTORIES.len()],
    /// a hash of branch, history and target: one pair in 2^32 is taken for another
    targets: Box<[u32]>,
    returns: [u64; RETURNS],
    top: usize,
    history: u128,
}

/// Place of a branch in a tagged table, and its tag there.
#[derive(Clone, Copy, Debug)]
struct Place {
    index: u16,
    tag: u16,
}

impl Predictor {
    pub fn new() -> Predictor {
        Predictor {
            bimodal: vec![0; 1 << BIMODAL_BITS].into(),
            tagged: std::array::from_fn(|_| Tagged::new()),
            targets: vec![0; 1 << TARGET_BITS].into(),
            returns: [0; RETURNS],
            top: 0,
            history: 0,
        }
    }

    /// Learns the outcome of a branch. Returns whether the outcome had been guessed.
    pub fn guessed(&mut self, branch: Branch, outcome: Outcome) -> bool {
        match branch {
            Branch::Direct => true,
            Branch::Call => {
                self.push(outcome.next);
                true
            }
            Branch::Return => {
                self.top = (self.top + RETURNS - 1) % RETURNS;
                self.returns[self.top] == outcome.target
            }
            Branch::IndirectCall => {
                let right = self.indirect(outcome);
                self.push(outcome.next);
                right
            }
            Branch::Indirect => self.indirect(outcome),
            Branch::Conditional => self.conditional(outcome.next, outcome.target != outcome.next),
        }
    }

    fn push(&mut self, address: u64) {
        self.returns[self.top] = address;
        self.top = (self.top + 1) % RETURNS;
    }

    fn indirect(&mut self, outcome: Outcome) -> bool {
        let key = outcome.next ^ (self.history as u64 & 0xffff) << 48;
        let spread = key.wrapping_mul(SPREAD);
        let place = (spread >> (64 - TARGET_BITS)) as usize;
        let hash = ((spread ^ outcome.target).wrapping_mul(SPREAD) >> 32) as u32;
        let right = std::mem::replace(&mut self.targets[place], hash) == hash;
        // The target of an indirect branch tells later branches apart.
        self.history = self.history << 2 | u128::from(outcome.target >> 4 & 3);
        right
    }

    fn place(&self, pc: u64, table: usize) -> Place {
        let seen = self.history & ((1 << HISTORIES[table]) - 1);
        let folded = (seen as u64).wrapping_mul(SPREAD) ^ ((seen >> 64) as u64).wrapping_mul(SPREAD.rotate_left(23));
        let hash = (folded ^ pc.wrapping_mul(0xd6e8_feb8_6659_fd93) ^ table as u64).wrapping_mul(SPREAD);
        Place { index: (hash >> (64 - TAGGED_BITS)) as u16, tag: (hash >> 8) as u16 | 1 }
    }

    fn conditional(&mut self, pc: u64, taken: bool) -> bool {
        let places: [_; HISTORIES.len()] = std::array::from_fn(|table| self.place(pc, table));
        let at = |table: usize| usize::from(places[table].index);
        let matches = |table: &usize| self.tagged[*table].tags[at(*table)] == places[*table].tag;
        let provider = (0..HISTORIES.len()).rev().find(matches);
        let other = provider.and_then(|provider| (0..provider).rev().find(matches));
        let base = (pc.wrapping_mul(SPREAD) >> (64 - BIMODAL_BITS)) as usize;
        let says = |table: Option<usize>| match table {
            Some(table) => self.tagged[table].counters[at(table)].value() >= 0,
            None => self.bimodal[base] >= 0,
        };
        let (guess, shorter) = (says(provider), says(other));
        match provider {
            Some(table) => {
                let counter = &mut self.tagged[table].counters[at(table)];
                let useful = if guess == shorter { counter.useful() } else { guess == taken };
                counter.set(step(counter.value(), taken, 3), useful);
            }
            None => self.bimodal[base] = step(self.bimodal[base], taken, 1),
        }
        if guess != taken {
            self.allocate(provider.map_or(0, |table| table + 1), &places, taken);
        }
        self.history = self.history << 1 | u128::from(taken);
        guess == taken
    }

    /// Lets a longer history try: takes the first free place in the tables from `from` on. If no table has one, all
    /// their entries age.
    fn allocate(&mut self, from: usize, places: &[Place], taken: bool) {
        for (table, Place { index, tag }) in longer(from, places) {
            let place = usize::from(index);
            let Tagged { tags, counters } = &mut self.tagged[table];
            if !counters[place].useful() {
                (tags[place], counters[place]) = (tag, Counter::new(taken));
                return;
            }
        }
        for (table, Place { index, .. }) in longer(from, places) {
            let counter = &mut self.tagged[table].counters[usize::from(index)];
            counter.set(counter.value(), false);
        }
    }
}

/// The tables from `from` on, and the branch's place and tag in each.
fn longer(from: usize, places: &[Place]) -> impl Iterator<Item = (usize, Place)> {
    places.iter().copied().enumerate().skip(from)
}

/// A saturating counter of `most + 1` steps to either side.
fn step(counter: i8, up: bool, most: i8) -> i8 {
    if up { (counter + 1).min(most) } else { (counter - 1).max(-most - 1) }
}

#[cfg(test)]
mod tests {
    use cxlab_kernel::Stream;

    use super::*;

    fn conditional(pc: u64, taken: bool) -> Outcome {
        Outcome { next: pc, target: if taken { pc + 0x100 } else { pc } }
    }

    /// Wrong guesses in the second half of `count` turns of a pattern.
    fn wrong(count: usize, mut taken: impl FnMut(usize) -> bool) -> usize {
        let mut predictor = Predictor::new();
        let guesses: Vec<_> =
            (0..count).map(|turn| predictor.guessed(Branch::Conditional, conditional(0x1000, taken(turn)))).collect();
        guesses[count / 2..].iter().filter(|right| !**right).count()
    }

    #[test]
    fn a_pattern_that_fits_the_history_is_learnt() {
        assert_eq!(wrong(4_000, |_| true), 0);
        assert_eq!(wrong(4_000, |turn| turn % 4 != 3), 0); // a loop of four turns
        assert_eq!(wrong(40_000, |turn| turn % 37 != 36), 0); // longer than two of the histories
    }

    #[test]
    fn chance_is_guessed_half_the_time() {
        let mut coin = Stream::new(1, "coin");
        let wrong = wrong(20_000, |_| coin.below(2) == 1) as f64 / 10_000.0;
        assert!((0.45..0.55).contains(&wrong), "{wrong}");
        // Nine in ten one way: the best guess is wrong one time in ten. TAGE comes near it.
        let mut biased = Stream::new(2, "biased");
        let wrong = super::tests::wrong(20_000, |_| biased.below(10) != 0) as f64 / 10_000.0;
        assert!((0.08..0.20).contains(&wrong), "{wrong}");
    }

    #[test]
    fn a_branch_that_repeats_another_is_guessed() {
        let (mut predictor, mut coin) = (Predictor::new(), Stream::new(3, "coin"));
        let mut wrong = 0;
        for turn in 0..20_000 {
            let taken = coin.below(2) == 1;
            predictor.guessed(Branch::Conditional, conditional(0x1000, taken));
            let right = predictor.guessed(Branch::Conditional, conditional(0x2000, taken));
            wrong += usize::from(turn >= 10_000 && !right);
        }
        assert!(wrong < 100, "{wrong} of 10,000");
    }

    #[test]
    fn returns_go_where_the_calls_came_from() {
        let mut predictor = Predictor::new();
        for depth in 0..8u64 {
            assert!(predictor.guessed(Branch::Call, Outcome { next: 0x100 + depth, target: 0x9000 }));
        }
        for depth in (0..8u64).rev() {
            assert!(predictor.guessed(Branch::Return, Outcome { next: 0x9100, target: 0x100 + depth }));
        }
    }

    #[test]
    fn an_indirect_branch_in_a_cycle_is_learnt() {
        let mut predictor = Predictor::new();
        let wrong = (0..1_000u64)
            .filter(|turn| {
                let target = 0x4000 + turn % 3 * 0x10;
                !predictor.guessed(Branch::Indirect, Outcome { next: 0x1000, target }) && *turn >= 100
            })
            .count();
        assert_eq!(wrong, 0);
    }
}
