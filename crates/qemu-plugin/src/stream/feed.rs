//! The feed: what vCPUs do becomes records; the model's answers become the guest's time.
//!
//! ```text
//!   | interval k-1 | sync k-1 | interval k | sync k: publishes the time at sync k-1, runs timers due by it |
//! ```
//!
//! QEMU runs ahead of the model by at most an interval and what the ring holds. The time that timers see at a
//! sync point is the model's at an earlier one: the order is fixed, whoever is faster. Each vCPU has sync points of its
//! own.

use std::num::NonZeroU64;

use cxlab_access::record::MemoryAccess;
use cxlab_access::ring::{Reply, Told};
use cxlab_access::{BlockId, Marker, Page, REPEATED_LINE, Record, Vcpu};

use super::block::BlockData;
use super::contended::ContendedBlocks;
use super::link::Link;
use super::sync::{LAG, LAG_OF_SEVERAL, Question, Syncs};
use crate::arguments::Drive;
use crate::disk::{Asked, Direction};
use crate::mode::{self, Mode};
use crate::pages::{News, Pages};
use crate::qemu::{self, BigLock};
use crate::registers::Registers;
use crate::turns::{self, Turn, Turns};
use crate::under_way::{self, Teller, UnderWay};
use crate::{clock, decoded, host_files, series};

pub struct Feed {
    link: Link,
    next_block: u32,
    turns: Turns,
    syncs: Vec<Syncs>,
    /// the block that was entered last
    entered: BlockData,
    contended: ContendedBlocks,
    /// questions for the clock so far
    clock_reads: u64,
    /// the latest clock read `[ps]`: no later one is earlier, on whichever vCPU
    last_read_ps: u64,
    /// the model's time at the latest answer `[ps]`
    model_ps: u64,
    /// the guest's time minus the model's `[ps]`
    offset_ps: u64,
    /// last load and last store of a repeating instruction: (instruction, line), to tell a line only once
    last: [Option<(u16, u64)>; 2],
    /// translations that the model knows
    pages: Pages,
    /// requests that the model's devices have done, by its latest answer, and of these, those answered
    done: u64,
    answered: u64,
    /// all of them that are not answered
    under_way: UnderWay,
    /// a vCPU was asked where it is, and has entered no block since
    asked: bool,
}

impl Feed {
    pub fn new(link: Link, drive: Option<Drive>) -> Feed {
        Feed {
            link,
            next_block: 0,
            turns: Turns::new(),
            syncs: vec![Syncs::START; turns::vcpus()],
            entered: BlockData::new(BlockId(0), 0, 0, false),
            contended: ContendedBlocks::default(),
            clock_reads: 0,
            last_read_ps: 0,
            model_ps: 0,
            offset_ps: 0,
            last: [None; 2],
            pages: Pages::new(turns::vcpus()),
            done: 0,
            answered: 0,
            under_way: UnderWay::new(drive),
            asked: false,
        }
    }

    /// A record of `vcpu`, as it stands.
    #[inline]
    pub fn push(&mut self, vcpu: usize, record: Record) {
        self.link.push(vcpu, record);
    }

    /// Let the model see all that was pushed.
    pub fn publish(&mut self) {
        self.link.publish();
    }

    /// The model's time at its latest answer `[ps]`.
    pub fn model_ps(&self) -> u64 {
        self.model_ps
    }

    /// Detail begins at `marker`: the guest's clock stands until the model moves it. Whoever else does anything is told
    /// of when it does.
    pub fn begin(&mut self, vcpu: usize, marker: Marker) {
        self.link.attach();
        // What was asked and answered before is no concern of this region.
        let lock = BigLock::take();
        host_files::in_flight(&lock);
        under_way::answer_all(&lock);
        drop(lock);
        let now_ps = clock::now_ps();
        mode::set(Mode::Detail);
        clock::stand_at(now_ps);
        self.offset_ps = now_ps - self.model_ps;
        self.pages.begin();
        self.take_over(vcpu);
        self.mark(vcpu, marker);
    }

    /// Detail ends at `marker`: the guest's clock stands where the model's does.
    pub fn finish(&mut self, vcpu: usize, marker: Marker) {
        self.halt_others(vcpu);
        self.settle(vcpu);
        clock::count_from_here();
        mode::set(Mode::Counted);
        self.under_way.forget_all();
        self.mark(vcpu, marker);
    }

    /// Detail goes on after a phase that was not timed.
    pub fn resume(&mut self, vcpu: usize, paces_ps: impl Iterator<Item = u64>) {
        mode::set(Mode::Detail);
        self.turns.resume(self.model_ps, paces_ps);
        self.take_over(vcpu);
        // A vCPU that has something to do goes on at once. It would otherwise wait for the end of a turn that nobody
        // shortens.
        for other in (0..turns::vcpus()).filter(|other| *other != vcpu && !qemu::is_idle(*other)) {
            if self.turns.wake(other, vcpu) {
                self.push(vcpu, Record::Wake { woken: Vcpu::new(other) });
            }
        }
    }

    /// A stretch of detail begins, after its first phase has.
    pub fn begin_stretch(&mut self) {
        self.turns.begin_stretch(self.model_ps, |vcpu| self.link.slept_ps(vcpu));
    }

    /// How long the instructions of each vCPU took in the stretch that ends here `[ps]`.
    pub fn end_stretch(&self) -> impl Iterator<Item = u64> {
        self.turns.end_stretch(self.model_ps, |vcpu| self.link.slept_ps(vcpu))
    }

    /// The guest's time went on by so much while the model's stood still.
    pub fn shift(&mut self, passed_ps: u64) {
        self.offset_ps += passed_ps;
    }

    /// `vcpu` is the only one that does anything.
    fn take_over(&mut self, vcpu: usize) {
        self.halt_others(vcpu);
        if let Turn::Wake { speaker } = self.turns.enter(vcpu, false) {
            self.push(speaker, Record::Wake { woken: Vcpu::new(vcpu) });
        }
        self.syncs[vcpu].begin();
    }

    pub fn halt_others(&mut self, vcpu: usize) {
        for other in (0..turns::vcpus()).filter(|other| *other != vcpu) {
            if !turns::is_halted(other) {
                self.halt(other);
            }
        }
    }

    /// Tell the model of a marker.
    pub fn mark(&mut self, vcpu: usize, marker: Marker) {
        self.link.attach();
        turns::speak(vcpu);
        self.push(vcpu, Record::Mark { marker });
        self.publish();
    }

    /// A block was translated: its fresh id.
    pub fn define(&mut self, pc: u64, code: &[u8]) -> BlockId {
        let block = BlockId(self.next_block);
        self.next_block += 1;
        let length = u16::try_from(code.len()).expect("a block has at most 512 instructions of 15 bytes");
        let alone = decoded::take_flushed();
        self.link.define(Vcpu::default(), Record::Define { block, pc, length, alone }, code);
        block
    }

    /// Whether `vcpu` may enter a block; what woke it is told.
    #[inline]
    pub fn may_enter(&mut self, vcpu: usize, next: BlockData) -> bool {
        let locks = self.contended.has(next.id());
        match self.turns.enter(vcpu, locks) {
            Turn::Run => true,
            Turn::Wake { speaker } => {
                self.push(speaker, Record::Wake { woken: Vcpu::new(vcpu) });
                true
            }
            Turn::Ask { drained } => {
                self.announce(vcpu, next.id());
                let owns = self.contended.line(next.id()).filter(|_| locks);
                self.sync(vcpu, if drained { Question::Drained { owns } } else { Question::HERE });
                self.asked = true;
                self.turns.goes_on() && (!locks || self.turns.is_most_behind(vcpu))
            }
            Turn::Leave => false,
        }
    }

    /// Whether no other vCPU that does anything is behind this one.
    pub fn is_most_behind(&self, vcpu: usize) -> bool {
        self.turns.is_most_behind(vcpu)
    }

    /// Asks where this vCPU is at the beginning of a block. Returns whether the model has come there: else others have to
    /// run first.
    pub fn comes_to(&mut self, vcpu: usize, block: BlockId) -> bool {
        self.announce(vcpu, block);
        self.sync(vcpu, Question::HERE);
        self.turns.is_known(vcpu)
    }

    /// Tell which block is next before what is told ahead of it: the last branch led there.
    pub fn announce(&mut self, vcpu: usize, block: BlockId) {
        turns::name_next(vcpu);
        self.push(vcpu, Record::Block { block, from: 0 });
        self.push(vcpu, Record::Cut { instruction: 0 });
    }

    /// A block is entered where instructions are timed. Returns whether the model has said anew how far a vCPU has come.
    /// It says so at a sync point that is due, and where the vCPU is asked before a block. Where vCPUs are asked often, no
    /// sync point is ever due.
    #[inline]
    pub fn block(&mut self, vcpu: usize, entered: BlockData) -> bool {
        let (block, instructions) = (entered.id(), entered.instructions());
        self.push(vcpu, Record::Block { block, from: 0 });
        self.last = [None; 2];
        self.entered = entered;
        self.turns.execute(vcpu, instructions, entered.pauses());
        let due = self.syncs[vcpu].execute(instructions, entered.pauses());
        if due {
            self.sync(vcpu, Question::After { lag: if turns::several() { LAG_OF_SEVERAL } else { LAG } });
        }
        std::mem::take(&mut self.asked) | due
    }

    /// An instruction of one of several vCPUs touches the next line that it repeats. It counts as in a sample. Before it did,
    /// a vCPU that cleared pages had a sync point once in 4,000 lines, 32 us at 8 ns each. It could be three of them ahead.
    pub fn repeats_line(&mut self, vcpu: usize) {
        self.turns.lengthen(vcpu, REPEATED_LINE);
        // A sync point that is due by that comes with the next block.
        self.syncs[vcpu].execute(REPEATED_LINE, false);
    }

    /// Go on when the model has answered the question at the sync point that is here, or one before it if it says so.
    fn sync(&mut self, vcpu: usize, question: Question) {
        let sequence = self.syncs[vcpu].reach();
        self.turns.sync(vcpu, sequence);
        let (record, lag, drained) = match question {
            Question::After { lag } => (Record::Sync { sequence, lag }, lag, false),
            Question::Drained { owns } => (Record::Drain { sequence, owns }, 0, true),
        };
        self.push(vcpu, record);
        self.publish();
        if let Some(awaited) = self.syncs[vcpu].awaits(lag) {
            match self.link.wait(Reply::Sync(Vcpu::new(vcpu)), awaited) {
                Told::Time { ps, done } => {
                    self.done = self.done.max(done);
                    let pace_ps = self.turns.synced(vcpu, awaited, ps, drained);
                    self.syncs[vcpu].follow(pace_ps);
                    self.show(ps);
                }
                Told::Later(behind) => self.turns.step_back(vcpu, behind),
            }
        }
        self.syncs[vcpu].begin();
        clock::run_due_timers(vcpu);
        self.answer_if_done();
        // One that has been woken by somebody else gets its turn.
        if turns::any_woken() {
            qemu::end_turn(vcpu);
        }
    }

    fn show(&mut self, model_ps: u64) {
        self.model_ps = self.model_ps.max(model_ps);
        clock::publish(self.offset_ps + self.model_ps);
    }

    /// Show what time it is where nothing is timed: so much has passed.
    pub fn show_untimed(&self, passed_ps: u64) {
        clock::publish(self.offset_ps + self.model_ps + passed_ps);
    }

    /// Whether an instruction touches another line than just before: one that repeats, and a vector that QEMU moves in
    /// halves, tell each line once.
    #[inline]
    pub fn touches_anew(&mut self, instruction: u16, line: u64, store: bool) -> bool {
        let touched = Some((instruction, line));
        std::mem::replace(&mut self.last[usize::from(store)], touched) != touched
    }

    /// Tell the next line of each instruction, whatever was told before: nothing was, where nothing is timed.
    pub fn forget_touches(&mut self) {
        self.last = [None; 2];
    }

    /// An instruction touches a line.
    #[inline]
    pub fn access(&mut self, vcpu: usize, access: MemoryAccess) {
        self.push(vcpu, Record::Access(access));
    }

    /// The page through which `address` led to `physical`; the model is told of a new one.
    #[inline]
    pub fn page(&mut self, vcpu: usize, address: u64, physical: u64) -> Option<Page> {
        let (page, news) = self.pages(vcpu)?.find(vcpu, address, physical, series::read_physical)?;
        if let Some(News { mapping, replaces }) = news {
            let (record, entries) = Record::of_page(page.id, &mapping, replaces);
            self.link.define(Vcpu::new(vcpu), record, &entries);
        }
        Some(page)
    }

    /// Page tables that the model knows. `None` if QEMU does not show the registers that select them.
    #[inline]
    pub fn pages(&mut self, vcpu: usize) -> Option<&mut Pages> {
        if self.pages.asks_for_space(vcpu) {
            let registers = Registers::get();
            self.pages.enter(vcpu, registers.control(c"cr3")?, registers.control(c"cr4")?);
        }
        Some(&mut self.pages)
    }

    /// An instruction of one of several vCPUs is about to read the clock. Whether it may: else it is to leave before that.
    pub fn reach_clock_read(&mut self, vcpu: usize, instruction: u16) -> bool {
        // A vCPU that may enter the block may read the clock at its beginning. Otherwise all vCPUs would leave, each
        // for another.
        self.reach(vcpu, instruction, |feed| feed.turns.is_most_behind(vcpu) && feed.read_clock(vcpu, instruction))
    }

    /// The vCPU has come to an instruction within its block. Returns whether it goes on there, as `may_go_on` says where the vCPU
    /// stands before that instruction: else it is to leave before it.
    fn reach(&mut self, vcpu: usize, instruction: u16, may_go_on: impl FnOnce(&mut Feed) -> bool) -> bool {
        let rest = self.entered.instructions() - u64::from(instruction);
        let pauses = self.entered.pauses();
        self.turns.take_back(vcpu, rest, pauses);
        let goes_on = may_go_on(self);
        if goes_on {
            self.turns.execute(vcpu, rest, pauses);
        } else {
            self.push(vcpu, Record::Cut { instruction });
        }
        goes_on
    }

    /// A locked instruction of one of several vCPUs touches a line.
    pub fn lock(&mut self, vcpu: usize, line: u64) {
        let is_contended = self.turns.lock(vcpu, line);
        self.contended.touch(self.entered.id(), line, is_contended);
    }

    /// Whether all actions are to be in order of time, where this vCPU is, and another one has lately locked this line.
    pub fn is_wanted(&self, vcpu: usize, line: u64) -> bool {
        self.turns.is_in_order(vcpu) && self.turns.is_shared(vcpu, line)
    }

    /// A store of one of several vCPUs is about to give back a lock. Its line is one of these, the last that it took first. Returns
    /// whether it may: when all before it has committed, the line is its own, and nobody else is behind. Else it is to leave before
    /// that. If nobody else wants the lock, it may.
    pub fn reach_release(&mut self, vcpu: usize, instruction: u16, mut held: impl Iterator<Item = u64>) -> bool {
        let Some(line) = held.find(|line| self.is_wanted(vcpu, *line)) else { return true };
        self.reach(vcpu, instruction, |feed| {
            feed.sync(vcpu, Question::Drained { owns: NonZeroU64::new(line) });
            feed.turns.is_known(vcpu) && feed.turns.is_most_behind(vcpu)
        })
    }

    /// The instruction is about to read the clock: let the model catch up. Whether it may: else another one is behind.
    pub fn read_clock(&mut self, vcpu: usize, instruction: u16) -> bool {
        self.clock_reads += 1;
        self.push(vcpu, Record::ClockRead { instruction, sequence: self.clock_reads });
        let ps = match self.link.wait(Reply::Clock, self.clock_reads) {
            Told::Time { ps, done } => {
                self.done = self.done.max(done);
                ps
            }
            Told::Later(behind) => {
                self.turns.step_back(vcpu, behind);
                return false;
            }
        };
        self.answered(vcpu, ps);
        self.last_read_ps = self.last_read_ps.max(self.offset_ps + ps);
        clock::set_clock_read(self.last_read_ps);
        true
    }

    /// Let the model commit all that `vcpu` did, and show its time.
    pub fn settle(&mut self, vcpu: usize) {
        self.clock_reads += 1;
        self.push(vcpu, Record::Settle { sequence: self.clock_reads });
        if let Told::Time { ps, done } = self.link.wait(Reply::Clock, self.clock_reads) {
            self.done = self.done.max(done);
            self.answered(vcpu, ps);
        }
    }

    /// Whether requests are done that the guest has no answer to.
    fn has_answers(&self) -> bool {
        self.done > self.answered || self.under_way.has_news(clock::now_ps())
    }

    /// Answers what is done. Returns whether anything is.
    pub fn answer(&mut self, lock: &BigLock) -> bool {
        if !self.has_answers() {
            return false;
        }
        let mut numbers: Vec<u32> = (self.answered..self.done).map(|before| self.link.done(before)).collect();
        self.answered = self.done;
        self.under_way.forget(&numbers);
        numbers.extend(self.under_way.take_done(clock::now_ps()));
        under_way::answer(&numbers, lock);
        true
    }

    /// As [`Feed::answer`]. The caller does not hold the big lock, which is taken only if it is needed.
    pub fn answer_if_done(&mut self) {
        if self.has_answers() {
            self.answer(&BigLock::take());
        }
    }

    /// The model's time stands still from here on, and so do its devices.
    pub fn leave_devices(&mut self) {
        self.under_way.leave_model();
    }

    /// Time until a request is done that the model does not tell of, from the whole nanosecond that it is now `[ps]`.
    pub fn until_estimate_ps(&self) -> u64 {
        self.under_way.next_ps().map_or(u64::MAX, |done_ps| done_ps.saturating_sub(clock::whole_ns_ps()))
    }

    /// The guest has asked for something of a file of the host, and goes on.
    pub fn ask_file(&mut self, vcpu: usize, asked: host_files::Asked) {
        let teller = teller();
        let service_ps = self.under_way.ask_file(asked, clock::now_ps(), teller);
        if teller == Teller::Model {
            self.push(vcpu, Record::File { number: asked.number, service_ps });
        }
    }

    /// The guest has asked its disk, and goes on.
    pub fn ask_disk(&mut self, vcpu: usize, asked: &Asked) {
        let teller = teller();
        self.under_way.ask(asked, clock::now_ps(), teller);
        if teller == Teller::Estimate {
            return;
        }
        let Asked { number, from, segments, .. } = asked;
        let write = asked.direction == Direction::Write;
        let record = Record::Disk { number: *number, write, segments: segments.len() as u16, from: *from };
        let bytes: Vec<u8> = segments.iter().flat_map(|segment| segment.to_bytes()).collect();
        self.link.define(Vcpu::new(vcpu), record, &bytes);
    }

    /// The model has answered a question of this moment.
    fn answered(&mut self, vcpu: usize, ps: u64) {
        self.turns.answered(vcpu, ps);
        self.show(ps);
    }

    /// No vCPU had anything to do until the guest's time `until_ps`: how long that is for the model `[ps]`.
    pub fn idle(&mut self, until_ps: u64) -> u64 {
        let until_ps = until_ps - self.offset_ps;
        let idle_ps = until_ps.saturating_sub(self.model_ps);
        let speaker = turns::speaker();
        self.push(speaker, Record::Idle { until_ps });
        self.turns.idle(speaker, until_ps);
        self.show(until_ps);
        idle_ps
    }

    /// Tells the model that no vCPU has anything to do before the guest's time `until_ps`, or before a device has
    /// done something. Returns how long that is for the model `[ps]`.
    pub fn rest(&mut self, until_ps: u64) -> u64 {
        let (until_ps, before_ps) = (until_ps - self.offset_ps, self.model_ps);
        let speaker = turns::speaker();
        self.push(speaker, Record::Rest { until_ps, done: self.answered as u32 });
        self.settle(speaker);
        self.turns.idle(speaker, self.model_ps);
        self.model_ps - before_ps
    }

    /// The vCPU waits for an interrupt.
    pub fn halt(&mut self, vcpu: usize) {
        self.push(vcpu, Record::Halt);
        turns::halt(vcpu);
    }

    /// Nothing more will come.
    pub fn end(&mut self) {
        self.link.end(turns::speaker());
    }
}

/// Source of the word that a request of this moment is done.
fn teller() -> Teller {
    if mode::in_detail() { Teller::Model } else { Teller::Estimate }
}
