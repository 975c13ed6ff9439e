//! Refresh: the time at which each rank owes one, and the next command for it.
//!
//! ```text
//!   due -> its banks take no new work -> PREA (PREsb) when they may close -> REFab (REFsb) -> tRFC (tRFCsb)
//!    '-- a rank with waiting requests may owe some first
//! ```
//!
//! All-bank: each rank every tREFI. The ranks of a sub-channel and the sub-channels of a memory are staggered.
//! Same-bank (DDR5, fine granularity mode): one bank of each group every tREFI2 over the banks of a group, while the
//! others go on working. While requests wait for a rank, it may owe as many refreshes as the standard lets a controller
//! postpone (JESD79-4: 8, JESD79-5: 4). It makes them up one after the other as soon as no request waits. A refresh is not
//! pulled in, though the standards allow a few.

use schemars::JsonSchema;

use serde::{Deserialize, Serialize};

use super::DramError;
use super::clock::{Cycles, Generation};
use super::command::{BankAddress, Command};
use super::device::Device;
use super::shape::{BankIndex, Shape};
use super::standard::Dram;

/// The banks that a refresh takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RefreshMode {
    AllBank,
    SameBank,
}

/// Most refreshes that the standard lets a controller postpone.
fn may_postpone(generation: Generation) -> u32 {
    match generation {
        Generation::Ddr4 => 8,
        Generation::Ddr5 => 4,
    }
}

/// Number of a sub-channel in its memory. Each sub-channel refreshes at a time of its own.
#[derive(Clone, Copy, Debug)]
pub struct SubChannel {
    pub number: u32,
    pub of: u32,
}

#[derive(Clone, Copy, Debug)]
struct RankRefresh {
    /// when the next refresh falls due
    due: Cycles,
    /// refreshes that were due and were not sent
    owed: u32,
    /// one of them cannot wait, and its banks are being closed
    pending: bool,
    /// number of the bank in each group that is refreshed next, for same-bank refresh only
    bank: u32,
}

/// The refreshes of a sub-channel.
#[derive(Clone, Debug)]
pub struct Refresh {
    mode: RefreshMode,
    interval: Cycles,
    /// most refreshes that a rank with waiting requests may owe
    postponed: u32,
    shape: Shape,
    ranks: Vec<RankRefresh>,
    /// a bit for each bank that the first refresh of the first rank takes
    first: u128,
    /// a bit for each bank that waits for its refresh
    blocked: u128,
    /// when the next refresh falls due; `None` if all are pending
    next_due: Option<Cycles>,
}

impl Refresh {
    /// # Errors
    /// Returned if the part has no refresh of that mode, or if its standard does not let so many be postponed.
    pub fn new(
        mode: RefreshMode,
        postponed: u32,
        dram: &Dram,
        shape: Shape,
        sub_channel: SubChannel,
    ) -> Result<Refresh, DramError> {
        if postponed > may_postpone(dram.generation) {
            return Err(DramError::out_of_range("postponed_refreshes", postponed, "0 to 4 (DDR5) or 8 (DDR4)"));
        }
        let timing = dram.cycles();
        let interval = match (mode, timing.same_bank_refresh) {
            (RefreshMode::AllBank, _) => timing.t_refi,
            (RefreshMode::SameBank, Some(same)) => Cycles(same.t_refi2.0 / u64::from(shape.banks_per_group)),
            (RefreshMode::SameBank, None) => {
                return Err(DramError::NoSameBankRefresh { dram: dram.name.clone() });
            }
        };
        let rank = |number: u32| RankRefresh {
            due: Cycles(
                interval.0 * u64::from((number + 1) * sub_channel.of + sub_channel.number)
                    / u64::from(shape.ranks * sub_channel.of),
            ),
            owed: 0,
            pending: false,
            bank: 0,
        };
        let ranks: Vec<_> = (0..shape.ranks).map(rank).collect();
        let next_due = ranks.iter().map(|rank| rank.due).min();
        let first = match mode {
            RefreshMode::AllBank => shape.mask_of_rank(0),
            RefreshMode::SameBank => shape.same_bank(0, 0).fold(0, |mask, bank| mask | 1 << bank.0),
        };
        Ok(Refresh { mode, interval, postponed, shape, ranks, first, blocked: 0, next_due })
    }

    /// A bit for each bank that takes no new work.
    #[inline]
    #[must_use]
    pub fn blocked(&self) -> u128 {
        self.blocked
    }

    /// When the first refresh of all falls due.
    #[must_use]
    pub fn first_due(&self) -> Cycles {
        self.ranks[0].due
    }

    /// When the next refresh falls due; `None` if all are pending.
    #[inline]
    #[must_use]
    pub fn next_due(&self) -> Option<Cycles> {
        self.next_due
    }

    /// Notes the refreshes due by `now`. They are pending if their rank may owe no more.
    pub fn fall_due(&mut self, now: Cycles) {
        for rank in 0..self.shape.ranks {
            let refresh = &mut self.ranks[rank as usize];
            if refresh.due <= now && !refresh.pending {
                refresh.owed += 1;
                refresh.due += self.interval;
                if refresh.owed > self.postponed {
                    self.cannot_wait(rank);
                }
            }
        }
        self.find_next_due();
    }

    /// Makes up what ranks without a request in `waiting` owe, a bit for each bank with one.
    #[inline]
    pub fn make_up(&mut self, waiting: u128) {
        if self.postponed > 0 {
            self.make_up_of_quiet_ranks(waiting);
        }
    }

    fn make_up_of_quiet_ranks(&mut self, waiting: u128) {
        for rank in 0..self.shape.ranks {
            let refresh = self.ranks[rank as usize];
            if refresh.owed > 0 && !refresh.pending && waiting & self.shape.mask_of_rank(rank) == 0 {
                self.cannot_wait(rank);
                self.find_next_due();
            }
        }
    }

    fn cannot_wait(&mut self, rank: u32) {
        self.ranks[rank as usize].pending = true;
        self.blocked |= self.mask(rank);
    }

    fn find_next_due(&mut self) {
        let due = self.ranks.iter().filter(|rank| !rank.pending).map(|rank| rank.due);
        self.next_due = due.min();
    }

    /// The next command of each pending refresh.
    pub fn steps<'a>(&'a self, device: &'a Device) -> impl Iterator<Item = (Command, BankIndex)> + 'a {
        (0..self.shape.ranks).filter(|rank| self.ranks[*rank as usize].pending).map(|rank| {
            let open = device.open_banks() & self.mask(rank) != 0;
            let to = BankAddress { rank, group: 0, bank: self.bank_of(rank) };
            (self.command(open), self.shape.index(to))
        })
    }

    /// Notes that a refresh of `rank` was sent.
    pub fn sent(&mut self, rank: u32) {
        self.blocked &= !self.mask(rank);
        let banks = self.shape.banks_per_group;
        let refresh = &mut self.ranks[rank as usize];
        refresh.pending = false;
        refresh.owed -= 1;
        if self.mode == RefreshMode::SameBank {
            refresh.bank = (refresh.bank + 1) % banks;
        }
        self.find_next_due();
    }

    /// Takes refreshes of an idle sub-channel as sent, as many as end well before `until`. Returns their number.
    ///
    /// After some intervals all banks are due for the same refresh again, so whole rounds are left out. The last two
    /// rounds are not, so that the device knows its last refreshes.
    pub fn skip(&mut self, until: Cycles) -> u64 {
        let Some(next) = self.next_due.filter(|_| self.blocked == 0) else { return 0 };
        let intervals = match self.mode {
            RefreshMode::AllBank => 1,
            RefreshMode::SameBank => u64::from(self.shape.banks_per_group),
        };
        let round = self.interval.0 * intervals;
        let rounds = (until.0.saturating_sub(next.0) / round).saturating_sub(2);
        for rank in &mut self.ranks {
            rank.due += Cycles(rounds * round);
        }
        self.find_next_due();
        rounds * intervals * self.ranks.len() as u64
    }

    fn bank_of(&self, rank: u32) -> u32 {
        self.ranks[rank as usize].bank
    }

    /// A bit for each bank that the next refresh of `rank` takes.
    #[inline]
    pub fn mask(&self, rank: u32) -> u128 {
        self.first << (rank * self.shape.groups * self.shape.banks_per_group + self.bank_of(rank))
    }

    fn command(&self, open: bool) -> Command {
        match (self.mode, open) {
            (RefreshMode::AllBank, true) => Command::PrechargeAll,
            (RefreshMode::AllBank, false) => Command::RefreshAll,
            (RefreshMode::SameBank, true) => Command::PrechargeSame,
            (RefreshMode::SameBank, false) => Command::RefreshSame,
        }
    }
}
