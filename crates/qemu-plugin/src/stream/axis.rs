//! The schedule's axis for several vCPUs. It is about their common time, and known whether or not anything is timed.
//!
//! ```text
//!   each block:  position += instructions x mean pace of its vCPU x (time / work) of the detail before this period
//!   each line that an instruction repeats:            += 5 ns      x (time / work)
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
/// Time of a line of an instruction that repeats: 64 B at 12.8 GB/s, a third of a channel of DDR5-4800 `[ps]`. Linux clears
/// pages and memcpy moves megabytes at the memory's speed, whatever the pace of the instructions around. A line that is in
/// a cache takes less. So it stands for too much of the run, which costs windows and makes no error.
pub const LINE_PS: u64 = 5000;
/// Pace of a vCPU before its first detail: an instruction a cycle at 4 GHz `[ps]`.
const FIRST_PACE_PS: f64 = 250.0;

/// Instructions between two PAUSEs of a loop that waits, at most. Loops of Linux and of libraries have 4 to 20. A program
/// that works between two waits has more, and its work is to take the same place whether it had to wait or not.
const LOOP: u64 = 24;

/// Share of a stretch's weight that is left when another one has come. Weights are those of logarithms, because a
/// region often begins with a wait. That wait would otherwise outweigh tens of stretches and make them too short.
const KEPT: f64 = 0.7;
/// Share that is left of a stretch's weight in a vCPU's pace, where times and instructions are summed.
const KEPT_OF_PACE: f64 = 0.8;
/// A vCPU's own stretches are added to so long at the mean pace of all `[ps]`. A few microseconds say little of what it
/// will do. Between windows, vCPUs that seem fast would execute more than in windows. So those would hold too little.
const OF_ALL_PS: f64 = 20e6;
/// Instructions of all that tell a pace, at least.
const TELLING: f64 = 100.0;

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

/// Instructions of the last stretches of detail, and their time. QEMU runs ahead of the model in some stretches, and
/// behind in the next. So the numbers of a vCPU vary tenfold where there are 48, and a mean of the paces of stretches would
/// be wrong.
#[derive(Clone, Copy, Default)]
struct Worked {
    instructions: f64,
    /// `[ps]`
    ps: f64,
}

impl Worked {
    fn learn(&mut self, stretch: Worked) {
        self.instructions = KEPT_OF_PACE * self.instructions + stretch.instructions;
        self.ps = KEPT_OF_PACE * self.ps + stretch.ps;
    }

    fn and(self, other: Worked) -> Worked {
        Worked { instructions: self.instructions + other.instructions, ps: self.ps + other.ps }
    }

    /// Time of an instruction `[ps]`, where that of `all` is known.
    fn pace_ps(self, all: Worked) -> f64 {
        (self.ps + OF_ALL_PS) / (self.instructions + OF_ALL_PS * all.instructions / all.ps)
    }
}

/// A vCPU's part of a stretch of detail.
#[derive(Clone, Copy, Debug, Default)]
pub struct Part {
    pub instructions: u64,
    /// lines of those that repeat
    pub lines: u64,
    /// how long all that took `[ps]`
    pub ps: u64,
}

impl Part {
    /// Time that it takes, if an instruction takes so long `[ps]`.
    fn expected_ps(self, pace_ps: f64) -> f64 {
        self.instructions as f64 * pace_ps + (self.lines * LINE_PS) as f64
    }

    /// Instructions, and their share of the time. Lines and instructions are taken to have been faster or slower than
    /// expected alike.
    fn without_lines(self, pace_ps: f64) -> Worked {
        let instructions = self.instructions as f64;
        // What one has done that sleeps by now is forgotten as well.
        let share = if self.instructions == 0 { 0.0 } else { instructions * pace_ps / self.expected_ps(pace_ps) };
        Worked { instructions, ps: self.ps as f64 * share }
    }
}

/// Work of a vCPU.
#[derive(Clone, Copy)]
struct Worker {
    /// mean time of an instruction in the last stretches of detail, and the same when this period of the schedule began
    /// `[ps]`
    pace_ps: f64,
    in_period_ps: f64,
    learnt: Worked,
    /// instructions since a PAUSE that may be a loop around it, and which PAUSE that was
    pending: u64,
    paused: Option<BlockId>,
}

pub struct Axis {
    workers: Vec<Worker>,
    /// time that passes while vCPUs work for a unit of time in all: they work side by side, and wait for each other. As the
    /// last stretches of detail have it, and the same when this period of the schedule began
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
            learnt: Worked::default(),
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
        let ps = done as f64 * worker.in_period_ps;
        self.pass(ps);
        done
    }

    /// A vCPU's instruction that repeats touches its next line.
    #[inline]
    pub fn touch_line(&mut self) {
        self.pass(LINE_PS as f64);
    }

    /// So much work takes its place `[ps]`.
    #[inline]
    fn pass(&mut self, work_ps: f64) {
        self.position_ps += work_ps * self.in_period;
        if self.position_ps >= self.ends_ps {
            self.begin_period();
        }
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

    /// A stretch of detail ends that took so long `[ps]`. Each vCPU had a part in it.
    pub fn learn(&mut self, time_ps: u64, parts: &[Part]) {
        self.learn_paces(parts);
        let work_ps: u64 = parts.iter().map(|part| part.ps).sum();
        if work_ps > 0 && time_ps > 0 {
            self.rate = self.learnt.learn(time_ps as f64, work_ps as f64);
        }
    }

    fn learn_paces(&mut self, parts: &[Part]) {
        for (worker, part) in self.workers.iter_mut().zip(parts) {
            worker.learnt.learn(part.without_lines(worker.pace_ps));
        }
        let all = self.workers.iter().map(|worker| worker.learnt).fold(Worked::default(), Worked::and);
        if all.instructions < TELLING || all.ps == 0.0 {
            return;
        }
        self.workers.iter_mut().for_each(|worker| worker.pace_ps = worker.learnt.pace_ps(all));
    }

    /// A stretch of detail ends with which a region began, before anything was known. It is a period of its own.
    pub fn learn_beginning(&mut self, time_ps: u64, parts: &[Part]) {
        self.learn(time_ps, parts);
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

    /// Parts without lines: instructions, and how long they took.
    fn parts<const N: usize>(each: [(u64, u64); N]) -> [Part; N] {
        each.map(|(instructions, ps)| Part { instructions, lines: 0, ps })
    }

    #[test]
    fn an_instruction_takes_its_vcpus_mean_pace_at_the_rate_of_all_from_the_next_period_on() {
        let mut axis = Axis::new(2, 2000);
        axis.begin(2);
        axis.execute(0, 4000, None);
        axis.execute(1, 4000, None);
        assert_eq!(axis.position(), 1000);
        // 80 us of work took 60 us: the two work side by side, and wait now and then. Both begin with 20 us at the mean of
        // 1 ns: (20 + 20) us / (40 + 20) thousand instructions, and (60 + 20) us / (40 + 20) thousand.
        axis.learn(60_000_000, &parts([(40_000, 20_000_000), (40_000, 60_000_000)]));
        assert_eq!(axis.paces_ps().collect::<Vec<_>>(), [667, 1333]);
        axis.execute(0, 4000, None);
        axis.execute(1, 4000, None);
        assert_eq!(axis.position(), 2000);
        axis.execute(0, 4000, None);
        axis.execute(1, 4000, None);
        // A logarithm and back: to the nanosecond.
        assert!(axis.position().abs_diff(2000 + (2667 + 5333) * 3 / 4) <= 1);
    }

    #[test]
    fn a_slow_beginning_is_forgotten() {
        let mut axis = Axis::new(1, 1_000_000);
        axis.learn(80_000_000, &parts([(4000, 80_000_000)]));
        assert_eq!(axis.paces_ps().collect::<Vec<_>>(), [20_000]);
        for _ in 0..10 {
            axis.learn(80_000_000, &parts([(320_000, 80_000_000)]));
        }
        // Of 80 times the instructions in the same time; 0.8^10 = 0.107 is left of the beginning. The other ten weigh
        // (1 - 0.107) / (1 - 0.8) = 4.463: 250 x (4.463 + 0.107) / (4.463 + 0.107 / 80).
        assert_eq!(axis.paces_ps().collect::<Vec<_>>(), [256]);
    }

    #[test]
    fn a_few_microseconds_tell_little_of_a_vcpus_pace() {
        let mut axis = Axis::new(3, 50_000);
        // Mean of all: 200.2 us / 400,100 instructions. The second: (0.2 + 20) us / (100 + 20 us / 0.50037 ns).
        axis.learn(200_000_000, &parts([(400_000, 200_000_000), (100, 200_000), (0, 5_000_000)]));
        assert_eq!(axis.paces_ps().collect::<Vec<_>>(), [500, 504, 500]);
    }

    #[test]
    fn a_beginning_is_a_period_and_tells_the_pace_of_those_that_did_nothing() {
        let mut axis = Axis::new(3, 50_000);
        axis.begin(1);
        axis.execute(0, 10_000, None);
        axis.execute(1, 10_000, None);
        assert_eq!(axis.position(), 5000);
        // 40 us side by side; in all 60 us of 20,000 instructions. With 20 us at that pace: (20 + 20) us / 16,667, (40 +
        // 20) us / 16,667.
        axis.learn_beginning(40_000_000, &parts([(10_000, 20_000_000), (10_000, 40_000_000), (0, 0)]));
        assert_eq!(axis.position(), 50_000);
        assert_eq!(axis.paces_ps().collect::<Vec<_>>(), [2400, 3600, 3000]);
        // 60 us of work took 40 us.
        axis.execute(2, 1000, None);
        assert!(axis.position().abs_diff(52_000) <= 1);
    }

    #[test]
    fn a_line_takes_its_own_time_whatever_the_pace() {
        let mut axis = Axis::new(1, 1_000_000);
        // 20 us of instructions and 20 us of lines were expected, and took 80 us: half of that was instructions'. With 20
        // us at that pace it stays the same: 40 us / 80,000.
        axis.learn(80_000_000, &[Part { instructions: 80_000, lines: 4000, ps: 80_000_000 }]);
        assert_eq!(axis.paces_ps().collect::<Vec<_>>(), [500]);
        axis.execute(0, 4000, None);
        (0..1000).for_each(|_| axis.touch_line());
        // The pace is that of before the first period. The rate is 1 still: a line takes 5 ns.
        assert!(axis.position().abs_diff(1000 + 5000) <= 1);
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
