//! The table of requests of each slice: what takes an entry, for how long, and who waits. Expected times are sums of the
//! host file's latencies.

mod support;

use std::sync::LazyLock;

use cxlab_kernel::{Bytes, Time};
use cxlab_model::addr::Hpa;
use cxlab_model::cache::{SliceHash, SliceId};
use cxlab_model::fact::Sourced;
use cxlab_model::feed::Step;
use cxlab_model::home::{AddressRange, Mesh};
use cxlab_model::request::CoreId;
use cxlab_model::{Machine, MachineSpec};
use support::{GIB, Script, machine_of, run_on, store};

const MACHINE: &str = "8468v-asic";

/// One entry in the table of each slice, without shares.
fn spec() -> MachineSpec {
    let mut spec = MachineSpec::load(MACHINE).unwrap();
    spec.host.prefetch.enabled = Sourced::new(false, "the test");
    spec.host.home.requests = Sourced::new(1, "the test");
    spec.host.home.requests_of_core = None;
    spec
}

fn machine() -> Machine {
    machine_of(spec())
}

fn slice_of(address: u64) -> SliceId {
    static HASH: LazyLock<SliceHash> = LazyLock::new(|| SliceHash::new(&spec().host.llc, 1));
    HASH.slice(Hpa::new(address), None)
}

/// Lines from `base` on whose slice passes, a page or more apart.
fn lines(base: u64, passes: impl Fn(SliceId) -> bool) -> impl Iterator<Item = u64> {
    (0..).map(move |number| base + number * 4160).filter(move |address| passes(slice_of(*address)))
}

/// Independent loads of these lines: when the last is there.
fn time_of(machine: Machine, addresses: &[u64]) -> Time {
    let (_, settled) = run_on(machine, |script: &mut Script| {
        for address in addresses {
            script.independent_load(*address);
        }
    });
    settled[0]
}

/// From the core to the slice, and back.
fn ways(slice: SliceId) -> (Time, Time) {
    let mesh = Mesh::new(&spec().floorplan()).unwrap();
    (mesh.to_home(CoreId(0), slice), mesh.to_core(CoreId(0), slice))
}

#[test]
fn lines_of_one_slice_wait_for_its_entry_and_those_of_others_do_not() {
    // Of a miss to DDR the entry is held for all but the way to the slice.
    let one = time_of(machine(), &[0]);
    let held = one - ways(slice_of(0)).0;
    let same: Vec<u64> = lines(0, |slice| slice == slice_of(0)).take(8).collect();
    let apart: Vec<u64> = (0..8).map(|wanted| lines(0, |slice| slice.0 == wanted * 5).next().unwrap()).collect();
    // A row that has to be opened or closed makes one of them slower by tRP + tRCD (JESD79-5B) at most, or as much faster.
    let (same, apart) = (time_of(machine(), &same), time_of(machine(), &apart));
    assert!(same.as_ns() > one.as_ns() + 7.0 * (held.as_ns() - 32.0), "{same}, one {one}");
    assert!(apart.as_ns() < one.as_ns() + 2.0 * 32.0, "{apart}, one {one}");
}

#[test]
fn lines_of_ddr_and_of_cxl_memory_share_the_table_of_their_slice() {
    let cxl = GIB;
    let slice = slice_of(cxl);
    let beside = lines(0, |other| other == slice).next().unwrap();
    let elsewhere = lines(0, |other| other != slice).next().unwrap();
    let [shared, apart] = [beside, elsewhere].map(|ddr| time_of(machine(), &[cxl, ddr]));
    // The load of DDR is behind that of CXL memory, or beside it: then that of CXL memory is the last.
    let alone = time_of(machine(), &[cxl]);
    let ddr = time_of(machine(), &[elsewhere]);
    assert!((apart.as_ns() - alone.as_ns()).abs() < 5.0, "{apart}, {alone}");
    assert!(shared.as_ns() > (alone + ddr).as_ns() - ways(slice).0.as_ns() - 32.0, "{shared}: {alone} and {ddr}");
}

#[test]
fn a_hit_of_the_llc_holds_its_entry_until_the_core_has_the_line() {
    const HITS: usize = 12;
    let slice = slice_of(0);
    let same: Vec<u64> = lines(0, |other| other == slice).take(HITS).collect();
    let mut machine = machine();
    for address in &same {
        machine.warm_llc(Hpa::new(*address), false);
    }
    let (to_home, to_core) = ways(slice);
    let wanted = to_home + to_core * HITS as u64;
    let found = time_of(machine, &same);
    // Dispatch and the page walk of the first line come on top: less than one way.
    assert!(found >= wanted && found < wanted + to_core, "{found}, {wanted}");
}

#[test]
fn a_victim_of_l2_holds_an_entry_of_its_slice_until_it_is_pulled() {
    // 17 lines of one set of L2 (2 MiB, 16 ways: CXL-DMSim table I). The last one, a hit of the LLC, has the first leave. Another
    // hit needs the last line's data. It is at its slice when the pull leaves for the core. The way to the core is left. Of
    // another slice it would not wait.
    const SET: u64 = (2 << 20) / 16;
    let next = GIB / 2;
    let [waits, passes] = [true, false].map(|same| {
        let fits = |set: &u64| (slice_of(*set) == slice_of(next)) == same && slice_of(set + 16 * SET) != slice_of(next);
        let set = (1..SET / 64).map(|set| set * 64).find(fits).unwrap();
        let last = set + 16 * SET;
        let mut machine = machine();
        machine.warm_llc(Hpa::new(last), false);
        machine.warm_llc(Hpa::new(next), false);
        let (_, settled) = run_on(machine, |script| {
            for line in 0..16 {
                script.chase(set + line * SET);
            }
            script.settle();
            script.chase(last).chase(next);
        });
        let (to_home, to_core) = ways(slice_of(last));
        settled[1] - settled[0] - to_home - to_core
    });
    let (_, wanted) = ways(slice_of(next));
    let more = waits - passes;
    // Commit and dispatch go by cycles: half a nanosecond.
    assert!((more.as_ns() - wanted.as_ns()).abs() < 1.5, "{waits} and {passes}, {wanted} of the victim's ways");
}

/// How much longer a load waits for its slice if the victim of L2 before it drives a changed line out of the LLC. The LLC has one
/// line a slice.
fn wait_for_room(spec: &MachineSpec) -> Time {
    // 17 lines of one set of L2, as above. The load is at the victim's slice when the victim is.
    const SET: u64 = (2 << 20) / 16;
    let other = GIB / 2;
    let of_slice = |line: &u64| slice_of(*line) == slice_of(other);
    let set = (1..SET / 64).map(|set| set * 64).find(|set| of_slice(set) && !of_slice(&(set + 16 * SET))).unwrap();
    let next = lines(other + GIB / 4, |slice| slice == slice_of(other)).next().unwrap();
    let [waits, passes] = [true, false].map(|changed| {
        let mut spec = spec.clone();
        spec.host.llc.slice_capacity = Sourced::new(Bytes::new(64), "the test");
        spec.host.llc.ways = Sourced::new(1, "the test");
        let mut machine = machine_of(spec);
        machine.warm_llc(Hpa::new(other), changed);
        machine.warm_llc(Hpa::new(set + 16 * SET), false);
        let (_, settled) = run_on(machine, |script| {
            for line in 0..16 {
                script.chase(set + line * SET);
            }
            script.settle();
            script.chase(set + 16 * SET).chase(next);
        });
        settled[1] - settled[0]
    });
    waits - passes
}

#[test]
fn a_victim_of_l2_is_pulled_when_the_changed_line_that_leaves_the_llc_for_it_is_in_its_memory() {
    // An idle memory controller has the line after the way to it. One entry: without a changed line it is held for the pull's way.
    let to_memory = spec().host.mesh.home_to_memory.as_ns();
    let more = wait_for_room(&spec());
    assert!((more.as_ns() - (to_memory - ways(slice_of(GIB / 2)).1.as_ns())).abs() < 1.5, "{more}");
    // A share of one: without a changed line the victim uses none.
    let mut shared = shared_out();
    shared.host.home.requests_of_core = Some(Sourced::new(1, "the test"));
    let more = wait_for_room(&shared);
    assert!((more.as_ns() - to_memory).abs() < 1.5, "{more}");
}

/// Two cores, and these lines in the LLC. Returns how long the script of each takes after `begins`.
fn two_cores(spec: MachineSpec, in_llc: &[u64], begins: [Time; 2], scripts: [&dyn Fn(&mut Script); 2]) -> [Time; 2] {
    let ranges = [0, 1].map(|node| AddressRange { start: u64::from(node) * GIB, length: GIB, node });
    let mut machine = Machine::new(spec, 2, &ranges).unwrap();
    for address in in_llc {
        machine.warm_llc(Hpa::new(*address), false);
    }
    let mut feeds = [0, 1].map(|core: usize| {
        let mut feed = Script::default();
        feed.step(Step::Delay { span: begins[core] }).settle();
        scripts[core](&mut feed);
        feed.settle();
        feed
    });
    machine.run(&mut feeds, |_| Ok(())).unwrap();
    feeds.map(|core| core.clock_answers[1] - core.clock_answers[0])
}

/// The first core loads these lines at once, and the second one another line. All are in the LLC.
fn loads_of_two_cores(spec: MachineSpec, first: &[u64], second: u64) -> [Time; 2] {
    let in_llc: Vec<u64> = first.iter().copied().chain([second]).collect();
    let load_all = |script: &mut Script| {
        first.iter().for_each(|address| {
            script.independent_load(*address);
        });
    };
    let load_one = |script: &mut Script| {
        script.chase(second);
    };
    two_cores(spec, &in_llc, [Time::from_ns(2_000); 2], [&load_all, &load_one])
}

#[test]
fn a_core_with_one_request_does_not_wait_behind_all_of_another_core() {
    // One entry, and hits of the LLC, which hold it for a way to the core each. The first core has ten waiting when the second
    // one asks for the same slice's entry. One holds the entry, and one more is ahead.
    const FIRST: usize = 12;
    let slice = slice_of(0);
    let same: Vec<u64> = lines(0, |other| other == slice).take(FIRST + 1).collect();
    let [first, second] = loads_of_two_cores(spec(), &same[..FIRST], same[FIRST]);
    let (to_home, to_core) = ways(slice);
    assert!(first >= to_home + to_core * FIRST as u64, "{first}");
    // The cores' ways to the slice differ by stops of the mesh, and dispatch and a walk come on top: less than one way together.
    assert!(second < to_home + to_core * 4, "{second} of {first}");
}

/// Tables of 32 entries, of which one core may use two.
fn shared_out() -> MachineSpec {
    let mut spec = spec();
    spec.host.home.requests = Sourced::new(32, "the test");
    spec.host.home.requests_of_core = Some(Sourced::new(2, "the test"));
    spec
}

#[test]
fn a_core_has_no_more_lines_under_way_in_a_slice_than_its_share() {
    const LINES: usize = 8;
    let one = time_of(machine_of(shared_out()), &[0]);
    let held = one - ways(slice_of(0)).0;
    let same: Vec<u64> = lines(0, |slice| slice == slice_of(0)).take(LINES).collect();
    let all = time_of(machine_of(shared_out()), &same);
    // Two at once, so three pairs go before the last. A row that has to be opened or closed changes each by tRP + tRCD.
    let before = 3.0 * held.as_ns();
    assert!(all.as_ns() > one.as_ns() + before - 3.0 * 32.0, "{all}, one {one}");
    assert!(all.as_ns() < one.as_ns() + before + 4.0 * 32.0, "{all}, one {one}");
    let mut free = shared_out();
    free.host.home.requests_of_core = None;
    let free = time_of(machine_of(free), &same);
    // Then only their rows of the DRAM are in each other's way.
    assert!(free < all - held, "{free} without shares, {all}");
}

#[test]
fn a_core_that_has_used_up_its_share_leaves_the_table_to_others() {
    let same: Vec<u64> = lines(0, |slice| slice == slice_of(0)).take(9).collect();
    let wait = |others: usize| loads_of_two_cores(shared_out(), &same[..others], same[8])[1];
    assert_eq!(wait(8), wait(0));
}

/// `movntdq` of both halves of a line.
fn store_past_caches(script: &mut Script, line: u64) {
    for half in [line, line + 32] {
        script.instruction(&[0xc5, 0xfd, 0xe7, 0x01], &[store(half)]);
    }
}

/// So many lines of one slice in DDR are written past the caches: the time until the slice has taken all of them.
fn written_past_caches(write_buffers: Option<u32>, lines_written: usize) -> Time {
    let mut spec = shared_out();
    spec.host.home.write_buffers = write_buffers.map(|buffers| Sourced::new(buffers, "the test"));
    let same: Vec<u64> = lines(0, |slice| slice == slice_of(0)).take(lines_written).collect();
    let (_, settled) = run_on(machine_of(spec), |script| {
        same.iter().for_each(|line| store_past_caches(script, *line));
        script.instruction(&[0x0f, 0xae, 0xf0], &[]);
        script.settle();
    });
    settled[0]
}

#[test]
fn a_line_of_a_non_temporal_store_waits_for_a_write_buffer_of_its_slice() {
    // A buffer is held from the slice to an idle memory controller. Nine lines wait for eight of these ways with one buffer, and
    // for four with two.
    let to_memory = spec().host.mesh.home_to_memory.as_ns();
    let [one, two, free] = [Some(1), Some(2), None].map(|buffers| {
        let more = written_past_caches(buffers, 9) - written_past_caches(buffers, 1);
        more.as_ns()
    });
    assert!((one - free - 8.0 * to_memory).abs() < to_memory, "{one} and {free}");
    assert!((two - free - 4.0 * to_memory).abs() < to_memory, "{two} and {free}");
}

#[test]
fn a_read_passes_lines_that_wait_for_a_write_buffer() {
    // The table has two entries. A line that waits for the one buffer has none of them, so a read finds one at any time.
    let slice = slice_of(0);
    let cxl: Vec<u64> = lines(GIB, |other| other == slice).take(8).collect();
    let read = |write_buffers: Option<u32>, writes: usize, begin: u64| {
        let mut spec = spec();
        spec.host.home.requests = Sourced::new(2, "the test");
        spec.host.home.write_buffers = write_buffers.map(|buffers| Sourced::new(buffers, "the test"));
        let write_all = |script: &mut Script| cxl[..writes].iter().for_each(|line| store_past_caches(script, *line));
        let load_one = |script: &mut Script| {
            script.chase(0);
        };
        two_cores(spec, &[0], [Time::ZERO, Time::from_ns(begin)], [&write_all, &load_one])[1]
    };
    let begins = || (100..1_500).step_by(100);
    assert!(begins().all(|begin| read(Some(1), 8, begin) == read(Some(1), 0, begin)));
    assert!(begins().any(|begin| read(None, 8, begin) > read(None, 0, begin)));
}
