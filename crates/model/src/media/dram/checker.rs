//! The checker: replays a command log against the standard, without a line of the controller's code.
//!
//! ```text
//!   log -> for each command: every earlier one near enough, every rule for that pair and scope -> violations
//! ```
//!
//! Where the controller keeps registers that say when the next command may go, the checker looks back over the
//! commands themselves and measures distances, bursts on the data bus, and which rows are open. It shares with
//! the controller the numbers of the data file and the vocabulary of commands, and nothing else.

use std::fmt;

use super::clock::Cycles;
use super::command::{BankAddress, Command, Issued};
use super::standard::Dram;
use super::timing::Timing;

/// What the log did against the standard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// the constraint's name in the standard, or what was wrong with the state
    pub rule: &'static str,
    pub earlier: Option<Issued>,
    pub command: Issued,
    /// the least distance from `earlier` [nCK], for a constraint
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

/// How two commands' banks must be related for a rule to hold between them.
#[derive(Clone, Copy, PartialEq, Eq)]
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
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    Opens,
    Closes,
    Reads,
    Writes,
    RefreshesAll,
    RefreshesSame,
    Any,
}

struct Rule {
    name: &'static str,
    from: Effect,
    to: Effect,
    scope: Scope,
    distance: u64,
}

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

/// Refreshes that may be owed at any time: JESD79-4 allows 8 to be postponed, JESD79-5 4.
fn may_postpone(dram: &Dram) -> u64 {
    match dram.generation {
        super::Generation::Ddr4 => 8,
        super::Generation::Ddr5 => 4,
    }
}

/// Everything in `log` that the standard does not allow of `ranks` ranks of `dram`.
#[must_use]
pub fn check(dram: &Dram, ranks: u32, log: &[Issued]) -> Vec<Violation> {
    let timing = dram.cycles();
    let rules = rules(&timing);
    let horizon = rules.iter().map(|rule| rule.distance).max().unwrap_or(0);
    let mut violations = Vec::new();
    for (index, command) in log.iter().enumerate() {
        for earlier in log[..index].iter().rev() {
            let apart = command.at.0.saturating_sub(earlier.at.0);
            if apart >= horizon {
                break;
            }
            let broken = rules.iter().filter(|rule| {
                apart < rule.distance
                    && has(earlier.command, rule.from)
                    && has(command.command, rule.to)
                    && in_scope(rule.scope, earlier, command)
            });
            violations.extend(broken.map(|rule| Violation {
                rule: rule.name,
                earlier: Some(*earlier),
                command: *command,
                needed: Some(Cycles(rule.distance)),
            }));
        }
        if let Some(earlier) = index.checked_sub(1).map(|previous| log[previous]) {
            let width = command.command.width(dram.generation);
            if command.at.0 < earlier.at.0 + width.0 {
                let rule = "two-cycle command";
                violations.push(Violation { rule, earlier: Some(earlier), command: *command, needed: Some(width) });
            }
        }
    }
    four_activates(&timing, log, &mut violations);
    auto_precharge(&timing, log, &mut violations);
    data_bus(&timing, log, &mut violations);
    rows(dram, ranks, log, &mut violations);
    refresh_rate(dram, ranks, log, &mut violations);
    violations
}

/// tFAW: of any five activates of a rank the last is tFAW or more after the first.
fn four_activates(timing: &Timing, log: &[Issued], violations: &mut Vec<Violation>) {
    let activates: Vec<&Issued> = log.iter().filter(|issued| has(issued.command, Effect::Opens)).collect();
    for (index, last) in activates.iter().enumerate() {
        let of_rank = activates[..index].iter().rev().filter(|earlier| earlier.to.rank == last.to.rank);
        if let Some(first) = of_rank.clone().nth(3)
            && last.at.0 < first.at.0 + timing.t_faw.0
        {
            violations.push(Violation {
                rule: "tFAW",
                earlier: Some(**first),
                command: **last,
                needed: Some(timing.t_faw),
            });
        }
    }
}

/// After RDA and WRA the bank closes by itself, tRTP or tWR later and not before tRAS; then tRP to ACT or refresh.
fn auto_precharge(timing: &Timing, log: &[Issued], violations: &mut Vec<Violation>) {
    for (index, column) in log.iter().enumerate().filter(|(_, issued)| auto_precharges(issued.command)) {
        let recovery = match column.command {
            Command::ReadAutoPrecharge => timing.t_rtp.0,
            _ => timing.cwl.0 + timing.burst.0 + timing.t_wr.0,
        };
        let opened =
            log[..index].iter().rev().find(|issued| has(issued.command, Effect::Opens) && issued.to == column.to);
        let closes = opened.map_or(0, |activate| activate.at.0 + timing.t_ras.0).max(column.at.0 + recovery);
        let needs_closed = |issued: &&Issued| {
            matches!(issued.command, Command::Activate | Command::RefreshAll | Command::RefreshSame)
                && touches(issued, column.to)
        };
        if let Some(next) = log[index + 1..].iter().find(needs_closed)
            && next.at.0 < closes + timing.t_rp.0
        {
            violations.push(Violation {
                rule: "auto-precharge",
                earlier: Some(*column),
                command: *next,
                needed: Some(Cycles(closes + timing.t_rp.0 - column.at.0)),
            });
        }
    }
}

/// No two bursts meet on the data bus.
fn data_bus(timing: &Timing, log: &[Issued], violations: &mut Vec<Violation>) {
    let mut bursts: Vec<(u64, &Issued)> = Vec::new();
    for issued in log {
        if has(issued.command, Effect::Reads) {
            bursts.push((issued.at.0 + timing.cl.0, issued));
        } else if has(issued.command, Effect::Writes) {
            bursts.push((issued.at.0 + timing.cwl.0, issued));
        }
    }
    bursts.sort_by_key(|(start, _)| *start);
    for pair in bursts.windows(2) {
        if pair[1].0 < pair[0].0 + timing.burst.0 {
            violations.push(Violation {
                rule: "data bus",
                earlier: Some(*pair[0].1),
                command: *pair[1].1,
                needed: None,
            });
        }
    }
}

/// Rows: ACT finds its bank closed, a column command its row open, a refresh its banks closed.
fn rows(dram: &Dram, ranks: u32, log: &[Issued], violations: &mut Vec<Violation>) {
    let organisation = &dram.organisation;
    let (groups, banks) = (*organisation.bank_groups, *organisation.banks_per_group);
    let all: Vec<BankAddress> = (0..ranks * groups * banks)
        .map(|index| BankAddress { rank: index / (groups * banks), group: index / banks % groups, bank: index % banks })
        .collect();
    let mut open: Vec<Option<u32>> = vec![None; all.len()];
    let mut wrong = |rule, command: &Issued| {
        violations.push(Violation { rule, earlier: None, command: *command, needed: None });
    };
    for issued in log {
        for (bank, row) in all.iter().zip(&mut open).filter(|(bank, _)| touches(issued, **bank)) {
            debug_assert!(bank.rank == issued.to.rank);
            match issued.command {
                Command::Activate if row.is_some() => wrong("ACT to an open bank", issued),
                Command::Activate => *row = issued.row,
                Command::Precharge | Command::PrechargeAll | Command::PrechargeSame => *row = None,
                Command::RefreshAll | Command::RefreshSame if row.is_some() => wrong("refresh of an open bank", issued),
                Command::RefreshAll | Command::RefreshSame => {}
                _ if row.is_none() => wrong("column command to a closed bank", issued),
                _ if *row != issued.row => wrong("column command to another row", issued),
                _ if auto_precharges(issued.command) => *row = None,
                _ => {}
            }
        }
    }
}

/// tREFI: at no command is a rank further behind with its refreshes than the standard lets it be.
fn refresh_rate(dram: &Dram, ranks: u32, log: &[Issued], violations: &mut Vec<Violation>) {
    let timing = dram.cycles();
    let postponed = may_postpone(dram);
    for rank in 0..ranks {
        let mut sent = 0;
        for issued in log.iter().filter(|issued| issued.to.rank == rank) {
            let (whole, interval) = match (issued.command, timing.same_bank_refresh) {
                (Command::RefreshSame, Some(same)) => {
                    (1, same.t_refi2.0 / u64::from(*dram.organisation.banks_per_group))
                }
                (Command::RefreshAll, _) => (1, timing.t_refi.0),
                _ => continue,
            };
            sent += whole;
            if issued.at.0 > (sent + postponed + 1) * interval {
                violations.push(Violation { rule: "tREFI", earlier: None, command: *issued, needed: None });
            }
        }
        let last = log.last().map_or(0, |issued| issued.at.0);
        if sent == 0 && last > (postponed + 1) * timing.t_refi.0 {
            let command = *log.last().expect("a last command has a time");
            violations.push(Violation { rule: "tREFI", earlier: None, command, needed: None });
        }
    }
}
