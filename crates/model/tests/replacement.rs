//! A replacement policy sees the instruction that touches a line: the core tells it, through L1, to L2.

mod support;

use cxlab_model::cache::Replacement;
use cxlab_model::fact::Sourced;
use cxlab_model::feed::LineAccess;
use cxlab_model::summary::Summary;
use cxlab_model::{Machine, MachineSpec};
use support::{Script, load, machine_of, run_on};

/// From one line to the next of the same set: 2 MiB in 16 ways, 48 KiB in 12 (the host's file).
const L2_SET: u64 = (2 << 20) / 16;
const L1_SET: u64 = (48 << 10) / 12;
/// Lines in use: half of the ways of L2.
const LINES: u64 = 8;
/// Instructions.
const LOOP: u64 = 0x40_0000;
const SCAN: u64 = 0x40_0010;
const ELSEWHERE: u64 = 0x40_0020;

fn machine_with(policy: Replacement) -> Machine {
    let mut spec = MachineSpec::load("8468v-asic").unwrap();
    spec.host.prefetch.enabled = Sourced::new(false, "the test");
    spec.host.l2.replacement = Sourced::new(policy, "the test");
    machine_of(spec)
}

/// One load after the other, all by one instruction.
fn loads(script: &mut Script, place: u64, addresses: impl Iterator<Item = u64>) {
    for address in addresses {
        script.instruction(&[0x48, 0x8b, 0x00], &[LineAccess { place, ..load(address) }]);
    }
}

/// Hits in L2 of lines that are used, used again, and used after a scan of their set.
fn hits(policy: Replacement) -> u64 {
    let (machine, _) = run_on(machine_with(policy), |script| {
        for scanned in [0, 0, 1000] {
            loads(script, SCAN, (LINES..LINES + scanned).map(|line| line * L2_SET));
            // Lines of the same set of L1 and of others of L2: L1 forgets.
            loads(script, ELSEWHERE, (1..32).map(|line| line * L1_SET));
            loads(script, LOOP, (0..LINES).map(|line| line * L2_SET));
        }
    });
    let elsewhere = 2 * 31;
    Summary::of(&machine).core.l2_hits - elsewhere
}

#[test]
fn ship_knows_the_scan_of_l2_from_the_loop_by_its_instruction() {
    // The second use hits L2. The third does if the scan has not pushed the lines out. 1000 lines through 16 ways leave nothing
    // under LRU, nor under SRRIP. There, lines in use age three times in as many fills as there are other ways.
    assert_eq!(hits(Replacement::Lru), LINES);
    assert_eq!(hits(Replacement::Srrip), LINES);
    assert_eq!(hits(Replacement::Ship), 2 * LINES);
}
