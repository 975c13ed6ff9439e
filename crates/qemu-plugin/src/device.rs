//! QEMU's virtio devices and their queues, as its own QMP commands tell of them, and the numbers of the guest's requests.

use std::ffi::{CStr, CString, c_void};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use crate::qemu::{BigLock, functions};
use crate::used_ring::UsedRing;

/// requests of the guest that were given a number
static NUMBERED: AtomicU32 = AtomicU32::new(0);

/// Number of the guest's next request to a device, of whatever kind: from 1, in order.
pub fn next_number() -> u32 {
    NUMBERED.fetch_add(1, Relaxed) + 1
}

/// A queue, as QEMU counts.
pub struct QueueState {
    /// requests taken and not yet returned
    pub in_flight: u32,
    /// requests returned since it was set up, modulo 2^16
    pub answered: u16,
    pub ring: UsedRing,
}

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

/// The device above one of these in the tree: on PCI, the one that raises its interrupts. Null if there is none.
pub fn above(path: &CStr, _lock: &BigLock) -> *mut c_void {
    let above = path.to_str().ok().and_then(|path| path.rsplit_once('/')).map_or("", |(above, _)| above);
    let above = CString::new(above).expect("a part of what had no zero byte has none");
    // SAFETY: a look-up in QEMU's tree, under the big lock.
    unsafe { (functions().object_resolve_path)(above.as_ptr(), std::ptr::null_mut()) }
}

/// State of a queue. `None` if there is no such queue.
pub fn state(path: &CStr, number: u16, _lock: &BigLock) -> Option<QueueState> {
    // SAFETY: a QMP command's implementation, under the big lock; its result is freed by its own function.
    unsafe {
        let status = (functions().qmp_x_query_virtio_queue_status)(path.as_ptr(), number, std::ptr::null_mut());
        if status.is_null() {
            return None;
        }
        let (in_flight, answered) = ((*status).inuse, (*status).used_idx);
        let ring =
            UsedRing { size: (*status).vring_num, descriptors: (*status).vring_desc, used: (*status).vring_used };
        (functions().qapi_free_VirtQueueStatus)(status);
        Some(QueueState { in_flight, answered, ring })
    }
}
