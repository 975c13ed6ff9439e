//! Files of the host: QEMU serves a request while the guest's time stands still, and its answer waits for simulated time.
//!
//! ```text
//!   guest --store--> QEMU: the host's file --> used ring: its index is taken back, the interrupt is held
//!   guest <--index, interrupt-- 80 us and its bytes later  [sync point, look at the timers, or idle]
//! ```
//!
//! The host serves the guest's files; how long that takes is the host's affair. QEMU counts the elements that a virtio device
//! has taken and not returned, and those that it has returned (`inuse` and `used-idx` of
//! `x-query-virtio-queue-status`). The vCPU goes on meanwhile: Linux asks under a spinlock. The model says when a request is
//! done, or between windows an estimate (`under_way.rs`).
//! Where instructions are only counted, an answer goes to the guest as QEMU gives it.
//! Not modelled: a limit to how many requests overlap, and the output side of the serial ports, which QEMU empties within
//! the notification itself.

use std::collections::VecDeque;
use std::ffi::{CString, c_void};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use crate::device::{self, QueueState};
use crate::qemu::{self, BigLock, functions};
use crate::used_ring::{Moved, UsedRing};
use crate::{mode, series};

/// Simulated time of a file request: 80 us `[ps]`. That is a 4 KiB read of a data-centre NVMe drive, and a little for
/// the server. Source: Intel SSD DC P4510 product brief, 77 us typical random read latency.
pub const SERVICE_PS: u64 = 80_000_000;
/// And what its bytes take on the drive's link, each way. Source: the same brief, 3,200 MB/s of sequential reads.
pub const BYTES_PER_SECOND: u64 = 3_200_000_000;

/// Time that QEMU works between two looks.
const PAUSE: Duration = Duration::from_micros(10);

/// Name in QEMU of the devices whose requests take the host's time. Each has one queue (hw/9pfs/virtio-9p-device.c).
const ASKED: &str = "virtio-9p";
const QUEUE: u16 = 0;

/// Words of the class `virtio-pci-bus` in which `BusClass` ends. Its last word has `max_dev`, which is 1, and
/// `automatic_ids`, which is 0. The first function of `VirtioBusClass` is next: `notify`. Source: include/hw/qdev-core.h and
/// include/hw/virtio/virtio-bus.h of QEMU 10.0 and 11.1.
const END_OF_BUS: std::ops::Range<usize> = 12..32;

type Notify = unsafe extern "C" fn(*mut c_void, u16);
/// QEMU's function that raises the interrupt of a virtio device.
static NOTIFY: OnceLock<Notify> = OnceLock::new();

/// A device's queue of requests.
struct Queue {
    /// the device in QEMU's object tree
    path: CString,
    /// address of the PCI device that raises its interrupts
    proxy: usize,
    /// of the queue's interrupt, once QEMU has raised it
    vector: Option<u16>,
    ring: UsedRing,
    /// requests that QEMU has answered, and those of them that the guest knows of, modulo 2^16
    answered: u16,
    shown: u16,
    /// the others, in the order of the ring
    held: VecDeque<Held>,
}

/// A request that the guest does not know the answer to.
struct Held {
    number: u32,
    is_done: bool,
}

/// A request that QEMU has answered.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    pub number: u32,
    pub moved: Moved,
}

static QUEUES: Mutex<Vec<Queue>> = Mutex::new(Vec::new());
/// answers that are held
static HELD: AtomicUsize = AtomicUsize::new(0);

/// Put our function in the place of QEMU's that raises interrupts of virtio devices.
pub fn hook() -> Result<(), String> {
    // SAFETY: a class of a bus is a table of pointers, which ends behind these words.
    unsafe {
        let class = (functions().object_class_by_name)(c"virtio-pci-bus".as_ptr());
        let end = END_OF_BUS.clone().find(|slot| !class.is_null() && *class.add(*slot) as usize == 1);
        let Some(notify_slot) = end.map(|slot| slot + 1).filter(|slot| !(*class.add(*slot)).is_null()) else {
            let name = series::here().name;
            return Err(format!("the table `virtio-pci-bus` is not the one of QEMU {name}; {}", series::wanted()));
        };
        let place = class.add(notify_slot);
        let _ = NOTIFY.set(std::mem::transmute::<*mut c_void, Notify>(*place));
        *place = notify as *mut c_void;
    }
    Ok(())
}

/// QEMU raises the interrupt of a virtio device, under the big lock.
unsafe extern "C" fn notify(proxy: *mut c_void, vector: u16) {
    let mut queues = QUEUES.lock().expect("nobody panics with it");
    if let Some(queue) = queues.iter_mut().find(|queue| queue.proxy == proxy as usize) {
        queue.vector = Some(vector);
        if mode::tells() {
            return;
        }
    }
    drop(queues);
    raise(proxy as usize, vector);
}

fn raise(proxy: usize, vector: u16) {
    // SAFETY: QEMU's own function, under the big lock, with a device that exists.
    unsafe { NOTIFY.get().expect("hook comes first")(proxy as *mut c_void, vector) }
}

impl Queue {
    fn find_all(lock: &BigLock) -> Vec<Queue> {
        let asked = device::devices(lock).into_iter().filter(|(name, _)| name == ASKED);
        let of_device = |(_, path): (String, CString)| {
            let proxy = device::above(&path, lock) as usize;
            Queue { path, proxy, vector: None, ring: UsedRing::default(), answered: 0, shown: 0, held: VecDeque::new() }
        };
        asked.map(of_device).collect()
    }

    /// Requests that QEMU has not answered.
    fn look(&mut self, lock: &BigLock) -> u64 {
        let Some(QueueState { in_flight, answered, ring }) = device::state(&self.path, QUEUE, lock) else {
            return 0;
        };
        (self.answered, self.ring) = (answered, ring);
        if !mode::tells() && self.held.is_empty() {
            self.shown = answered;
        }
        in_flight.into()
    }

    /// Takes answers back that the guest is not to know of yet. Returns their requests. A guest that has asked for no
    /// interrupt finds them at once.
    fn hold(&mut self) -> Vec<Asked> {
        if self.vector.is_none() {
            self.shown = self.answered;
        }
        let waiting = usize::from(self.answered.wrapping_sub(self.shown));
        let asked: Vec<Asked> = (self.held.len()..waiting).map(|place| self.asked(place)).collect();
        if !asked.is_empty() {
            self.held.extend(asked.iter().map(|one| Held { number: one.number, is_done: false }));
            self.show();
        }
        asked
    }

    /// The request whose answer is so many places behind those that the guest knows of.
    fn asked(&self, place: usize) -> Asked {
        let moved = self.ring.moved(self.shown.wrapping_add(place as u16), |address, to| {
            let last = address.saturating_add(to.len() as u64 - 1);
            let is_memory = series::is_memory(address) && series::is_memory(last);
            if is_memory {
                series::read_memory(address, to);
            }
            is_memory
        });
        Asked { number: device::next_number(), moved }
    }

    /// Gives the guest the answers to these requests, but for the interrupt. An answer waits for those before it in the
    /// ring. Returns whether there were any.
    fn answer(&mut self, numbers: &[u32]) -> bool {
        self.held.iter_mut().filter(|held| numbers.contains(&held.number)).for_each(|held| held.is_done = true);
        let done = self.held.iter().take_while(|held| held.is_done).count();
        self.held.drain(..done);
        self.shown = self.shown.wrapping_add(done as u16);
        if done > 0 {
            self.show();
        }
        done > 0
    }

    /// Gives the guest all answers of QEMU, which may have given it some already. Returns whether any were held.
    fn answer_all(&mut self, lock: &BigLock) -> bool {
        self.look(lock);
        if self.held.is_empty() {
            return false;
        }
        self.held.clear();
        self.shown = self.answered;
        self.show();
        true
    }

    fn show(&self) {
        series::write_memory(self.ring.index(), &self.shown.to_le_bytes());
    }
}

/// Requests that QEMU has not answered.
pub fn in_flight(lock: &BigLock) -> u64 {
    let mut queues = QUEUES.lock().expect("nobody panics with it");
    if queues.is_empty() {
        *queues = Queue::find_all(lock);
    }
    queues.iter_mut().map(|queue| queue.look(lock)).sum()
}

/// Hold the vCPU until QEMU has answered everything. Returns the lock under which it has. The caller is the vCPU's thread
/// and does not hold the big lock.
pub fn wait() -> BigLock {
    loop {
        let lock = BigLock::take();
        if in_flight(&lock) == 0 || qemu::ends(&lock) {
            return lock;
        }
        drop(lock);
        std::thread::sleep(PAUSE);
    }
}

/// Takes back what QEMU has answered since the last call, once it has answered everything. Returns these requests. The
/// caller is the vCPU's thread and does not hold the big lock.
pub fn hold() -> Vec<Asked> {
    let _lock = wait();
    let mut queues = QUEUES.lock().expect("nobody panics with it");
    let asked = queues.iter_mut().flat_map(Queue::hold).collect();
    count_held(&queues);
    asked
}

fn count_held(queues: &[Queue]) {
    HELD.store(queues.iter().map(|queue| queue.held.len()).sum(), Relaxed);
}

/// Requests that are not answered yet.
pub fn held() -> usize {
    HELD.load(Relaxed)
}

/// Answer these requests.
pub fn answer(numbers: &[u32], _lock: &BigLock) {
    give(|queue| queue.answer(numbers));
}

/// Answer all that is held.
pub fn answer_all(lock: &BigLock) {
    if held() > 0 {
        give(|queue| queue.answer_all(lock));
    }
}

/// Answers each queue, and raises the interrupt of one that had something to give.
fn give(mut answer: impl FnMut(&mut Queue) -> bool) {
    let mut queues = QUEUES.lock().expect("nobody panics with it");
    for queue in queues.iter_mut() {
        if answer(queue)
            && let Some(vector) = queue.vector
        {
            raise(queue.proxy, vector);
        }
    }
    count_held(&queues);
}
