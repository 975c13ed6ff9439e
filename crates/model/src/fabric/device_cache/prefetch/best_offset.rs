//! Best-offset prefetching: it tests offsets in turn, and uses the one that would have been in time most often.
//!
//! ```text
//!   page X asked: was X - d asked for lately, and has it come?  then d scores      round over: the best d, if it is sure
//! ```
//!
//! Source: Michaud, Best-offset hardware prefetching, HPCA 2016: the offsets, the scores, the rounds and the table's
//! 256 entries. The published table is direct-mapped with tags of 12 bits. Here an entry names its page in full.
//!
//! CXL-DMSim (IV-E) prefetches only with a high level of confidence, because a useless prefetch costs a page of the
//! cache. It prints no threshold. Michaud turns prefetching off at a score of 1 or less. Half of the greatest score is
//! an assumption.

/// Offsets whose prime factors are at most 5, as in the paper. The paper goes on to 256 lines; here they end at 32
/// pages.
const OFFSETS: [u32; 19] = [1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 15, 16, 18, 20, 24, 25, 27, 30, 32];
const MOST_SCORE: u32 = 31;
const MOST_ROUNDS: u32 = 100;
/// Least score at which pages are fetched. An assumption.
const CONFIDENT: u32 = MOST_SCORE / 2;
/// Entries of the table of recent requests.
const RECENT: usize = 256;

#[derive(Clone, Debug)]
pub struct BestOffset {
    scores: [u32; OFFSETS.len()],
    tested: usize,
    rounds: u32,
    /// pages whose successors would have been in time, each as page + 1; 0 is none
    recent: [u32; RECENT],
    chosen: Option<u32>,
}

impl Default for BestOffset {
    fn default() -> Self {
        BestOffset { scores: [0; OFFSETS.len()], tested: 0, rounds: 0, recent: [0; RECENT], chosen: None }
    }
}

impl BestOffset {
    pub fn asked(&mut self, page: u32) -> Option<u32> {
        self.learn(page);
        page.checked_add(self.chosen?)
    }

    fn learn(&mut self, page: u32) {
        let base = page.checked_sub(OFFSETS[self.tested]);
        if base.is_some_and(|base| self.recent[base as usize % RECENT] == base + 1) {
            self.scores[self.tested] += 1;
        }
        let ended = self.scores[self.tested] >= MOST_SCORE;
        self.tested = (self.tested + 1) % OFFSETS.len();
        self.rounds += u32::from(self.tested == 0);
        if ended || self.rounds >= MOST_ROUNDS {
            let best = (0..OFFSETS.len()).rev().max_by_key(|place| self.scores[*place]).expect("there are offsets");
            self.chosen = (self.scores[best] >= CONFIDENT).then(|| OFFSETS[best]);
            (self.scores, self.tested, self.rounds) = ([0; OFFSETS.len()], 0, 0);
        }
    }

    pub fn filled(&mut self, page: u32, ahead: bool) {
        let base = match (self.chosen, ahead) {
            (Some(offset), true) => page.checked_sub(offset),
            (Some(_), false) => None,
            (None, _) => Some(page),
        };
        if let Some(base) = base {
            self.recent[base as usize % RECENT] = base + 1;
        }
    }
}
