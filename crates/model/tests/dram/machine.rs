//! Memories to test with, and their commands as text.

use std::sync::LazyLock;

use cxlab_kernel::Time;
use cxlab_model::document::{Kind, library};
use cxlab_model::media::dram::{Detailed, DetailedSpec, Dram, Field, Hash, Issued, PagePolicy, Part, RefreshMode};
use cxlab_model::media::{Memory, MemorySpec};

/// Two channels of 38.4 GB/s.
pub const COARSE: &str = r#"
    latency = { value = "80 ns", source = "test" }
    banks = { value = 32, source = "test" }
    bank_busy = { value = "48 ns", source = "test" }
    bandwidth = { value = "38.4 GB/s", source = "test" }
    channels = { value = 2, source = "test" }
    interleave = { value = "256 B", source = "test" }
"#;

pub fn coarse() -> Memory {
    Memory::new(&MemorySpec::Coarse(toml::from_str(COARSE).unwrap())).unwrap()
}

const SPEC: &str = r#"
    dram = { value = "DDR5-4800", source = "test" }
    channels = { value = 1, source = "test" }
    ranks = { value = 1, source = "test" }
    interleave = { value = "256 B", source = "test" }
    [controller]
    read_queue = { value = 64, source = "test" }
    write_queue = { value = 64, source = "test" }
    write_high_mark = { value = 54, source = "test" }
    write_low_mark = { value = 32, source = "test" }
    commands_per_turn = { value = 16, source = "test" }
    age_limit = { value = "2 us", source = "test" }
    page_policy = { value = "open", source = "test" }
    refresh = { value = "all_bank", source = "test" }
    postponed_refreshes = { value = 0, source = "test" }
    return_latency = { value = "0 ns", source = "test" }
    [controller.address_map]
    order = { value = ["group", "column", "bank", "rank", "row"], source = "test" }
    hash = { value = "plain", source = "test" }
"#;

/// The parts of `data/dram/`: a new file is tested without a line here.
pub static ALL: LazyLock<Vec<String>> = LazyLock::new(|| library::names(Kind::Dram));

pub fn dram(name: &str) -> Dram {
    Dram::load(name).unwrap()
}

pub fn spec(preset: &str) -> DetailedSpec {
    let mut spec: DetailedSpec = toml::from_str(SPEC).unwrap();
    spec.dram.value = Part::load(preset).unwrap();
    spec
}

pub fn spec_text() -> &'static str {
    SPEC
}

/// As servers are set up: rows hashed into banks, adaptive pages.
pub fn server(preset: &str) -> DetailedSpec {
    let mut spec = spec(preset);
    spec.controller.page_policy.value = PagePolicy::Adaptive;
    spec.controller.address_map.hash.value = Hash::Row;
    spec
}

pub fn memory(spec: &DetailedSpec) -> Memory {
    Memory::new(&MemorySpec::Detailed(Box::new(spec.clone()))).unwrap()
}

/// One sub-channel of `preset` alone, so that lines are its lines: the part without its other sub-channel.
pub fn sub_channel(spec: &DetailedSpec) -> Memory {
    let mut detailed = Detailed::with_dram(spec, &lone(spec.dram.value.name())).unwrap();
    detailed.keep_log();
    Memory::Detailed(detailed)
}

/// `preset` with one sub-channel a channel.
pub fn lone(preset: &str) -> Dram {
    let mut dram = Dram::load(preset).unwrap();
    dram.organisation.sub_channels.value = 1;
    dram
}

/// `preset` that need not be refreshed for a second.
pub fn unrefreshed(spec: &DetailedSpec) -> Memory {
    let mut dram = lone(spec.dram.value.name());
    dram.timing.t_refi.value = Time::from_ns(1_000_000_000);
    let mut detailed = Detailed::with_dram(spec, &dram).unwrap();
    detailed.keep_log();
    Memory::Detailed(detailed)
}

pub fn log(memory: &Memory) -> &[Issued] {
    match memory {
        Memory::Detailed(detailed) => detailed.log(0),
        other => panic!("only the detailed model of DRAM sends commands, not {other:?}"),
    }
}

/// The commands as one writes them: "ACT", "RD", ..
pub fn assert_commands(memory: &Memory, expected: &[&str]) {
    let commands: Vec<String> = log(memory).iter().map(|issued| issued.command.to_string()).collect();
    assert_eq!(commands, expected);
}

/// Lines of the sub-channel of `dram` by their parts, under the order that `SPEC` has.
pub struct Lines {
    groups: u64,
    columns: u64,
    banks: u64,
    ranks: u64,
}

impl Lines {
    pub fn new(spec: &DetailedSpec) -> Lines {
        let dram = spec.dram.dram();
        assert_eq!(
            *spec.controller.address_map.order,
            [Field::Group, Field::Column, Field::Bank, Field::Rank, Field::Row]
        );
        assert_eq!(*spec.controller.address_map.hash, Hash::Plain);
        let organisation = &dram.organisation;
        Lines {
            groups: u64::from(*organisation.bank_groups),
            columns: organisation.lines_per_row(),
            banks: u64::from(*organisation.banks_per_group),
            ranks: u64::from(*spec.ranks),
        }
    }

    pub fn at(&self, rank: u64, group: u64, bank: u64, row: u64, column: u64) -> u64 {
        (((row * self.ranks + rank) * self.banks + bank) * self.columns + column) * self.groups + group
    }
}

/// Every kind of controller that a file can ask for.
pub fn variants() -> Vec<DetailedSpec> {
    let mut variants = Vec::new();
    for preset in ALL.iter() {
        for policy in [PagePolicy::Open, PagePolicy::Closed, PagePolicy::Adaptive] {
            for refresh in [RefreshMode::AllBank, RefreshMode::SameBank] {
                if refresh == RefreshMode::SameBank && dram(preset).timing.same_bank_refresh.is_none() {
                    continue;
                }
                for ranks in [1, 2] {
                    let mut spec = spec(preset);
                    spec.controller.page_policy.value = policy;
                    spec.controller.refresh.value = refresh;
                    spec.controller.address_map.hash.value = Hash::Row;
                    spec.ranks.value = ranks;
                    spec.controller.postponed_refreshes.value = if ranks == 2 { 4 } else { 0 };
                    variants.push(spec);
                }
            }
        }
    }
    variants
}

/// Peak bandwidth of one sub-channel of `preset` `[GB/s]`.
pub fn peak_gb_s(preset: &str) -> f64 {
    lone(preset).peak_bytes_per_second() as f64 / 1e9
}
