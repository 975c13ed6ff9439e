//! How far cores run ahead of each other changes nothing that a program sees.

use cxlab_kernel::{Stream, Time};

use super::Runnable;
use crate::addr::Hpa;
use crate::config::MachineSpec;
use crate::feed::{Action, Kernel, Synthetic};
use crate::home::AddressRange;
use crate::machine::Machine;
use crate::translation::{AddressSpace, PageSize};

const GIB: u64 = 1 << 30;
const EPYC: &str = "9754-cz120";
const CORES: u16 = 4;
const ACTIONS: usize = 3_000;

/// Loads and stores of lines of its own, and of a few that all share, with computation between, or without any.
struct Mixed {
    computes: bool,
    own: u64,
    left: usize,
    draws: Stream,
    settled: Vec<Time>,
}

impl Kernel for Mixed {
    fn act(&mut self) -> Action {
        self.left -= 1;
        if self.left == 0 {
            return Action::End;
        }
        if self.left.is_multiple_of(100) {
            return Action::Settle;
        }
        let own = Hpa::new(self.own + self.draws.below(1 << 14) * 64);
        let shared = Hpa::new(self.draws.below(64) * 64);
        match self.draws.below(16) {
            0 => Action::Chase(shared),
            1 => Action::Store(shared),
            2..6 => Action::Load(own),
            6 => Action::Store(own),
            7 => Action::Chase(own),
            _ if !self.computes && self.left < ACTIONS - 2 => Action::NonTemporal(own),
            _ => Action::Delay(Time::from_ps(100 + self.draws.below(9_000))),
        }
    }

    fn settled(&mut self, at: Time) {
        self.settled.push(at);
    }
}

/// When each core has come where, if cores may be so far ahead.
fn times(name: &str, computes: bool, look_ahead: Option<Time>, seed: u64) -> Vec<Vec<Time>> {
    let ranges = [0, 1].map(|node: u16| AddressRange { start: u64::from(node) * GIB, length: GIB, node });
    let mut machine = Machine::new(MachineSpec::load(name).unwrap(), CORES, &ranges).unwrap();
    let frames = AddressSpace::frames((0..2 * GIB).step_by(1 << PageSize::Mib2.shift()));
    let space = AddressSpace::new(frames, Hpa::new(GIB / 2), PageSize::Mib2);
    machine.set_page_tables(space.tables);
    if let Some(look_ahead) = look_ahead {
        machine.shared.runnable = Runnable::new(look_ahead);
    }
    let program = |core: u16| {
        let own = GIB / 4 + u64::from(core) * (GIB / 16);
        let draws = Stream::new(seed * 100 + u64::from(core), "mixed");
        Synthetic::new(Mixed { computes, own, left: ACTIONS, draws, settled: Vec::new() }).within(space.clone())
    };
    let mut feeds: Vec<_> = (0..CORES).map(program).collect();
    machine.run(&mut feeds, |_| Ok(())).unwrap();
    feeds.into_iter().map(|feed| feed.kernel.settled).collect()
}

#[test]
fn the_first_runs_as_far_as_the_shortest_way_past_the_others() {
    let [at, ahead, way] = [100, 115, 15].map(Time::from_ns);
    let mut runnable = Runnable::new(way);
    runnable.push(0, at);
    assert_eq!(runnable.begin(), Some(0));
    // Alone it runs as far as the next event.
    assert!(!runnable.is_too_far(Time::from_ns(1_000_000)) && runnable.others_go_on().is_none());
    assert!(runnable.lets_pass(at, ahead) && !runnable.lets_pass(at, ahead + Time::from_ps(1)));
    runnable.push(1, at);
    assert_eq!(runnable.others_go_on(), Some(at));
    assert!(!runnable.is_too_far(ahead) && runnable.is_too_far(ahead + Time::from_ps(1)));
    // Nobody passes a third one either if the second holds it back.
    assert!(!runnable.lets_pass(Time::from_ns(200), Time::from_ns(201)));
    runnable.end();
    assert_eq!(runnable.begin(), Some(1));
    assert!(!runnable.is_too_far(Time::from_ns(1_000_000)));
}

#[test]
fn cores_come_where_they_come_if_none_runs_ahead() {
    for (name, computes, seeds) in [("8468v-asic", true, 0..8), ("8468v-asic", false, 0..4), (EPYC, false, 0..4)] {
        for seed in seeds {
            let ahead = times(name, computes, None, seed);
            assert_eq!(ahead, times(name, computes, Some(Time::ZERO), seed), "{name} {computes} seed {seed}");
        }
    }
}
