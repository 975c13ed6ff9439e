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
/// Six instructions a cycle at 4 GHz `[ps]`.
const LEAST_PACE_PS: u64 = 40;
/// Instructions that the pace is measured over, at least.
const MEASURED: u64 = 100;
/// Sync points of a vCPU that are kept until they are answered: those of one that ran far ahead are answered late.
const KEPT: usize = 256;

/// Place of a vCPU in what it has executed.
#[derive(Clone, Copy, Default)]
struct Place {
    /// instructions executed
    instructions: u64,
    /// time that passed without instructions: in a PAUSE, halted, or waiting for a device `[ps]`
    stood_ps: u64,
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
    /// an earlier answer, and where it is of: what the pace is measured from
    measured: Option<(u64, Place)>,
    /// an instruction takes so long `[ps]`
    pace_ps: u64,
    /// where its last PAUSE was `[instructions]`
    paused: Option<u64>,
    /// where a stretch of detail began, and when `[ps]`
    stretch: (u64, Place),
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
            measured: Some((0, Place::default())),
            pace_ps: FIRST_PACE_PS,
            paused: None,
            stretch: (0, Place::default()),
        }
    }

    /// The model's time that it has come to `[ps]`.
    pub fn ps(&self) -> u64 {
        self.known_ps
            + (self.here.instructions - self.known.instructions) * self.pace_ps
            + (self.here.stood_ps - self.known.stood_ps)
            + self.lead_ps
    }

    pub fn pace_ps(&self) -> u64 {
        self.pace_ps
    }

    /// A stretch of detail begins.
    pub fn begin_stretch(&mut self) {
        self.stretch = (self.ps(), self.here);
    }

    /// How long the instructions of the stretch that ends here took, without PAUSEs, halts and devices `[ps]`.
    pub fn end_stretch(&self) -> u64 {
        let (began_ps, began) = self.stretch;
        let passed = self.ps().saturating_sub(began_ps);
        let stood = self.here.stood_ps.saturating_sub(began.stood_ps);
        passed.saturating_sub(stood)
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
            self.paused = Some(self.here.instructions);
            self.here.stood_ps += PAUSE_PS;
            // The model is told where the PAUSE ends.
            self.entered = self.here;
        }
    }

    /// So many of these were not executed after all: no PAUSE is among them, because it reads no clock.
    pub fn take_back(&mut self, instructions: u64) {
        self.here.instructions -= instructions;
        self.entered = self.here;
    }

    /// A device has kept it so long.
    pub fn stand(&mut self, ps: u64) {
        self.here.stood_ps += ps;
    }

    /// Standing still, it comes to `ps`.
    pub fn stand_until(&mut self, ps: u64) {
        self.here.stood_ps += ps.saturating_sub(self.ps());
        // How long it stood is itself an estimate.
        self.measured = None;
    }

    pub fn sync(&mut self, sequence: u64) {
        self.syncs[sequence as usize % KEPT] = self.here;
        self.last_sync = sequence;
    }

    /// The answer to one of its sync points.
    pub fn synced(&mut self, sequence: u64, ps: u64) {
        if sequence > std::mem::replace(&mut self.last_answer, sequence) && sequence + KEPT as u64 > self.last_sync {
            self.learn(ps, self.syncs[sequence as usize % KEPT]);
        }
    }

    /// The answer to a question of this moment.
    pub fn answered(&mut self, ps: u64) {
        self.learn(ps, self.here);
    }

    /// The model's time at `place` is `ps`.
    fn learn(&mut self, ps: u64, place: Place) {
        if place.instructions >= self.known.instructions && place.stood_ps >= self.known.stood_ps {
            (self.known_ps, self.known, self.lead_ps, self.put_off) = (ps, place, 0, 0);
        }
        let Some((before_ps, before)) = self.measured else {
            self.measured = Some((ps, place));
            return;
        };
        let instructions = place.instructions.saturating_sub(before.instructions);
        if instructions >= MEASURED {
            let (passed, stood) = (ps.saturating_sub(before_ps), place.stood_ps.saturating_sub(before.stood_ps));
            self.pace_ps = (passed.saturating_sub(stood) / instructions).max(LEAST_PACE_PS);
            self.measured = Some((ps, place));
        }
    }

    /// The model has come to the beginning of its last block, at `ps`, and waits for what comes next.
    pub fn found_at(&mut self, ps: u64) {
        if self.entered.instructions >= self.known.instructions && self.entered.stood_ps >= self.known.stood_ps {
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
