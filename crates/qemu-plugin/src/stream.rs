//! The stream: what the guest does goes into the ring, what time it is comes back.
//!
//! ```text
//!   | interval k-1 | sync k-1 | interval k | sync k: publishes the time at sync k-1, runs timers due by it |
//! ```
//!
//! QEMU runs ahead of the model by at most an interval and what the ring holds. The time that timers see at a
//! sync point is the model's at an earlier one: the order is fixed, whoever is faster. Each vCPU has sync points of its
//! own. One thread writes at a time: that of the vCPUs, or the idle one while all are halted under the big lock.

mod callbacks;
mod sync;
mod warming;

use std::cell::UnsafeCell;
use std::os::fd::BorrowedFd;
use std::sync::atomic::Ordering::Acquire;
use std::time::{Duration, Instant};

use cxlab_access::record::MemoryAccess;
use cxlab_access::ring::{CAPACITY, Reply, Told};
use cxlab_access::{BlockId, Marker, Page, Peer, PeerGone, Producer, Record, Ring, Vcpu};

use crate::arguments::Arguments;
use crate::mode::Mode;
use crate::pages::Pages;
use crate::qemu::{self, BigLock};
use crate::registers::Registers;
use crate::turns::{self, Turn, Turns};
use crate::{clock, device, mode, progress};

use sync::{LAG, LAG_OF_SEVERAL, Syncs};
use warming::Warming;

pub use callbacks::{
    BlockData, enter_block, on_block, on_clock_read, on_halt, on_memory, on_pause, on_repeat, reach_clock_read,
};

/// How long the model may take to attach.
const ATTACH: Duration = Duration::from_secs(60);
/// Exit status of a QEMU that ends because the model did, sysexits.h EX_SOFTWARE.
const MODEL_GONE: i32 = 70;

pub struct Stream {
    producer: Producer,
    peer: Option<Peer>,
    next_block: u32,
    turns: Turns,
    syncs: Vec<Syncs>,
    /// the block that was entered last, and its instructions
    entered: BlockId,
    in_block: u64,
    /// questions for the clock so far
    clock_reads: u64,
    /// the latest clock read [ps]: no later one is earlier, on whichever vCPU
    last_read_ps: u64,
    /// the model's time at the latest answer [ps]
    model_ps: u64,
    /// the guest's time minus the model's [ps]
    offset_ps: u64,
    /// last load and last store of a repeating instruction: (instruction, line), to tell a line only once
    last: [Option<(u64, u64)>; 2],
    /// translations that the model knows
    pages: Pages,
    /// between windows, and ahead of a region
    warming: Warming,
    /// the last record has been written
    ended: bool,
}

struct Cell(UnsafeCell<Option<Stream>>);
// SAFETY: one thread uses the stream at a time: see the module's text.
unsafe impl Sync for Cell {}
// SAFETY: as above.
unsafe impl Send for Cell {}

static STREAM: Cell = Cell(UnsafeCell::new(None));

/// Map the ring that the supervisor made.
pub fn open(arguments: &Arguments) -> Result<(), String> {
    // SAFETY: the supervisor passes a descriptor that stays open for as long as QEMU runs.
    let fd = unsafe { BorrowedFd::borrow_raw(arguments.ring) };
    let refuse = |cause| format!("the ring behind descriptor {} cannot be used: {cause}", arguments.ring);
    let ring = Ring::create(fd, CAPACITY).map_err(refuse)?;
    progress::show_in(Ring::open(fd).map_err(refuse)?);
    // SAFETY: nothing else runs yet.
    unsafe { *STREAM.0.get() = Some(Stream::new(Producer::new(ring), arguments)) };
    Ok(())
}

/// Use the stream from the thread whose turn it is.
#[inline]
pub fn with<R>(use_it: impl FnOnce(&mut Stream) -> R) -> R {
    // SAFETY: one thread uses the stream at a time: see the module's text.
    let stream = unsafe { (*STREAM.0.get()).as_mut() };
    use_it(stream.expect("open comes first"))
}

/// End QEMU at once: there is nobody left to simulate for.
pub fn quit() -> ! {
    // SAFETY: ends the process without running QEMU's exit handlers, which would ask the model again.
    unsafe { libc::_exit(MODEL_GONE) }
}

fn or_quit<T>(result: Result<T, PeerGone>) -> T {
    result.unwrap_or_else(|_| {
        eprintln!("cxlab plugin: the model has ended, so QEMU ends too");
        quit()
    })
}

impl Stream {
    fn new(producer: Producer, arguments: &Arguments) -> Stream {
        Stream {
            producer,
            peer: None,
            next_block: 0,
            turns: Turns::new(),
            syncs: vec![Syncs::START; turns::vcpus()],
            entered: BlockId(0),
            in_block: 0,
            clock_reads: 0,
            last_read_ps: 0,
            model_ps: 0,
            offset_ps: 0,
            last: [None; 2],
            pages: Pages::new(turns::vcpus()),
            warming: Warming::new(arguments),
            ended: false,
        }
    }

    /// Wait until the model reads the ring, and watch it from then on.
    fn attach(&mut self) -> &Peer {
        if self.peer.is_none() {
            let patience = Instant::now();
            let pid = loop {
                match self.producer.header().consumer_pid.load(Acquire) {
                    0 if patience.elapsed() < ATTACH => std::thread::sleep(Duration::from_millis(1)),
                    0 => {
                        eprintln!("cxlab plugin: no model has attached to the ring within {ATTACH:?}");
                        quit()
                    }
                    pid => break pid,
                }
            };
            self.peer = Some(or_quit(Peer::open(pid).map_err(|_| PeerGone)));
        }
        self.peer.as_ref().expect("just set")
    }

    #[inline]
    fn push(&mut self, vcpu: usize, record: Record) {
        let peer = self.peer.as_ref().expect("detail attaches first");
        if let Err(gone) = self.producer.push(Vcpu::new(vcpu), record, peer) {
            or_quit(Err(gone))
        }
    }

    /// Detail begins at `marker`: the guest's clock stands until the model moves it. Whoever else does anything is told
    /// of when it does.
    pub fn begin(&mut self, vcpu: usize, marker: Marker) {
        self.attach();
        // What was answered before is no concern of this region.
        device::look(&BigLock::take());
        let now_ps = clock::now_ps();
        mode::set(Mode::Detail);
        clock::stand_at(now_ps);
        self.offset_ps = now_ps - self.model_ps;
        self.pages.begin();
        self.take_over(vcpu);
        self.mark(vcpu, marker);
        self.begin_phase(vcpu, marker);
        self.producer.publish();
    }

    /// Detail ends at `marker`: the guest's clock stands where the model's does.
    pub fn finish(&mut self, vcpu: usize, marker: Marker) {
        self.end_phase(vcpu);
        self.halt_others(vcpu);
        self.settle(vcpu);
        clock::count_from_here();
        mode::set(Mode::Counted);
        self.mark(vcpu, marker);
    }

    /// `vcpu` is the only one that does anything.
    fn take_over(&mut self, vcpu: usize) {
        self.halt_others(vcpu);
        if let Turn::Wake { speaker } = self.turns.enter(vcpu) {
            self.push(speaker, Record::Wake { woken: Vcpu::new(vcpu) });
        }
        self.syncs[vcpu].begin();
    }

    fn halt_others(&mut self, vcpu: usize) {
        for other in (0..turns::vcpus()).filter(|other| *other != vcpu) {
            if !turns::is_halted(other) {
                self.halt(other);
            }
        }
    }

    /// Tell the model of a marker.
    pub fn mark(&mut self, vcpu: usize, marker: Marker) {
        self.attach();
        turns::speak(vcpu);
        self.push(vcpu, Record::Mark { marker });
        self.producer.publish();
    }

    /// A block was translated: its fresh id.
    pub fn define(&mut self, pc: u64, code: &[u8]) -> BlockId {
        let block = BlockId(self.next_block);
        self.next_block += 1;
        let length = u16::try_from(code.len()).expect("a block has at most 512 instructions of 15 bytes");
        let peer = self.peer.as_ref().expect("detail attaches first");
        or_quit(self.producer.define(Vcpu::default(), Record::Define { block, pc, length }, code, peer));
        block
    }

    /// Whether `vcpu` may enter a block; what woke it is told.
    #[inline]
    fn may_enter(&mut self, vcpu: usize, block: BlockId) -> bool {
        match self.turns.enter(vcpu) {
            Turn::Run => true,
            Turn::Wake { speaker } => {
                self.push(speaker, Record::Wake { woken: Vcpu::new(vcpu) });
                true
            }
            Turn::Ask => {
                self.announce(vcpu, block);
                self.sync(vcpu, 0);
                self.turns.goes_on()
            }
            Turn::Leave => false,
        }
    }

    /// Tell which block is next before what is told ahead of it: the last branch led there.
    fn announce(&mut self, vcpu: usize, block: BlockId) {
        self.push(vcpu, Record::Block { block, from: 0 });
        self.push(vcpu, Record::Cut { instruction: 0 });
    }

    #[inline]
    fn block(&mut self, vcpu: usize, entered: BlockData) {
        let (block, instructions) = (entered.id(), entered.instructions());
        self.push(vcpu, Record::Block { block, from: 0 });
        self.last = [None; 2];
        self.in_block = instructions;
        self.turns.execute(vcpu, instructions, entered.pauses());
        self.warming.in_detail(instructions);
        if self.syncs[vcpu].execute(instructions, entered.pauses()) {
            self.sync(vcpu, if turns::several() { LAG_OF_SEVERAL } else { LAG });
        }
    }

    fn wait(&mut self, reply: Reply, sequence: u64) -> Told {
        let peer = self.peer.as_ref().expect("detail attaches first");
        or_quit(self.producer.wait_for(reply, sequence, peer))
    }

    fn show(&mut self, model_ps: u64) {
        self.model_ps = self.model_ps.max(model_ps);
        clock::publish(self.offset_ps + self.model_ps);
    }

    /// An instruction touches a line.
    #[inline]
    pub fn access(&mut self, vcpu: usize, access: MemoryAccess) {
        self.push(vcpu, Record::Access(access));
    }

    /// The page through which `address` led to `physical`; the model is told of a new one.
    #[inline]
    pub fn page(&mut self, vcpu: usize, address: u64, physical: u64) -> Option<Page> {
        let (page, news) = self.pages(vcpu)?.find(vcpu, address, physical, qemu::read_physical)?;
        if let Some(mapping) = news {
            let (record, entries) = mapping.tell(page.id);
            let peer = self.peer.as_ref().expect("detail attaches first");
            or_quit(self.producer.define(Vcpu::new(vcpu), record, &entries, peer));
        }
        Some(page)
    }

    /// What the model knows of page tables; `None` if QEMU does not show the registers that select them.
    #[inline]
    pub fn pages(&mut self, vcpu: usize) -> Option<&mut Pages> {
        if self.pages.asks_for_space(vcpu) {
            let registers = Registers::get();
            self.pages.enter(vcpu, registers.control(c"cr3")?, registers.control(c"cr4")?);
        }
        Some(&mut self.pages)
    }

    /// A record of `vcpu`, as it stands.
    pub fn tell(&mut self, vcpu: usize, record: Record) {
        self.push(vcpu, record);
    }

    /// The instruction is about to read the clock: let the model catch up. Whether it may: else another one is behind.
    fn read_clock(&mut self, vcpu: usize, instruction: u16) -> bool {
        self.clock_reads += 1;
        self.push(vcpu, Record::ClockRead { instruction, sequence: self.clock_reads });
        let ps = match self.wait(Reply::Clock, self.clock_reads) {
            Told::Time(ps) => ps,
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
    fn settle(&mut self, vcpu: usize) {
        self.clock_reads += 1;
        self.push(vcpu, Record::Settle { sequence: self.clock_reads });
        if let Told::Time(ps) = self.wait(Reply::Clock, self.clock_reads) {
            self.answered(vcpu, ps);
        }
    }

    /// The model has answered a question of this moment.
    fn answered(&mut self, vcpu: usize, ps: u64) {
        self.turns.answered(vcpu, ps);
        self.show(ps);
    }

    /// The same of the vCPU that halted last.
    pub fn settle_last(&mut self) {
        self.settle(turns::speaker());
    }

    /// No vCPU had anything to do until the guest's time `until_ps`.
    pub fn idle(&mut self, until_ps: u64) {
        let until_ps = until_ps - self.offset_ps;
        self.warming.stands(until_ps.saturating_sub(self.model_ps));
        let speaker = turns::speaker();
        self.push(speaker, Record::Idle { until_ps });
        self.turns.idle(speaker, until_ps);
        self.show(until_ps);
    }

    /// The vCPU waits for an interrupt.
    fn halt(&mut self, vcpu: usize) {
        self.push(vcpu, Record::Halt);
        turns::halt(vcpu);
    }

    /// A device has served a request while time stood still.
    fn device_served(&mut self, vcpu: usize, service_ps: u64) {
        self.push(vcpu, Record::Device { service_ps });
        self.warming.stands(service_ps);
        self.turns.stand(vcpu, service_ps);
    }

    /// Nothing more will come.
    pub fn end(&mut self) {
        if self.peer.is_some() && !std::mem::replace(&mut self.ended, true) {
            self.push(turns::speaker(), Record::End);
            self.producer.publish();
        }
    }
}
