//! The scheduler: FR-FCFS with an age limit, over banks, one plan ahead.
//!
//! ```text
//!   per occupied bank:  open, hit waits -> RD/WR  \  of each kind the earliest, then the oldest;
//!                       open, no hit    -> PRE     > where columns wait for the data bus, no row command goes
//!                       closed          -> ACT    /  that would delay them; else it is the other way round
//! ```
//!
//! First ready, first come, first served (Rixner et al., ISCA 2000). Among the commands of a kind that can go at the
//! earliest instant, the oldest goes. Once a request is past its age limit, no command goes that could delay it. Reads
//! go until the writes reach their high mark. Then writes go, down to the low mark. Where both wait without end, each
//! has a turn of some commands, as in gem5 (min_reads_per_switch, min_writes_per_switch). Without reads, writes above
//! the low mark go until a read comes. No rows are opened for the other direction ahead of its turn.

use super::clock::Cycles;
use super::command::Command;
use super::device::{Device, First};
use super::queue::Queue;
use super::refresh::Refresh;
use super::shape::BankIndex;
use crate::mem::AccessKind;

/// The next step of the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// the column command of the bank's first hit
    Column { kind: AccessKind, bank: BankIndex },
    /// ACT or PRE for the bank's oldest request
    Row { kind: AccessKind, command: Command, bank: BankIndex },
    /// a command that a refresh needs
    Refresh { command: Command, bank: BankIndex },
    /// a refresh falls due
    Due,
}

/// A step and its cycle.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub at: Cycles,
    pub step: Step,
}

/// The queue that is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Reads,
    /// the writes reached the high mark: they go down to the low mark
    Drain,
    /// no read waits: writes go until one comes, or down to the low mark
    Spare,
}

/// When the controller turns from reads to writes and back.
#[derive(Clone, Copy, Debug)]
pub struct Turns {
    /// waiting writes that start a drain `[entries]`
    pub high: usize,
    /// waiting writes that end it `[entries]`
    pub low: usize,
    /// commands of a turn, if as many wait
    pub commands: usize,
}

impl Mode {
    /// The mode that follows, with the numbers of waiting reads and writes, and `served` commands in this mode. Each side
    /// has its turn, so neither starves the other.
    #[must_use]
    pub fn next(self, reads: usize, writes: usize, served: usize, turns: Turns) -> Mode {
        let had_its_turn = served >= turns.commands;
        match self {
            Mode::Drain if writes > turns.low && !(had_its_turn && reads > 0) => Mode::Drain,
            Mode::Reads if writes >= turns.high && (had_its_turn || reads == 0) => Mode::Drain,
            Mode::Spare if writes >= turns.high => Mode::Drain,
            _ if reads == 0 && writes > turns.low => Mode::Spare,
            _ => Mode::Reads,
        }
    }

    #[must_use]
    pub fn kind(self) -> AccessKind {
        match self {
            Mode::Reads => AccessKind::Read,
            Mode::Drain | Mode::Spare => AccessKind::Write,
        }
    }
}

/// A bank's next command. The earliest wins, then the oldest.
#[derive(Clone, Copy)]
struct Choice {
    at: Cycles,
    order: u64,
    step: Step,
}

impl Choice {
    fn better(self, than: Option<Choice>) -> Choice {
        match than {
            Some(than) if (than.at, than.order) <= (self.at, self.order) => than,
            _ => self,
        }
    }
}

/// Banks whose next command is for a row, a bit for each.
#[derive(Clone, Copy)]
struct Rows {
    activate: u128,
    precharge: u128,
}

impl Rows {
    /// Whether any of these commands could go before `column` by [`row_first`]. It asks only the ranks, which is quick.
    #[inline]
    fn may_go_before(self, device: &Device, kind: AccessKind, column: Choice, from: Cycles) -> bool {
        let of = |mask: u128, command, soonest: Cycles| {
            let step = Step::Row { kind, command, bank: BankIndex(0) };
            mask != 0 && row_first(device, kind, column, Choice { at: soonest.max(from), order: 0, step })
        };
        of(self.activate, Command::Activate, device.soonest_activate())
            || of(self.precharge, Command::Precharge, device.soonest_precharge())
    }

    /// The earliest of these commands; among equals the oldest.
    #[inline]
    fn first(self, device: &Device, queue: &Queue, kind: AccessKind, from: Cycles) -> Option<Choice> {
        let choice = |first: First, command| {
            let step = Step::Row { kind, command, bank: first.bank };
            Choice { at: first.at, order: first.order, step }
        };
        let activate = device.first_activate(self.activate, from, queue.oldest_order());
        let precharge = device.first_precharge(self.precharge, from, queue.oldest_order());
        let precharge = precharge.map(|first| choice(first, Command::Precharge));
        activate.map(|first| choice(first, Command::Activate).better(precharge)).or(precharge)
    }
}

/// The next step, not before `from`, while `queue` is served.
#[must_use]
pub fn plan(device: &Device, queue: &mut Queue, kind: AccessKind, refresh: &Refresh, from: Cycles) -> Plan {
    let (open, hits) = (device.open_banks(), queue.hits());
    let mut banks = queue.occupied() & !refresh.blocked();
    if refresh.blocked() != 0 {
        banks &= !would_delay_refresh(device, queue, refresh, from, banks & !open);
    }
    let column = device.first_column(kind, banks & hits, from, queue.hit_order()).map(|first| Choice {
        at: first.at,
        order: first.order,
        step: Step::Column { kind, bank: first.bank },
    });
    let rows = Rows { activate: banks & !open, precharge: banks & open & !hits };
    let mut row = None;
    if refresh.blocked() != 0 || column.is_none_or(|column| rows.may_go_before(device, kind, column, from)) {
        row = rows.first(device, queue, kind, from);
    }
    let mut owed: Option<Choice> = None;
    if refresh.blocked() != 0 {
        for (command, bank) in refresh.steps(device) {
            let at = device.earliest(command, bank).max(from);
            owed = Some(Choice { at, order: 0, step: Step::Refresh { command, bank } }.better(owed));
        }
        row = owed.map_or(row, |owed| Some(owed.better(row)));
    }
    let mut chosen = match (column, row) {
        (Some(column), Some(row)) if row_first(device, kind, column, row) => Some(row),
        (Some(column), _) => Some(column),
        (None, row) => row,
    };
    if let Some(choice) = chosen
        && let Some(bank) = queue.overdue(choice.at, banks)
    {
        let overdue = overdue_choice(device, queue, kind, bank, from);
        // Other commands fill the time before the overdue one can go, as long as they do not delay it. A refresh goes
        // before it.
        let fills = choice.at + keep_clear(device) <= overdue.at;
        let owed = owed.filter(|owed| owed.at <= overdue.at);
        chosen = if fills { chosen } else { owed.or(Some(overdue)) };
    }
    match (chosen, refresh.next_due()) {
        (Some(choice), due) if due.is_none_or(|due| choice.at < due) => Plan { at: choice.at, step: choice.step },
        (_, Some(due)) => Plan { at: due.max(from), step: Step::Due },
        (_, None) => unreachable!("a pending refresh has a next command"),
    }
}

/// Whether the row command goes before the column command. A command that the other would delay goes first, if the other
/// can spare the time. A column that waits for the data bus cannot spare the time. An activate without a waiting request
/// cannot either.
fn row_first(device: &Device, kind: AccessKind, column: Choice, row: Choice) -> bool {
    match (column.step, row.step) {
        (Step::Column { bank, .. }, _) if device.waits_for_data_bus(kind, bank) => {
            row.at + device.width(Command::Read) <= column.at
        }
        (_, Step::Row { command, .. } | Step::Refresh { command, .. }) => column.at + device.width(command) > row.at,
        _ => unreachable!("a row choice is a row or a refresh step"),
    }
}

/// The cycle at which the next command of `bank` could go, after a request has joined the bank.
#[must_use]
pub fn next_of(device: &Device, queue: &Queue, kind: AccessKind, bank: BankIndex) -> Cycles {
    if queue.hits() >> bank.0 & 1 == 1 {
        return device.earliest_column(kind, bank);
    }
    match device.open_row(bank) {
        Some(_) => device.earliest_precharge(bank),
        None => device.earliest_activate(bank),
    }
}

/// The banks in `closed` whose activate would delay a refresh that is due.
///
/// A REFsb must follow the last activate of its rank by tRRD_L. Activates of other groups may follow each other sooner,
/// so a stream of them would put off the refresh without end.
#[cold]
fn would_delay_refresh(device: &Device, queue: &Queue, refresh: &Refresh, from: Cycles, closed: u128) -> u128 {
    let mut delaying = 0;
    for (command, bank) in refresh.steps(device).filter(|(command, _)| *command == Command::RefreshSame) {
        let of_rank = closed & device.shape().mask_of_rank(device.shape().address(bank).rank);
        let activate = device.first_activate(of_rank, from, queue.oldest_order());
        let at = device.earliest(command, bank).max(from);
        if activate.is_some_and(|activate| activate.at + device.timing().t_rrd_l > at) {
            delaying |= of_rank;
        }
    }
    delaying
}

/// The longest distance that a command to one bank imposes on a command to another bank.
fn keep_clear(device: &Device) -> Cycles {
    let timing = device.timing();
    timing.t_ccd_l.max(timing.t_ccd_l_wr).max(timing.t_rrd_l)
}

/// The next command for the oldest request of `bank`, whatever else could go.
#[cold]
fn overdue_choice(device: &Device, queue: &Queue, kind: AccessKind, bank: BankIndex, from: Cycles) -> Choice {
    let oldest = queue.oldest(bank);
    let (command, at) = match device.open_row(bank) {
        Some(row) if row == oldest.row => {
            let at = device.earliest_column(kind, bank).max(from);
            return Choice { at, order: oldest.order, step: Step::Column { kind, bank } };
        }
        Some(_) => (Command::Precharge, device.earliest_precharge(bank)),
        None => (Command::Activate, device.earliest_activate(bank)),
    };
    Choice { at: at.max(from), order: oldest.order, step: Step::Row { kind, command, bank } }
}
