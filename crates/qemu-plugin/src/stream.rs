//! The stream: what the guest does goes into the ring, what time it is comes back.
//!
//! ```text
//!   | interval k-1 | sync k-1 | interval k | sync k: publishes the time at sync k-1, runs timers due by it |
//! ```
//!
//! QEMU runs ahead of the model by at most an interval and what the ring holds. The time that timers see at a
//! sync point is the model's at the one before: the order is fixed, whoever is faster. One thread writes at a
//! time: the vCPU's, or the idle one while the vCPU is halted under the big lock.

use std::cell::UnsafeCell;
use std::ffi::{CStr, c_void};
use std::os::fd::BorrowedFd;
use std::sync::atomic::Ordering::Acquire;
use std::time::{Duration, Instant};

use cxlab_access::record::MemoryAccess;
use cxlab_access::ring::{CAPACITY, Reply};
use cxlab_access::{BlockId, Marker, Peer, PeerGone, Producer, Record, Ring};

use crate::arguments::Arguments;
use crate::qemu::BigLock;
use crate::{api, clock, device, mode, progress};

/// Simulated time between two sync points [ps]: timers are late by at most two of them.
const INTERVAL_PS: u64 = 2_000_000;
/// Bounds on the instructions between two sync points.
const QUANTUM: std::ops::RangeInclusive<u64> = 500..=20_000;
/// How long the model may take to attach.
const ATTACH: Duration = Duration::from_secs(60);
/// Exit status of a QEMU that ends because the model did, sysexits.h EX_SOFTWARE.
const MODEL_GONE: i32 = 70;

pub struct Stream {
    producer: Producer,
    peer: Option<Peer>,
    next_block: u32,
    /// sync points so far
    syncs: u64,
    /// questions for the clock so far
    clock_reads: u64,
    /// instructions since the last sync point
    since_sync: u64,
    /// instructions in the interval before
    last_interval: u64,
    /// instructions in an interval, follows the cycles per instruction
    quantum: u64,
    /// the model's time at the last answer [ps]
    model_ps: u64,
    /// the guest's time minus the model's [ps]
    offset_ps: u64,
    /// last load and last store of a repeating instruction: (instruction, line), to tell a line only once
    last: [Option<(u64, u64)>; 2],
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
    unsafe { *STREAM.0.get() = Some(Stream::new(Producer::new(ring))) };
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
    fn new(producer: Producer) -> Stream {
        Stream {
            producer,
            peer: None,
            next_block: 0,
            syncs: 0,
            clock_reads: 0,
            since_sync: 0,
            last_interval: 0,
            quantum: *QUANTUM.start(),
            model_ps: 0,
            offset_ps: 0,
            last: [None; 2],
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
    fn push(&mut self, record: Record) {
        let peer = self.peer.as_ref().expect("detail attaches first");
        if let Err(gone) = self.producer.push(record, peer) {
            or_quit(Err(gone))
        }
    }

    /// Detail begins at `marker`: the guest's clock stands until the model moves it.
    pub fn begin(&mut self, marker: Marker) {
        self.attach();
        // What was answered before is no concern of this region.
        device::look(&BigLock::take());
        let now_ps = clock::now_ps();
        mode::set_detail(true);
        clock::stand_at(now_ps);
        self.offset_ps = now_ps - self.model_ps;
        self.push(Record::Mark { marker });
        self.producer.publish();
        self.since_sync = 0;
    }

    /// Detail ends at `marker`: the guest's clock stands where the model's does.
    pub fn finish(&mut self, marker: Marker) {
        self.settle();
        clock::count_from_here();
        mode::set_detail(false);
        self.mark(marker);
    }

    /// Tell the model of a marker that changes nothing about detail.
    pub fn mark(&mut self, marker: Marker) {
        self.attach();
        self.push(Record::Mark { marker });
        self.producer.publish();
    }

    /// A block was translated: its fresh id.
    pub fn define(&mut self, pc: u64, code: &[u8]) -> BlockId {
        let block = BlockId(self.next_block);
        self.next_block += 1;
        let length = u16::try_from(code.len()).expect("a block has at most 512 instructions of 15 bytes");
        let peer = self.peer.as_ref().expect("detail attaches first");
        or_quit(self.producer.define(Record::Define { block, pc, length }, code, peer));
        block
    }

    #[inline]
    fn block(&mut self, block: BlockId, instructions: u64) {
        self.push(Record::Block { block });
        self.last = [None; 2];
        self.since_sync += instructions;
        if self.since_sync >= self.quantum {
            self.sync();
        }
    }

    fn sync(&mut self) {
        self.syncs += 1;
        self.push(Record::Sync { sequence: self.syncs });
        self.producer.publish();
        if self.syncs > 1 {
            let ps = self.wait(Reply::Sync, self.syncs - 1);
            self.follow_pace(ps.saturating_sub(self.model_ps));
            self.show(ps);
        }
        self.last_interval = std::mem::take(&mut self.since_sync);
        clock::run_due_timers();
    }

    /// Choose the next interval's instructions from the time that the last one took.
    fn follow_pace(&mut self, took_ps: u64) {
        let wanted = self.last_interval * INTERVAL_PS / took_ps.max(1);
        self.quantum = wanted.clamp(*QUANTUM.start(), *QUANTUM.end());
    }

    fn wait(&mut self, reply: Reply, sequence: u64) -> u64 {
        let peer = self.peer.as_ref().expect("detail attaches first");
        or_quit(self.producer.wait_for(reply, sequence, peer))
    }

    fn show(&mut self, model_ps: u64) {
        self.model_ps = self.model_ps.max(model_ps);
        clock::publish(self.offset_ps + self.model_ps);
    }

    /// An instruction touches a line.
    #[inline]
    pub fn access(&mut self, access: MemoryAccess) {
        self.push(Record::Access(access));
    }

    /// The instruction is about to read the clock: let the model catch up.
    fn read_clock(&mut self, instruction: u16) {
        self.clock_reads += 1;
        self.push(Record::ClockRead { instruction, sequence: self.clock_reads });
        let ps = self.wait(Reply::Clock, self.clock_reads);
        self.show(ps);
        clock::set_clock_read(self.offset_ps + ps);
    }

    /// Let the model commit all that was told, and show its time.
    pub fn settle(&mut self) {
        self.clock_reads += 1;
        self.push(Record::Settle { sequence: self.clock_reads });
        let ps = self.wait(Reply::Clock, self.clock_reads);
        self.show(ps);
    }

    /// The vCPU had nothing to do until the guest's time `until_ps`.
    pub fn idle(&mut self, until_ps: u64) {
        let until_ps = until_ps - self.offset_ps;
        self.push(Record::Idle { until_ps });
        self.show(until_ps);
    }

    /// A device has served a request while time stood still.
    fn device_served(&mut self, service_ps: u64) {
        self.push(Record::Device { service_ps });
    }

    /// Nothing more will come.
    pub fn end(&mut self) {
        if self.peer.is_some() && !std::mem::replace(&mut self.ended, true) {
            self.push(Record::End);
            self.producer.publish();
        }
    }
}

/// What a block's callback is told: its id and its instructions.
#[derive(Clone, Copy)]
pub struct BlockData(u64);

impl BlockData {
    pub fn new(block: BlockId, instructions: u64) -> BlockData {
        BlockData(u64::from(block.0) | instructions << 32)
    }

    pub fn as_pointer(self) -> *mut c_void {
        self.0 as *mut c_void
    }
}

/// A block is entered.
pub unsafe extern "C" fn on_block(_vcpu: u32, data: *mut c_void) {
    if mode::in_detail() {
        let data = data as u64;
        with(|stream| stream.block(BlockId(data as u32), data >> 32));
    }
}

/// An instruction reads the clock.
pub unsafe extern "C" fn on_clock_read(_vcpu: u32, instruction: *mut c_void) {
    if mode::in_detail() {
        with(|stream| stream.read_clock(instruction as u16));
    }
}

/// An instruction has touched memory.
pub unsafe extern "C" fn on_memory(_vcpu: u32, info: api::MemoryInfo, address: u64, instruction: *mut c_void) {
    if !mode::in_detail() {
        return;
    }
    let instruction = instruction as u64;
    // SAFETY: `info` and `address` are those of this callback.
    let store = unsafe { api::qemu_plugin_mem_is_store(info) };
    let told = Some((instruction, address >> 6));
    with(|stream| {
        // A repeating instruction, and a vector that QEMU moves in halves, tell each line once.
        if std::mem::replace(&mut stream.last[usize::from(store)], told) == told {
            return;
        }
        // SAFETY: the address is looked up within the callback that it is valid in.
        let (physical, device) = unsafe {
            let place = api::qemu_plugin_get_hwaddr(info, address);
            if place.is_null() {
                return;
            }
            (api::qemu_plugin_hwaddr_phys_addr(place), api::qemu_plugin_hwaddr_is_io(place))
        };
        stream.access(MemoryAccess {
            instruction: instruction as u16,
            // SAFETY: `info` is that of this callback.
            size_log2: unsafe { api::qemu_plugin_mem_size_shift(info) } as u8,
            store,
            physical,
            virtual_page: address >> 12,
            device,
        });
        if device && store && !is_interrupt_controller(info, address) {
            let served = device::wait_for_requests();
            if served > 0 {
                stream.device_served(served * device::SERVICE_PS);
            }
        }
    });
}

/// Whether an access goes to the local APIC, which leaves no request behind.
fn is_interrupt_controller(info: api::MemoryInfo, address: u64) -> bool {
    // SAFETY: the look-up and the name are used within the callback that they are valid in.
    unsafe {
        let name = api::qemu_plugin_hwaddr_device_name(api::qemu_plugin_get_hwaddr(info, address));
        !name.is_null() && CStr::from_ptr(name).to_bytes().starts_with(b"apic")
    }
}
