//! Laws that every machine obeys.

mod support;

use cxlab_kernel::{Bytes, Time};
use cxlab_model::addr::Hpa;
use cxlab_model::config::machine_names;
use cxlab_model::fact::Sourced;
use cxlab_model::feed::Step;
use cxlab_model::summary::Summary;
use cxlab_model::{Machine, MachineSpec};
use proptest::prelude::*;
use support::{GIB, Script, machine_of, quiet, run, run_on, shuffled};

#[test]
fn independent_loads_overlap_as_far_as_the_fill_buffers_allow() {
    // Little's law: lines in flight = throughput x latency. 16 fill buffers are never exceeded. They are filled, because
    // nothing else is in the way: 1 channel of 38.4 GB/s could do 16 x 64 B / 130 ns = 7.9 GB/s.
    const COUNT: u64 = 20_000;
    let spec = MachineSpec::load("8468v-asic").unwrap();
    let buffers = f64::from(*spec.host.core.fill_buffers);
    for (node, base) in [("dram", 0), ("cxl", GIB)] {
        let (machine, times) = run("8468v-asic", |script| {
            for address in shuffled(base, GIB, COUNT) {
                script.independent_load(address);
            }
        });
        let summary = Summary::of(&machine);
        let stages = &summary.nodes[node].stages_ns;
        let in_flight_ns: f64 = stages.iter().filter(|(name, _)| *name != "fill_buffer").map(|(_, ns)| ns).sum();
        let in_flight = COUNT as f64 * in_flight_ns / times[0].as_ns();
        assert!(in_flight <= buffers * 1.0001, "{node}: {in_flight} lines in flight");
        assert!(in_flight > 0.97 * buffers, "{node}: only {in_flight} lines in flight");
    }
}

#[test]
fn a_core_never_does_more_than_its_ports_and_its_width() {
    // Golden Cove, by the cycle: six micro-operations, five of integers, three loads, one multiplication; and one
    // store that leaves its queue (data/hosts/xeon-8468v.toml).
    const COUNT: u64 = 60_000;
    type Write = fn(&mut Script, u64);
    let cases: [(&str, Write, f64); 6] = [
        ("nop", |script, _| _ = script.instruction(&[0x90], &[]), 6.0),
        ("integer", |script, _| _ = script.free_move(), 5.0),
        ("multiply", |script, _| _ = script.instruction(&[0x6b, 0xc1, 3], &[]), 1.0), // imul eax, ecx, 3
        ("load", |script, _| _ = script.independent_load(0), 3.0),
        ("store", |script, _| _ = script.store(0), 1.0), // one a cycle leaves the store queue
        ("read-modify-write", |script, word| _ = script.add_to_memory(word % 512 * 8), 1.0),
    ];
    for (what, write, limit) in cases {
        let (machine, times) = run("8468v-asic", |script| {
            (0..64).for_each(|line| _ = script.independent_load(line * 64));
            script.settle();
            for index in 0..COUNT {
                write(script, index);
            }
        });
        let ipc = COUNT as f64 / ((times[1] - times[0]).as_ns() * 3.8);
        assert!(ipc <= limit * 1.003, "{what}: {ipc}"); // 263 ps instead of 263.16 ps are 0.06 %
        assert!(ipc > limit * 0.97, "{what}: {ipc}");
        assert_eq!(Summary::of(&machine).instructions.user, COUNT + 64);
    }
}

#[test]
fn a_string_instruction_moves_a_line_in_a_micro_operation_and_counts_once() {
    // `rep movsb` over 4 KiB that L1 holds: 30 micro-operations to begin with, then a load and a store for each of
    // 64 lines. A store leaves the store queue each cycle: 64 cycles at least; at most the dispatch of all comes on top.
    let copy = |script: &mut Script| {
        let lines: Vec<_> =
            (0..64).flat_map(|line| [support::load(line * 64), support::store(8192 + line * 64)]).collect();
        script.instruction(&[0xf3, 0xa4], &lines);
    };
    let (machine, times) = run("8468v-asic", |script| {
        copy(script);
        script.settle();
        script.free_move();
        for _ in 0..100 {
            copy(script);
            script.free_move();
        }
    });
    let cycles = (times[1] - times[0]).as_ns() * 3.8 / 100.0;
    assert!((64.0..64.0 + 158.0 / 6.0).contains(&cycles), "{cycles}");
    assert_eq!(Summary::of(&machine).instructions.user, 202);
}

#[test]
fn a_chase_does_not_care_for_the_size_of_the_window() {
    let time = |rob: u32| {
        let mut spec = MachineSpec::load("8468v-asic").unwrap();
        spec.host.core.reorder_buffer.value = rob;
        let ranges = [cxlab_model::home::AddressRange { start: 0, length: GIB, node: 0 }];
        let mut machine = Machine::new(spec, 1, &ranges).unwrap();
        let mut script = Script::default();
        shuffled(0, GIB, 1_000).for_each(|address| {
            script.chase(address);
        });
        let mut feeds = [script];
        feeds[0].settle();
        machine.run(&mut feeds, |_| Ok(())).unwrap();
        feeds[0].clock_answers[0]
    };
    assert_eq!(time(16), time(512));
}

#[test]
fn stores_own_their_lines_and_write_them_back() {
    // Twice what L2 and LLC hold is stored to: all lines are read for ownership, and all but what the caches hold
    // return. The LLC is a sixteenth of the host's, for it to be full soon.
    const LINES: u64 = 1 << 18; // 16 MiB
    const SLICE: u64 = 120 << 10; // [B]
    let mut spec = quiet("8468v-asic");
    spec.host.llc.slice_capacity = Sourced::new(Bytes::new(SLICE), "the test");
    let (machine, times) = run_on(machine_of(spec), |script| {
        for line in 0..LINES {
            script.store(line * 64);
        }
    });
    let summary = Summary::of(&machine);
    let dram = &summary.nodes["dram"];
    // The last stores are committed and still in the store queue of 114.
    assert_eq!(dram.loads, 0);
    assert!((LINES - 114..=LINES).contains(&dram.stores), "{}", dram.stores);
    let held = (2 << 20) + 52 * SLICE; // L2 and LLC [B]; L1's lines are changed in L1
    let least = (LINES - 114) * 64 - held - (48 << 10);
    assert!(dram.write_bytes >= least && dram.write_bytes < LINES * 64, "{} of {least}", dram.write_bytes);
    let rate = (dram.read_bytes + dram.write_bytes) as f64 / times[0].as_ns();
    assert!(rate <= 38.4, "{rate} GB/s over a channel of 38.4 GB/s");
}

#[test]
fn idle_time_and_device_time_are_told_apart_from_work() {
    let (machine, times) = run("8468v-asic", |script| {
        script.chase(0).settle();
        script.step(Step::Idle { until: Time::from_ns(1_000) }).settle();
        script.step(Step::Device { service: Time::from_ns(500) }).settle();
        script.chase(64 << 10).settle();
    });
    assert_eq!(times[1], Time::from_ns(1_000));
    assert_eq!(times[2], Time::from_ns(1_500));
    assert!(times[3] > times[2]);
    let time = Summary::of(&machine).time;
    assert!((time.idle_s - (1e-6 - times[0].as_seconds())).abs() < 1e-15);
    assert!((time.io_s - 0.5e-6).abs() < 1e-15);
    assert!((time.busy_s + time.idle_s + time.io_s - Summary::of(&machine).simulated_seconds).abs() < 1e-15);
}

#[test]
fn a_branch_that_was_not_guessed_costs_its_refill_once_it_is_known() {
    const COUNT: u64 = 20_000;
    let run_branches = |chance: bool| {
        let mut coin = cxlab_kernel::Stream::new(1, "coin");
        let (machine, times) = run("8468v-asic", |script| {
            for _ in 0..COUNT {
                script.serial_add().branch(1, chance && coin.below(2) == 1);
            }
        });
        (Summary::of(&machine).core, times[0])
    };
    let ((guessed, fast), (chance, slow)) = (run_branches(false), run_branches(true));
    assert!(guessed.mispredictions < 10 && guessed.branches == COUNT);
    assert!((0.45..0.55).contains(&(chance.mispredictions as f64 / COUNT as f64)));
    // Each costs the 17 cycles of the host file, and what the additions would have overlapped.
    let cycles = (slow - fast).as_ns() * 3.8 / chance.mispredictions as f64;
    assert!((16.0..20.0).contains(&cycles), "{cycles} cycles a misprediction");
}

#[test]
fn a_branch_behind_a_miss_that_was_not_guessed_waits_for_it() {
    let time = |guessed: bool| {
        let (_, times) = run("8468v-asic", |script| {
            for _ in 0..100 {
                script.branch(1, false); // so that it is known not to be taken
            }
            script.settle().independent_load(GIB);
            script.instruction(&[0x48, 0x85, 0xc0], &[]).branch(1, !guessed); // test rax, rax
            for _ in 0..400 {
                script.serial_add();
            }
        });
        times[1] - times[0]
    };
    // 400 additions are 105.3 ns, behind the load and the refill of 4.5 ns. Or they are beside the load, and then only
    // retire behind it, eight a cycle, in 13.2 ns.
    let difference = (time(false) - time(true)).as_ns();
    assert!((95.0..98.0).contains(&difference), "{difference} ns");
}

/// A store waits for its line in CXL memory, 284 ns, while a thousand instructions pass. Whatever row of the window
/// a load of the same word has by then, it takes its data from the store queue.
#[test]
fn a_load_finds_a_store_whose_instruction_is_long_committed() {
    for between in 1000..1100 {
        let (machine, times) = run("8468v-asic", |script| {
            script.store(GIB);
            for _ in 0..between {
                script.free_move();
            }
            script.independent_load(GIB);
        });
        assert_eq!(machine.cores()[0].stats.forwarded.get(), 1, "{between} instructions between");
        assert!(times[0] < Time::from_ns(100), "{between} instructions between: {}", times[0]);
    }
}

#[test]
fn a_sum_kept_in_memory_pays_the_forwarding_every_time() {
    // Each addition loads what the one before stores: forwarding as fast as L1 (5 cycles) and a cycle to add.
    const COUNT: u64 = 10_000;
    let (machine, times) = run("8468v-asic", |script| {
        for _ in 0..COUNT {
            script.add_to_memory(4096);
        }
    });
    let first = MachineSpec::load("8468v-asic").unwrap().idle_latency(cxlab_model::request::NodeId(0)).as_ns();
    let cycles = (times[0].as_ns() - first) * 3.8 / COUNT as f64;
    assert!((cycles - 6.0).abs() < 0.1, "{cycles}");
    // And while its line is still under way: one request, whatever the number of stores.
    assert_eq!(Summary::of(&machine).nodes["dram"].read_bytes, 64);
    let (_, apart) = run("8468v-asic", |script| {
        for index in 0..COUNT {
            script.add_to_memory(4096 + index % 8 * 8);
        }
    });
    assert!(apart[0] < times[0], "sums in different words do not wait for each other");
}

#[test]
fn a_store_waits_for_its_line_longer_than_its_row_lives() {
    // The store to CXL memory is committed at once and waits 284 ns for its line. By then more instructions
    // than the window has rows (1,024) have gone by. A load takes its data from the queue all the same.
    let (_, times) = run("8468v-asic", |script| {
        script.store(GIB);
        for _ in 0..1_500 {
            script.free_move();
        }
        for _ in 0..600 {
            script.independent_load(GIB);
        }
    });
    assert!(times[0] < Time::from_ns(200), "{}: forwarded, not fetched", times[0]);
}

/// A line of a node; of the first node on a machine that has only one.
#[derive(Clone, Copy, Debug)]
struct Place {
    node: u64,
    offset: u64,
}

impl Place {
    fn address(self, nodes: usize) -> u64 {
        self.node % nodes as u64 * GIB + self.offset
    }
}

#[derive(Clone, Debug)]
enum Any {
    Chase(Place),
    Load(Place),
    Store(Place),
    Add,
    Move,
    Sync,
    SyncDrained,
    SyncOwning(Place),
    Settle,
}

fn any_step() -> impl Strategy<Value = Any> {
    let address = || (0u64..2, 0u64..4096).prop_map(|(node, line)| Place { node, offset: line * 64 * 37 });
    prop_oneof![
        address().prop_map(Any::Chase),
        address().prop_map(Any::Load),
        address().prop_map(Any::Store),
        Just(Any::Add),
        Just(Any::Move),
        Just(Any::Sync),
        Just(Any::SyncDrained),
        address().prop_map(Any::SyncOwning),
        Just(Any::Settle),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_program_ends_with_all_its_instructions_and_time_never_runs_back(
        steps in prop::collection::vec(any_step(), 1..2_000), which in 0usize..64
    ) {
        let names = machine_names();
        let name = &names[which % names.len()];
        let nodes = MachineSpec::load(name).unwrap().nodes.len();
        let (machine, times) = run(name, |script| {
            for step in &steps {
                match step {
                    Any::Chase(place) => script.chase(place.address(nodes)),
                    Any::Load(place) => script.independent_load(place.address(nodes)),
                    Any::Store(place) => script.store(place.address(nodes)),
                    Any::Add => script.serial_add(),
                    Any::Move => script.free_move(),
                    Any::Sync => script.step(Step::Sync { sequence: 1 }),
                    Any::SyncDrained => script.step(Step::SyncDrained { sequence: 1 }),
                    Any::SyncOwning(place) => {
                        let line = Hpa::new(place.address(nodes));
                        script.step(Step::SyncOwning { sequence: 1, line })
                    }
                    Any::Settle => script.settle(),
                };
            }
        });
        prop_assert!(times.is_sorted());
        let is_question = |step: &&Any| matches!(step, Any::Sync | Any::SyncDrained | Any::SyncOwning(_) | Any::Settle);
        let instructions = steps.len() - steps.iter().filter(is_question).count();
        prop_assert_eq!(Summary::of(&machine).instructions.user, instructions as u64);
    }
}

#[test]
fn a_question_for_what_has_committed_holds_up_nothing_that_needs_no_memory() {
    // Fewer than a reorder buffer has rows: all are dispatched while the load is under way.
    let ask = |question: Option<Step>| {
        let mut script = Script::default();
        script.chase(0);
        if let Some(question) = question {
            script.step(question);
        }
        (0..300).for_each(|_| {
            script.serial_add();
        });
        script.settle();
        let mut feeds = [script];
        support::machine("8468v-asic").run(&mut feeds, |_| Ok(())).unwrap();
        let [Script { sync_answers, clock_answers, .. }] = feeds;
        (sync_answers, clock_answers)
    };
    let (_, undisturbed) = ask(None);
    let (told, asked) = ask(Some(Step::SyncDrained { sequence: 1 }));
    let (_, settled) = ask(Some(Step::Settle { sequence: 1 }));
    assert_eq!(asked, undisturbed);
    // It is answered when the load has committed, as a clock read is. Behind that one, the additions begin then.
    assert_eq!(told, settled[..1]);
    assert!(settled[1] > undisturbed[0], "{settled:?} {undisturbed:?}");
}

#[test]
fn a_series_loses_nothing_but_resolution() {
    use cxlab_model::summary::Series;
    // 300,000 chased lines of 130 ns are 39 ms: 3,900 steps of 10 us, more than the 2,048 rows that there are.
    let mut script = Script::default();
    for address in shuffled(0, GIB, 300_000) {
        script.chase(address).step(Step::Sync { sequence: 1 });
    }
    let mut machine = support::machine("8468v-asic");
    let mut series = Series::new(&machine);
    machine
        .run(&mut [script], |machine| {
            series.look(machine);
            Ok(())
        })
        .unwrap();
    let table = series.to_json();
    let column = |name: &str| table[name].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect::<Vec<_>>();
    let (times, loads) = (column("time_s"), column("dram_loads"));
    assert!(times.is_sorted() && times.len() > 1_000 && times.len() <= 2_048, "{} rows", times.len());
    let counted: f64 = loads.iter().sum();
    // At the end the load queue's 192 are under way. The last interval of 20 us, 154 loads of 130 ns, is no row yet.
    assert!((300_000.0 - 192.0 - 155.0..=300_000.0).contains(&counted), "{counted}");
    assert_eq!(column("dram_read_bytes").iter().sum::<f64>(), 64.0 * counted);
    assert_eq!(column("cxl_loads").iter().sum::<f64>(), 0.0);
}

#[test]
fn the_tree_of_statistics_has_every_part_and_says_what_each_counts() {
    use cxlab_kernel::statistic::Value;
    use cxlab_model::summary::Part;
    let (machine, _) = run("8468v-asic", |script| {
        for address in shuffled(GIB, GIB, 100) {
            script.chase(address);
        }
    });
    let tree = Part::tree(&machine);
    let names: Vec<_> = tree.parts.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(names, ["core0", "home", "dram", "cxl"]);
    let port: Vec<_> = tree.parts[3].parts[1].parts.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(port[..4], ["root_port", "m2s", "device", "s2m"]);
    assert!(port.len() > 4 && port[4..].iter().all(|name| name.starts_with("channel")), "{port:?}");
    fn check(part: &Part) {
        for entry in &part.statistics {
            assert!(!entry.description.is_empty() && !matches!(entry.value, Value::Real(value) if !value.is_finite()));
        }
        part.parts.iter().for_each(check);
    }
    check(&tree);
    let loads = tree.parts[3].statistics.iter().find(|entry| entry.name == "loads").unwrap();
    assert_eq!(loads.value, Value::Count(100));
}

#[test]
fn a_timeline_shows_what_was_under_way_in_its_window_and_no_more() {
    use cxlab_model::machine::Timeline;
    // A chase in CXL memory: one request after the other, 284 ns each; a window of 2 us meets seven to nine of them.
    let mut script = Script::default();
    shuffled(GIB, GIB, 100).for_each(|address| _ = script.chase(address));
    script.settle();
    let mut machine = support::machine("8468v-asic");
    machine.keep_timeline(Timeline::new(Time::from_ns(5_000), Time::from_ns(7_000)).unwrap());
    machine.run(&mut [script], |_| Ok(())).unwrap();
    let json = machine.timeline().unwrap().to_json(machine.spec());
    let events = json["traceEvents"].as_array().unwrap();
    let times = |phase: &str, name: &str| {
        let right =
            |event: &&serde_json::Value| event["ph"] == phase && event["name"].as_str().unwrap().starts_with(name);
        events.iter().filter(right).map(|event| event["ts"].as_f64().unwrap()).collect::<Vec<_>>()
    };
    let (begun, ended) = (times("b", "Load"), times("e", "Load"));
    assert!((7..=9).contains(&begun.len()), "{}", begun.len());
    for (begin, end) in begun.iter().zip(&ended) {
        assert!(*begin <= 7.0 && *end >= 5.0, "{begin} to {end}");
    }
    let mean = begun.iter().zip(&ended).map(|(begin, end)| end - begin).sum::<f64>() / begun.len() as f64;
    assert!((mean - 0.284).abs() < 0.03, "{mean}");
    assert_eq!(times("b", "media").len(), begun.len());
    let samples = times("C", "core0 IPC");
    assert!(samples.len() > 10 && samples.iter().all(|at| (5.0..=7.0).contains(at)));
    assert!(Timeline::new(Time::from_ns(2), Time::from_ns(1)).is_err());
}
