//! The counters that a placement controller reads: what one chase costs, as the machine's own sources have it.

mod support;

use cxlab_access::Marker;
use cxlab_model::Machine;
use cxlab_model::feed::Step;
use cxlab_model::summary::{Counters, Sample};
use support::{GIB, Script, machine, shuffled};

const LOADS: u64 = 20_000;

/// A chase in each place, one after the other, and a reading behind each.
fn readings(name: &str, bases: &[u64]) -> Vec<Sample> {
    let mut script = Script::default();
    for base in bases {
        for address in shuffled(*base, GIB, LOADS) {
            script.chase(address);
        }
        script.settle().step(Step::Mark { marker: Marker::Counters });
    }
    let (mut machine, mut counters, mut samples) = (machine(name), Counters::default(), Vec::new());
    let look = |machine: &Machine| {
        // A settle is an answer, too.
        if machine.cores()[0].stats.counter_reads.get() > samples.len() as u64 {
            samples.push(counters.read(machine));
        }
        Ok(())
    };
    machine.run(&mut [script], look).unwrap_or_else(|error| panic!("{error}"));
    samples
}

/// One order of the lines is up to 1.7 % off the mean (latency.rs): of the 97 ns behind the home agent, 2.3 %.
fn about(found: Option<f64>, wanted: f64) -> bool {
    found.is_some_and(|found| (found / wanted - 1.0).abs() < 0.023)
}

/// Time that these chases save by their physical addresses: the second TLB, 7 cycles at 3.8 GHz.
const SECOND_TLB_NS: f64 = 7.0 / 3.8;
const DRAM_NS: f64 = 130.0 - SECOND_TLB_NS;
const CXL_NS: f64 = 284.0 - SECOND_TLB_NS;

/// A load takes 130 ns to use, of which 33 ns lie before and behind the home agent (8468v: the LLC's latency). A load is one
/// instruction. The time-stamp counter runs at 2.4 GHz.
#[test]
fn a_chase_in_dram_is_counted_as_silicon_counts_it() {
    let samples = readings("8468v-asic", &[0]);
    let [sample] = samples[..] else { panic!("one reading: {samples:?}") };
    assert!(about(sample.l1_miss_latency_ns, DRAM_NS), "{sample:?}");
    assert!(about(sample.ddr_read_latency_ns, DRAM_NS - 33.0), "{sample:?}");
    assert!(about(Some(sample.throughput), 1e3 / DRAM_NS), "{sample:?}");
    assert!(about(Some(sample.norm_ipc), 1.0 / (DRAM_NS * 2.4)), "{sample:?}");
    assert_eq!((sample.cxl_read_latency_ns, sample.cxl_read_bandwidth_gb_s), (None, 0.0));
}

/// 284 ns load to use on the ASIC, a line of 64 B at a time. Nothing of the chase in DRAM before is left in the reading.
#[test]
fn a_reading_is_of_the_time_since_the_one_before() {
    let samples = readings("8468v-asic", &[0, GIB]);
    let [dram, cxl] = samples[..] else { panic!("two readings: {samples:?}") };
    assert!(about(cxl.l1_miss_latency_ns, CXL_NS), "{cxl:?}");
    assert!(about(cxl.cxl_read_latency_ns, CXL_NS - 33.0), "{cxl:?}");
    assert!(about(Some(cxl.cxl_read_bandwidth_gb_s), 64.0 / CXL_NS), "{cxl:?}");
    assert_eq!(cxl.ddr_read_latency_ns, None);
    assert!(about(Some(cxl.time_s - dram.time_s), LOADS as f64 * CXL_NS * 1e-9), "{cxl:?}");
}
