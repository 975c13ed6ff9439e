//! The schedule's axis for several vCPUs. It is about their common time, and known whether or not anything is timed.
//!
//! ```text
//!   each block:  position += instructions x mean pace of its vCPU x (time / work) of the detail before this period
//! ```
//!
//! The place of an instruction on the axis does not depend on whether it is in a window. Pace and rate change only
//! between two periods of the schedule. A period's window begins at a random place in it, so it stands for the period.
//! Learning at the end of a window would not do: each window would lie where pace and rate are oldest. Then what becomes
//! faster would be told too fast, and what becomes slower too slow. Time itself would not do: a window would hold more
//! instructions where they are fast, and the others' pace between windows is a guess.
//!
//! Waiting takes no place on the axis, be it a sleep, a device or a loop around a PAUSE. The length of a wait between
//! windows says little. In windows it belongs to the work of those waited for. If a device's service took place where
//! it begins, a window would end there, before that time has passed.

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
/// Share that is left of a stretch's weight in a vCPU's pace. Here weights are those of instructions a second.
const KEPT_OF_PACE: f64 = 0.8;
/// Instructions that tell a vCPU's pace, at least.
const TELLING: u64 = 100;

/// A ratio as the last stretches of detail have it: the geometric mean, earlier ones weigh less.
#[derive(Clone, Copy, Default)]
struct Ratio {
    mean: f64,
    stretches: u32,
}

impl Ratio {
    fn is_empty(self) -> bool {
        self.stretches == 0
    }

    fn learn(&mut self, above: f64, below: f64) -> f64 {
        // The first few weigh alike.
        let kept = KEPT.min(f64::from(self.stretches) / f64::from(self.stretches + 1));
        self.mean = kept * self.mean + (1.0 - kept) * (above / below).ln();
        self.stretches += 1;
        self.mean.exp()
    }
}

/// Instructions in a picosecond as the last stretches of detail have it: the arithmetic mean. Stretches are equally long,
/// so this is all instructions over all time. QEMU runs ahead of the model in some stretches, and behind in the next. So
/// the numbers of a vCPU vary tenfold where there are 48, and a geometric mean was a third too slow.
#[derive(Clone, Copy, Default)]
struct Speed {
    mean: f64,
    stretches: u32,
}

impl Speed {
    /// Returns the time of an instruction `[ps]`.
    fn learn(&mut self, instructions: f64, ps: f64) -> f64 {
        let kept = KEPT_OF_PACE.min(f64::from(self.stretches) / f64::from(self.stretches + 1));
        self.mean = kept * self.mean + (1.0 - kept) * instructions / ps;
        self.stretches += 1;
        1.0 / self.mean
    }
}

/// Work of a vCPU.
#[derive(Clone, Copy)]
struct Worker {
    /// mean time of an instruction in the last stretches of detail, and the same when this period of the schedule began
    /// `[ps]`
    pace_ps: f64,
    in_period_ps: f64,
    learnt: Speed,
    /// instructions since a PAUSE that may be a loop around it, and which PAUSE that was
    pending: u64,
    paused: Option<BlockId>,
}

pub struct Axis {
    workers: Vec<Worker>,
    /// time that passes with a unit of work: vCPUs work side by side, and wait for each other. As the last stretches of
    /// detail have it, and the same when this period of the schedule began
    rate: f64,
    in_period: f64,
    learnt: Ratio,
    position_ps: f64,
    /// length of a period, and where this one ends `[ps]`
    period_ps: f64,
    ends_ps: f64,
    /// last lines that a repeating instruction has loaded and stored: (instruction, line)
    repeated: [Option<(u16, u64)>; 2],
}

impl Axis {
    /// An axis of so many vCPUs, on which a period of the schedule has so many nanoseconds.
    pub fn new(vcpus: usize, period: u64) -> Axis {
        let worker = Worker {
            pace_ps: FIRST_PACE_PS,
            in_period_ps: FIRST_PACE_PS,
            learnt: Speed::default(),
            pending: LOOP,
            paused: None,
        };
        let period_ps = period as f64 * PS_PER_NS;
        Axis {
            workers: vec![worker; vcpus],
            rate: 1.0,
            in_period: 1.0,
            learnt: Ratio::default(),
            position_ps: 0.0,
            period_ps,
            ends_ps: period_ps,
            repeated: [None; 2],
        }
    }

    /// A region begins in which so many vCPUs have something to do: until more is known, all of them work.
    pub fn begin(&mut self, awake: usize) {
        if self.is_new() {
            self.rate = 1.0 / awake as f64;
            self.in_period = self.rate;
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

    /// So many instructions of a vCPU, the last of them the PAUSE of this block or none. Returns how many of them, and of
    /// those before, are found to be work.
    #[inline]
    pub fn execute(&mut self, vcpu: usize, instructions: u64, paused: Option<BlockId>) -> u64 {
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
        self.position_ps += done as f64 * worker.in_period_ps * self.in_period;
        if self.position_ps >= self.ends_ps {
            self.begin_period();
        }
        done
    }

    /// From here on work counts as the windows so far have it.
    #[cold]
    fn begin_period(&mut self) {
        self.ends_ps = ((self.position_ps / self.period_ps).floor() + 1.0) * self.period_ps;
        self.in_period = self.rate;
        self.workers.iter_mut().for_each(|worker| worker.in_period_ps = worker.pace_ps);
    }

    /// Whether an instruction that may repeat touches another line than just before.
    pub fn repeats(&mut self, instruction: u16, line: u64, store: bool) -> bool {
        let here = Some((instruction, line));
        std::mem::replace(&mut self.repeated[usize::from(store)], here) != here
    }

    /// A stretch of detail ends that took so long `[ps]`; in it each vCPU has executed so many instructions in so long.
    pub fn learn(&mut self, time_ps: u64, each: &[(u64, u64)]) {
        self.learn_paces(each);
        let work_ps: f64 =
            each.iter().zip(&self.workers).map(|((work, _), worker)| *work as f64 * worker.pace_ps).sum();
        if work_ps > 0.0 && time_ps > 0 {
            self.rate = self.learnt.learn(time_ps as f64, work_ps);
        }
    }

    fn learn_paces(&mut self, each: &[(u64, u64)]) {
        let (mut sum_ps, mut count) = (0.0, 0);
        for (worker, (instructions, ps)) in self.workers.iter_mut().zip(each) {
            if *instructions >= TELLING && *ps > 0 {
                worker.pace_ps = worker.learnt.learn(*instructions as f64, *ps as f64);
                (sum_ps, count) = (sum_ps + worker.pace_ps, count + 1);
            }
        }
        // One that has not done anything yet is taken to be as fast as those that have.
        for worker in self.workers.iter_mut().filter(|worker| worker.learnt.stretches == 0 && count > 0) {
            worker.pace_ps = sum_ps / f64::from(count);
        }
    }

    /// A stretch of detail ends with which a region began, before anything was known. It is a period of its own.
    pub fn learn_beginning(&mut self, time_ps: u64, each: &[(u64, u64)]) {
        self.learn(time_ps, each);
        self.position_ps = self.ends_ps;
        self.begin_period();
    }

    /// Whether nothing is known yet of how fast the vCPUs work.
    pub fn is_new(&self) -> bool {
        self.learnt.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instruction_takes_its_vcpus_mean_pace_at_the_rate_of_all_from_the_next_period_on() {
        let mut axis = Axis::new(2, 2000);
        axis.begin(2);
        axis.execute(0, 4000, None);
        axis.execute(1, 4000, None);
        assert_eq!(axis.position(), 1000);
        // 2 us of work took 1.5 us: the two work side by side, and wait now and then.
        axis.learn(1_500_000, &[(4000, 1_000_000), (4000, 3_000_000)]);
        axis.execute(0, 4000, None);
        axis.execute(1, 4000, None);
        assert_eq!(axis.position(), 2000);
        axis.execute(0, 4000, None);
        axis.execute(1, 4000, None);
        // A logarithm and back: to the nanosecond.
        assert!(axis.position().abs_diff(2000 + (1000 + 3000) * 3 / 8) <= 1);
    }

    #[test]
    fn a_slow_beginning_is_forgotten() {
        let mut axis = Axis::new(1, 1_000_000);
        axis.learn(80_000_000, &[(4000, 80_000_000)]);
        assert_eq!(axis.paces_ps().collect::<Vec<_>>(), [20_000]);
        for _ in 0..10 {
            axis.learn(1_000_000, &[(4000, 1_000_000)]);
        }
        // The first five weigh alike, so a stretch of 1/80 of the speed weighs 1/5 x 0.8^6 = 0.0524: 250 / (1 - 0.0518).
        assert_eq!(axis.paces_ps().collect::<Vec<_>>(), [264]);
    }

    #[test]
    fn a_beginning_is_a_period_and_tells_the_pace_of_those_that_did_nothing() {
        let mut axis = Axis::new(3, 50_000);
        axis.begin(1);
        axis.execute(0, 10_000, None);
        axis.execute(1, 10_000, None);
        assert_eq!(axis.position(), 5000);
        // 40 us side by side: two and four nanoseconds an instruction.
        axis.learn_beginning(40_000_000, &[(10_000, 20_000_000), (10_000, 40_000_000), (0, 0)]);
        assert_eq!(axis.position(), 50_000);
        assert_eq!(axis.paces_ps().collect::<Vec<_>>(), [2000, 4000, 3000]);
        // 60 us of work took 40 us.
        axis.execute(2, 1000, None);
        assert!(axis.position().abs_diff(52_000) <= 1);
    }

    #[test]
    fn a_loop_around_a_pause_takes_no_place() {
        let mut axis = Axis::new(1, 1_000_000);
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
