//! Answers to the guest's questions. Some are deferred until another vCPU has told what it does next.

use cxlab_access::ring::{Behind, Reply};
use cxlab_access::{Phase, Vcpu};
use cxlab_kernel::Time;

use super::{Guest, RecordSource};
use crate::error::ModelError;
use crate::machine::Machine;
use crate::session::reader::Given;

/// Questions by their numbers: the one whose answer the guest waits for, and the last that was answered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Questions {
    pub awaited: u64,
    pub answered: u64,
}

impl Questions {
    fn is_open(self) -> bool {
        self.awaited > self.answered
    }
}

/// Questions of each vCPU at its sync points. They are looked at for each record, so the open ones are bits.
#[derive(Clone, Debug)]
pub(super) struct Syncs {
    each: Vec<Questions>,
    open: u64,
}

impl Syncs {
    pub fn new(vcpus: u16) -> Syncs {
        Syncs { each: vec![Questions::default(); vcpus.into()], open: 0 }
    }

    /// The guest waits for the answer to this sync point of a vCPU, if it has none yet.
    pub fn wait_for(&mut self, vcpu: usize, sequence: u64) {
        self.each[vcpu].awaited = sequence;
        self.note(vcpu);
    }

    /// Whether this is an answer that the vCPU has not got yet, and has not been told to ask for later.
    fn answer(&mut self, vcpu: usize, sequence: u64) -> bool {
        let is_new = sequence > self.each[vcpu].answered;
        if is_new {
            self.each[vcpu].answered = sequence;
            self.note(vcpu);
        }
        is_new
    }

    /// An open question of a vCPU counts as answered: its number.
    fn take_open(&mut self) -> Option<(usize, u64)> {
        let vcpu = self.open.trailing_zeros() as usize;
        let question = self.each.get_mut(vcpu)?;
        question.answered = question.awaited;
        self.open &= self.open - 1;
        Some((vcpu, question.awaited))
    }

    fn note(&mut self, vcpu: usize) {
        self.open = self.open & !(1 << vcpu) | u64::from(self.each[vcpu].is_open()) << vcpu;
    }

    fn any_open(&self) -> bool {
        self.open != 0
    }
}

/// Says how long each vCPU has slept, before the answer of a sampled run: its windows set the pace of what lies between.
fn tell_sleep(source: &mut impl RecordSource, machine: &Machine) {
    for (core, vcpu) in machine.cores().iter().zip((0..).map(Vcpu::new)) {
        let slept = core.idle(machine.now()) + core.spent().io;
        source.slept(vcpu, slept.as_ps());
    }
}

impl<S: RecordSource> Guest<S> {
    /// Whether the guest waits for an answer: nothing comes before it is given.
    pub(super) fn waits(&self) -> bool {
        !self.source.is_recorded_elsewhere() && (self.clock.is_open() || self.syncs.any_open())
    }

    /// Answer what the guest waits for with: later, when vCPU `lacking` has told what it does next.
    pub(super) fn put_off(&mut self, machine: &mut Machine, lacking: usize) {
        let behind = |machine: &Machine, asker: usize, synced| {
            let at = |index: usize| machine.cores()[index].next_slot();
            // All that has happened so far was not enough to answer.
            let asker_ps = at(asker).max(machine.last_event()).as_ps();
            Behind { vcpu: Vcpu::new(lacking), at_ps: at(lacking).as_ps(), asker_ps, synced }
        };
        if self.clock.is_open() {
            if !self.readers[self.asker].withdraw() {
                machine.withdraw(self.asker);
            }
            self.clock.answered = self.clock.awaited;
            self.source.put_off(Reply::Clock, self.clock.awaited, behind(machine, self.asker, self.synced[self.asker]));
        }
        while let Some((index, awaited)) = self.syncs.take_open() {
            self.source.put_off(Reply::Sync(Vcpu::new(index)), awaited, behind(machine, index, self.synced[index]));
        }
    }

    pub(super) fn tell(&mut self, machine: &mut Machine) -> Result<(), ModelError> {
        let (mut begins, is_sampled) = (None, self.is_sampled());
        for number in machine.take_requests_done() {
            self.source.request_done(number);
        }
        for (index, reader) in self.readers.iter_mut().enumerate() {
            match reader.take_answer() {
                None => {}
                Some(Given::Sync { sequence, ps }) => {
                    self.synced[index] = Some((sequence, ps));
                    // One that was put off is asked for no more.
                    if self.syncs.answer(index, sequence) {
                        if is_sampled {
                            tell_sleep(&mut self.source, machine);
                        }
                        self.source.answer_sync(Vcpu::new(index), sequence, ps)?;
                    }
                }
                Some(Given::Clock { sequence, ps }) => {
                    self.clock.answered = sequence;
                    if std::mem::take(&mut self.rests)
                        && let Some(windows) = &mut self.windows
                    {
                        windows.all_idle(Time::from_ps(ps.saturating_sub(self.committed_ps)));
                    }
                    self.committed_ps = ps;
                    if is_sampled {
                        tell_sleep(&mut self.source, machine);
                    }
                    self.source.answer_clock(sequence, ps)?;
                }
                Some(Given::Sample { phase, position, keep }) => begins = Some((phase, position, keep)),
            }
        }
        let Some((phase, position, keep)) = begins else { return Ok(()) };
        self.enter(phase, position, keep, Time::ZERO, machine)?;
        if phase == Phase::Warming { self.warm(machine) } else { Ok(()) }
    }
}
