//! Requests in flight: what the guest has asked of a device and not yet been answered.
//!
//! The host serves the guest's files; how long that takes is the host's affair. So the guest's time stands
//! still while a request is in flight, and a declared service time is added when it is answered. QEMU counts
//! the elements that a virtio device has taken and not returned, and those that it has returned (`inuse` and
//! `used-idx` of `x-query-virtio-queue-status`).
//! Not modelled: overlap of a request with computation, and the output side of the serial ports, which QEMU
//! empties within the notification itself.

use std::ffi::{CStr, CString};
use std::sync::Mutex;
use std::time::Duration;

use crate::qemu::{self, BigLock, functions};

/// Simulated time of a file request: 80 us `[ps]`. That is a 4 KiB read of a data-centre NVMe drive, and a little for
/// the server. Source: Intel SSD DC P4510 product brief, 77 us typical random read latency.
pub const SERVICE_PS: u64 = 80_000_000;

/// Time that QEMU works between two looks.
const PAUSE: Duration = Duration::from_micros(10);

/// Devices whose requests take the host's time: the name in QEMU, the queues that carry requests.
const ASKED: &[(&str, u16)] = &[("virtio-9p", 1)];

/// A queue that carries requests.
struct Queue {
    /// in QEMU's object tree
    path: CString,
    number: u16,
    /// requests answered when last looked, modulo 2^16
    answered: u16,
}

/// Requests that a look at the queues shows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Requests {
    pub in_flight: u64,
    /// answered since the last look
    pub answered: u64,
}

static QUEUES: Mutex<Vec<Queue>> = Mutex::new(Vec::new());

/// QEMU's virtio devices: the name of the kind, the path in the object tree.
pub fn devices(_lock: &BigLock) -> Vec<(String, CString)> {
    let mut found = Vec::new();
    // SAFETY: a QMP command's implementation, under the big lock; the list is freed by its own function.
    unsafe {
        let list = (functions().qmp_x_query_virtio)(std::ptr::null_mut());
        let mut entry = list;
        while !entry.is_null() {
            let info = &*(*entry).value;
            found
                .push((CStr::from_ptr(info.name).to_string_lossy().into_owned(), CStr::from_ptr(info.path).to_owned()));
            entry = (*entry).next;
        }
        (functions().qapi_free_VirtioInfoList)(list);
    }
    found
}

fn find_queues(lock: &BigLock) -> Vec<Queue> {
    let asked = |(name, path): (String, CString)| {
        let count = ASKED.iter().find(|(asked, _)| *asked == name).map_or(0, |(_, count)| *count);
        (0..count).map(move |number| Queue { path: path.clone(), number, answered: 0 })
    };
    devices(lock).into_iter().flat_map(asked).collect()
}

/// Requests of a queue: taken and not yet returned, and returned since it was set up, modulo 2^16.
pub fn status(path: &CStr, number: u16, _lock: &BigLock) -> Option<(u32, u16)> {
    // SAFETY: a QMP command's implementation, under the big lock; its result is freed by its own function.
    unsafe {
        let status = (functions().qmp_x_query_virtio_queue_status)(path.as_ptr(), number, std::ptr::null_mut());
        if status.is_null() {
            return None;
        }
        let counts = ((*status).inuse, (*status).used_idx);
        (functions().qapi_free_VirtQueueStatus)(status);
        Some(counts)
    }
}

/// Look at the queues that carry requests.
pub fn look(lock: &BigLock) -> Requests {
    let mut queues = QUEUES.lock().expect("nobody panics with it");
    if queues.is_empty() {
        *queues = find_queues(lock);
    }
    let mut requests = Requests::default();
    for queue in queues.iter_mut() {
        if let Some((in_flight, answered)) = status(&queue.path, queue.number, lock) {
            requests.in_flight += u64::from(in_flight);
            requests.answered += u64::from(answered.wrapping_sub(queue.answered));
            queue.answered = answered;
        }
    }
    requests
}

/// Hold the vCPU until nothing is in flight: how many requests were answered since the last look, however fast
/// the host was. The caller is the vCPU's thread and does not hold the big lock.
pub fn wait_for_requests() -> u64 {
    let mut answered = 0;
    loop {
        let lock = BigLock::take();
        let now = look(&lock);
        answered += now.answered;
        if now.in_flight == 0 || qemu::ends(&lock) {
            return answered;
        }
        drop(lock);
        std::thread::sleep(PAUSE);
    }
}
