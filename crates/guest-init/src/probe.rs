//! Functions that are awaited: detail begins at the first call of one, the program ends at the first call of the other.
//!
//! ```text
//!   call --> uprobe --> perf event --> this thread: freeze, take the probe out, MARKER from output, thaw
//!                                                   or, at the other function: MARKER end, kill
//! ```
//!
//! The kernel lays a probe into the file. So it meets each process that maps the file, and functions of libraries, too. Nothing
//! is timed while the program is frozen, so taking the first probe out costs the region nothing. The other one stays until the end.
//!
//! Source: perf_event_open(2); Linux 6.12 kernel/events/uprobes.c, kernel/events/core.c (`perf_uprobe`).

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::atomic::{AtomicU64, fence};
use std::thread;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::error::{Doing, Result};
use crate::group::Group;
use crate::phrase::{self, Heard};
use crate::protocol::{Run, Symbol};
use crate::report;
use cxlab_marker::{FROM_OUTPUT, marker};

/// The kernel's event source that counts calls of a function.
const SOURCE: &str = "/sys/bus/event_source/devices/uprobe/type";

/// PERF_FLAG_FD_CLOEXEC (linux/perf_event.h).
const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;

/// `struct perf_event_attr` of PERF_ATTR_SIZE_VER1.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    source: u32,
    size: u32,
    config: u64,
    /// events to a record
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    /// records to a wake-up
    wakeup_events: u32,
    breakpoint_type: u32,
    /// address of the file's name
    uprobe_path: u64,
    probe_offset: u64,
}

/// Offsets of the two positions in the kernel page before the records (`struct perf_event_mmap_page`) `[bytes]`.
const DATA_HEAD: usize = 1024;
const DATA_TAIL: usize = 1032;
/// Pages of records: one is enough for records without content.
const RECORD_PAGES: usize = 1;

/// Calls of a function on one processor.
struct Calls {
    event: OwnedFd,
    page: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the page is shared with the kernel alone, and one thread has it.
unsafe impl Send for Calls {}

impl Calls {
    fn watch(source: u32, symbol: &Symbol, processor: i32) -> io::Result<Calls> {
        let path = std::ffi::CString::new(symbol.file.clone().into_bytes())?;
        let attributes = Attributes {
            source,
            size: size_of::<Attributes>() as u32,
            sample_period: 1,
            wakeup_events: 1,
            uprobe_path: path.as_ptr() as u64,
            probe_offset: symbol.offset,
            ..Attributes::default()
        };
        let (all, no_group) = (-1, -1);
        // SAFETY: the attributes and the name outlive the call.
        let event = unsafe {
            libc::syscall(libc::SYS_perf_event_open, &raw const attributes, all, processor, no_group, CLOSE_ON_EXEC)
        };
        if event < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a descriptor that nobody else has.
        let event = unsafe { OwnedFd::from_raw_fd(event as i32) };
        // SAFETY: asks for a number.
        let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize * (1 + RECORD_PAGES);
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: maps the event's own pages, at an address that the kernel chooses.
        let page = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, libc::MAP_SHARED, event.as_raw_fd(), 0) };
        if page == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Calls { event, page: NonNull::new(page.cast()).expect("mapped"), bytes })
    }

    fn position(&self, at: usize) -> &AtomicU64 {
        // SAFETY: an aligned word of the mapped page; the kernel reads and writes it as one.
        unsafe { &*self.page.as_ptr().add(at).cast::<AtomicU64>() }
    }

    /// Whether the function was called since this was last asked.
    fn came(&self) -> bool {
        let head = self.position(DATA_HEAD).load(Acquire);
        fence(Acquire);
        self.position(DATA_TAIL).swap(head, Release) != head
    }
}

impl Drop for Calls {
    fn drop(&mut self) {
        // SAFETY: what `watch` has mapped.
        unsafe { libc::munmap(self.page.as_ptr().cast(), self.bytes) };
    }
}

/// The awaited functions of a run.
pub struct Probes {
    from: Vec<Calls>,
    to: Vec<Calls>,
    group: Group,
    heard: Arc<Heard>,
}

impl Probes {
    /// Lay the probes, before the program starts; None: it awaits no function.
    pub fn lay(run: &Run, program: i32, heard: &Arc<Heard>) -> Result<Option<Probes>> {
        if run.from_symbol.is_none() && run.to_symbol.is_none() {
            return Ok(None);
        }
        let source = fs::read_to_string(SOURCE).doing(|| SOURCE.to_owned())?;
        let source: u32 = source.trim().parse().map_err(io::Error::other).doing(|| SOURCE.to_owned())?;
        let (from, to) = (watch(source, run.from_symbol.as_ref())?, watch(source, run.to_symbol.as_ref())?);
        let group = Group::new()?;
        group.take(program)?;
        Ok(Some(Probes { from, to, group, heard: Arc::clone(heard) }))
    }

    /// Wait for the calls, in a thread of its own.
    pub fn await_calls(self) {
        thread::spawn(move || {
            phrase::run_at_once();
            if let Err(error) = self.serve() {
                report(&error);
            }
        });
    }

    fn serve(mut self) -> Result<()> {
        loop {
            let waits = self.from.iter().chain(&self.to);
            let mut events: Vec<_> = waits.map(|calls| PollFd::new(calls.event.as_fd(), PollFlags::POLLIN)).collect();
            if events.is_empty() {
                return Ok(());
            }
            poll(&mut events, PollTimeout::NONE).doing(|| "waiting for a call".to_owned())?;
            if any_came(&self.from) && self.heard.begin() {
                self.group.freeze()?;
                self.from.clear();
                marker::<FROM_OUTPUT>();
                self.group.thaw()?;
            }
            if any_came(&self.to) && self.heard.counts() {
                self.heard.end();
                return Ok(());
            }
        }
    }
}

/// Each is asked, so that each of them forgets.
fn any_came(calls: &[Calls]) -> bool {
    calls.iter().fold(false, |came, calls| calls.came() | came)
}

fn watch(source: u32, symbol: Option<&Symbol>) -> Result<Vec<Calls>> {
    let Some(symbol) = symbol else { return Ok(Vec::new()) };
    // SAFETY: asks for a number.
    let processors = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) } as i32;
    let calls = (0..processors).map(|processor| Calls::watch(source, symbol, processor));
    calls.collect::<io::Result<_>>().doing(|| format!("watching calls at {:#x} of {:?}", symbol.offset, symbol.file))
}
