//! An estimate: where in the model's time a vCPU has come to, from the model's last word and what it has executed since.
//!
//! ```text
//!   known |--- instructions x pace ---|--- PAUSEs, devices: known times ---| here
//! ```
//!
//! The model's word is the answer to a sync point or a clock read. If an answer is put off, it is how far the model
//! has come.

use cxlab_access::record::PAUSE_PS;

use super::SPIN;

/// Pace of a vCPU that no answer has told anything of: an instruction a cycle at 4 GHz `[ps]`.
const FIRST_PACE_PS: u64 = 250;
/// Pace of instructions that wait for no line: two and a half a cycle at 4 GHz `[ps]`.
const FAST_PACE_PS: u64 = 100;
/// Six instructions a cycle at 4 GHz `[ps]`.
const LEAST_PACE_PS: u64 = 40;
/// Instructions that a pace is measured over, at least. A core comes to its instructions in bursts as long as its reorder
/// buffer.
const MEASURED: u64 = 2048;
/// Instructions that a much slower pace is measured over, at least: a reorder buffer. A pace that is too slow makes turns
/// short. One that is too fast lets the vCPU run ahead.
const BURST: u64 = 512;
/// Instructions that a core dispatches without waiting after it has committed all, at most: twice a reorder buffer.
const FILL: u64 = 1024;
/// Sync points of a vCPU that are kept until they are answered: those of one that ran far ahead are answered late.
const KEPT: usize = 256;

/// Place of a vCPU in what it has executed.
#[derive(Clone, Copy, Default)]
struct Place {
    /// instructions executed
    instructions: u64,
    /// those of them that were executed between two PAUSEs of a loop that waits
    spun: u64,
    /// time that passed without instructions: in a PAUSE, halted, or waiting for a device `[ps]`
    stood_ps: u64,
    /// the part of it in PAUSEs `[ps]`
    paused_ps: u64,
}

impl Place {
    /// Difference from an earlier place. A place of another order has no difference.
    fn since(self, before: Place) -> Place {
        Place {
            instructions: self.instructions.saturating_sub(before.instructions),
            spun: self.spun.saturating_sub(before.spun),
            stood_ps: self.stood_ps.saturating_sub(before.stood_ps),
            paused_ps: self.paused_ps.saturating_sub(before.paused_ps),
        }
    }

    fn worked(self) -> u64 {
        self.instructions.saturating_sub(self.spun)
    }

    /// Whether it is no earlier than the other.
    fn is_past(self, other: Place) -> bool {
        self.instructions >= other.instructions && self.stood_ps >= other.stood_ps
    }
}

/// Beginning of a stretch of detail.
#[derive(Clone, Copy, Default)]
struct Stretch {
    /// `[ps]`
    at_ps: u64,
    place: Place,
    /// how long it had slept by then, as the model says `[ps]`
    slept_ps: u64,
}

/// A vCPU's own time, as far as it is known.
#[derive(Clone, Copy)]
pub struct Estimate {
    here: Place,
    /// where its last block began
    entered: Place,
    /// at the last sync points, by their number; the numbers of the last one, and of the last that was answered
    syncs: [Place; KEPT],
    last_sync: u64,
    last_answer: u64,
    /// the model's last word, and where it is of
    known_ps: u64,
    known: Place,
    /// so much further it is than it seems, as the model has found since `[ps]`
    lead_ps: u64,
    /// answers of its own that were put off, one after the other
    put_off: u32,
    /// An earlier answer, from which the pace is measured: a time of the model `[ps]`, and the place where the vCPU was
    /// then. There the core had committed all.
    drained: Option<(u64, Place)>,
    /// An earlier answer about a place where the reorder buffer has been full since the core last committed all.
    filled: Option<(u64, Place)>,
    /// where all was committed last, or where it stood for a time that is an estimate
    drained_at: Place,
    /// an instruction takes so long, but for those of loops that wait `[ps]`
    pace_ps: u64,
    /// an instruction of a loop that waits takes so long, beside the PAUSE `[ps]`
    spin_pace_ps: u64,
    /// where its last PAUSE was `[instructions]`
    paused: Option<u64>,
    /// where it was before that one, and where its last PAUSE had been then
    unpaused: (Place, Option<u64>),
    /// where a stretch of detail began
    stretch: Stretch,
}

impl Estimate {
    pub fn new() -> Estimate {
        Estimate {
            here: Place::default(),
            entered: Place::default(),
            syncs: [Place::default(); KEPT],
            last_sync: 0,
            last_answer: 0,
            known_ps: 0,
            known: Place::default(),
            lead_ps: 0,
            put_off: 0,
            drained: None,
            filled: None,
            drained_at: Place::default(),
            pace_ps: FIRST_PACE_PS,
            spin_pace_ps: 0,
            paused: None,
            unpaused: (Place::default(), None),
            stretch: Stretch::default(),
        }
    }

    /// The model's time that it has come to `[ps]`.
    pub fn ps(&self) -> u64 {
        self.ps_at(self.pace_ps)
    }

    /// The model's time that it has come to, if no instruction since the model's last word has waited for a line `[ps]`.
    pub fn least_ps(&self) -> u64 {
        self.ps_at(self.pace_ps.min(FAST_PACE_PS))
    }

    fn ps_at(&self, pace_ps: u64) -> u64 {
        let since = self.here.since(self.known);
        self.known_ps + since.worked() * pace_ps + since.spun * self.spin_pace_ps + since.stood_ps + self.lead_ps
    }

    pub fn pace_ps(&self) -> u64 {
        self.pace_ps
    }

    /// A stretch of detail begins where all have come to `now_ps`, and this vCPU has slept for so long `[ps]`.
    pub fn begin_stretch(&mut self, now_ps: u64, slept_ps: u64) {
        self.stretch = Stretch { at_ps: now_ps, place: self.here, slept_ps };
    }

    /// How long the instructions of a stretch took that ends for all at `now_ps`, without halts, devices and loops that
    /// wait `[ps]`. The model says how long it slept. This vCPU's own place is an estimate. With a pace that was ten times
    /// too slow, it seemed to work while it slept. So the next pace was too slow as well.
    pub fn end_stretch(&self, now_ps: u64, slept_ps: u64) -> u64 {
        let since = self.here.since(self.stretch.place);
        let slept_ps = slept_ps.saturating_sub(self.stretch.slept_ps);
        now_ps.saturating_sub(self.stretch.at_ps + slept_ps + since.paused_ps + since.spun * self.spin_pace_ps)
    }

    /// Whether this is the model's own word.
    pub fn is_known(&self) -> bool {
        self.known.instructions == self.here.instructions && self.put_off == 0
    }

    /// Whether it waits for what another one does.
    pub fn spins(&self) -> bool {
        self.paused.is_some_and(|paused| self.here.instructions - paused < SPIN)
    }

    /// It executes so many instructions, the last of them PAUSE or not.
    #[inline]
    pub fn execute(&mut self, instructions: u64, pauses: bool) {
        self.entered = self.here;
        self.here.instructions += instructions;
        if pauses {
            let since = self.paused.map_or(SPIN, |paused| self.here.instructions - paused);
            self.unpaused = (self.here, self.paused);
            self.here.spun += if since < SPIN { since } else { 0 };
            self.paused = Some(self.here.instructions);
            self.here.stood_ps += PAUSE_PS;
            self.here.paused_ps += PAUSE_PS;
            // The model is told where the PAUSE ends.
            self.entered = self.here;
        }
    }

    /// Its last block is longer by so many instructions.
    #[inline]
    pub fn lengthen(&mut self, instructions: u64) {
        self.here.instructions += instructions;
    }

    /// So many of these were not executed after all, the last of them PAUSE or not. What the model has said of the whole block is
    /// its word on what is left of it.
    pub fn take_back(&mut self, instructions: u64, pauses: bool) {
        if pauses {
            (self.here, self.paused) = self.unpaused;
        }
        self.here.instructions -= instructions;
        self.entered = self.here;
        self.known = self.not_ahead(self.known);
    }

    /// A place, or this one if the vCPU has stepped back behind it. Otherwise no later answer would be newer: a vCPU that
    /// had to know where it is once asked for ever.
    fn not_ahead(&self, place: Place) -> Place {
        let Place { instructions, spun, stood_ps, paused_ps } = self.here;
        Place {
            instructions: place.instructions.min(instructions),
            spun: place.spun.min(spun),
            stood_ps: place.stood_ps.min(stood_ps),
            paused_ps: place.paused_ps.min(paused_ps),
        }
    }

    /// All it has done is committed, and it goes on at `ps`. A stretch is too short for it to learn its pace there.
    /// One with too fast a pace runs ahead for as long as a window.
    pub fn go_on_at(&mut self, ps: u64, pace_ps: u64) {
        self.pace_ps = pace_ps.max(LEAST_PACE_PS);
        self.here.stood_ps += ps.saturating_sub(self.ps());
        (self.known_ps, self.known, self.lead_ps, self.put_off) = (ps, self.here, 0, 0);
        (self.drained, self.filled, self.drained_at) = (None, None, self.here);
    }

    /// Standing still, it comes to `ps`.
    pub fn stand_until(&mut self, ps: u64) {
        self.here.stood_ps += ps.saturating_sub(self.ps());
        // How long it stood is itself an estimate. Answers to earlier sync points may still come.
        (self.drained, self.filled, self.drained_at) = (None, None, self.here);
    }

    pub fn sync(&mut self, sequence: u64) {
        self.syncs[sequence as usize % KEPT] = self.here;
        self.last_sync = sequence;
    }

    /// The answer to one of its sync points.
    pub fn synced(&mut self, sequence: u64, ps: u64) {
        if sequence > std::mem::replace(&mut self.last_answer, sequence) && sequence + KEPT as u64 > self.last_sync {
            self.learn(ps, self.not_ahead(self.syncs[sequence as usize % KEPT]), false);
        }
    }

    /// The answer to a question of this moment.
    pub fn answered(&mut self, ps: u64) {
        self.learn(ps, self.here, true);
    }

    /// The model's time at `place` is `ps`. Either all before it is committed there, or the core has come to it while
    /// earlier instructions wait.
    fn learn(&mut self, ps: u64, place: Place, drained: bool) {
        if place.is_past(self.known) {
            (self.known_ps, self.known, self.lead_ps, self.put_off) = (ps, place, 0, 0);
        }
        if !place.is_past(self.drained_at) {
            return;
        }
        let before = if drained {
            (self.filled, self.drained_at) = (None, place);
            &mut self.drained
        } else if place.instructions - self.drained_at.instructions >= FILL {
            &mut self.filled
        } else {
            // A core that has committed all takes in what fills its reorder buffer at once. That is no pace.
            return;
        };
        let (before_ps, from) = *before.get_or_insert((ps, place));
        let since = place.since(from);
        let took_ps = ps.saturating_sub(before_ps).saturating_sub(since.stood_ps);
        let slows = since.worked() >= BURST && took_ps > 2 * since.worked() * self.pace_ps;
        if slows || since.worked().max(since.spun) >= MEASURED {
            *before = Some((ps, place));
            self.learn_pace(took_ps, since);
        }
    }

    /// So much was executed in so long. A loop that waits says nothing of the pace of work: its instructions take
    /// next to no time beside the PAUSE. A vCPU with that pace would run alone for tens of microseconds when it works again.
    fn learn_pace(&mut self, ps: u64, since: Place) {
        let (worked, spun) = (since.worked(), since.spun);
        if worked >= BURST && worked >= spun {
            self.pace_ps = (ps.saturating_sub(spun * self.spin_pace_ps) / worked).max(LEAST_PACE_PS);
        } else {
            self.spin_pace_ps = ps.saturating_sub(worked * self.pace_ps) / spun;
        }
    }

    /// The model has come to the beginning of its last block, at `ps`, and waits for what comes next.
    pub fn found_at(&mut self, ps: u64) {
        if self.entered.is_past(self.known) {
            (self.known_ps, self.known, self.lead_ps) = (ps.max(self.known_ps), self.entered, 0);
        }
    }

    /// The model says that it is at `ps` or later, and ahead of others, which have come to `others_ps`: by how much it
    /// cannot say. They are given the time of a PAUSE, twice as much if that has not sufficed, at most `most_ps`.
    pub fn step_back(&mut self, ps: u64, others_ps: u64, most_ps: u64) {
        let step_ps = (PAUSE_PS << self.put_off.min(20)).min(most_ps);
        self.put_off += 1;
        let wanted_ps = ps.max(others_ps + step_ps);
        self.lead_ps += wanted_ps.saturating_sub(self.ps());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE_PS: u64 = 2000;

    /// A vCPU that has worked at a pace of 2 ns, as the model has said at two sync points.
    fn worker() -> Estimate {
        let mut estimate = Estimate::new();
        for sequence in 1..=2 {
            work(&mut estimate, 2 * MEASURED, sequence);
        }
        assert_eq!(estimate.pace_ps(), PACE_PS);
        estimate
    }

    /// It executes so many instructions, and the model answers to the sync point behind them.
    fn work(estimate: &mut Estimate, instructions: u64, sequence: u64) {
        let ps = estimate.known_ps + instructions * PACE_PS;
        estimate.execute(instructions, false);
        estimate.sync(sequence);
        estimate.synced(sequence, ps);
    }

    #[test]
    fn a_loop_that_waits_says_nothing_of_the_pace_of_work() {
        let mut estimate = worker();
        let begins_ps = estimate.ps();
        for _ in 0..MEASURED {
            estimate.execute(4, true);
        }
        // The four instructions take no time beside the PAUSE.
        let ps = begins_ps + MEASURED * PAUSE_PS;
        estimate.sync(3);
        estimate.synced(3, ps);
        assert_eq!((estimate.pace_ps(), estimate.ps()), (PACE_PS, ps));
        estimate.execute(1000, false);
        assert_eq!(estimate.ps(), ps + 1000 * PACE_PS);
    }

    #[test]
    fn a_pace_that_is_too_slow_does_not_make_sleep_work() {
        let mut estimate = worker();
        let began_ps = estimate.ps();
        estimate.begin_stretch(began_ps, 7_000_000);
        // By its pace it is 20 us further when it halts. It took 3 us, and then slept until 22 us.
        estimate.execute(10_000, false);
        estimate.stand_until(began_ps + 22_000_000);
        // Two PAUSEs far from each other: their own time is no work.
        estimate.execute(1000, true);
        estimate.execute(1000, true);
        let now_ps = began_ps + 25_000_000;
        assert_eq!(estimate.end_stretch(now_ps, 7_000_000 + 19_000_000), 6_000_000 - 2 * PAUSE_PS);
    }

    #[test]
    fn a_vcpu_that_has_stepped_back_within_a_block_can_be_told_where_it_is() {
        for answered_before in [true, false] {
            let mut estimate = worker();
            let ps = estimate.ps() + 20 * PACE_PS;
            estimate.execute(20, false);
            estimate.sync(3);
            if answered_before {
                estimate.synced(3, ps);
            }
            // Its fifth instruction reads the clock, and another vCPU is behind.
            estimate.take_back(15, false);
            estimate.sync(4);
            if !answered_before {
                estimate.synced(3, ps);
            }
            estimate.synced(4, ps + 1);
            assert!(estimate.is_known());
            assert_eq!(estimate.ps(), ps + 1);
        }
    }

    #[test]
    fn a_pause_that_is_taken_back_has_not_been() {
        let mut estimate = worker();
        let (ps, spun) = (estimate.ps(), estimate.here.spun);
        estimate.execute(20, true);
        assert!(estimate.spins());
        // A lock is given back ahead of the last 15 of them.
        estimate.take_back(15, true);
        assert!(!estimate.spins());
        assert_eq!((estimate.here.stood_ps, estimate.here.spun), (0, spun));
        estimate.execute(15, true);
        assert!(estimate.spins() && estimate.here.stood_ps == PAUSE_PS && estimate.ps() >= ps + PAUSE_PS);
    }

    #[test]
    fn what_fills_the_reorder_buffer_at_once_is_no_pace() {
        let mut estimate = worker();
        let ps = estimate.ps();
        estimate.answered(ps);
        // 512 instructions, six a cycle at 4 GHz; from there on each waits for the one before.
        estimate.execute(512, false);
        estimate.sync(3);
        estimate.synced(3, ps + 512 * 42);
        work(&mut estimate, 2 * MEASURED, 4);
        work(&mut estimate, 2 * MEASURED, 5);
        assert_eq!(estimate.pace_ps(), PACE_PS);
    }

    #[test]
    fn an_answer_to_what_was_before_a_halt_is_no_pace_of_what_is_behind_it() {
        let mut estimate = worker();
        estimate.execute(MEASURED, false);
        estimate.sync(3);
        let ps = estimate.ps();
        // It halts, by the estimate for a millisecond, and the answer is of before.
        estimate.stand_until(ps + 1_000_000_000);
        estimate.synced(3, ps);
        estimate.execute(2 * MEASURED, false);
        estimate.sync(4);
        // In truth it was woken at once.
        estimate.synced(4, ps + 2 * MEASURED * PACE_PS);
        work(&mut estimate, 2 * MEASURED, 5);
        assert_eq!(estimate.pace_ps(), PACE_PS);
    }
}
