//! The checker finds nothing in what the controller does, and each violation that is put before it.

use cxlab_kernel::Time;
use cxlab_model::media::dram::checker::{Violation, check};
use cxlab_model::media::dram::{BankAddress, Command, Cycles, Dram, Issued, Timing};
use proptest::prelude::*;

use super::harness::{closed, open, random_mix, read, sequential_mix, write};
use super::machine::{ALL, dram, log, lone, sub_channel, variants};

pub fn assert_clean(what: &str, violations: &[Violation]) {
    let first: Vec<String> = violations.iter().take(5).map(ToString::to_string).collect();
    assert!(violations.is_empty(), "{what}: {} violations, first {first:#?}", violations.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_saturated_controller_keeps_every_constraint(
        variant in 0..variants().len(), in_flight in 1usize..160, reads in 0u64..4, writes in 0u64..4,
        lines_log2 in 6u32..24, sequential in any::<bool>(), age_limit_ns in 50u64..3000,
    ) {
        prop_assume!(reads + writes > 0);
        let mut spec = variants()[variant].clone();
        spec.controller.age_limit.value = Time::from_ns(age_limit_ns);
        let traffic = if sequential {
            sequential_mix(1500, reads, writes)
        } else {
            random_mix(1500, 1 << lines_log2, reads, writes)
        };
        let mut memory = sub_channel(&spec);
        closed(&mut memory, in_flight, &traffic);
        let violations = check(&lone(spec.dram.name()), *spec.ranks, log(&memory));
        assert_clean(&format!("{spec:?}"), &violations);
    }

    #[test]
    fn a_controller_that_falls_idle_keeps_them_too(
        variant in 0..variants().len(),
        arrivals in prop::collection::vec((0u64..9000, 0u64..1 << 20, any::<bool>()), 1..60),
    ) {
        let spec = variants()[variant].clone();
        let mut at = Time::ZERO;
        let arrivals: Vec<_> = arrivals
            .into_iter()
            .map(|(gap_ns, line, reads)| {
                at += Time::from_ns(gap_ns);
                (at, if reads { read(line) } else { write(line) })
            })
            .collect();
        let mut memory = sub_channel(&spec);
        open(&mut memory, &arrivals);
        assert_clean(&format!("{spec:?}"), &check(&lone(spec.dram.name()), *spec.ranks, log(&memory)));
    }
}

/// A log under construction: commands at cycles, to banks of two ranks.
struct Log {
    commands: Vec<Issued>,
}

type At = (u32, u32, u32);
const HERE: At = (0, 0, 0);
const SAME_GROUP: At = (0, 0, 1);
const OTHER_GROUP: At = (0, 1, 0);
const OTHER_RANK: At = (1, 0, 0);

impl Log {
    /// A log in which the banks named are open, long enough ago that nothing of it counts any more.
    fn with_open(banks: &[At]) -> Log {
        let mut log = Log { commands: Vec::new() };
        for (index, bank) in banks.iter().enumerate() {
            log.push(index as u64 * 200, Command::Activate, *bank);
        }
        log
    }

    fn push(&mut self, at: u64, command: Command, (rank, group, bank): At) -> &mut Self {
        let row = match command {
            Command::Activate | Command::Read | Command::ReadAutoPrecharge => Some(7),
            Command::Write | Command::WriteAutoPrecharge => Some(7),
            _ => None,
        };
        self.commands.push(Issued { at: Cycles(at), command, to: BankAddress { rank, group, bank }, row });
        self
    }
}

/// When a seed's first command goes: the set-up is over.
const T: u64 = 2000;

struct Seed {
    rule: &'static str,
    ranks: u32,
    log: Log,
}

/// Pairs of commands, `early` cycles too close: at 0 each is just legal.
fn pairs(t: &Timing, early: u64) -> Vec<Seed> {
    use Command::{Activate as ACT, Precharge as PRE, Read as RD, RefreshAll as REF, Write as WR};
    let data_end = t.cwl.0 + t.burst.0;
    let rank_gap = t.burst.0 + t.t_cs.0;
    let pair = |rule, open: &[At], first, from, second, to, distance: u64| {
        let mut log = Log::with_open(open);
        log.push(T, first, from).push(T + distance - early, second, to);
        Seed { rule, ranks: 2, log }
    };
    let both = [HERE, SAME_GROUP];
    let groups = [HERE, OTHER_GROUP];
    let ranks = [HERE, OTHER_RANK];
    vec![
        pair("tRCD", &[], ACT, HERE, RD, HERE, t.t_rcd.0),
        pair("tRCD", &[], ACT, HERE, WR, HERE, t.t_rcd.0),
        pair("tRAS", &[], ACT, HERE, PRE, HERE, t.t_ras.0),
        pair("tRP", &[HERE], PRE, HERE, ACT, HERE, t.t_rp.0),
        pair("tRRD_L", &[], ACT, HERE, ACT, SAME_GROUP, t.t_rrd_l.0),
        pair("tRRD_S", &[], ACT, HERE, ACT, OTHER_GROUP, t.t_rrd_s.0),
        pair("tCCD_L", &both, RD, HERE, RD, SAME_GROUP, t.t_ccd_l.0),
        pair("tCCD_S", &groups, RD, HERE, RD, OTHER_GROUP, t.t_ccd_s.0),
        pair("tCCD_L_WR", &both, WR, HERE, WR, SAME_GROUP, t.t_ccd_l_wr.0),
        pair("tCCD_S_WR", &groups, WR, HERE, WR, OTHER_GROUP, t.t_ccd_s_wr.0),
        pair("tWTR_L", &both, WR, HERE, RD, SAME_GROUP, data_end + t.t_wtr_l.0),
        pair("tWTR_S", &groups, WR, HERE, RD, OTHER_GROUP, data_end + t.t_wtr_s.0),
        pair("read to write", &groups, RD, HERE, WR, OTHER_GROUP, t.cl.0 + t.burst.0 + t.t_rtw.0 - t.cwl.0),
        pair("rank switch", &ranks, RD, HERE, RD, OTHER_RANK, rank_gap),
        pair("rank switch", &ranks, WR, HERE, WR, OTHER_RANK, rank_gap),
        pair("rank switch", &ranks, WR, HERE, RD, OTHER_RANK, data_end + t.t_cs.0 - t.cl.0),
        pair("tRTP", &[HERE], RD, HERE, PRE, HERE, t.t_rtp.0),
        pair("tWR", &[HERE], WR, HERE, PRE, HERE, data_end + t.t_wr.0),
        pair("tRP before refresh", &[HERE], PRE, HERE, REF, HERE, t.t_rp.0),
        pair("tRFC", &[], REF, HERE, ACT, OTHER_GROUP, t.t_rfc.0),
    ]
}

/// Violations that take more than two commands, or belong to DDR5 alone.
fn others(dram: &Dram, early: u64) -> Vec<Seed> {
    use Command::{
        Activate as ACT, Precharge as PRE, Read as RD, ReadAutoPrecharge as RDA, RefreshSame as REFSB,
        WriteAutoPrecharge as WRA,
    };
    let t = &dram.cycles();
    let mut faw = Log::with_open(&[]);
    for (index, bank) in [(0, 0, 0), (0, 1, 0), (0, 2, 0), (0, 3, 0)].into_iter().enumerate() {
        faw.push(T + index as u64 * t.t_rrd_s.0, ACT, bank);
    }
    faw.push(T + t.t_faw.0 - early, ACT, SAME_GROUP);
    let mut trc = Log::with_open(&[]);
    let cycle = t.t_rc.0.max(t.t_ras.0 + t.t_rp.0);
    let closed = T + t.t_ras.0;
    trc.push(T, ACT, HERE).push(closed, PRE, HERE).push(
        T + if early > 0 { t.t_rc.0 - early } else { cycle },
        ACT,
        HERE,
    );
    let mut rda = Log::with_open(&[HERE]);
    rda.push(T, RDA, HERE).push(T + t.t_rtp.0 + t.t_rp.0 - early, ACT, HERE);
    let mut wra = Log::with_open(&[HERE]);
    wra.push(T, WRA, HERE).push(T + t.cwl.0 + t.burst.0 + t.t_wr.0 + t.t_rp.0 - early, ACT, HERE);
    let mut late = Log::with_open(&[HERE]);
    late.push(T, PRE, HERE).push(T + 100, Command::RefreshAll, HERE);
    let owed = if dram.generation == cxlab_model::media::dram::Generation::Ddr4 { 9 } else { 5 };
    late.push(t.t_refi.0 * (owed + 2) + early, Command::RefreshAll, HERE);
    let mut seeds = vec![
        Seed { rule: "tFAW", ranks: 2, log: faw },
        Seed { rule: "tRC", ranks: 2, log: trc },
        Seed { rule: "auto-precharge", ranks: 2, log: rda },
        Seed { rule: "auto-precharge", ranks: 2, log: wra },
        Seed { rule: "tREFI", ranks: 1, log: late },
    ];
    if let Some(same) = t.same_bank_refresh {
        let pair = |rule, open: &[At], first, from, second, to, distance: u64| {
            let mut log = Log::with_open(open);
            log.push(T, first, from).push(T + distance - early, second, to);
            Seed { rule, ranks: 2, log }
        };
        seeds.extend([
            pair("tRFCsb", &[], REFSB, HERE, ACT, OTHER_GROUP, same.t_rfc_sb.0),
            pair("tREFSBRD", &[], REFSB, HERE, ACT, SAME_GROUP, same.t_refsbrd.0),
            pair("tRRD_L before REFsb", &[], ACT, SAME_GROUP, REFSB, HERE, t.t_rrd_l.0),
            pair("tPPD", &[HERE, OTHER_GROUP], PRE, HERE, PRE, OTHER_GROUP, t.t_ppd.0),
            pair("two-cycle command", &[HERE], PRE, OTHER_RANK, RD, HERE, 2),
        ]);
    }
    seeds
}

#[test]
fn each_seeded_timing_violation_is_found_and_a_cycle_later_there_is_none() {
    for preset in ALL.iter() {
        let dram = dram(preset);
        let legal = pairs(&dram.cycles(), 0).into_iter().chain(others(&dram, 0));
        let early = pairs(&dram.cycles(), 1).into_iter().chain(others(&dram, 1));
        let mut seeds = 0;
        for (legal, early) in legal.zip(early) {
            assert_clean(
                &format!("{preset} {} just kept", legal.rule),
                &check(&dram, legal.ranks, &legal.log.commands),
            );
            let found = check(&dram, early.ranks, &early.log.commands);
            let names: Vec<&str> = found.iter().map(|violation| violation.rule).collect();
            assert!(names.contains(&early.rule), "{preset}: {} broken, found {names:?}", early.rule);
            seeds += 1;
        }
        assert!(seeds >= 20, "{seeds}");
    }
}

#[test]
fn each_seeded_violation_of_state_is_found() {
    use Command::{Activate as ACT, Precharge as PRE, Read as RD, RefreshAll as REF};
    let dram = dram("DDR5-4800");
    let seed = |open: &[At], commands: &[(u64, Command, At)]| {
        let mut log = Log::with_open(open);
        for (after, command, to) in commands {
            log.push(T + after, *command, *to);
        }
        check(&dram, 2, &log.commands).into_iter().map(|violation| violation.rule).collect::<Vec<_>>()
    };
    assert_eq!(seed(&[HERE], &[(0, PRE, HERE), (100, RD, HERE)]), ["column command to a closed bank"]);
    assert_eq!(seed(&[], &[(0, RD, HERE)]), ["column command to a closed bank"]);
    assert_eq!(seed(&[HERE], &[(0, ACT, HERE)]), ["ACT to an open bank"]);
    assert_eq!(seed(&[HERE], &[(0, REF, HERE)]), ["refresh of an open bank"]);
    let mut log = Log::with_open(&[HERE]);
    log.push(T, RD, HERE).commands.last_mut().unwrap().row = Some(8);
    assert_eq!(check(&dram, 2, &log.commands)[0].rule, "column command to another row");
    // a write whose burst would fall on that of a read of the other rank: WR data at CWL, RD data at CL
    let t = dram.cycles();
    let overlap = seed(&[HERE, OTHER_RANK], &[(0, Command::Write, HERE), (t.burst.0 / 2, RD, OTHER_RANK)]);
    assert!(overlap.contains(&"data bus"), "{overlap:?}");
}
