//! The disk: a virtio block device whose other end is this plugin, so that a request is answered when simulated time says so.
//!
//! ```text
//!   guest --store--> QEMU: eventfd --> [behind the store] read the ring, move the data; the request is held
//!   guest <--interrupt-- used ring <--------------------- [sync point, or idle] the model's drive has done it
//! ```
//!
//! QEMU's device is `vhost-user-blk`: it leaves the ring to whoever is behind its socket (`disk/control.rs`). The data move at
//! once, on the vCPU's thread. The guest looks at them when it is told that they are there. Between windows of a sampled
//! run an estimate says when (`under_way.rs`). Where instructions are only counted, a request is answered at once.
//! Not modelled: several queues, discarding, a cache that has to be flushed.

mod control;
mod request;
mod ring;

use std::ffi::{CString, c_int};
use std::fs::File;
use std::os::fd::FromRawFd;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use cxlab_access::Segment;

use crate::arguments::Arguments;
use crate::device;
use crate::qemu::{BigLock, functions};

use control::Control;
pub use request::Direction;
use request::Request;

/// Time for reading QEMU's messages between two looks.
const PAUSE: Duration = Duration::from_micros(20);

/// A request of the guest, and its number.
pub struct Asked {
    pub number: u32,
    pub direction: Direction,
    /// where on the disk `[bytes]`
    pub from: u64,
    /// where in memory
    pub segments: Vec<Segment>,
}

/// A request that is done and not yet answered.
struct Held {
    number: u32,
    request: Request,
}

struct Disk {
    /// what QEMU says, and the ring
    control: Mutex<Control>,
    held: Mutex<Vec<Held>>,
    /// the device in QEMU's object tree
    path: OnceLock<CString>,
}

static DISK: OnceLock<Disk> = OnceLock::new();
/// requests that are held
static HELD: AtomicUsize = AtomicUsize::new(0);

/// Be the other end of the device, if there is one: before QEMU makes it.
pub fn start(arguments: &Arguments) -> Result<(), String> {
    let Some(given) = arguments.disk else { return Ok(()) };
    // SAFETY: the supervisor passes both to this plugin alone, and here they are taken once.
    let (socket, file) = unsafe { (FromRawFd::from_raw_fd(given.socket), File::from_raw_fd(given.file)) };
    let control = Control::new(socket, file).map_err(|cause| format!("the disk's file cannot be used: {cause}"))?;
    let disk = Disk { control: Mutex::new(control), held: Mutex::default(), path: OnceLock::new() };
    let disk = DISK.get_or_init(|| disk);
    let serve = || control::serve(&disk.control);
    std::thread::Builder::new().name("cxlab-disk".into()).spawn(serve).map_err(|cause| cause.to_string())?;
    Ok(())
}

impl Disk {
    /// The ring, when all that QEMU has said so far is known.
    fn control(&self) -> MutexGuard<'_, Control> {
        loop {
            let control = self.control.lock().expect("nobody panics with it");
            if !control.has_message() {
                return control;
            }
            drop(control);
            std::thread::sleep(PAUSE);
        }
    }

    /// Take what the guest has asked for, and do it.
    fn take(&self) -> Vec<Asked> {
        let mut control = self.control();
        if !control.was_kicked() {
            return Vec::new();
        }
        let mut held = self.held.lock().expect("nobody panics with it");
        let mut asked = Vec::new();
        while let Some(mut request) = control.next_request() {
            control.execute(&mut request);
            let number = device::next_number();
            let (direction, from, segments) = (request.direction, request.from, std::mem::take(&mut request.segments));
            asked.push(Asked { number, direction, from, segments });
            held.push(Held { number, request });
        }
        HELD.store(held.len(), Relaxed);
        asked
    }

    /// Answer what is held and `is_done`.
    fn answer(&self, is_done: impl Fn(u32) -> bool, lock: &BigLock) {
        let mut held = self.held.lock().expect("nobody panics with it");
        let (done, rest): (Vec<_>, Vec<_>) = held.drain(..).partition(|held| is_done(held.number));
        *held = rest;
        HELD.store(held.len(), Relaxed);
        drop(held);
        if done.is_empty() {
            return;
        }
        let mut control = self.control.lock().expect("nobody panics with it");
        done.iter().for_each(|held| control.answer(&held.request));
        drop(control);
        self.interrupt(lock);
    }

    /// Tell the guest to look at the ring of answers, if it wants to be told.
    fn interrupt(&self, lock: &BigLock) {
        let path = self.path.get_or_init(|| {
            let found = device::devices(lock).into_iter().find(|(name, _)| name == "virtio-blk");
            found.expect("a device that has asked is there").1
        });
        // SAFETY: QEMU's own functions, under the big lock, with a device that exists and its first queue.
        unsafe {
            let device = (functions().object_resolve_path)(path.as_ptr(), std::ptr::null_mut());
            let queue = (functions().virtio_get_queue)(device, 0 as c_int);
            (functions().virtio_notify)(device, queue);
        }
    }
}

/// Takes the guest's requests since the last call. The caller is a vCPU's thread, after a store to a device.
pub fn take() -> Vec<Asked> {
    DISK.get().map_or_else(Vec::new, Disk::take)
}

/// Answers all that the guest has asked for, where instructions are only counted. The caller does not hold the big lock.
pub fn serve_at_once() {
    if !take().is_empty() {
        answer_all(&BigLock::take());
    }
}

/// Requests that are not answered yet.
pub fn held() -> usize {
    HELD.load(Relaxed)
}

/// Answer these requests.
pub fn answer(numbers: &[u32], lock: &BigLock) {
    if let Some(disk) = DISK.get() {
        disk.answer(|number| numbers.contains(&number), lock);
    }
}

/// Answer all that is held.
pub fn answer_all(lock: &BigLock) {
    if let Some(disk) = DISK.get() {
        disk.answer(|_| true, lock);
    }
}
