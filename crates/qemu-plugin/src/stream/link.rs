//! The link to the model: records go into the ring, answers come back. When the model ends, QEMU ends.

use std::os::fd::{BorrowedFd, RawFd};
use std::sync::atomic::Ordering::Acquire;
use std::time::{Duration, Instant};

use cxlab_access::ring::{CAPACITY, Reply, Told};
use cxlab_access::{Peer, PeerGone, Producer, Record, Ring, Vcpu};

use crate::arguments::Arguments;
use crate::progress;

/// Longest time that the model may take to attach.
const ATTACH: Duration = Duration::from_secs(60);
/// Exit status of a QEMU that ends because the model did, sysexits.h EX_SOFTWARE.
const MODEL_GONE: i32 = 70;

/// The writing end of the ring, and the process that reads it.
pub struct Link {
    producer: Producer,
    /// descriptor of the pipe whose other end is the model's, until it has attached
    model: Option<RawFd>,
    peer: Option<Peer>,
    /// the last record has been written
    ended: bool,
}

/// End QEMU at once: there is nobody left to simulate for.
fn quit() -> ! {
    // SAFETY: ends the process without running QEMU's exit handlers, which would ask the model again.
    unsafe { libc::_exit(MODEL_GONE) }
}

fn or_quit<T>(result: Result<T, PeerGone>) -> T {
    result.unwrap_or_else(|_| {
        eprintln!("cxlab plugin: the model has ended, so QEMU ends too");
        quit()
    })
}

impl Link {
    /// Map the ring that the supervisor made.
    pub fn open(arguments: &Arguments) -> Result<Link, String> {
        // SAFETY: the supervisor passes a descriptor that stays open for as long as QEMU runs.
        let fd = unsafe { BorrowedFd::borrow_raw(arguments.ring) };
        let refuse = |cause| format!("the ring behind descriptor {} cannot be used: {cause}", arguments.ring);
        let ring = Ring::create(fd, CAPACITY).map_err(refuse)?;
        progress::show_in(Ring::open(fd).map_err(refuse)?);
        Ok(Link { producer: Producer::new(ring), model: Some(arguments.model), peer: None, ended: false })
    }

    /// Wait until the model reads the ring, and watch it from then on.
    pub fn attach(&mut self) {
        if self.peer.is_some() {
            return;
        }
        let patience = Instant::now();
        while self.producer.header().consumer_attached.load(Acquire) == 0 {
            if patience.elapsed() > ATTACH {
                eprintln!("cxlab plugin: no model has attached to the ring within {ATTACH:?}");
                quit()
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        // SAFETY: the supervisor passes the descriptor to this plugin alone, and here it is taken once.
        self.peer = self.model.take().map(|pipe| unsafe { Peer::inherited(pipe) });
    }

    #[inline]
    pub fn push(&mut self, vcpu: usize, record: Record) {
        let peer = self.peer.as_ref().expect("detail attaches first");
        if let Err(gone) = self.producer.push(Vcpu::new(vcpu), record, peer) {
            or_quit(Err(gone))
        }
    }

    /// A record with a payload.
    pub fn define(&mut self, vcpu: Vcpu, record: Record, payload: &[u8]) {
        let peer = self.peer.as_ref().expect("detail attaches first");
        or_quit(self.producer.define(vcpu, record, payload, peer));
    }

    /// Let the model see all that was pushed.
    pub fn publish(&mut self) {
        self.producer.publish();
    }

    pub fn wait(&mut self, reply: Reply, sequence: u64) -> Told {
        let peer = self.peer.as_ref().expect("detail attaches first");
        or_quit(self.producer.wait_for(reply, sequence, peer))
    }

    /// The number of the request that devices have done after `before` others.
    pub fn done(&self, before: u64) -> u32 {
        self.producer.header().done(before)
    }

    /// How long a vCPU has slept in all until the last answer `[ps]`.
    pub fn slept_ps(&self, vcpu: usize) -> u64 {
        self.producer.header().slept_ps(Vcpu::new(vcpu))
    }

    /// Nothing more will come.
    pub fn end(&mut self, speaker: usize) {
        if self.peer.is_some() && !std::mem::replace(&mut self.ended, true) {
            self.push(speaker, Record::End);
            self.producer.publish();
        }
    }
}
