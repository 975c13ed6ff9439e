//! Instructions that go past the caches or steer them: non-temporal stores, flushes, prefetch instructions, fences, locks.
//! Expected values are counts of bytes and sums of the host file's latencies.

mod support;

use cxlab_kernel::Time;
use cxlab_model::summary::Summary;
use cxlab_model::{Machine, MachineSpec};
use support::{GIB, Script, load, machine_of, quiet, run, run_on, shuffled, store};

const LINES: u64 = 1_000;
const MACHINE: &str = "8468v-asic";
/// 33 ns on an 8468V (data/hosts/xeon-8468v.toml).
const LLC_NS: f64 = 33.0;
/// CXL-DMSim, figure 10: DDR-L.
const DRAM_NS: f64 = 130.0;
/// tRP + tRCD of DDR5-4800B (JESD79-5B): what a load saves that finds its row open and no other.
const ROW_NS: f64 = 16.0 + 16.0;
/// CXL-DMSim, figure 10: CXL-ASIC.
const CXL_NS: f64 = 284.0;

/// 130 ns are the mean of a random chase (3 % calibrated); a single load finds its row open, or closed, or another.
fn is_load_of_dram(ns: f64) -> bool {
    (DRAM_NS * 0.97 - ROW_NS..DRAM_NS * 1.03).contains(&ns)
}

/// `vmovntdq [rcx], ymm0`.
fn store_half(script: &mut Script, address: u64) {
    script.instruction(&[0xc5, 0xfd, 0xe7, 0x01], &[store(address)]);
}

/// `movnti [rcx], rdx`.
fn store_word(script: &mut Script, address: u64) {
    script.instruction(&[0x48, 0x0f, 0xc3, 0x11], &[store(address)]);
}

fn sfence(script: &mut Script) {
    script.instruction(&[0x0f, 0xae, 0xf8], &[]);
}

/// Later stores wait for it, and so does this instruction.
fn mfence(script: &mut Script) {
    script.instruction(&[0x0f, 0xae, 0xf0], &[]);
}

fn clflush(script: &mut Script, address: u64) {
    script.instruction(&[0x0f, 0xae, 0x39], &[store(address)]); // clflush [rcx]
}

fn clwb(script: &mut Script, address: u64) {
    script.instruction(&[0x66, 0x0f, 0xae, 0x31], &[store(address)]); // clwb [rcx]
}

/// Bytes read from and written to the two nodes.
fn traffic(machine: &Machine) -> [(u64, u64); 2] {
    let summary = Summary::of(machine);
    ["dram", "cxl"].map(|node| (summary.nodes[node].read_bytes, summary.nodes[node].write_bytes))
}

/// The memories have time to write: a fence, and loads that miss.
fn let_finish(script: &mut Script) {
    mfence(script);
    shuffled(GIB / 2, GIB / 4, 20).for_each(|address| {
        script.chase(address);
    });
}

#[test]
fn whole_lines_are_written_and_never_read() {
    for (base, node) in [(0, 0), (GIB, 1)] {
        let (machine, _) = run(MACHINE, |script| {
            for line in 0..LINES {
                store_half(script, base + line * 64);
                store_half(script, base + line * 64 + 32);
            }
            let_finish(script);
        });
        let (read, written) = traffic(&machine)[node];
        let loads = if node == 0 { 20 * 64 } else { 0 };
        assert_eq!((read, written), (loads, LINES * 64));
        assert_eq!(machine.cores()[0].stats.combined_lines.get(), LINES);
    }
}

#[test]
fn a_part_of_a_line_is_read_by_its_memory_and_written_whole() {
    // A memory of 64 B lines merges a part: CAS_COUNT.RD_UNDERFILL of Intel's uncore manuals, MemWrPtl of CXL 3.0.
    for (base, node) in [(0, 0), (GIB, 1)] {
        let (machine, _) = run(MACHINE, |script| {
            for line in 0..LINES {
                store_word(script, base + line * 64);
            }
            let_finish(script);
        });
        let (read, written) = traffic(&machine)[node];
        let loads = if node == 0 { 20 * 64 } else { 0 };
        assert_eq!((read, written), (loads + LINES * 64, LINES * 64));
        assert_eq!(machine.cores()[0].stats.partial_lines.get(), LINES);
    }
}

#[test]
fn words_of_a_line_gather_in_any_order_and_across_as_many_lines_as_there_are_buffers() {
    let buffers = u64::from(*MachineSpec::load(MACHINE).unwrap().host.core.write_combining_buffers);
    for (lines, combined, partial) in [(buffers, buffers, 0), (buffers + 1, 0, 8 * (buffers + 1))] {
        let (machine, _) = run(MACHINE, |script| {
            for word in 0..8 {
                for line in 0..lines {
                    store_word(script, line * 64 + (7 - word) * 8);
                }
            }
            mfence(script);
        });
        let stats = &machine.cores()[0].stats;
        assert_eq!((stats.combined_lines.get(), stats.partial_lines.get()), (combined, partial));
    }
}

#[test]
fn a_line_that_was_cached_is_no_longer() {
    let (machine, _) = run(MACHINE, |script| {
        for line in 0..LINES {
            script.store(line * 64);
        }
        mfence(script);
        for line in 0..LINES {
            store_half(script, line * 64);
            store_half(script, line * 64 + 32);
        }
        mfence(script);
        for line in 0..LINES {
            script.independent_load(line * 64);
        }
    });
    // Owned, written past the caches, read again; what the stores had changed is overwritten and goes nowhere.
    assert_eq!(traffic(&machine)[0], (2 * LINES * 64, LINES * 64));
}

/// All slices of the LLC at one place: a line is at one of them, and the host file has their mean.
fn run_flat(write: impl FnOnce(&mut Script)) -> (Machine, Vec<Time>) {
    run_flat_on(MACHINE, write)
}

fn run_flat_on(machine: &str, write: impl FnOnce(&mut Script)) -> (Machine, Vec<Time>) {
    let mut spec = quiet(machine);
    (spec.host.mesh.hop_across.value, spec.host.mesh.hop_along.value) = (Time::ZERO, Time::ZERO);
    run_on(machine_of(spec), write)
}

#[test]
fn a_fence_waits_for_what_gathers_and_an_sfence_holds_stores_back_only() {
    let time = |fence: fn(&mut Script)| {
        let (_, times) = run_flat(|script| {
            store_word(script, 0);
            fence(script);
            script.free_move().settle();
        });
        times[0].as_ns()
    };
    assert!(time(sfence) < 5.0);
    // To the home agent and back, as an LLC hit, then mfence's own 33 cycles.
    let expected = LLC_NS + 33.0 / 3.8;
    assert!((time(mfence) - expected).abs() < 3.0, "{} of {expected}", time(mfence));
}

#[test]
fn what_goes_to_the_other_socket_is_acknowledged_by_the_home_agent_there() {
    const REMOTE: &str = "8468v-remote";
    let link = MachineSpec::load(REMOTE).unwrap().socket_link.unwrap();
    let mesh = MachineSpec::load(REMOTE).unwrap().host.mesh;
    let round = *mesh.home_to_memory + *link.flight + link.serialise(*link.data) + *link.coherence_check;
    let back = link.serialise(*link.request) + *link.flight + *mesh.home_to_memory;
    let expected = LLC_NS + (round + back).as_ns() + 33.0 / 3.8;
    let writes: [fn(&mut Script); 2] = [|script| store_word(script, GIB), |script| clflush(script, 2 * GIB - 64)];
    for write in writes {
        let (_, times) = run_flat_on(REMOTE, |script| {
            script.store(2 * GIB - 64);
            mfence(script);
            script.settle();
            write(script);
            mfence(script);
            script.free_move().settle();
        });
        let taken = (times[1] - times[0]).as_ns();
        assert!((taken - expected).abs() < 3.0, "{taken} of {expected}");
    }
}

#[test]
fn a_flushed_line_comes_from_memory_again() {
    let (machine, times) = run_flat(|script| {
        script.chase(0).settle();
        clflush(script, 0);
        mfence(script);
        script.settle().chase(0).settle();
    });
    assert_eq!(traffic(&machine)[0], (2 * 64, 0), "it was not changed");
    assert!(is_load_of_dram((times[2] - times[1]).as_ns()), "{}", times[2] - times[1]);
}

#[test]
fn a_changed_line_is_written_by_a_flush_and_by_a_clwb_which_keeps_it() {
    for (keeps, reads) in [(false, 2), (true, 1)] {
        let (machine, _) = run(MACHINE, |script| {
            for line in 0..LINES {
                script.store(line * 64);
            }
            mfence(script);
            for line in 0..LINES {
                if keeps { clwb(script, line * 64) } else { clflush(script, line * 64) }
            }
            mfence(script);
            for line in 0..LINES {
                script.independent_load(line * 64);
            }
        });
        assert_eq!(traffic(&machine)[0], (reads * LINES * 64, LINES * 64), "keeps: {keeps}");
    }
}

#[test]
fn a_flush_waits_for_the_line_that_the_store_ahead_of_it_has_asked_for() {
    // Intel SDM vol. 2, CLFLUSH and CLWB: ordered behind older stores to their line.
    for (keeps, reads) in [(false, 2), (true, 1)] {
        let (machine, _) = run(MACHINE, |script| {
            for line in 0..LINES {
                script.store(line * 64);
                if keeps { clwb(script, line * 64) } else { clflush(script, line * 64) }
            }
            mfence(script);
            for line in 0..LINES {
                script.independent_load(line * 64);
            }
        });
        assert_eq!(traffic(&machine)[0], (reads * LINES * 64, LINES * 64), "keeps: {keeps}");
    }
}

#[test]
fn nobody_waits_for_a_prefetch_and_its_line_is_there() {
    let prefetch = |script: &mut Script, address: u64| {
        script.instruction(&[0x0f, 0x18, 0x09], &[load(address)]); // prefetcht0 [rcx]
    };
    let (machine, times) = run(MACHINE, |script| {
        prefetch(script, GIB);
        script.settle().step(cxlab_model::feed::Step::Delay { span: cxlab_kernel::Time::from_ns(300) });
        script.settle().chase(GIB).settle();
    });
    assert!(times[0].as_ns() < 5.0, "{}", times[0]);
    assert!(((times[2] - times[1]).as_ns() - 5.0 / 3.8).abs() < 1.0, "an L1 hit");
    assert_eq!(traffic(&machine)[1], (64, 0));
}

#[test]
fn a_locked_instruction_waits_for_the_stores_ahead_and_holds_the_loads_behind() {
    let add = |script: &mut Script, locked: bool| {
        let bytes: &[u8] = if locked { &[0xf0, 0x48, 0x01, 0x11] } else { &[0x48, 0x01, 0x11] };
        script.instruction(bytes, &[load(4096), store(4096)]);
    };
    let time = |locked: bool| {
        let (_, times) = run(MACHINE, |script| {
            script.independent_load(4096).settle().store(GIB);
            add(script, locked);
            script.independent_load(2 * 4096).settle();
        });
        (times[1] - times[0]).as_ns()
    };
    // Unlocked, the load alone is waited for; locked, first the store's line from CXL memory, then 18 cycles.
    assert!(is_load_of_dram(time(false)), "{}", time(false));
    let store = CXL_NS + 18.0 / 3.8;
    assert!(is_load_of_dram(time(true) - store), "{} behind {store}", time(true));
}

#[test]
fn what_needs_no_memory_goes_on_behind_a_locked_instruction() {
    // 300 dependent additions of a cycle each, behind a store that leaves after 284 ns: fewer rows than the window's 512.
    const ADDITIONS: u64 = 300;
    let time = |lock: bool, additions: u64| {
        let (_, times) = run(MACHINE, |script| {
            script.independent_load(4096).settle().store(GIB);
            if lock {
                script.instruction(&[0xf0, 0x48, 0x01, 0x11], &[load(4096), store(4096)]); // lock add [rcx], rdx
            }
            for _ in 0..additions {
                script.instruction(&[0x48, 0x83, 0xc3, 0x01], &[]); // add rbx, 1
            }
            script.settle();
        });
        (times[1] - times[0]).as_ns()
    };
    let cycles = |ns: f64| ns * 3.8;
    let alone = cycles(time(false, ADDITIONS));
    // A cycle of 3.8 GHz is rounded to a picosecond.
    assert!(alone > 0.99 * ADDITIONS as f64, "{alone}");
    let behind = cycles(time(true, ADDITIONS) - time(true, 0));
    // At the end 300 rows commit, eight a cycle.
    assert!(behind < 2.0 * ADDITIONS as f64 / 8.0, "{behind} cycles more for {ADDITIONS} additions");
}

#[test]
fn a_system_call_waits_for_loads_and_not_for_stores_and_swapgs_for_neither() {
    const CPUID: &[u8] = &[0x0f, 0xa2];
    const SYSCALL: &[u8] = &[0x0f, 0x05];
    const SWAPGS: &[u8] = &[0x0f, 0x01, 0xf8];
    let time = |ahead: fn(&mut Script, u64) -> &mut Script, bytes: &[u8]| {
        let (_, times) = run(MACHINE, |script| {
            script.independent_load(4096).settle();
            ahead(script, GIB).instruction(bytes, &[]);
            script.independent_load(2 * 4096).settle();
        });
        (times[1] - times[0]).as_ns()
    };
    // uops.info, Alder Lake-P: CPUID takes 100 cycles, order of magnitude; the others as long here.
    let itself = 100.0 / 3.8;
    // Intel SDM vol. 3, 8.3: CPUID waits until the store's line is there; vol. 2, SYSCALL: it does not.
    assert!(is_load_of_dram(time(Script::store, CPUID) - CXL_NS - itself), "{}", time(Script::store, CPUID));
    assert!(is_load_of_dram(time(Script::store, SYSCALL) - itself), "{}", time(Script::store, SYSCALL));
    // The load behind begins when the one ahead has ended, or beside it. Each of the two may find its row open.
    let behind = time(Script::independent_load, SYSCALL) - CXL_NS - itself;
    assert!(is_load_of_dram(behind) || is_load_of_dram(behind + ROW_NS), "{behind}");
    assert!(time(Script::independent_load, SWAPGS) < CXL_NS + itself, "{}", time(Script::independent_load, SWAPGS));
}

#[test]
fn locked_additions_in_a_row_take_their_latency_each() {
    // uops.info, Alder Lake-P: LOCK ADD m64, r64 every 18 cycles; here the dispatch behind its store adds one or two.
    const COUNT: u64 = 1_000;
    let (_, times) = run(MACHINE, |script| {
        script.independent_load(4096).settle();
        for _ in 0..COUNT {
            script.instruction(&[0xf0, 0x48, 0x01, 0x11], &[load(4096), store(4096)]);
        }
    });
    let cycles = (times[1] - times[0]).as_ns() * 3.8 / COUNT as f64;
    assert!((18.0..20.5).contains(&cycles), "{cycles}");
}

#[test]
fn an_operand_that_is_not_touched_asks_for_nothing() {
    let (machine, _) = run(MACHINE, |script| {
        // As many rows as leave nothing of the first in the window.
        for line in 0..4 * LINES {
            script.independent_load(line * 64);
        }
        script.chase(GIB);
        script.instruction(&[0x48, 0x89, 0xc7], &[]); // mov rdi, rax: behind the load
        script.instruction(&[0xf3, 0xaa], &[]); // rep stosb of no byte
        script.settle();
    });
    assert_eq!(traffic(&machine)[..2], [(4 * LINES * 64, 0), (64, 0)]);
}
