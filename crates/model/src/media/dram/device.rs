//! The DRAM devices of a sub-channel: their open rows, and the first cycle at which each command is allowed.
//!
//! ```text
//!   earliest(ACT) = max( bank: tRC, tRP, tRFC | group: tRRD_L | rank: tRRD_S, tFAW | command bus )
//! ```
//!
//! Each scope keeps, for each kind of command, the first cycle that all commands so far allow. A command that is issued
//! moves these cycles ahead in its scopes. The device schedules nothing: a controller asks `earliest` and calls
//! `issue`. The checker holds the outcome to the same standard by other means.

use super::clock::{Cycles, Generation};
use super::command::Command;
use super::shape::{BankIndex, PerBank, Shape};
use super::standard::Dram;
use super::timing::Timing;
use crate::mem::AccessKind;

/// Bits of a request's order, enough for 10^12 requests of a sub-channel.
const ORDER_BITS: u32 = 40;

/// Bounds of each bank and its group. Each quantity has a table, because a scheduler reads one quantity of many banks.
#[derive(Clone, Debug)]
struct Banks {
    /// a bit for each bank whose row is open
    open: u128,
    /// the open row, or the last open row
    row: PerBank<u32>,
    activate: PerBank<Cycles>,
    precharge: PerBank<Cycles>,
    /// for reads and for writes
    column: [PerBank<Cycles>; 2],
}

#[derive(Clone, Debug, Default)]
struct Rank {
    activate: Cycles,
    precharge: Cycles,
    column: [Cycles; 2],
    refresh_same: Cycles,
    /// the last four activates, each with tFAW added; the oldest is replaced next
    window: [Cycles; 4],
    oldest: usize,
}

/// The bank whose command can go first.
#[derive(Clone, Copy, Debug)]
pub struct First {
    pub at: Cycles,
    pub order: u64,
    pub bank: BankIndex,
}

/// All banks of a sub-channel.
#[derive(Clone, Debug)]
pub struct Device {
    timing: Timing,
    generation: Generation,
    shape: Shape,
    /// the first cycle without a command
    command_bus: Cycles,
    banks: Banks,
    ranks: Vec<Rank>,
    /// `[from][to]` for reads and writes: same group, other group, other rank
    column_gap: [[ColumnGap; 2]; 2],
}

#[derive(Clone, Copy, Debug)]
struct ColumnGap {
    group: Cycles,
    rank: Cycles,
    other_rank: Cycles,
}

const READ: usize = AccessKind::Read as usize;
const WRITE: usize = AccessKind::Write as usize;

impl Device {
    #[must_use]
    pub fn new(dram: &Dram, ranks: u32) -> Device {
        let timing = dram.cycles();
        let organisation = &dram.organisation;
        let (groups, banks_per_group) = (*organisation.bank_groups, *organisation.banks_per_group);
        let shape = Shape { ranks, groups, banks_per_group };
        let cycles = PerBank::new(Cycles(0));
        Device {
            timing,
            generation: dram.generation,
            shape,
            command_bus: Cycles(0),
            banks: Banks {
                open: 0,
                row: PerBank::new(0),
                activate: cycles.clone(),
                precharge: cycles.clone(),
                column: [cycles.clone(), cycles],
            },
            ranks: vec![Rank::default(); ranks as usize],
            column_gap: column_gaps(&timing),
        }
    }

    #[must_use]
    pub fn timing(&self) -> &Timing {
        &self.timing
    }

    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    #[inline]
    #[must_use]
    pub fn open_row(&self, bank: BankIndex) -> Option<u32> {
        (self.banks.open >> bank.0 & 1 == 1).then(|| self.banks.row[bank])
    }

    /// A bit for each bank whose row is open.
    #[inline]
    #[must_use]
    pub fn open_banks(&self) -> u128 {
        self.banks.open
    }

    /// The first cycle at which the command bus can end a command of `width`.
    #[inline]
    fn bus(&self, command: Command) -> Cycles {
        Cycles(self.command_bus.0 + command.width(self.generation).0 - 1)
    }

    #[inline]
    #[must_use]
    pub fn width(&self, command: Command) -> Cycles {
        command.width(self.generation)
    }

    #[inline]
    #[must_use]
    pub fn earliest_activate(&self, index: BankIndex) -> Cycles {
        let rank = self.ranks[self.rank_of(index)].activate.max(self.bus(Command::Activate));
        self.banks.activate[index].max(rank)
    }

    #[inline]
    #[must_use]
    pub fn earliest_precharge(&self, index: BankIndex) -> Cycles {
        let rank = self.ranks[self.rank_of(index)].precharge.max(self.bus(Command::Precharge));
        self.banks.precharge[index].max(rank)
    }

    #[inline]
    #[must_use]
    pub fn earliest_column(&self, kind: AccessKind, index: BankIndex) -> Cycles {
        let rank = self.ranks[self.rank_of(index)].column[kind as usize].max(self.bus(Command::Read));
        self.banks.column[kind as usize][index].max(rank)
    }

    /// The bank in `mask` that can be activated earliest, not before `from`. Among equal banks it is the oldest by
    /// `order`.
    #[must_use]
    pub fn first_activate(&self, mask: u128, from: Cycles, order: &PerBank<u64>) -> Option<First> {
        let bus = self.bus(Command::Activate).max(from);
        self.first(mask, order, &self.banks.activate, |rank| rank.activate.max(bus))
    }

    /// The bank in `mask` that can be precharged earliest, chosen as in [`Device::first_activate`].
    #[must_use]
    pub fn first_precharge(&self, mask: u128, from: Cycles, order: &PerBank<u64>) -> Option<First> {
        let bus = self.bus(Command::Precharge).max(from);
        self.first(mask, order, &self.banks.precharge, |rank| rank.precharge.max(bus))
    }

    /// The bank in `mask` that can take a column command of `kind` earliest, chosen as in [`Device::first_activate`].
    #[must_use]
    pub fn first_column(&self, kind: AccessKind, mask: u128, from: Cycles, order: &PerBank<u64>) -> Option<First> {
        let bus = self.bus(Command::Read).max(from);
        self.first(mask, order, &self.banks.column[kind as usize], |rank| rank.column[kind as usize].max(bus))
    }

    /// A cycle before which no bank can be activated.
    #[inline]
    #[must_use]
    pub fn soonest_activate(&self) -> Cycles {
        self.soonest(Command::Activate, |rank| rank.activate)
    }

    /// A cycle before which no bank can be precharged.
    #[inline]
    #[must_use]
    pub fn soonest_precharge(&self) -> Cycles {
        self.soonest(Command::Precharge, |rank| rank.precharge)
    }

    /// First cycle that the command bus and the least bound of all ranks allow.
    #[inline]
    fn soonest(&self, command: Command, of_rank: impl Fn(&Rank) -> Cycles) -> Cycles {
        self.ranks.iter().map(of_rank).min().unwrap_or_default().max(self.bus(command))
    }

    #[inline]
    fn first(
        &self,
        mask: u128,
        order: &PerBank<u64>,
        earliest: &PerBank<Cycles>,
        of_rank: impl Fn(&Rank) -> Cycles,
    ) -> Option<First> {
        if mask == 0 {
            return None;
        }
        let per_rank = self.shape.groups * self.shape.banks_per_group;
        let words = [mask as u64, (mask >> 64) as u64];
        let mut first: Option<First> = None;
        for (number, rank) in self.ranks.iter().enumerate() {
            // A rank has a power of two of banks, at most 64, so no rank is in two words.
            let bit = number as u32 * per_rank;
            let mut banks = words[(bit / 64 % 2) as usize] >> (bit % 64) & (u64::MAX >> (64 - per_rank));
            if banks == 0 {
                continue;
            }
            let (base, floor) = (bit, of_rank(rank));
            // Wait and order are one number, so each bank costs one comparison and no unpredictable branch.
            let (mut best, mut best_bank) = (u64::MAX, BankIndex(0));
            while banks != 0 {
                let bank = BankIndex(base + banks.trailing_zeros());
                banks &= banks - 1;
                let wait = earliest[bank].0.saturating_sub(floor.0);
                debug_assert!(wait >> (64 - ORDER_BITS) == 0 && order[bank] >> ORDER_BITS == 0);
                let key = wait << ORDER_BITS | order[bank];
                (best, best_bank) = if key < best { (key, bank) } else { (best, best_bank) };
            }
            let (wait, order) = (best >> ORDER_BITS, best & ((1 << ORDER_BITS) - 1));
            let found = First { at: floor + Cycles(wait), order, bank: best_bank };
            first = first.filter(|first| (first.at, first.order) <= (found.at, found.order)).or(Some(found));
        }
        first
    }

    /// Whether a column command to `index` waits only for the data bus, because its bank and group are ready earlier.
    #[must_use]
    pub fn waits_for_data_bus(&self, kind: AccessKind, index: BankIndex) -> bool {
        self.ranks[self.rank_of(index)].column[kind as usize] > self.banks.column[kind as usize][index]
    }

    #[inline]
    fn rank_of(&self, index: BankIndex) -> usize {
        (index.0 / (self.shape.groups * self.shape.banks_per_group)) as usize
    }

    /// The banks of the group of `index`.
    #[inline]
    fn group(&self, index: BankIndex) -> impl Iterator<Item = BankIndex> + use<> {
        let first = index.0 & !(self.shape.banks_per_group - 1);
        (first..first + self.shape.banks_per_group).map(BankIndex)
    }

    /// The first cycle at which `command` to `index` is allowed. For a command to several banks, `index` is any of
    /// them. The caller must know that the rows are open or closed as the command needs.
    #[must_use]
    pub fn earliest(&self, command: Command, index: BankIndex) -> Cycles {
        let to = self.shape.address(index);
        let rank = &self.ranks[to.rank as usize];
        let same = || self.shape.same_bank(to.rank, to.bank);
        match command {
            Command::Activate => self.earliest_activate(index),
            Command::Precharge => self.earliest_precharge(index),
            Command::Read | Command::ReadAutoPrecharge => self.earliest_column(AccessKind::Read, index),
            Command::Write | Command::WriteAutoPrecharge => self.earliest_column(AccessKind::Write, index),
            Command::PrechargeAll => self.all_may_close(self.shape.of_rank(to.rank)).max(rank.precharge),
            Command::PrechargeSame => self.all_may_close(same()).max(rank.precharge),
            Command::RefreshAll => self.all_are_closed(self.shape.of_rank(to.rank)),
            Command::RefreshSame => self.all_are_closed(same()).max(rank.refresh_same),
        }
        .max(self.bus(command))
    }

    /// The first cycle at which all `banks` may close. A bank with an auto-precharge under way counts too.
    fn all_may_close(&self, banks: impl Iterator<Item = BankIndex>) -> Cycles {
        banks.map(|bank| self.banks.precharge[bank]).max().unwrap_or_default()
    }

    fn all_are_closed(&self, banks: impl Iterator<Item = BankIndex>) -> Cycles {
        banks.map(|bank| self.banks.activate[bank]).max().unwrap_or_default()
    }

    /// Sends `command` at `at`, which `earliest` allows. ACT opens `row`.
    pub fn issue(&mut self, command: Command, index: BankIndex, row: u32, at: Cycles) {
        self.command_bus = at + Cycles(1);
        let to = self.shape.address(index);
        let Timing { t_rp, t_ppd, t_rfc, .. } = self.timing;
        match command {
            Command::Activate => self.activate(index, row, at),
            Command::Precharge => {
                self.close(index, at + t_rp);
                self.ranks[to.rank as usize].precharge = at + t_ppd;
            }
            Command::PrechargeAll => {
                self.close_rank(to.rank, at + t_rp);
                self.ranks[to.rank as usize].precharge = at + t_ppd;
            }
            Command::PrechargeSame => {
                self.shape.same_bank(to.rank, to.bank).for_each(|bank| self.close(bank, at + t_rp));
                self.ranks[to.rank as usize].precharge = at + t_ppd;
            }
            Command::Read => self.column(AccessKind::Read, index, at),
            Command::Write => self.column(AccessKind::Write, index, at),
            Command::ReadAutoPrecharge => {
                self.column(AccessKind::Read, index, at);
                self.close(index, self.banks.precharge[index] + t_rp);
            }
            Command::WriteAutoPrecharge => {
                self.column(AccessKind::Write, index, at);
                self.close(index, self.banks.precharge[index] + t_rp);
            }
            Command::RefreshAll => self.close_rank(to.rank, at + t_rfc),
            Command::RefreshSame => {
                let same =
                    self.timing.same_bank_refresh.expect("a part without REFsb is refused when it is configured");
                self.shape.same_bank(to.rank, to.bank).for_each(|bank| self.close(bank, at + same.t_rfc_sb));
                let rank = &mut self.ranks[to.rank as usize];
                rank.activate = rank.activate.max(at + same.t_refsbrd);
                rank.refresh_same = rank.refresh_same.max(at + same.t_rfc_sb);
            }
        }
    }

    fn close(&mut self, index: BankIndex, activate: Cycles) {
        self.banks.open &= !(1 << index.0);
        let earliest = &mut self.banks.activate[index];
        *earliest = activate.max(*earliest);
    }

    fn close_rank(&mut self, rank: u32, activate: Cycles) {
        self.banks.open &= !self.shape.mask_of_rank(rank);
        for bank in self.shape.of_rank(rank) {
            let earliest = &mut self.banks.activate[bank];
            *earliest = activate.max(*earliest);
        }
    }

    fn activate(&mut self, index: BankIndex, row: u32, at: Cycles) {
        let timing = &self.timing;
        let rank = self.rank_of(index);
        for neighbour in self.group(index) {
            let earliest = &mut self.banks.activate[neighbour];
            *earliest = (at + timing.t_rrd_l).max(*earliest);
        }
        let (banks, bank) = (&mut self.banks, index);
        banks.open |= 1 << index.0;
        banks.row[bank] = row;
        for column in &mut banks.column {
            column[bank] = (at + timing.t_rcd).max(column[bank]);
        }
        banks.precharge[bank] = banks.precharge[bank].max(at + timing.t_ras);
        banks.activate[bank] = at + timing.t_rc;
        let rank = &mut self.ranks[rank];
        rank.window[rank.oldest] = at + timing.t_faw;
        rank.oldest = (rank.oldest + 1) % rank.window.len();
        rank.activate = rank.activate.max(at + timing.t_rrd_s).max(rank.window[rank.oldest]);
        rank.refresh_same = rank.refresh_same.max(at + timing.t_rrd_l);
    }

    fn column(&mut self, kind: AccessKind, index: BankIndex, at: Cycles) {
        let recovery = match kind {
            AccessKind::Read => self.timing.t_rtp,
            AccessKind::Write => self.timing.write_end() + self.timing.t_wr,
        };
        let own_rank = self.rank_of(index);
        let precharge = &mut self.banks.precharge[index];
        *precharge = (at + recovery).max(*precharge);
        for next in [READ, WRITE] {
            let gap = self.column_gap[kind as usize][next];
            for neighbour in self.group(index) {
                let earliest = &mut self.banks.column[next][neighbour];
                *earliest = (at + gap.group).max(*earliest);
            }
            for (number, rank) in self.ranks.iter_mut().enumerate() {
                let gap = if number == own_rank { gap.rank } else { gap.other_rank };
                rank.column[next] = rank.column[next].max(at + gap);
            }
        }
    }
}

fn column_gaps(timing: &Timing) -> [[ColumnGap; 2]; 2] {
    let burst = timing.burst;
    let other_read_to_write = Cycles(timing.cl.0 + burst.0 + timing.t_rtw.max(timing.t_cs).0 - timing.cwl.0);
    let other_write_to_read = Cycles((timing.write_end() + timing.t_cs).0.saturating_sub(timing.cl.0).max(1));
    let mut gaps = [[ColumnGap { group: burst, rank: burst, other_rank: burst + timing.t_cs }; 2]; 2];
    gaps[READ][READ].group = timing.t_ccd_l;
    gaps[READ][READ].rank = timing.t_ccd_s;
    gaps[WRITE][WRITE].group = timing.t_ccd_l_wr;
    gaps[WRITE][WRITE].rank = timing.t_ccd_s_wr;
    gaps[READ][WRITE] =
        ColumnGap { group: timing.read_to_write(), rank: timing.read_to_write(), other_rank: other_read_to_write };
    gaps[WRITE][READ] = ColumnGap {
        group: timing.write_end() + timing.t_wtr_l,
        rank: timing.write_end() + timing.t_wtr_s,
        other_rank: other_write_to_read,
    };
    gaps
}
