//! The schedule's axis for several vCPUs. It is about their common time, and known whether or not anything is timed.
//!
//! ```text
//!   each block:  position += instructions x mean pace of its vCPU x (time / work) of the last detail
//! ```
//!
//! The place of an instruction on the axis does not depend on whether it is in a window. So windows at equal
//! distances are a systematic sample. Time itself would not do: a window would hold more instructions where they are
//! fast, and the others' pace between windows is a guess. Waiting takes no place on the axis, be it a sleep, a device
//! or a loop around a PAUSE. The length of a wait between windows says little. In windows it belongs to the work of
//! those waited for. If a device's service took place where it begins, a window would end there, before that time has
//! passed.

use cxlab_access::BlockId;

const PS_PER_NS: f64 = 1000.0;
/// Pace of a vCPU before its first detail: an instruction a cycle at 4 GHz `[ps]`.
const FIRST_PACE_PS: f64 = 250.0;

/// Instructions between two PAUSEs of a loop that waits, at most. Loops of Linux and of libraries have 4 to 20. A program
/// that works between two waits has more, and its work is to take the same place whether it had to wait or not.
const LOOP: u64 = 24;

/// Share of a stretch's weight that is left when another one has come. Weights are those of logarithms, because a
/// region often begins with a wait. That wait would otherwise outweigh tens of stretches and make them too short.
const KEPT: f64 = 0.7;
/// Instructions that tell a vCPU's pace, at least.
const TELLING: u64 = 100;

/// A ratio as the last stretches of detail have it: the geometric mean, earlier ones weigh less.
#[derive(Clone, Copy, Default)]
struct Ratio(Option<f64>);

impl Ratio {
    fn learn(&mut self, above: f64, below: f64) -> f64 {
        let new = (above / below).ln();
        let mean = self.0.map_or(new, |before| KEPT * before + (1.0 - KEPT) * new);
        self.0 = Some(mean);
        mean.exp()
    }
}

/// Work of a vCPU.
#[derive(Clone, Copy)]
struct Worker {
    /// mean time of an instruction in the last stretches of detail `[ps]`
    pace_ps: f64,
    learnt: Ratio,
    /// instructions since a PAUSE that may be a loop around it, and which PAUSE that was
    pending: u64,
    paused: Option<BlockId>,
}

pub struct Axis {
    workers: Vec<Worker>,
    /// work in this stretch of detail `[ps]`
    stretch_ps: f64,
    /// time that passes with a unit of work: vCPUs work side by side, and wait for each other
    rate: f64,
    learnt: Ratio,
    position_ps: f64,
    /// last lines that a repeating instruction has loaded and stored: (instruction, line)
    repeated: [Option<(u16, u64)>; 2],
}

impl Axis {
    pub fn new(vcpus: usize) -> Axis {
        let worker = Worker { pace_ps: FIRST_PACE_PS, learnt: Ratio::default(), pending: LOOP, paused: None };
        Axis {
            workers: vec![worker; vcpus],
            stretch_ps: 0.0,
            rate: 1.0,
            learnt: Ratio::default(),
            position_ps: 0.0,
            repeated: [None; 2],
        }
    }

    /// A region begins in which so many vCPUs have something to do: until more is known, all of them work.
    pub fn begin(&mut self, awake: usize) {
        if self.learnt.0.is_none() {
            self.rate = 1.0 / awake as f64;
        }
    }

    /// Time of an instruction of each vCPU `[ps]`.
    pub fn paces_ps(&self) -> impl Iterator<Item = u64> {
        self.workers.iter().map(|worker| worker.pace_ps.round() as u64)
    }

    /// Position of the run on the axis `[ns]`.
    pub fn position(&self) -> u64 {
        (self.position_ps / PS_PER_NS) as u64
    }

    /// So many instructions of a vCPU, the last of them the PAUSE of this block or none.
    #[inline]
    pub fn execute(&mut self, vcpu: usize, instructions: u64, paused: Option<BlockId>) {
        let worker = &mut self.workers[vcpu];
        let mut done = instructions;
        if worker.pending < LOOP {
            worker.pending += instructions;
            // It is a loop around one PAUSE; or it was none after all, or the way from one to another.
            let waits = worker.pending < LOOP && (paused.is_none() || paused == worker.paused);
            done = if waits { 0 } else { worker.pending };
        }
        if paused.is_some() {
            (worker.pending, worker.paused) = (0, paused);
        }
        let ps = done as f64 * worker.pace_ps;
        self.stretch_ps += ps;
        self.position_ps += ps * self.rate;
    }

    /// Whether an instruction that may repeat touches another line than just before.
    pub fn repeats(&mut self, instruction: u16, line: u64, store: bool) -> bool {
        let here = Some((instruction, line));
        std::mem::replace(&mut self.repeated[usize::from(store)], here) != here
    }

    /// A stretch of detail ends that took so long `[ps]`; in it each vCPU has executed so many instructions in so long.
    pub fn learn(&mut self, time_ps: u64, each: &[(u64, u64)]) {
        for (worker, (instructions, ps)) in self.workers.iter_mut().zip(each) {
            if *instructions >= TELLING && *ps > 0 {
                worker.pace_ps = worker.learnt.learn(*ps as f64, *instructions as f64);
            }
        }
        if self.stretch_ps > 0.0 && time_ps > 0 {
            self.rate = self.learnt.learn(time_ps as f64, self.stretch_ps);
        }
    }

    /// A stretch of detail begins.
    pub fn begin_stretch(&mut self) {
        self.stretch_ps = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instruction_takes_its_vcpus_mean_pace_at_the_rate_of_all() {
        let mut axis = Axis::new(2);
        axis.begin(2);
        axis.execute(0, 4000, None);
        axis.execute(1, 4000, None);
        assert_eq!(axis.position(), 1000);
        // 2 us of work took 1.5 us: the two work side by side, and wait now and then.
        axis.learn(1_500_000, &[(4000, 1_000_000), (4000, 3_000_000)]);
        axis.execute(0, 4000, None);
        axis.execute(1, 4000, None);
        // A logarithm and back: to the nanosecond.
        assert!(axis.position().abs_diff(1000 + (1000 + 3000) * 3 / 4) <= 1);
    }

    #[test]
    fn a_slow_beginning_is_forgotten() {
        let mut axis = Axis::new(1);
        axis.learn(80_000_000, &[(4000, 80_000_000)]);
        assert_eq!(axis.paces_ps().collect::<Vec<_>>(), [20_000]);
        for _ in 0..10 {
            axis.learn(1_000_000, &[(4000, 1_000_000)]);
        }
        // A stretch of 80 times the pace weighs 0.7^10: 80^0.028 is 1.13.
        assert_eq!(axis.paces_ps().collect::<Vec<_>>(), [283]);
    }

    #[test]
    fn a_loop_around_a_pause_takes_no_place() {
        let mut axis = Axis::new(1);
        axis.execute(0, 4000, Some(BlockId(7)));
        for _ in 0..1000 {
            axis.execute(0, 3, None);
            axis.execute(0, 5, Some(BlockId(7)));
        }
        assert_eq!(axis.position(), 1000);
        for _ in 0..1000 {
            axis.execute(0, 4, None);
        }
        assert_eq!(axis.position(), 2000);
        // Two waits, one behind the other: what lies between them is work.
        for _ in 0..1000 {
            axis.execute(0, 4, Some(BlockId(7)));
            axis.execute(0, 4, Some(BlockId(8)));
        }
        assert_eq!(axis.position(), 4000);
    }
}
