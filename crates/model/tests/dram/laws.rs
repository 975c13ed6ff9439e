//! Bounds in closed form, from the standard's constraints alone, and what holds for any queue.

use cxlab_kernel::Stream;
use cxlab_model::media::Memory;
use cxlab_model::media::dram::{DetailedSpec, Field, Hash, PagePolicy, RefreshMode, Timing};
use cxlab_model::mem::AccessKind;
use proptest::prelude::*;

use super::harness::{Life, closed, random_mix, read, sequential_reads, steady_gb_s, write};
use super::machine::{ALL, Lines, lone, memory, peak_gb_s, server, spec, sub_channel, unrefreshed, variants};

const IN_FLIGHT: usize = 128;

fn timing(preset: &str) -> Timing {
    lone(preset).cycles()
}

/// The rate when a line goes every `cycles` `[GB/s]`.
fn one_line_every(preset: &str, cycles: f64) -> f64 {
    peak_gb_s(preset) * timing(preset).burst.0 as f64 / cycles
}

fn assert_within_1_percent(what: &str, got: f64, bound: f64) {
    assert!((got / bound - 1.0).abs() < 0.01, "{what}: {got:.3} of {bound:.3} GB/s");
}

/// Share of time that a rank spends on a refresh. From the last read to the first one after it are tRTP to
/// the precharge, tRP, tRFC and tRCD, where tCCD would be.
fn refresh_share(preset: &str) -> f64 {
    let t = timing(preset);
    (t.t_rtp.0 + t.t_rp.0 + t.t_rfc.0 + t.t_rcd.0 - t.t_ccd_s.0) as f64 / t.t_refi.0 as f64
}

fn run(memory: &mut Memory, traffic: &[(u64, AccessKind)]) -> Vec<Life> {
    closed(memory, IN_FLIGHT, traffic)
}

#[test]
fn a_row_hit_stream_reaches_the_peak_but_for_refresh() {
    for preset in ALL.iter() {
        let spec = spec(preset);
        let peak = steady_gb_s(&run(&mut unrefreshed(&spec), &sequential_reads(20_000)));
        assert_within_1_percent(&format!("{preset} without refresh"), peak, peak_gb_s(preset));
        let refreshed = steady_gb_s(&run(&mut sub_channel(&spec), &sequential_reads(60_000)));
        let bound = peak_gb_s(preset) * (1.0 - refresh_share(preset));
        assert_within_1_percent(&format!("{preset} with refresh"), refreshed, bound);
        let t = timing(preset);
        assert!(refreshed < peak_gb_s(preset) * (1.0 - t.t_rfc.0 as f64 / t.t_refi.0 as f64));
    }
}

#[test]
fn a_stream_of_writes_reaches_the_peak_too() {
    for preset in ALL.iter() {
        let traffic: Vec<_> = (0..20_000).map(write).collect();
        let got = steady_gb_s(&run(&mut unrefreshed(&spec(preset)), &traffic));
        assert_within_1_percent(&format!("{preset} writes"), got, peak_gb_s(preset));
    }
}

#[test]
fn one_bank_group_is_bound_by_tccd_l() {
    for preset in ALL.iter() {
        let spec = spec(preset);
        let (lines, t) = (Lines::new(&spec), timing(preset));
        let columns = spec.dram.dram().organisation.lines_per_row();
        let hits = |step: u64| lines.at(0, 2, 1, step / columns % 64, step % columns);
        // long rows of hits; a row change in between is hidden by none, so only the middle of one row counts
        let reads: Vec<_> = (0..columns).map(|step| read(hits(step))).collect();
        let got = steady_gb_s(&run(&mut unrefreshed(&spec), &reads));
        assert_within_1_percent(&format!("{preset} tCCD_L"), got, one_line_every(preset, t.t_ccd_l.0 as f64));
    }
}

#[test]
fn one_bank_is_bound_by_its_row_cycle() {
    for preset in ALL.iter() {
        let spec = spec(preset);
        let (lines, t) = (Lines::new(&spec), timing(preset));
        let rows = |kind: fn(u64) -> (u64, AccessKind)| -> Vec<_> {
            (0..2000).map(|row| kind(lines.at(0, 0, 0, row, 0))).collect()
        };
        let read_cycle = t.t_rc.max(t.t_ras + t.t_rp).max(t.t_rcd + t.t_rtp + t.t_rp).0 as f64;
        let got = steady_gb_s(&run(&mut unrefreshed(&spec), &rows(read)));
        assert_within_1_percent(&format!("{preset} tRC"), got, one_line_every(preset, read_cycle));
        let write_cycle = (t.t_rcd + t.cwl + t.burst + t.t_wr + t.t_rp).0 as f64;
        let got = steady_gb_s(&run(&mut unrefreshed(&spec), &rows(write)));
        assert_within_1_percent(&format!("{preset} write recovery"), got, one_line_every(preset, write_cycle));
    }
}

/// Every read another row at random, banks in turn, groups first.
fn row_misses(spec: &DetailedSpec, count: u64) -> Vec<(u64, AccessKind)> {
    let (lines, dram) = (Lines::new(spec), spec.dram.dram());
    let groups = u64::from(*dram.organisation.bank_groups);
    let banks = u64::from(*dram.organisation.banks_per_group);
    let mut stream = Stream::new(11, "rows");
    let rows = u64::from(*dram.organisation.rows);
    (0..count)
        .map(|step| read(lines.at(0, step % groups, step / groups % banks, stream.below(rows), stream.below(64))))
        .collect()
}

#[test]
fn row_misses_are_bound_by_tfaw_trrd_trc_and_the_bus() {
    for preset in ALL.iter() {
        let mut spec = spec(preset);
        spec.controller.page_policy.value = PagePolicy::Closed;
        let t = timing(preset);
        let banks = lone(preset).organisation.banks();
        let every = [t.t_faw.0 as f64 / 4.0, t.t_rrd_s.0 as f64, t.t_rc.0 as f64 / f64::from(banks), t.burst.0 as f64]
            .into_iter()
            .fold(0.0, f64::max);
        let bound = one_line_every(preset, every);
        let got = steady_gb_s(&run(&mut unrefreshed(&spec), &row_misses(&spec, 20_000)));
        assert_within_1_percent(&format!("{preset} tFAW"), got, bound);
        let got = steady_gb_s(&run(&mut sub_channel(&spec), &row_misses(&spec, 60_000)));
        assert_within_1_percent(&format!("{preset} tFAW, refresh"), got, bound * (1.0 - refresh_share(preset)));
    }
}

#[test]
fn the_hash_frees_a_stride_from_its_one_bank() {
    let plain = spec("DDR5-4800");
    let mut hashed = plain.clone();
    hashed.controller.address_map.hash.value = Hash::Row;
    let lines = Lines::new(&plain);
    let stride: Vec<_> = (0..4000).map(|row| read(lines.at(0, 0, 0, row, 0))).collect();
    let slow = steady_gb_s(&run(&mut unrefreshed(&plain), &stride));
    let fast = steady_gb_s(&run(&mut unrefreshed(&hashed), &stride));
    assert!(fast > 8.0 * slow, "{fast} against {slow} GB/s");
}

#[test]
fn a_ddr5_channel_is_two_sub_channels() {
    let lives = closed(&mut memory(&server("DDR5-4800")), 256, &sequential_reads(60_000));
    let bound = 38.4 * (1.0 - refresh_share("DDR5-4800"));
    let got = steady_gb_s(&lives);
    assert!((got / bound - 1.0).abs() < 0.02, "{got} of {bound}");
}

#[test]
fn latency_grows_with_load_and_is_never_below_a_row_hit_s() {
    let spec = server("DDR5-4800");
    let t = timing("DDR5-4800");
    let hit = lone("DDR5-4800").clock().edge(t.cl + t.burst);
    let mut last = 0.0;
    for in_flight in [1, 8, 32, 128] {
        let lives = closed(&mut memory(&spec), in_flight, &random_mix(20_000, 1 << 22, 1, 0));
        assert!(lives.iter().all(|life| life.latency() >= hit));
        let mean = lives.iter().map(|life| life.latency().as_ns()).sum::<f64>() / lives.len() as f64;
        assert!(mean > last, "{in_flight} in flight: {mean} after {last}");
        last = mean;
    }
}

fn map_spec() -> impl Strategy<Value = DetailedSpec> {
    let orders = Just(vec![Field::Group, Field::Bank, Field::Rank, Field::Column, Field::Row]).prop_shuffle();
    (0..variants().len(), orders, any::<bool>()).prop_map(|(variant, order, hashed)| {
        let mut spec = variants()[variant].clone();
        spec.controller.address_map.order.value = order;
        spec.controller.address_map.hash.value = if hashed { Hash::Row } else { Hash::Plain };
        spec
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_address_map_is_one_to_one_whatever_its_order_and_hash(
        spec in map_spec(), lines in prop::collection::hash_set(0u64..1 << 22, 2..400),
    ) {
        let mut dram = lone(spec.dram.name());
        dram.organisation.rows.value = 256; // small enough to be met often
        let map = cxlab_model::media::dram::AddressMap::new(&spec.controller.address_map, &dram, *spec.ranks).unwrap();
        let folded: std::collections::HashSet<u64> = lines.iter().map(|line| line % map.lines()).collect();
        let places: std::collections::HashSet<_> = folded.iter().map(|line| map.locate(*line)).collect();
        prop_assert_eq!(places.len(), folded.len());
        for place in places {
            let organisation = &dram.organisation;
            prop_assert!(place.to.rank < *spec.ranks && place.to.group < *organisation.bank_groups);
            prop_assert!(place.to.bank < *organisation.banks_per_group && place.row < *organisation.rows);
            prop_assert!(u64::from(place.column) < organisation.lines_per_row());
        }
    }

    #[test]
    fn whatever_the_controller_little_holds_and_no_bus_carries_more_than_its_peak(
        variant in 0..variants().len(), in_flight in 1usize..150, reads in 1u64..4,
    ) {
        let spec = variants()[variant].clone();
        let lives = run_at(&mut memory(&spec), in_flight, reads);
        let rate = steady_gb_s(&lives);
        let peak = spec.dram.dram().peak_bytes_per_second() as f64 / 1e9;
        prop_assert!(rate <= peak * 1.001, "{} of {}", rate, peak);
        let middle = &lives[lives.len() / 4..lives.len() * 3 / 4];
        let mean = middle.iter().map(|life| life.latency().as_ns()).sum::<f64>() / middle.len() as f64;
        let in_memory = rate / 64.0 * mean;
        prop_assert!((in_memory / in_flight as f64 - 1.0).abs() < 0.05, "{} of {}", in_memory, in_flight);
    }
}

fn run_at(memory: &mut Memory, in_flight: usize, reads: u64) -> Vec<Life> {
    closed(memory, in_flight, &random_mix(12_000, 1 << 20, reads, 0))
}

#[test]
fn what_cannot_be_is_refused_with_what_is_valid() {
    let refuse = |change: &dyn Fn(&mut DetailedSpec)| {
        let mut spec = spec("DDR4-3200");
        change(&mut spec);
        cxlab_model::media::dram::Detailed::new(&spec).unwrap_err().to_string()
    };
    assert!(refuse(&|spec| spec.controller.read_queue.value = 0).contains("`read_queue` is 0"));
    assert!(refuse(&|spec| spec.controller.write_high_mark.value = 65).contains("1 to write_queue"));
    assert!(refuse(&|spec| spec.controller.write_low_mark.value = 54).contains("less than write_high_mark"));
    assert!(refuse(&|spec| spec.controller.commands_per_turn.value = 0).contains("1 to 4096 commands"));
    assert!(refuse(&|spec| spec.controller.postponed_refreshes.value = 9).contains("8 (DDR4)"));
    assert!(refuse(&|spec| spec.ranks.value = 3).contains("1, 2 or 4"));
    assert!(refuse(&|spec| spec.channels.value = 0).contains("1 to 64"));
    assert!(refuse(&|spec| spec.controller.refresh.value = RefreshMode::SameBank).contains("choose `all_bank`"));
    let order = refuse(&|spec| spec.controller.address_map.order.value = vec![Field::Row, Field::Row]);
    assert!(order.contains("[row, row]") && order.contains("each of group, bank, rank, column, row once"), "{order}");
}
