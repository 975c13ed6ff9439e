//! Progress of a run in its schedule, and the phase that begins there.

use super::schedule::Schedule;
use crate::phase::{Keep, Phase};

/// Instructions that a line of a repeating instruction counts for. A loop in its place would move eight words, and
/// count each.
pub const REPEATED_LINE: u64 = 16;

/// Progress of a run in its schedule.
#[derive(Clone, Debug)]
pub struct Progress {
    schedule: Schedule,
    /// of the region so far `[instructions]`
    position: u64,
    /// the last lines that a repeating instruction has loaded and stored: (instruction, line)
    repeated: [Option<(u64, u64)>; 2],
    /// the repeating instruction whose last access was a load: its next store writes what that load has read
    loaded: Option<u64>,
    phase: Phase,
    /// where the phase ends `[instructions]`
    ends: u64,
    /// which windows are kept, where that has not been told yet
    keep: Keep,
}

impl Progress {
    #[must_use]
    pub fn new(schedule: Schedule) -> Progress {
        let (phase, left) = schedule.at(0);
        Progress { schedule, position: 0, repeated: [None; 2], loaded: None, phase, ends: left, keep: Keep::All }
    }

    /// Returns which of the windows so far are kept, once.
    pub fn take_keep(&mut self) -> Keep {
        std::mem::replace(&mut self.keep, Keep::All)
    }

    #[must_use]
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// A block of so many instructions is about to be executed: the phase that begins with it, if one does.
    #[inline]
    pub fn enter(&mut self, instructions: u64) -> Option<Phase> {
        let begins = if self.position >= self.ends { self.next() } else { None };
        self.position += instructions;
        begins
    }

    #[must_use]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Whether the phase has ended at this position of the run.
    #[must_use]
    pub fn is_over(&self, position: u64) -> bool {
        position >= self.ends
    }

    /// Advances the schedule to this position of the run. Returns the phase that begins here, if one does.
    pub fn reach(&mut self, position: u64) -> Option<Phase> {
        self.position = self.position.max(position);
        if self.position >= self.ends { self.next() } else { None }
    }

    /// An instruction that may repeat touches a line: what that counts for, and the phase that begins with it, if one does.
    /// None begins between a load and the store of what it read.
    #[inline]
    pub fn repeat(&mut self, instruction: u64, line: u64, store: bool) -> (u64, Option<Phase>) {
        let moves = std::mem::replace(&mut self.loaded, (!store).then_some(instruction)) == Some(instruction) && store;
        let here = Some((instruction, line));
        if std::mem::replace(&mut self.repeated[usize::from(store)], here) == here {
            return (0, None);
        }
        let begins = if self.position >= self.ends && !moves { self.next() } else { None };
        self.position += REPEATED_LINE;
        (REPEATED_LINE, begins)
    }

    #[cold]
    fn next(&mut self) -> Option<Phase> {
        self.keep = self.schedule.thin(self.position);
        let (phase, left) = self.schedule.at(self.position);
        self.ends = self.position + left;
        let begins = phase == Phase::Measured;
        let differs = std::mem::replace(&mut self.phase, phase) != phase;
        // Windows may lie one behind the other.
        (differs || begins || self.keep != Keep::All).then_some(phase)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_tells_each_phase_where_it_begins() {
        let mut progress = Progress::new(Schedule::new(10, 20, 100, 7).unwrap());
        let mut phases = vec![progress.phase()];
        phases.extend((0..1000 / 5).filter_map(|_| progress.enter(5)));
        assert!(phases.len() >= 30);
        let after = |phase| match phase {
            Phase::Warming => Phase::Detailed,
            Phase::Detailed => Phase::Measured,
            Phase::Measured | Phase::Beginning => Phase::Warming,
        };
        assert!(phases.windows(2).all(|pair| pair[1] == after(pair[0])), "{phases:?}");
    }

    /// Where a schedule measures in a program of so many instructions, told in blocks of five: (begin, end), thinned.
    fn windows(mut progress: Progress, instructions: u64) -> Vec<(u64, u64)> {
        let mut kept: Vec<(u64, u64)> = Vec::new();
        let mut open = (progress.phase() == Phase::Measured).then_some(0);
        while progress.position() < instructions {
            let at = progress.position();
            let Some(phase) = progress.enter(5) else { continue };
            kept.extend(open.take().map(|begin| (begin, at)));
            let keep = progress.take_keep();
            let mut place = 0;
            kept.retain(|_| {
                place += 1;
                keep.keeps(place - 1)
            });
            open = (phase == Phase::Measured).then_some(at);
        }
        kept
    }

    #[test]
    fn a_schedule_that_thins_has_half_of_its_windows_or_all_and_one_in_each_period() {
        for seed in 0..20 {
            for length in [1000, 3000, 10_000, 77_000, 300_000] {
                let windows = windows(Progress::new(Schedule::thinning(10, 30, 64, seed).unwrap()), length);
                // 64 windows of 10 are 640; each doubling of that is a doubling of the period.
                let every = 10 * length.div_ceil(640).next_power_of_two();
                let periods = length / every;
                assert!((32..=64).contains(&periods) && windows.len().abs_diff(periods as usize) <= 1, "{length}");
                assert!(windows.iter().all(|(begin, end)| end - begin == 10 && begin % 10 == 0));
                assert!(windows.iter().enumerate().all(|(period, (begin, _))| begin / every == period as u64));
            }
        }
    }

    #[test]
    fn a_short_program_is_measured_wholly() {
        let windows = windows(Progress::new(Schedule::thinning(10, 30, 64, 3).unwrap()), 600);
        assert_eq!(windows.first().unwrap().0, 0);
        assert!(windows.windows(2).all(|pair| pair[0].1 == pair[1].0));
    }

    #[test]
    fn seeds_choose_which_windows_are_kept() {
        let first = |seed| windows(Progress::new(Schedule::thinning(10, 30, 64, seed).unwrap()), 40_000)[0].0;
        let mean = (0..400).map(first).sum::<u64>() as f64 / 400.0;
        // One of 64 places of the first period of 640, each as likely: 315, and 640 / sqrt(12 x 400) = 9 of deviation.
        assert!((mean - 315.0).abs() < 40.0, "{mean}");
    }

    #[test]
    fn phases_in_time_begin_where_the_run_has_come_to_them() {
        let schedule = Schedule::new(20, 40, 1000, 7).unwrap();
        let mut progress = Progress::new(schedule);
        let mut spans = [0u64; 3];
        let (mut position, mut phase) = (0, progress.phase());
        while position < 100_000 {
            position += 3;
            spans[phase as usize] += 3;
            phase = progress.reach(position).unwrap_or(phase);
            assert_eq!(phase, schedule.at(position).0);
        }
        assert!(spans[Phase::Measured as usize].abs_diff(2000) <= 300, "{spans:?}");
        // If a run jumps over windows, its phase is the one where it lands.
        progress.reach(200_000);
        assert_eq!((progress.phase(), progress.position()), (schedule.at(200_000).0, 200_000));
    }

    #[test]
    fn a_repeating_instruction_counts_by_its_lines() {
        let mut progress = Progress::new(Schedule::new(10, 20, 100, 7).unwrap());
        progress.enter(3);
        // rep movsq of a page: eight words of each line.
        for word in 0..512 {
            progress.repeat(2, word / 8, false);
            progress.repeat(2, 1000 + word / 8, true);
        }
        assert_eq!(progress.position(), 3 + 2 * 64 * 16);
    }

    #[test]
    fn phases_begin_and_end_within_an_instruction_that_repeats() {
        // A line counts for 16: windows of 4 lines, each with 6 to warm up, in 100 lines.
        let schedule = Schedule::new(4 * 16, 6 * 16, 100 * 16, 7).unwrap();
        let mut progress = Progress::new(schedule);
        progress.enter(1);
        let mut lines = [0u32; 3];
        for line in 0..10_000 {
            progress.repeat(0, line, true);
            lines[progress.phase() as usize] += 1;
        }
        let near = |count: u32, wanted: u32| count.abs_diff(wanted) <= 10;
        assert!(near(lines[Phase::Measured as usize], 400), "{lines:?}");
        assert!(near(lines[Phase::Detailed as usize], 600), "{lines:?}");
    }

    #[test]
    fn no_phase_begins_between_a_load_and_the_store_of_what_it_read() {
        // Source and destination lie 32 bytes apart within their lines: every fourth word is the first of one of them.
        for every in 1..100 {
            let mut progress = Progress::new(Schedule::new(every, 0, every, 7).unwrap());
            progress.enter(1);
            let mut begun = 0;
            for word in 0..4096 {
                let (_, at_load) = progress.repeat(2, word / 8, false);
                let (_, at_store) = progress.repeat(2, 1000 + (word + 4) / 8, true);
                assert_eq!(at_store, None, "every {every}, word {word}");
                begun += u32::from(at_load.is_some());
            }
            assert!(begun > 100, "every {every}: {begun}");
            // What only stores has its phases at stores.
            assert!((0..100).any(|line| progress.repeat(3, line, true).1.is_some()));
        }
    }
}
