//! How much of its peak each part delivers: `cargo run --release -p cxlab-model --example dram_peaks`.

use cxlab_kernel::Time;
use cxlab_model::media::Memory;
use cxlab_model::media::dram::{DetailedSpec, RefreshMode};
use cxlab_model::mem::AccessKind;

#[path = "../tests/dram/harness.rs"]
#[allow(dead_code)] // the tests use all of it
mod harness;
#[path = "../tests/dram/machine.rs"]
#[allow(dead_code)]
mod machine;

use harness::{closed, random_mix, sequential_mix, steady_gb_s};

const LINES: u64 = 1 << 24;

type Stream = Vec<(u64, AccessKind)>;

fn main() {
    println!("idle read [ns], and share of the peak delivered with 512 in flight a channel [%]:");
    println!(
        "{:<14}{:<11}{:>6} |{:>8}{:>8}{:>8} |{:>8}{:>8}{:>8}",
        "part", "refresh", "idle", "seq R", "seq 2:1", "seq 1:1", "ran R", "ran 2:1", "ran 1:1"
    );
    for preset in machine::ALL.iter() {
        for refresh in [RefreshMode::AllBank, RefreshMode::SameBank] {
            let mut spec = machine::server(preset);
            spec.controller.refresh.value = refresh;
            let Ok(_) = cxlab_model::media::dram::Detailed::new(&spec) else { continue };
            let idle = harness::open(&mut machine::memory(&spec), &[(Time::ZERO, harness::read(0))])[0].latency();
            print!("{:<14}{:<11}{:>6.1} |", preset, format!("{refresh:?}"), idle.as_ns());
            let mixes: [&dyn Fn(u64, u64) -> Stream; 2] =
                [&|r, w| sequential_mix(400_000, r, w), &|r, w| random_mix(400_000, LINES, r, w)];
            for (index, mix) in mixes.iter().enumerate() {
                for (reads, writes) in [(1, 0), (2, 1), (1, 1)] {
                    print!("{:>8.1}", 100.0 * efficiency(&spec, &mix(reads, writes)));
                }
                print!("{}", if index == 0 { " |" } else { "\n" });
            }
        }
    }
}

fn efficiency(spec: &DetailedSpec, stream: &Stream) -> f64 {
    let mut memory: Memory = machine::memory(spec);
    let lives = closed(&mut memory, 512, stream);
    steady_gb_s(&lives) / (spec.dram.dram().peak_bytes_per_second() as f64 / 1e9)
}
