//! The presets: physical invariants, and figures that the standards print.

use cxlab_kernel::Time;
use cxlab_model::document::shipped_file;
use cxlab_model::media::dram::{Clock, Cycles, Dram, Generation, Minimum};
use proptest::prelude::*;

use super::machine::{ALL, dram};

#[test]
fn what_physics_asks_of_any_dram_holds_for_every_preset() {
    for preset in ALL.iter() {
        let dram = dram(preset);
        let (t, spec) = (dram.cycles(), &dram.timing);
        assert!(spec.t_rc.time() >= spec.t_ras.time() + spec.t_rp.time(), "{preset} tRC");
        assert!(t.t_ras >= t.t_rcd + t.t_rtp, "{preset}: a row is open long enough to be read");
        assert!(t.t_rrd_l >= t.t_rrd_s && t.t_faw.0 >= 4 * t.t_rrd_s.0, "{preset} activates");
        assert!(t.t_ccd_l >= t.t_ccd_s && t.t_ccd_s == t.burst, "{preset}: groups are there to fill the bus");
        assert!(t.t_ccd_l_wr >= t.t_ccd_s_wr && t.t_wtr_l >= t.t_wtr_s, "{preset} writes");
        assert!(t.cl > t.cwl && t.t_rfc < t.t_refi && t.t_rp <= t.t_rfc, "{preset}");
        // 8192 refreshes in a retention time of 64 ms (DDR4), 32 ms (DDR5): JESD79-4, JESD79-5
        let retention = if dram.generation == Generation::Ddr4 { 64.0 } else { 32.0 };
        assert!(spec.t_refi.value.as_ns() * 8192.0 <= retention * 1e6, "{preset} tREFI");
    }
}

#[test]
fn the_cycles_are_those_that_speed_bins_are_named_by() {
    // CL-nRCD-nRP of the bin's name, nRAS, tFAW, tCCD_L, tRRD_L, tWTR_L, tWR, tRTP: JESD79-4C, JESD79-5B tables
    let expected = [
        ("DDR4-2400", [17, 17, 17, 39, 26, 6, 6, 9, 18, 9]),
        ("DDR4-3200", [22, 22, 22, 52, 34, 8, 8, 12, 24, 12]),
        ("DDR5-4400", [36, 36, 36, 71, 32, 11, 11, 22, 66, 17]),
        ("DDR5-4800", [40, 39, 39, 77, 32, 12, 12, 24, 72, 18]),
        ("DDR5-4800-x4", [40, 39, 39, 77, 32, 12, 12, 24, 72, 18]),
        ("DDR5-5600", [46, 45, 45, 90, 32, 14, 14, 28, 84, 21]),
    ];
    for (preset, cycles) in expected {
        let t = dram(preset).cycles();
        let got = [t.cl, t.t_rcd, t.t_rp, t.t_ras, t.t_faw, t.t_ccd_l, t.t_rrd_l, t.t_wtr_l, t.t_wr, t.t_rtp];
        assert_eq!(got.map(|cycles| cycles.0), cycles, "{preset}");
    }
}

#[test]
fn a_channel_carries_8_bytes_a_transfer() {
    for preset in ALL.iter() {
        // DDR5-4800-x4: megatransfers a second stand in the name.
        let rate: u64 = preset.split('-').nth(1).expect("a name says the rate").parse().unwrap();
        assert_eq!(dram(preset).peak_bytes_per_second(), rate * 8_000_000, "{preset}");
    }
}

#[test]
fn a_minimum_is_read_as_jedec_writes_it_and_written_so_again() {
    for text in ["8nCK", "5 ns", "max(8nCK, 5 ns)"] {
        assert_eq!(text.parse::<Minimum>().unwrap().to_string(), text);
    }
    for text in ["", "5", "8 cycles", "max(8nCK)x", "max(8nCK, 5ns, 3ns)", "max(5ns, 6ns)"] {
        assert!(text.parse::<Minimum>().is_err(), "{text}");
    }
}

proptest! {
    #[test]
    fn an_edge_is_the_first_cycle_from_its_own_time(preset in 0..ALL.len(), cycle in 0u64..1_000_000_000) {
        let clock = dram(&ALL[preset]).clock();
        prop_assert_eq!(clock.cycle_from(clock.edge(Cycles(cycle))), Cycles(cycle));
        let next = clock.edge(Cycles(cycle)) + Time::from_ps(1);
        prop_assert_eq!(clock.cycle_from(next), Cycles(cycle + 1));
    }

    #[test]
    fn edges_do_not_drift(rate in 1000u64..9000) {
        let clock = Clock::new(format!("{rate} MT/s").parse().unwrap());
        let second = clock.edge(Cycles(rate * 500_000)).as_ps();
        prop_assert!(second.abs_diff(1_000_000_000_000) <= 1);
    }
}

#[test]
fn a_part_that_cannot_be_is_refused_with_what_is_valid() {
    let text = shipped_file("dram/DDR5-4800.toml").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    let broken = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        std::fs::write(&file, text.replace(from, to)).unwrap();
        Dram::load(file.to_str().unwrap()).unwrap_err().to_string()
    };
    let error = broken("\"48ns\"", "\"47ns\"");
    assert!(error.contains("timing.tRC") && error.contains("tRAS + tRP"), "{error}");
    let error = broken("burst_length = { value = 16", "burst_length = { value = 8");
    assert!(error.contains("burst_length x width_bits = 512"), "{error}");
    let error = broken("tRCD = ", "tRCDx = ");
    assert!(error.contains("tRCDx") && error.contains("tRCD"), "{error}");
    let error = broken("tRP = { value = \"16ns\"", "tRP = { value = \"16\"");
    assert!(error.contains("dram.timing.tRP: `16`"), "{error}");
    assert!(error.contains("mine.toml:"), "{error}");
}

#[test]
fn a_new_part_is_one_file_that_says_what_differs() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("DDR5-6400.toml");
    let text = "name = \"mine\"\nbased_on = \"DDR5-5600\"\nrate = \"6400 MT/s\"\n";
    std::fs::write(&file, text).unwrap();
    let part = Dram::load(file.to_str().unwrap()).unwrap();
    assert_eq!(part.peak_bytes_per_second(), 6400 * 8_000_000);
    assert_eq!(part.timing, dram("DDR5-5600").timing);
}

#[test]
fn an_unknown_part_is_refused_with_the_known_ones() {
    let text = super::machine::spec_text().replace("DDR5-4800", "DDR5-4801");
    let error = toml::from_str::<cxlab_model::media::dram::DetailedSpec>(&text).unwrap_err().to_string();
    for part in ["DDR4-2400", "DDR4-3200", "DDR5-4400", "DDR5-4800", "DDR5-5600", "DDR5-4801"] {
        assert!(error.contains(part), "{error}");
    }
}
