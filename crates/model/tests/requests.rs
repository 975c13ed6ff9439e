//! The table of requests of each slice: what takes an entry, for how long, and who waits. Expected times are sums of the
//! host file's latencies.

mod support;

use std::sync::LazyLock;

use cxlab_kernel::Time;
use cxlab_model::addr::Hpa;
use cxlab_model::cache::{SliceHash, SliceId};
use cxlab_model::fact::Sourced;
use cxlab_model::feed::Step;
use cxlab_model::home::{AddressRange, Mesh};
use cxlab_model::request::CoreId;
use cxlab_model::{Machine, MachineSpec};
use support::{GIB, Script, machine_of, run_on};

const MACHINE: &str = "8468v-asic";

/// One entry in the table of each slice.
fn spec() -> MachineSpec {
    let mut spec = MachineSpec::load(MACHINE).unwrap();
    spec.host.prefetch.enabled = Sourced::new(false, "the test");
    spec.host.home.requests = Sourced::new(1, "the test");
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
    // hit needs the last line's data, and is at its slice before the slice has the victim. One round trip and the way to the
    // core are left of two round trips. Of another slice it would not wait.
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
    let (to_home, to_core) = ways(slice_of(next));
    let wanted = to_home + to_core + to_core;
    let more = waits - passes;
    // Commit and dispatch go by cycles: half a nanosecond.
    assert!((more.as_ns() - wanted.as_ns()).abs() < 1.5, "{waits} and {passes}, {wanted} of the victim's ways");
}

#[test]
fn a_core_with_one_request_does_not_wait_behind_all_of_another_core() {
    // One entry, and hits of the LLC, which hold it for a way to the core each. The first core has ten waiting when the second
    // one asks for the same slice's entry. One holds the entry, and one more is ahead.
    const FIRST: usize = 12;
    let slice = slice_of(0);
    let same: Vec<u64> = lines(0, |other| other == slice).take(FIRST + 1).collect();
    let range = |node: u16| AddressRange { start: u64::from(node) * GIB, length: GIB, node };
    let mut machine = Machine::new(spec(), 2, &[range(0), range(1)]).unwrap();
    for address in &same {
        machine.warm_llc(Hpa::new(*address), false);
    }
    let (mut first, mut second) = (Script::default(), Script::default());
    let begin = Step::Delay { span: Time::from_ns(2_000) };
    first.step(begin).settle();
    for address in &same[..FIRST] {
        first.independent_load(*address);
    }
    first.settle();
    second.step(begin).settle().chase(same[FIRST]).settle();
    let mut feeds = [first, second];
    machine.run(&mut feeds, |_| Ok(())).unwrap();
    let [first, second] = feeds.map(|core| core.clock_answers[1] - core.clock_answers[0]);
    let (to_home, to_core) = ways(slice);
    assert!(first >= to_home + to_core * FIRST as u64, "{first}");
    // The cores' ways to the slice differ by stops of the mesh, and dispatch and a walk come on top: less than one way together.
    assert!(second < to_home + to_core * 4, "{second} of {first}");
}
