//! Lines that several cores have: the protocol under random interleavings, and what a transfer takes.

#[path = "support/share.rs"]
mod share;
mod support;

use std::collections::HashMap;

use cxlab_kernel::{Key, Stream, Time};
use cxlab_model::addr::Hpa;
use cxlab_model::cache::{LineState, Snoop};
use cxlab_model::feed::Step;
use cxlab_model::home::AddressRange;
use cxlab_model::home::{Ask, Asked, Presence, SnoopFilter, Source};
use cxlab_model::request::CoreId;
use cxlab_model::request::RequestKey;
use cxlab_model::{Machine, MachineSpec};
use proptest::prelude::*;
use support::{GIB, Script};

const CORES: u16 = 4;
const LINE: Hpa = Hpa::new(0x4000);

/// The next event of the one line.
#[derive(Clone, Copy, Debug)]
enum Act {
    Ask(u16, Ask),
    /// one of the lines under way is at its core
    Deliver(usize),
    Evict(u16),
    /// a core changes what it owns
    Change(u16),
}

/// A line's life with its contents: each change makes the next number.
#[derive(Default)]
struct Life {
    filter: SnoopFilter,
    caches: HashMap<u16, (LineState, u64)>,
    /// LLC and memory
    home: u64,
    newest: u64,
    /// asked, not answered: (core, ask, who is behind); by key
    asked: HashMap<u32, (u16, Ask, Option<RequestKey>)>,
    /// answered, on their way: (core, ask, grant, contents)
    under_way: Vec<(u16, Ask, Option<LineState>, u64)>,
}

impl Life {
    fn idle(&self, core: u16) -> bool {
        self.asked.values().all(|(other, ..)| *other != core) && self.under_way.iter().all(|(other, ..)| *other != core)
    }

    fn ask(&mut self, core: u16, ask: Ask) {
        let key = Key::from_index(u32::from(core));
        self.asked.insert(u32::from(core), (core, ask, None));
        let answer = match self.filter.ask(LINE, ask, CoreId(core), key) {
            Asked::Answer(answer) => answer,
            Asked::Behind(last) => {
                if let Some(last) = last {
                    self.asked.get_mut(&last.index()).unwrap().2 = Some(key);
                }
                return;
            }
        };
        self.asked.remove(&u32::from(core));
        let contents = match answer.source {
            Source::Home => self.home,
            Source::Cache(other) => self.caches[&other.0].1,
            Source::Asker => self.caches.get(&core).map_or(self.newest, |copy| copy.1),
        };
        let (snooped, left) = answer.snoop;
        for other in snooped {
            let copy = self.caches.get_mut(&other.0).expect("only who has the line is snooped");
            if copy.0 == LineState::Modified && (left == Snoop::Share || ask == Ask::Flush) {
                self.home = copy.1;
            }
            copy.0 = LineState::Shared;
            if left == Snoop::Invalidate {
                self.caches.remove(&other.0);
            }
        }
        if ask == Ask::Overwrite {
            self.newest += 1;
            self.home = self.newest;
        }
        if matches!(ask, Ask::Flush | Ask::Clean) {
            assert_eq!(self.home, self.newest, "memory does not know what was flushed");
        }
        self.under_way.push((core, ask, answer.grant, contents));
    }

    fn deliver(&mut self, which: usize) {
        let (core, ask, grant, contents) = self.under_way.remove(which % self.under_way.len());
        if let Some(grant) = grant {
            assert_eq!(contents, self.newest, "core {core} got an old line");
            self.newest += u64::from(ask == Ask::Own);
            self.caches.insert(core, (grant, self.newest));
        }
        let asked = &self.asked;
        if let Some(next) = self.filter.served(LINE, |key| asked[&key.index()].2) {
            let (core, ask, _) = self.asked.remove(&next.index()).unwrap();
            self.ask(core, ask);
        }
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Ask(core, ask) if self.idle(core) => {
                // A core that may do it does it in its own cache.
                let state = self.caches.get(&core).map(|copy| copy.0);
                let may = match ask {
                    Ask::Read => state.is_some(),
                    Ask::Own => matches!(state, Some(LineState::Exclusive | LineState::Modified)),
                    Ask::Overwrite | Ask::Flush | Ask::Clean => false,
                };
                if ask == Ask::Flush {
                    self.act(Act::Evict(core));
                }
                if let Some(copy) = self.caches.get_mut(&core).filter(|_| ask == Ask::Clean)
                    && copy.0 == LineState::Modified
                {
                    (copy.0, self.home) = (LineState::Exclusive, copy.1);
                }
                if !may {
                    self.ask(core, ask);
                }
            }
            Act::Deliver(which) if !self.under_way.is_empty() => self.deliver(which),
            Act::Evict(core) => {
                if let Some((state, contents)) = self.caches.remove(&core) {
                    if state == LineState::Modified {
                        self.home = contents;
                    }
                    self.filter.left(LINE, CoreId(core));
                }
            }
            Act::Change(core) => {
                if let Some(copy) = self.caches.get_mut(&core).filter(|copy| copy.0 != LineState::Shared) {
                    self.newest += 1;
                    *copy = (LineState::Modified, self.newest);
                }
            }
            Act::Ask(..) | Act::Deliver(_) => {}
        }
    }

    fn check(&self) {
        let writers = self.caches.values().filter(|copy| copy.0 != LineState::Shared).count();
        assert!(writers == 0 || self.caches.len() == 1, "a writer and others: {:?}", self.caches);
        for (core, copy) in &self.caches {
            assert_eq!(copy.1, self.newest, "core {core} has an old copy");
            let known = match self.filter.presence(LINE) {
                Presence::Nobody => false,
                Presence::Shared(cores) => cores.holds(CoreId(*core)),
                Presence::Owned(owner) => owner.0 == *core,
            };
            assert!(known, "the filter does not know of core {core}: {:?}", self.filter.presence(LINE));
        }
    }
}

fn any_act() -> impl Strategy<Value = Act> {
    let often = || prop_oneof![Just(Ask::Read), Just(Ask::Own)];
    let ask = prop_oneof![often(), often(), often(), Just(Ask::Overwrite), Just(Ask::Flush), Just(Ask::Clean)];
    prop_oneof![
        (0..CORES, ask).prop_map(|(core, ask)| Act::Ask(core, ask)),
        (0usize..8).prop_map(Act::Deliver),
        (0..CORES).prop_map(Act::Evict),
        (0..CORES).prop_map(Act::Change),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn one_writer_no_lost_change_no_stuck_line(acts in prop::collection::vec(any_act(), 1..120)) {
        let mut life = Life::default();
        for act in acts {
            life.act(act);
            life.check();
        }
        // Everybody is served in the end, each delivery letting the next go.
        for _ in 0..2 * usize::from(CORES) {
            life.act(Act::Deliver(0));
            life.check();
        }
        prop_assert!(life.asked.is_empty() && life.under_way.is_empty());
        for core in 0..CORES {
            life.act(Act::Evict(core));
        }
        prop_assert_eq!(life.home, life.newest);
        prop_assert!(life.filter.is_empty());
    }
}

/// An act of [`any_act`], without proptest's cost.
fn drawn(random: &mut Stream) -> Act {
    let core = random.below(u64::from(CORES)) as u16;
    let asks = [Ask::Read, Ask::Own, Ask::Read, Ask::Own, Ask::Read, Ask::Own, Ask::Overwrite, Ask::Flush, Ask::Clean];
    match random.below(4) {
        0 => Act::Ask(core, asks[random.below(asks.len() as u64) as usize]),
        1 => Act::Deliver(random.below(8) as usize),
        2 => Act::Evict(core),
        _ => Act::Change(core),
    }
}

#[test]
#[ignore = "minutes: make soak"]
fn soak_a_billion_transitions() {
    let (wanted, mut random, mut life) = (share::share_of(1_000_000_000), Stream::new(1, "soak"), Life::default());
    for _ in 0..wanted {
        life.act(drawn(&mut random));
        life.check();
    }
    let changes = life.newest;
    println!("soak: {wanted} transitions of a line among {CORES} cores, {changes} changes, none lost");
}

#[test]
fn mod_15_the_snoop_filter_never_overflows() {
    // Silicon's has a bounded number of entries, and takes a line out of its caches to make room.
    let mut filter = SnoopFilter::new(1);
    for number in 0..1_000 {
        let line = Hpa::new(number * 64);
        assert!(matches!(filter.ask(line, Ask::Read, CoreId(0), Key::from_index(0)), Asked::Answer(_)));
        filter.served(line, |_| None);
    }
    assert_eq!(filter.len(), 1_000);
}

/// All stops of the mesh at one place, so that ways are the host file's.
fn flat_machine(cores: u16) -> (Machine, MachineSpec) {
    let mut spec = MachineSpec::load("8468v-asic").unwrap();
    (spec.host.mesh.hop_across.value, spec.host.mesh.hop_along.value) = (Time::ZERO, Time::ZERO);
    let range = |node: u16| AddressRange { start: u64::from(node) * GIB, length: GIB, node };
    let mut machine = Machine::new(spec.clone(), cores, &[range(0), range(1)]).unwrap();
    machine.keep_checks();
    (machine, spec)
}

#[test]
fn a_changed_line_comes_from_the_other_core_in_the_sum_of_its_stages() {
    // To the home agent, from there to the owner, its L2 looked up, and from the owner to the asker. The line may be of CXL
    // memory or of DDR.
    for base in [0, GIB] {
        let (mut machine, spec) = flat_machine(2);
        let (mut writer, mut reader) = (Script::default(), Script::default());
        writer.store(base);
        reader.step(Step::Delay { span: Time::from_ns(2_000) }).settle().chase(base).settle();
        let mut feeds = [writer, reader];
        machine.run(&mut feeds, |_| Ok(())).unwrap();
        let [_, reader] = feeds;
        let (mesh, host) = (&spec.host.mesh, &spec.host);
        let look_up = host.core.frequency.cycles(host.l2.latency.0);
        let wanted = *mesh.to_home + host.from_home() * 2 + look_up;
        assert_eq!(reader.clock_answers[1] - reader.clock_answers[0], wanted);
        let states: Vec<_> = machine.cores().iter().map(|core| core.state(Hpa::new(base))).collect();
        assert_eq!(states, [Some(LineState::Shared), Some(LineState::Shared)]);
    }
}

#[test]
fn a_third_reader_finds_in_the_llc_what_the_second_had_from_the_first() {
    // To the home agent and back: nobody is snooped, and no memory is asked, CXL or DDR.
    for base in [0, GIB] {
        let (mut machine, spec) = flat_machine(3);
        let mut readers = [Script::default(), Script::default(), Script::default()];
        for (reader, since) in readers.iter_mut().zip([0, 2_000, 4_000]) {
            reader.step(Step::Delay { span: Time::from_ns(since) }).settle().chase(base).settle();
        }
        machine.run(&mut readers, |_| Ok(())).unwrap();
        let [_, second, third] = readers.map(|reader| reader.clock_answers[1] - reader.clock_answers[0]);
        let (to_home, from_home) = (*spec.host.mesh.to_home, spec.host.from_home());
        assert_eq!(second, to_home + from_home * 2 + spec.host.core.frequency.cycles(spec.host.l2.latency.0));
        assert_eq!(third, to_home + from_home);
        assert!(machine.cores().iter().all(|core| core.state(Hpa::new(base)) == Some(LineState::Shared)));
    }
}

#[test]
fn a_line_goes_to_and_fro_between_two_writers() {
    // Each store waits for the line; while the other has it, each trip takes the four ways and a look-up.
    const TURNS: u64 = 200;
    let (mut machine, spec) = flat_machine(2);
    let program = || {
        let mut script = Script::default();
        for _ in 0..TURNS {
            script.store(64).step(Step::Fence);
        }
        script.settle();
        script
    };
    let mut feeds = [program(), program()];
    machine.run(&mut feeds, |_| Ok(())).unwrap();
    let end = feeds.iter().map(|script| script.clock_answers[0]).max().unwrap();
    let trip = (*spec.host.mesh.to_home + spec.host.from_home() * 2).as_ns() + 15.0 / 3.8;
    // A core that has the line may store several times before it is asked. Never can both have the line, so the stores that
    // missed are served one after the other. Each takes at least a way from the home agent to the core.
    let misses: u64 = machine.cores().iter().map(|core| core.stats.misses.get()).sum();
    assert!(misses > TURNS / 2, "{misses}");
    let least = misses as f64 * (trip - spec.host.mesh.to_home.as_ns());
    assert!(end.as_ns() >= least * 0.95 && end.as_ns() <= misses as f64 * trip + 400.0, "{end}: {least} for {misses}");
    let writers = machine.cores().iter().filter(|core| core.state(Hpa::new(64)) == Some(LineState::Modified)).count();
    assert_eq!(writers, 1);
}

/// Loads of one line, each 5 cycles after the one before: 2.6 us at 3.8 GHz.
const LOADS: usize = 2_000;

#[test]
fn a_core_that_only_hits_does_not_run_past_a_store_of_another_core() {
    // The line is in the first core's L1, so none of its loads is an event. The other core stores to it at once.
    let (mut machine, spec) = flat_machine(2);
    machine.warm(0, LINE, false);
    let (mut reader, mut writer) = (Script::default(), Script::default());
    for _ in 0..LOADS {
        reader.chase(LINE.get());
    }
    writer.store(LINE.get()).step(Step::Fence).settle();
    let mut feeds = [reader, writer];
    machine.run(&mut feeds, |_| Ok(())).unwrap();
    assert_eq!(machine.cores()[0].stats.misses.get(), 1);
    // The line goes to the writer: to the home agent, to the reader, out of its L2, to the writer.
    let look_up = spec.host.core.frequency.cycles(spec.host.l2.latency.0);
    let taken = *spec.host.mesh.to_home + spec.host.from_home() * 2 + look_up;
    let end = feeds[1].clock_answers[0];
    assert!(end >= taken && end < taken + Time::from_ns(5), "{end}: {taken}");
}

#[test]
fn a_core_that_wakes_another_does_not_run_past_its_store() {
    let (mut machine, _) = flat_machine(2);
    machine.warm(0, LINE, false);
    let (mut reader, mut writer) = (Script::default(), Script::default());
    reader.step(Step::Delay { span: Time::from_ns(100) }).settle().step(Step::Wake { woken: CoreId(1) });
    for _ in 0..LOADS {
        reader.chase(LINE.get());
    }
    writer.step(Step::Halt).store(LINE.get()).step(Step::Fence).settle();
    let mut feeds = [reader, writer];
    machine.run(&mut feeds, |_| Ok(())).unwrap();
    assert_eq!(machine.cores()[0].stats.misses.get(), 1);
    assert!(feeds[1].clock_answers[0] < Time::from_ns(200), "{}", feeds[1].clock_answers[0]);
}

#[test]
fn a_lock_is_given_back_where_its_line_is_ordered() {
    let (mut machine, spec) = flat_machine(2);
    let (mut waiter, mut holder) = (Script::default(), Script::default());
    let question = Step::SyncOwning { sequence: 1, line: LINE };
    waiter.store(LINE.get());
    holder.step(Step::Delay { span: Time::from_ns(2_000) }).settle().step(question);
    holder.store(LINE.get()).step(Step::Fence).settle();
    // Where the waiter looks, the holder's request has been at the home agent, and the line is on its way.
    let to_home = *spec.host.mesh.to_home;
    waiter.step(Step::Delay { span: Time::from_ns(2_001) + to_home }).settle().chase(LINE.get()).settle();
    let mut feeds = [waiter, holder];
    machine.run(&mut feeds, |_| Ok(())).unwrap();
    machine.finish_checks().unwrap();
    let [waiter, holder] = feeds;
    let from = holder.clock_answers[0];
    assert_eq!(holder.sync_answers[0] - from, to_home);
    // The store has its line as if nothing had been asked.
    let core_to_core = spec.host.from_home() * 2 + spec.host.core.frequency.cycles(spec.host.l2.latency.0);
    let stored = holder.clock_answers[1] - from;
    assert!(stored >= to_home + core_to_core && stored < to_home + core_to_core + Time::from_ns(2), "{stored}");
    // The waiter's load comes behind that.
    let loaded = waiter.clock_answers[1] - from;
    assert!(loaded >= to_home + core_to_core * 2 && loaded < to_home + core_to_core * 2 + Time::from_ns(2), "{loaded}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn any_programs_on_shared_lines_end_and_leave_one_writer_at_most(
        programs in prop::collection::vec(prop::collection::vec((0u64..6, 0u8..7), 1..200), CORES as usize)
    ) {
        let (mut machine, _) = flat_machine(CORES);
        let mut feeds: Vec<Script> = programs
            .iter()
            .map(|program| {
                let mut script = Script::default();
                for (line, act) in program {
                    let address = line % 2 * GIB + line * 64;
                    match act {
                        0 => script.chase(address),
                        1 => script.independent_load(address),
                        2 => script.add_to_memory(address),
                        3 => script.lock_add(address),
                        // A device's registers take 500 ns, loads and stores alike.
                        4 => script.store_to_device(address),
                        // A lock is given back, or a store follows to another line.
                        5 => script.step(Step::SyncOwning { sequence: 1, line: Hpa::new(address) }),
                        _ => script.store(address),
                    };
                }
                script.step(Step::Fence).settle();
                script
            })
            .collect();
        machine.run(&mut feeds, |_| Ok(())).unwrap();
        machine.drain(&mut feeds).unwrap();
        machine.finish_checks().unwrap();
        for line in 0..6 {
            let line = Hpa::new(line % 2 * GIB + line * 64);
            let states: Vec<_> = machine.cores().iter().filter_map(|core| core.state(line)).collect();
            let writers = states.iter().filter(|state| **state != LineState::Shared).count();
            prop_assert!(writers == 0 || states.len() == 1, "{:?} of {:?}", states, line);
        }
    }
}
