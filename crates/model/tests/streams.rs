//! What a guest's stream tells of a sampled run, record by record.

mod support;

use std::collections::VecDeque;

use cxlab_access::record::{MemoryAccess, RECORD_BYTES, Words};
use cxlab_access::ring::{Behind, Reply};
use cxlab_access::{BlockId, Phase, Record, Vcpu};
use cxlab_model::error::ModelError;
use cxlab_model::session::{Guest, RecordSource};
use cxlab_model::summary::Summary;
use support::machine;

/// Records, then nothing.
#[derive(Default)]
struct Told(VecDeque<Words>);

impl Told {
    fn tell(&mut self, record: Record) {
        self.0.push_back(record.encode(Vcpu::default()));
    }

    /// A block of instructions at `pc`.
    fn define(&mut self, block: u32, pc: u64, code: &[u8]) {
        self.tell(Record::Define { block: BlockId(block), pc, length: code.len() as u16 });
        for chunk in code.chunks(RECORD_BYTES) {
            let mut bytes = [0; RECORD_BYTES];
            bytes[..chunk.len()].copy_from_slice(chunk);
            let both = u128::from_le_bytes(bytes);
            self.0.push_back([both as u64, (both >> 64) as u64]);
        }
    }

    fn execute(&mut self, block: u32, times: u32) {
        (0..times).for_each(|_| self.tell(Record::Block { block: BlockId(block), from: 0 }));
    }
}

impl RecordSource for Told {
    fn words(&mut self) -> Result<Option<Words>, ModelError> {
        Ok(self.0.pop_front())
    }

    fn words_at_hand(&mut self) -> Result<Option<Words>, ModelError> {
        self.words()
    }

    fn answer_sync(&mut self, _vcpu: Vcpu, _sequence: u64, _ps: u64) -> Result<(), ModelError> {
        Ok(())
    }

    fn answer_clock(&mut self, _sequence: u64, _ps: u64) -> Result<(), ModelError> {
        Ok(())
    }

    fn put_off(&mut self, _reply: Reply, _sequence: u64, _behind: Behind) {}

    fn is_recorded_elsewhere(&self) -> bool {
        false
    }
}

/// What the model makes of it.
fn sampled(told: Told) -> Summary {
    let mut machine = machine("8468v-asic");
    let mut guest = Guest::new(told, 1);
    guest.run(&mut machine, |_| Ok(())).unwrap();
    guest.sampled(&machine).unwrap().0
}

#[test]
fn a_phase_may_begin_within_an_instruction_that_repeats() {
    let mut told = Told::default();
    // Two adds and `rep lodsb`, of which eight lines are left.
    told.define(0, 0x40_0000, &[0x48, 0x01, 0xdb, 0x48, 0x01, 0xdb, 0xf3, 0xac]);
    told.tell(Record::Sample { phase: Phase::Measured, position: 0, idle_ps: 0 });
    told.tell(Record::Block { block: BlockId(0), from: 2 });
    for line in 0..8 {
        let physical = 0x10_0000 + line * 64;
        let load = MemoryAccess { instruction: 2, size_log2: 0, store: false, physical, page: None, device: false };
        told.tell(Record::Access(load));
    }
    told.tell(Record::Settle { sequence: 1 });
    told.tell(Record::Sample { phase: Phase::Detailed, position: 8 * 16, idle_ps: 0 });
    told.tell(Record::End);
    let summary = sampled(told);
    assert_eq!((summary.instructions.user, summary.nodes["dram"].loads), (1, 8), "the adds were executed before");
}

#[test]
fn a_run_that_breaks_off_has_the_time_of_all_that_was_executed() {
    const SERIAL_ADDS: u32 = 10;
    let mut told = Told::default();
    told.define(0, 0x40_0000, &[0x48, 0x01, 0xdb].repeat(SERIAL_ADDS as usize));
    told.tell(Record::Sample { phase: Phase::Measured, position: 0, idle_ps: 0 });
    told.execute(0, 1000);
    told.tell(Record::Sample { phase: Phase::Warming, position: 10_000, idle_ps: 0 });
    told.execute(0, 19_000);
    let summary = sampled(told);
    // Each add waits for the one before: a cycle each, at the 8468V's 3.8 GHz.
    let wanted = f64::from(20_000 * SERIAL_ADDS) / 3.8e9;
    assert_eq!(summary.instructions.user, 200_000);
    assert!((summary.simulated_seconds / wanted - 1.0).abs() < 0.01, "{} s, {wanted} s", summary.simulated_seconds);
}
