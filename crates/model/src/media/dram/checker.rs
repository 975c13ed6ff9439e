//! The checker: it replays a command log against the standard, without a line of the controller's code.
//!
//! ```text
//!   log -> for each command: every earlier one near enough, every rule for that pair and scope -> violations
//! ```
//!
//! The controller keeps registers that say when the next command may go. The checker instead looks back over the
//! commands and measures distances, bursts on the data bus, and open rows. Checker and controller share only the
//! numbers of the data file and the vocabulary of commands.

use std::collections::VecDeque;
use std::fmt;

use super::clock::Cycles;
use super::command::{BankAddress, Command, Issued};
use super::standard::Dram;
use super::timing::Timing;

/// A command of the log that breaks the standard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// name of the constraint in the standard, or a description of the wrong state
    pub rule: &'static str,
    pub earlier: Option<Issued>,
    pub command: Issued,
    /// the least distance from `earlier` `[nCK]`, for a constraint
    pub needed: Option<Cycles>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.command)?;
        if let Some(earlier) = self.earlier {
            write!(f, " after {earlier}")?;
        }
        self.needed.map_or(Ok(()), |needed| write!(f, ", at least {needed} apart"))
    }
}

/// How the banks of two commands must be related for a rule to apply to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    Bank,
    Group,
    OtherGroup,
    Rank,
    /// another bank of the rank
    OtherBank,
    OtherRank,
    Channel,
}

/// A kind of effect that a command has; one command may have several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    Opens,
    Closes,
    Reads,
    Writes,
    RefreshesAll,
    RefreshesSame,
    Any,
}

#[derive(Clone, Copy, Debug)]
struct Rule {
    name: &'static str,
    from: Effect,
    to: Effect,
    scope: Scope,
    distance: u64,
}

/// All commands.
const COMMANDS: [Command; 10] = [
    Command::Activate,
    Command::Precharge,
    Command::PrechargeAll,
    Command::PrechargeSame,
    Command::Read,
    Command::ReadAutoPrecharge,
    Command::Write,
    Command::WriteAutoPrecharge,
    Command::RefreshAll,
    Command::RefreshSame,
];

fn has(command: Command, effect: Effect) -> bool {
    match effect {
        Effect::Opens => command == Command::Activate,
        Effect::Closes => {
            matches!(command, Command::Precharge | Command::PrechargeAll | Command::PrechargeSame)
        }
        Effect::Reads => matches!(command, Command::Read | Command::ReadAutoPrecharge),
        Effect::Writes => matches!(command, Command::Write | Command::WriteAutoPrecharge),
        Effect::RefreshesAll => command == Command::RefreshAll,
        Effect::RefreshesSame => command == Command::RefreshSame,
        Effect::Any => true,
    }
}

fn auto_precharges(command: Command) -> bool {
    matches!(command, Command::ReadAutoPrecharge | Command::WriteAutoPrecharge)
}

/// Whether `command` touches the bank `at`.
fn touches(command: &Issued, at: BankAddress) -> bool {
    let to = command.to;
    match command.command {
        Command::PrechargeAll | Command::RefreshAll => to.rank == at.rank,
        Command::PrechargeSame | Command::RefreshSame => to.rank == at.rank && to.bank == at.bank,
        _ => to == at,
    }
}

/// Whether the banks that two commands touch overlap.
fn overlap(a: &Issued, b: &Issued) -> bool {
    let same_bank_number = matches!(
        (a.command, b.command),
        (Command::PrechargeSame | Command::RefreshSame, Command::PrechargeSame | Command::RefreshSame)
    ) && a.to.rank == b.to.rank
        && a.to.bank == b.to.bank;
    let all = |command: Command| matches!(command, Command::PrechargeAll | Command::RefreshAll);
    same_bank_number
        || ((all(a.command) || all(b.command)) && a.to.rank == b.to.rank)
        || touches(a, b.to)
        || touches(b, a.to)
}

fn in_scope(scope: Scope, earlier: &Issued, later: &Issued) -> bool {
    let (a, b) = (earlier.to, later.to);
    let rank = a.rank == b.rank;
    match scope {
        Scope::Bank => overlap(earlier, later),
        Scope::Group => rank && a.group == b.group,
        Scope::OtherGroup => rank && a.group != b.group,
        Scope::Rank => rank,
        Scope::OtherBank => rank && !overlap(earlier, later),
        Scope::OtherRank => !rank,
        Scope::Channel => true,
    }
}

fn rules(t: &Timing) -> Vec<Rule> {
    use Effect::{Any, Closes, Opens, Reads, RefreshesAll, RefreshesSame, Writes};
    use Scope::{Bank, Channel, Group, OtherBank, OtherGroup, OtherRank, Rank};
    let rule = |name, from, to, scope, distance| Rule { name, from, to, scope, distance };
    let write_data = t.cwl.0 + t.burst.0;
    let mut rules = vec![
        rule("command bus", Any, Any, Channel, 1),
        rule("tRCD", Opens, Reads, Bank, t.t_rcd.0),
        rule("tRCD", Opens, Writes, Bank, t.t_rcd.0),
        rule("tRAS", Opens, Closes, Bank, t.t_ras.0),
        rule("tRC", Opens, Opens, Bank, t.t_rc.0),
        rule("tRP", Closes, Opens, Bank, t.t_rp.0),
        rule("tRP before refresh", Closes, RefreshesAll, Bank, t.t_rp.0),
        rule("tRP before refresh", Closes, RefreshesSame, Bank, t.t_rp.0),
        rule("tRRD_L", Opens, Opens, Group, t.t_rrd_l.0),
        rule("tRRD_S", Opens, Opens, OtherGroup, t.t_rrd_s.0),
        rule("tCCD_L", Reads, Reads, Group, t.t_ccd_l.0),
        rule("tCCD_S", Reads, Reads, OtherGroup, t.t_ccd_s.0),
        rule("tCCD_L_WR", Writes, Writes, Group, t.t_ccd_l_wr.0),
        rule("tCCD_S_WR", Writes, Writes, OtherGroup, t.t_ccd_s_wr.0),
        rule("tWTR_L", Writes, Reads, Group, write_data + t.t_wtr_l.0),
        rule("tWTR_S", Writes, Reads, OtherGroup, write_data + t.t_wtr_s.0),
        rule("read to write", Reads, Writes, Channel, t.cl.0 + t.burst.0 + t.t_rtw.0 - t.cwl.0),
        rule("rank switch", Reads, Reads, OtherRank, t.burst.0 + t.t_cs.0),
        rule("rank switch", Writes, Writes, OtherRank, t.burst.0 + t.t_cs.0),
        rule("rank switch", Writes, Reads, OtherRank, (write_data + t.t_cs.0).saturating_sub(t.cl.0)),
        rule("tRTP", Reads, Closes, Bank, t.t_rtp.0),
        rule("tWR", Writes, Closes, Bank, write_data + t.t_wr.0),
        rule("tPPD", Closes, Closes, Rank, t.t_ppd.0),
        rule("tRFC", RefreshesAll, Any, Rank, t.t_rfc.0),
    ];
    if let Some(same) = t.same_bank_refresh {
        rules.push(rule("tRFCsb", RefreshesSame, Opens, Bank, same.t_rfc_sb.0));
        rules.push(rule("tRFCsb", RefreshesSame, RefreshesSame, Rank, same.t_rfc_sb.0));
        rules.push(rule("tREFSBRD", RefreshesSame, Opens, OtherBank, same.t_refsbrd.0));
        rules.push(rule("tRRD_L before REFsb", Opens, RefreshesSame, OtherBank, t.t_rrd_l.0));
    }
    rules
}

/// Most refreshes that a rank may owe: JESD79-4 allows 8 to be postponed, JESD79-5 4.
fn may_postpone(generation: super::Generation) -> u64 {
    match generation {
        super::Generation::Ddr4 => 8,
        super::Generation::Ddr5 => 4,
    }
}

/// Every command of `log` that the standard does not allow for `ranks` ranks of `dram`.
#[must_use]
pub fn check(dram: &Dram, ranks: u32, log: &[Issued]) -> Vec<Violation> {
    let mut checker = Checker::new(dram, ranks);
    log.iter().for_each(|command| checker.take(command));
    checker.finish()
}

/// A checker of the commands of a sub-channel, one after the other. It remembers commands only as far as its rules look
/// back.
#[derive(Clone, Debug)]
pub struct Checker {
    timing: Timing,
    generation: super::Generation,
    /// for each command, the rules that this command ends
    rules: Vec<(Command, Vec<Rule>)>,
    /// how far rules look back, and how far rules that begin with a refresh look back `[nCK]`
    near: u64,
    far: u64,
    /// near commands without refreshes, and near refreshes
    recent: VecDeque<Issued>,
    refreshes: VecDeque<Issued>,
    last: Option<Issued>,
    ranks: Vec<Rank>,
    banks: Vec<Bank>,
    /// number of banks of a group, and of a rank
    banks_per_group: u32,
    banks_per_rank: u32,
    /// bursts that may still overlap a later burst on the data bus, with their starts
    bursts: VecDeque<(u64, Issued)>,
    taken: u64,
    violations: Vec<Violation>,
}

/// State that the checker remembers of a rank.
#[derive(Clone, Debug, Default)]
struct Rank {
    /// the last four activates
    activates: VecDeque<Issued>,
    refreshed: u64,
}

/// State that the checker remembers of a bank.
#[derive(Clone, Copy, Debug)]
struct Bank {
    at: BankAddress,
    row: Option<u32>,
    opened: Option<Issued>,
    /// a command with auto-precharge, and the time from which the bank can be opened again `[nCK]`
    closing: Option<(Issued, u64)>,
}

impl Checker {
    /// A checker that has seen no command.
    #[must_use]
    pub fn new(dram: &Dram, ranks: u32) -> Checker {
        let timing = dram.cycles();
        let all = rules(&timing);
        let looks_back = |refreshes: bool| {
            let of = |rule: &&Rule| matches!(rule.from, Effect::RefreshesAll | Effect::RefreshesSame) == refreshes;
            all.iter().filter(of).map(|rule| rule.distance).max().unwrap_or(0)
        };
        let ending_with = |to: Command| all.iter().filter(|rule| has(to, rule.to)).copied().collect();
        let organisation = &dram.organisation;
        let (groups, per_group) = (*organisation.bank_groups, *organisation.banks_per_group);
        let per_rank = groups * per_group;
        let bank = |index: u32| BankAddress {
            rank: index / per_rank,
            group: index / per_group % groups,
            bank: index % per_group,
        };
        let bank = |index| Bank { at: bank(index), row: None, opened: None, closing: None };
        Checker {
            timing,
            generation: dram.generation,
            near: looks_back(false),
            far: looks_back(true),
            rules: COMMANDS.into_iter().map(|to| (to, ending_with(to))).collect(),
            recent: VecDeque::new(),
            refreshes: VecDeque::new(),
            last: None,
            ranks: vec![Rank::default(); ranks as usize],
            banks: (0..ranks * per_rank).map(bank).collect(),
            banks_per_group: per_group,
            banks_per_rank: per_rank,
            bursts: VecDeque::new(),
            taken: 0,
            violations: Vec::new(),
        }
    }

    /// Checks the next command.
    pub fn take(&mut self, command: &Issued) {
        self.distances(command);
        self.width(command);
        self.four_activates(command);
        self.auto_precharge(command);
        self.data_bus(command);
        self.rows(command);
        self.refresh_rate(command);
        let kept = match command.command {
            Command::RefreshAll | Command::RefreshSame => &mut self.refreshes,
            _ => &mut self.recent,
        };
        kept.push_back(*command);
        self.last = Some(*command);
        self.taken += 1;
    }

    /// Number of commands checked.
    #[must_use]
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// The first command so far that the standard does not allow.
    #[must_use]
    pub fn first(&self) -> Option<&Violation> {
        self.violations.first()
    }

    /// Ends the log. Returns every command that the standard does not allow.
    #[must_use]
    pub fn finish(mut self) -> Vec<Violation> {
        let most = (may_postpone(self.generation) + 1) * self.timing.t_refi.0;
        for rank in &self.ranks {
            let Some(command) = self.last.filter(|last| rank.refreshed == 0 && last.at.0 > most) else { continue };
            self.violations.push(Violation { rule: "tREFI", earlier: None, command, needed: None });
        }
        self.violations
    }

    fn wrong(&mut self, rule: &'static str, earlier: Option<Issued>, command: &Issued, needed: Option<Cycles>) {
        self.violations.push(Violation { rule, earlier, command: *command, needed });
    }

    /// Checks the distance from each earlier command, by every rule for the two commands and their scope.
    fn distances(&mut self, command: &Issued) {
        let apart = |earlier: &Issued| command.at.0.saturating_sub(earlier.at.0);
        while self.recent.front().is_some_and(|earlier| apart(earlier) >= self.near) {
            self.recent.pop_front();
        }
        while self.refreshes.front().is_some_and(|earlier| apart(earlier) >= self.far) {
            self.refreshes.pop_front();
        }
        let (_, rules) = self.rules.iter().find(|(to, _)| *to == command.command).expect("every command has a row");
        for earlier in self.recent.iter().rev().chain(self.refreshes.iter().rev()) {
            let broken = rules.iter().filter(|rule| {
                apart(earlier) < rule.distance
                    && has(earlier.command, rule.from)
                    && in_scope(rule.scope, earlier, command)
            });
            self.violations.extend(broken.map(|rule| Violation {
                rule: rule.name,
                earlier: Some(*earlier),
                command: *command,
                needed: Some(Cycles(rule.distance)),
            }));
        }
    }

    /// Checks that the command bus is free for all cycles of the command.
    fn width(&mut self, command: &Issued) {
        let Some(earlier) = self.last else { return };
        let width = command.command.width(self.generation);
        if command.at.0 < earlier.at.0 + width.0 {
            self.wrong("two-cycle command", Some(earlier), command, Some(width));
        }
    }

    /// Checks tFAW: of any five activates of a rank, the last is tFAW or more after the first.
    fn four_activates(&mut self, command: &Issued) {
        if !has(command.command, Effect::Opens) {
            return;
        }
        let activates = &mut self.ranks[command.to.rank as usize].activates;
        let first = if activates.len() == 4 { activates.pop_front() } else { None };
        activates.push_back(*command);
        if let Some(first) = first
            && command.at.0 < first.at.0 + self.timing.t_faw.0
        {
            self.wrong("tFAW", Some(first), command, Some(self.timing.t_faw));
        }
    }

    /// Checks the auto-precharge of RDA and WRA. The bank closes tRTP or tWR later, and not before tRAS. After it, tRP
    /// applies to ACT and refresh.
    fn auto_precharge(&mut self, command: &Issued) {
        if matches!(command.command, Command::Activate | Command::RefreshAll | Command::RefreshSame) {
            for bank in self.touched(command) {
                let Some((column, opens)) = self.banks[bank].closing.take() else { continue };
                if command.at.0 < opens {
                    let needed = Cycles(opens - column.at.0);
                    self.wrong("auto-precharge", Some(column), command, Some(needed));
                }
            }
        }
        if auto_precharges(command.command) {
            let timing = &self.timing;
            let recovery = match command.command {
                Command::ReadAutoPrecharge => timing.t_rtp.0,
                _ => timing.cwl.0 + timing.burst.0 + timing.t_wr.0,
            };
            let own = self.own(command);
            let bank = &mut self.banks[own];
            let closes = bank.opened.map_or(0, |activate| activate.at.0 + timing.t_ras.0).max(command.at.0 + recovery);
            bank.closing = Some((*command, closes + timing.t_rp.0));
        }
    }

    /// Checks that no two bursts overlap on the data bus.
    fn data_bus(&mut self, command: &Issued) {
        let (timing, burst) = (&self.timing, self.timing.burst.0);
        let start = if has(command.command, Effect::Reads) {
            command.at.0 + timing.cl.0
        } else if has(command.command, Effect::Writes) {
            command.at.0 + timing.cwl.0
        } else {
            return;
        };
        // No later burst begins before `command.at`.
        while self.bursts.front().is_some_and(|(before, _)| before + burst <= command.at.0) {
            self.bursts.pop_front();
        }
        let met = self.bursts.iter().find(|(other, _)| start.abs_diff(*other) < burst).map(|(_, earlier)| *earlier);
        if met.is_some() {
            self.wrong("data bus", met, command, None);
        }
        self.bursts.push_back((start, *command));
    }

    /// Checks rows: ACT needs its bank closed, a column command its row open, a refresh its banks closed.
    fn rows(&mut self, command: &Issued) {
        for at in self.touched(command) {
            let bank = &mut self.banks[at];
            debug_assert!(bank.at.rank == command.to.rank);
            let rule = match command.command {
                Command::Activate if bank.row.is_some() => "ACT to an open bank",
                Command::Activate => {
                    (bank.row, bank.opened) = (command.row, Some(*command));
                    continue;
                }
                Command::Precharge | Command::PrechargeAll | Command::PrechargeSame => {
                    bank.row = None;
                    continue;
                }
                Command::RefreshAll | Command::RefreshSame if bank.row.is_some() => "refresh of an open bank",
                Command::RefreshAll | Command::RefreshSame => continue,
                _ if bank.row.is_none() => "column command to a closed bank",
                _ if bank.row != command.row => "column command to another row",
                _ => {
                    if auto_precharges(command.command) {
                        bank.row = None;
                    }
                    continue;
                }
            };
            self.wrong(rule, None, command, None);
        }
    }

    /// Checks tREFI: at a refresh, the rank owes no more refreshes than the standard allows.
    fn refresh_rate(&mut self, command: &Issued) {
        let timing = &self.timing;
        let interval = match (command.command, timing.same_bank_refresh) {
            (Command::RefreshSame, Some(same)) => same.t_refi2.0 / u64::from(self.banks_per_group),
            (Command::RefreshAll, _) => timing.t_refi.0,
            _ => return,
        };
        let rank = &mut self.ranks[command.to.rank as usize];
        rank.refreshed += 1;
        if command.at.0 > (rank.refreshed + may_postpone(self.generation) + 1) * interval {
            self.wrong("tREFI", None, command, None);
        }
    }

    /// Place of the bank that a command names.
    fn own(&self, command: &Issued) -> usize {
        let BankAddress { rank, group, bank } = command.to;
        (rank * self.banks_per_rank + group * self.banks_per_group + bank) as usize
    }

    /// Places of the banks that a command touches.
    fn touched(&self, command: &Issued) -> Vec<usize> {
        let of_many = matches!(
            command.command,
            Command::PrechargeAll | Command::RefreshAll | Command::PrechargeSame | Command::RefreshSame
        );
        if !of_many {
            return vec![self.own(command)];
        }
        (0..self.banks.len()).filter(|bank| touches(command, self.banks[*bank].at)).collect()
    }
}
