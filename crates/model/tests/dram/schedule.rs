//! Single schedules: which commands go, and when; the expected cycles are sums of the standard's constraints.

use cxlab_kernel::Time;
use cxlab_model::media::dram::checker::check;
use cxlab_model::media::dram::{
    BankAddress, BankIndex, Command, Cycles, DetailedSpec, Device, PagePolicy, RefreshMode,
};
use cxlab_model::mem::AccessKind;

use super::harness::{closed as closed_loop, open, random_mix, read, write};
use super::machine::{ALL, Lines, assert_commands, dram, log, lone, spec, sub_channel, unrefreshed, variants};

const AT_ONCE: Time = Time::ZERO;

#[test]
fn a_read_of_a_closed_bank_takes_trcd_cl_and_the_burst_in_every_preset() {
    for preset in ALL.iter() {
        let spec = spec(preset);
        let (dram, mut memory) = (dram(preset), unrefreshed(&spec));
        let lives = open(&mut memory, &[(AT_ONCE, read(0))]);
        assert_commands(&memory, &["ACT", "RD"]);
        let timing = dram.cycles();
        let act = Command::Activate.width(dram.generation) - Cycles(1); // its last cycle
        let expected = dram.clock().edge(act + timing.t_rcd + timing.cl + timing.burst);
        assert_eq!(lives[0].latency(), expected, "{preset}");
    }
}

#[test]
fn the_return_latency_is_added_to_a_read() {
    let mut with = spec("DDR5-4800");
    with.controller.return_latency.value = Time::from_ns(15);
    let without = open(&mut unrefreshed(&spec("DDR5-4800")), &[(AT_ONCE, read(0))])[0].latency();
    assert_eq!(open(&mut unrefreshed(&with), &[(AT_ONCE, read(0))])[0].latency(), without + Time::from_ns(15));
}

#[test]
fn a_second_line_of_the_row_is_a_hit_and_another_row_a_conflict() {
    let spec = spec("DDR5-4800");
    let lines = Lines::new(&spec);
    let mut memory = unrefreshed(&spec);
    let row = |row, column| read(lines.at(0, 0, 0, row, column));
    open(&mut memory, &[(AT_ONCE, row(5, 0)), (AT_ONCE, row(5, 1)), (AT_ONCE, row(6, 0))]);
    assert_commands(&memory, &["ACT", "RD", "RD", "PRE", "ACT", "RD"]);
    let at: Vec<u64> = log(&memory).iter().map(|issued| issued.at.0).collect();
    let t = dram("DDR5-4800").cycles();
    assert_eq!(at[1] - at[0], t.t_rcd.0);
    assert_eq!(at[2] - at[1], t.t_ccd_l.0);
    assert_eq!(at[3], (at[0] + t.t_ras.0).max(at[2] + t.t_rtp.0));
    assert_eq!(at[4] - at[3], t.t_rp.0);
}

#[test]
fn a_hit_goes_before_an_older_conflict_and_not_before_one_past_its_age_limit() {
    let mut patient = spec("DDR4-3200");
    let lines = Lines::new(&patient);
    let row = |row, column| read(lines.at(0, 0, 0, row, column));
    let stream: Vec<_> = std::iter::once((AT_ONCE, row(1, 0)))
        .chain(std::iter::once((Time::from_ns(1), row(2, 0))))
        .chain((1..40).map(|column| (Time::from_ns(2), row(1, column))))
        .collect();
    let mut memory = unrefreshed(&patient);
    let lives = open(&mut memory, &stream);
    assert_eq!(lives.iter().map(|life| life.done).max(), Some(lives[1].done), "the conflict is served last");
    patient.controller.age_limit.value = Time::from_ns(100);
    let lives = open(&mut unrefreshed(&patient), &stream);
    assert!(lives[1].latency() < Time::from_ns(200), "{}", lives[1].latency());
}

#[test]
fn a_closed_page_is_closed_with_its_last_waiting_hit() {
    let mut closed = spec("DDR5-4800");
    closed.controller.page_policy.value = PagePolicy::Closed;
    let lines = Lines::new(&closed);
    let mut memory = unrefreshed(&closed);
    open(&mut memory, &[(AT_ONCE, read(lines.at(0, 0, 0, 1, 0))), (AT_ONCE, read(lines.at(0, 0, 0, 1, 1)))]);
    assert_commands(&memory, &["ACT", "RD", "RDA"]);
}

#[test]
fn an_adaptive_page_learns_from_conflicts_to_close_and_from_returns_to_stay_open() {
    let mut adaptive = spec("DDR5-4800");
    adaptive.controller.page_policy.value = PagePolicy::Adaptive;
    let lines = Lines::new(&adaptive);
    let mut memory = unrefreshed(&adaptive);
    let rows = [1, 2, 3, 3, 3, 3];
    let arrivals: Vec<_> = rows
        .iter()
        .enumerate()
        .map(|(step, row)| (Time::from_ns(200) * step as u64, read(lines.at(0, 0, 0, *row, step as u64))))
        .collect();
    open(&mut memory, &arrivals);
    // 1 left open; 2 conflicts: from now on close; 3 closes, returns (once wrong): stay open
    assert_commands(&memory, &["ACT", "RD", "PRE", "ACT", "RDA", "ACT", "RDA", "ACT", "RD", "RD", "RD"]);
}

#[test]
fn writes_are_taken_at_once_and_wait_for_the_high_mark() {
    let mut spec = spec("DDR5-4800");
    spec.controller.write_high_mark.value = 4;
    spec.controller.write_low_mark.value = 3;
    let mut memory = unrefreshed(&spec);
    let writes: Vec<_> = (0..3).map(|line| (AT_ONCE, write(line))).collect();
    assert!(open(&mut memory, &writes).iter().all(|life| life.latency() == Time::ZERO));
    assert_commands(&memory, &[]);
    // the fourth brings the high mark, the read that comes later lets the drain end at the low mark first
    let more = [(AT_ONCE, write(100)), (Time::from_ns(30), read(7))];
    let mut memory = unrefreshed(&spec);
    open(&mut memory, &[&writes[..], &more[..]].concat());
    assert_commands(&memory, &["ACT", "ACT", "ACT", "ACT", "WR", "ACT", "RD"]);
}

#[test]
fn neither_a_flood_of_writes_nor_one_of_reads_starves_the_other() {
    let spec = spec("DDR5-4800");
    let high = u64::from(*spec.controller.write_high_mark);
    let t = dram("DDR5-4800").cycles();
    // a turn of the flood, and one row miss on either side of it
    let commands = u64::from(*spec.controller.commands_per_turn);
    let turn = Cycles(commands * t.t_ccd_s.0 + 2 * (t.t_rp + t.t_rcd + t.write_end() + t.t_wtr_l + t.cl).0);
    let bound = dram("DDR5-4800").clock().edge(turn);
    for (flood, single) in [(write as fn(u64) -> _, read as fn(u64) -> _), (read, write)] {
        let mut arrivals: Vec<_> = (0..5000).map(|line| (AT_ONCE, flood(line))).collect();
        let at = Time::from_ns(500);
        arrivals.extend((0..high).map(|line| (at, single((1 << 20) + line))));
        let mut memory = unrefreshed(&spec);
        let lives = open(&mut memory, &arrivals);
        assert!(lives[5000].latency() <= bound, "{} of {bound}", lives[5000].latency());
        let sent = |command| log(&memory).iter().filter(|issued| issued.command == command).count() as u64;
        assert!(sent(Command::Read) >= high && sent(Command::Write) >= commands);
    }
}

#[test]
fn where_both_wait_without_end_each_has_turns_of_equal_length() {
    let mut spec = spec("DDR5-4800");
    for commands in [16, 8] {
        spec.controller.commands_per_turn.value = commands;
        let mut memory = unrefreshed(&spec);
        let both = (0..400).flat_map(|line| [(AT_ONCE, read(line)), (AT_ONCE, write((1 << 20) + line))]);
        open(&mut memory, &both.collect::<Vec<_>>());
        let columns: Vec<_> = log(&memory)
            .iter()
            .map(|issued| issued.command)
            .filter(|command| matches!(command, Command::Read | Command::Write))
            .collect();
        let turns: Vec<_> = columns.chunk_by(|one, next| one == next).map(<[_]>::len).collect();
        // At the end too few wait for a turn.
        assert!(turns[..40 * 8 / commands as usize].iter().all(|turn| *turn == commands as usize), "{turns:?}");
    }
}

#[test]
fn a_read_of_a_waiting_write_is_answered_from_the_queue() {
    let spec = spec("DDR5-4800");
    let mut memory = unrefreshed(&spec);
    let lives = open(&mut memory, &[(AT_ONCE, write(3)), (AT_ONCE, write(3)), (Time::from_ns(1), read(3))]);
    assert_eq!(lives[2].latency(), Time::ZERO);
    assert_commands(&memory, &[]);
}

#[test]
fn a_full_queue_holds_arrivals_in_order_and_counts_them() {
    let mut spec = spec("DDR4-2400");
    spec.controller.read_queue.value = 2;
    let lines = Lines::new(&spec);
    let mut memory = unrefreshed(&spec);
    // one bank, a row each: no two can overtake
    let lives = open(&mut memory, &(0..6).map(|row| (AT_ONCE, read(lines.at(0, 0, 0, row, 0)))).collect::<Vec<_>>());
    assert!(lives.windows(2).all(|pair| pair[0].done < pair[1].done));
    let stats = memory.stats(Time::from_ns(1000));
    let full = stats[0].entries.iter().find(|entry| entry.name == "read_queue_full").unwrap();
    assert_eq!(serde_json::to_value(&full.value).unwrap(), 4);
}

#[test]
fn refresh_closes_all_banks_comes_every_trefi_and_keeps_the_rank_for_trfc() {
    let spec = spec("DDR5-4800");
    let mut memory = super::machine::sub_channel(&spec);
    open(&mut memory, &[(AT_ONCE, read(0)), (Time::from_ns(3950), read(0)), (Time::from_ns(7900), read(0))]);
    assert_commands(&memory, &["ACT", "RD", "PREA", "REFab", "ACT", "RD", "PREA", "REFab", "ACT", "RD"]);
    let at: Vec<u64> = log(&memory).iter().map(|issued| issued.at.0).collect();
    let t = dram("DDR5-4800").cycles();
    assert_eq!((at[2], at[3]), (t.t_refi.0, t.t_refi.0 + t.t_rp.0));
    assert_eq!(at[4], at[3] + t.t_rfc.0);
    assert_eq!(at[6], 2 * t.t_refi.0);
}

/// When each REFab goes `[nCK]`, with 7,000 reads at once, which take between 6 and 7 tREFI, and one at 10.5 tREFI.
fn refreshes_beside_reads(postponed: u32) -> Vec<u64> {
    let mut spec = spec("DDR5-4800");
    spec.controller.postponed_refreshes.value = postponed;
    let mut memory = sub_channel(&spec);
    let t_refi = dram("DDR5-4800").timing.t_refi.value;
    let mut arrivals: Vec<_> = (0..7_000).map(|line| (AT_ONCE, read(line))).collect();
    arrivals.push((t_refi * 10 + Time::from_ns(1_950), read(0)));
    let lives = open(&mut memory, &arrivals);
    assert!((t_refi * 6..t_refi * 7).contains(&lives[6_999].done), "{}", lives[6_999].done);
    let checked = check(&lone("DDR5-4800"), 1, log(&memory));
    assert!(checked.is_empty(), "{checked:?}");
    log(&memory).iter().filter(|issued| issued.command == Command::RefreshAll).map(|issued| issued.at.0).collect()
}

#[test]
fn a_rank_with_waiting_reads_owes_refreshes_and_makes_them_up() {
    let t = dram("DDR5-4800").cycles();
    let due = |at: u64| at / t.t_refi.0;
    // Each goes when it is due: 10 of them before the last read.
    let none: Vec<u64> = refreshes_beside_reads(0);
    assert_eq!(none.iter().map(|at| due(*at)).collect::<Vec<_>>(), (1..=10).collect::<Vec<_>>());
    // The fifth that is due cannot wait. Those of the sixth and what is owed go when no read waits, tRFC apart.
    let four = refreshes_beside_reads(4);
    assert_eq!(four.len(), 10, "{four:?}");
    assert_eq!(due(four[0]), 5);
    assert_eq!(due(four[1]), 6);
    assert!(four[2..6].windows(2).all(|pair| pair[1] - pair[0] == t.t_rfc.0), "{four:?}");
}

#[test]
fn same_bank_refresh_leaves_the_other_banks_working() {
    let mut same = spec("DDR5-4800");
    same.controller.refresh.value = RefreshMode::SameBank;
    let lines = Lines::new(&same);
    let mut memory = super::machine::sub_channel(&same);
    let t = dram("DDR5-4800").cycles();
    let due = Time::from_ps(1_950_000 / 4);
    let lives = open(
        &mut memory,
        &[
            (due + Time::from_ns(50), read(lines.at(0, 0, 1, 0, 0))), // past tREFSBRD
            (due + Time::from_ns(51), read(lines.at(0, 1, 0, 0, 0))), // of the banks that are refreshed
        ],
    );
    assert_commands(&memory, &["REFsb", "ACT", "RD", "ACT", "RD"]);
    let at: Vec<u64> = log(&memory).iter().map(|issued| issued.at.0).collect();
    assert_eq!(at[3], at[0] + t.same_bank_refresh.unwrap().t_rfc_sb.0);
    assert!(lives[0].latency() < Time::from_ns(40));
}

/// A REFsb must follow the last activate of the rank by tRRD_L, and the next activate may follow that one by tRRD_S. So
/// activates could put off a refresh for as long as they come. It may wait for no more than its own banks and one tRRD_L.
#[test]
fn activates_of_other_banks_do_not_put_off_a_same_bank_refresh() {
    let closed = |spec: &DetailedSpec| *spec.controller.page_policy == PagePolicy::Closed;
    let same = |spec: &DetailedSpec| *spec.controller.refresh == RefreshMode::SameBank && *spec.ranks == 1;
    let mut checked = 0;
    for mut spec in variants().into_iter().filter(|spec| closed(spec) && same(spec)) {
        let t = lone(spec.dram.name()).cycles();
        let interval =
            t.same_bank_refresh.unwrap().t_refi2.0 / u64::from(*spec.dram.dram().organisation.banks_per_group);
        // An open row, or a write that closes its own, then tRP; a bus that is taken costs a few cycles.
        let own_banks = t.t_ras.0.max(t.cwl.0 + t.burst.0 + t.t_wr.0) + t.t_rp.0;
        let longest = own_banks + t.t_rrd_l.0 + 8;
        for age_limit in [50, 3_000] {
            spec.controller.age_limit.value = Time::from_ns(age_limit);
            let mut memory = sub_channel(&spec);
            closed_loop(&mut memory, 160, &random_mix(40_000, 1 << 24, 3, 1));
            let refreshes = log(&memory).iter().filter(|issued| issued.command == Command::RefreshSame);
            let late = refreshes.zip(1..).map(|(issued, number)| issued.at.0 - number * interval).max();
            assert!(late.unwrap() <= longest, "{}, {age_limit} ns: {late:?} nCK late of {longest}", spec.dram.name());
            checked += 1;
        }
    }
    assert!(checked >= 2, "{checked}");
}

/// A device to probe: blocked at t - 1, ready at t.
struct Probe {
    device: Device,
    now: Cycles,
}

impl Probe {
    fn new(preset: &str, ranks: u32) -> Probe {
        Probe { device: Device::new(&lone(preset), ranks), now: Cycles(1000) }
    }

    fn bank(&self, rank: u32, group: u32, bank: u32) -> BankIndex {
        self.device.shape().index(BankAddress { rank, group, bank })
    }

    /// Send `command` as soon as it is allowed.
    fn issue(&mut self, command: Command, bank: BankIndex) -> Cycles {
        let at = self.device.earliest(command, bank).max(self.now);
        self.device.issue(command, bank, 0, at);
        self.now = at;
        at
    }

    fn assert_ready_at(&self, command: Command, bank: BankIndex, at: Cycles) {
        assert_eq!(self.device.earliest(command, bank), at, "{command} is blocked at t - 1 and ready at t");
    }
}

#[test]
fn each_constraint_blocks_at_t_minus_1_and_is_ready_at_t() {
    for preset in ALL.iter() {
        let t = dram(preset).cycles();
        let mut probe = Probe::new(preset, 2);
        let (bank, same_group, other_group) = (probe.bank(0, 0, 0), probe.bank(0, 0, 1), probe.bank(0, 1, 0));
        let other_rank = probe.bank(1, 0, 0);
        let act = probe.issue(Command::Activate, bank);
        probe.assert_ready_at(Command::Read, bank, act + t.t_rcd);
        probe.assert_ready_at(Command::Write, bank, act + t.t_rcd);
        probe.assert_ready_at(Command::Precharge, bank, act + t.t_ras);
        probe.assert_ready_at(Command::Activate, same_group, act + t.t_rrd_l);
        probe.assert_ready_at(Command::Activate, other_group, act + t.t_rrd_s);
        for bank in [same_group, other_group, other_rank] {
            probe.issue(Command::Activate, bank);
        }
        probe.now = act + Cycles(1000);

        let rd = probe.issue(Command::Read, bank);
        probe.assert_ready_at(Command::Read, same_group, rd + t.t_ccd_l);
        probe.assert_ready_at(Command::Read, other_group, rd + t.t_ccd_s);
        probe.assert_ready_at(Command::Read, other_rank, rd + t.burst + t.t_cs);
        let read_to_write = Cycles(t.cl.0 + t.burst.0 + t.t_rtw.0 - t.cwl.0);
        probe.assert_ready_at(Command::Write, other_group, rd + read_to_write);
        probe.assert_ready_at(Command::Precharge, bank, rd + t.t_rtp);

        probe.now = rd + Cycles(1000);
        let wr = probe.issue(Command::Write, bank);
        let data_end = wr + t.cwl + t.burst;
        probe.assert_ready_at(Command::Write, same_group, wr + t.t_ccd_l_wr);
        probe.assert_ready_at(Command::Write, other_group, wr + t.t_ccd_s_wr);
        probe.assert_ready_at(Command::Write, other_rank, wr + t.burst + t.t_cs);
        probe.assert_ready_at(Command::Read, same_group, data_end + t.t_wtr_l);
        probe.assert_ready_at(Command::Read, other_group, data_end + t.t_wtr_s);
        probe.assert_ready_at(Command::Read, other_rank, Cycles((data_end + t.t_cs).0 - t.cl.0));
        probe.assert_ready_at(Command::Precharge, bank, data_end + t.t_wr);

        probe.now = wr + Cycles(1000);
        let pre = probe.issue(Command::Precharge, bank);
        probe.assert_ready_at(Command::Activate, bank, pre + t.t_rp);
        let prea = probe.issue(Command::PrechargeAll, bank);
        assert_eq!(prea, pre + t.t_ppd.max(Cycles(1)));
        probe.assert_ready_at(Command::RefreshAll, bank, prea + t.t_rp);
        let refresh = probe.issue(Command::RefreshAll, bank);
        probe.assert_ready_at(Command::Activate, other_group, refresh + t.t_rfc);
    }
}

#[test]
fn the_fifth_activate_waits_for_tfaw_and_activates_of_a_bank_for_trc() {
    for preset in ALL.iter() {
        let t = dram(preset).cycles();
        let mut probe = Probe::new(preset, 1);
        let first = probe.issue(Command::Activate, probe.bank(0, 0, 0));
        for group in 1..4 {
            probe.issue(Command::Activate, probe.bank(0, group, 0));
        }
        let by_group = first + t.t_rrd_l;
        let fifth = probe.bank(0, 0, 1);
        let last = Cycles(first.0 + 4 * t.t_rrd_s.0);
        probe.assert_ready_at(Command::Activate, fifth, (first + t.t_faw).max(last).max(by_group));
        let mut probe = Probe::new(preset, 1);
        let bank = probe.bank(0, 0, 0);
        let first = probe.issue(Command::Activate, bank);
        probe.issue(Command::Precharge, bank);
        probe.assert_ready_at(Command::Activate, bank, (first + t.t_rc).max(first + t.t_ras + t.t_rp));
    }
}

#[test]
fn an_auto_precharge_closes_after_trtp_or_twr_and_not_before_tras() {
    for preset in ALL.iter() {
        let t = dram(preset).cycles();
        let mut probe = Probe::new(preset, 1);
        let bank = probe.bank(0, 0, 0);
        let act = probe.issue(Command::Activate, bank);
        let rda = probe.issue(Command::ReadAutoPrecharge, bank);
        assert_eq!(probe.device.open_row(bank), None);
        probe.assert_ready_at(Command::Activate, bank, (act + t.t_ras).max(rda + t.t_rtp) + t.t_rp);
        probe.now = rda + Cycles(1000);
        probe.issue(Command::Activate, bank);
        let wra = probe.issue(Command::column(AccessKind::Write, true), bank);
        probe.assert_ready_at(Command::Activate, bank, wra + t.cwl + t.burst + t.t_wr + t.t_rp);
    }
}
