//! The ring's header: words that both sides read, each on a cache line of its writer.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

use super::bell::Bell;
use crate::record::Vcpu;

/// "CXLRING" and the layout's version: a header of another version is refused.
const MAGIC: u64 = u64::from_le_bytes(*b"CXLRING\x0d");

#[repr(C, align(64))]
pub struct Aligned<T>(T);

impl<T> std::ops::Deref for Aligned<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

/// The producer's question that an answer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// time at a sync point of a vCPU
    Sync(Vcpu),
    /// commit time of an instruction that reads the clock, or the time when all is committed
    Clock,
}

/// The consumer's answer to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// what time it is `[ps]`, and how many requests devices have done so far
    Time { ps: u64, done: u64 },
    /// another vCPU has to run before that can be told
    Later(Behind),
}

/// Why an answer is put off: the model has come to the end of what it knows of a vCPU that is behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Behind {
    pub vcpu: Vcpu,
    /// where it is: the last block that it has entered begins no earlier `[ps]`
    pub at_ps: u64,
    /// where the asking vCPU is, at least `[ps]`
    pub asker_ps: u64,
    /// the last of its sync points that it has come to, and when `[ps]`; from 1
    pub synced: Option<(u64, u64)>,
}

/// The answer to one question.
#[repr(C, align(64))]
pub struct Answer {
    sequence: AtomicU64,
    /// 0 if `ps` is the answer; 1 and the number of the vCPU behind if it is to be asked for later
    put_off: AtomicU64,
    /// the answer, or where the asking vCPU is `[ps]`
    ps: AtomicU64,
    /// where the vCPU behind is `[ps]`
    behind_ps: AtomicU64,
    /// the asking vCPU's last sync point, 0 before the first, and its time `[ps]`
    synced: AtomicU64,
    synced_ps: AtomicU64,
    /// requests that devices have done
    done: AtomicU64,
}

impl Answer {
    /// The answer, if question `sequence` (from 1) has been answered.
    #[must_use]
    pub fn read(&self, sequence: u64) -> Option<Told> {
        let told = || {
            let ps = self.ps.load(Relaxed);
            match self.put_off.load(Relaxed).checked_sub(1) {
                None => Told::Time { ps, done: self.done.load(Relaxed) },
                Some(vcpu) => {
                    let (vcpu, at_ps) = (Vcpu::new(vcpu as usize), self.behind_ps.load(Relaxed));
                    let synced = self.synced.load(Relaxed);
                    let synced = (synced > 0).then(|| (synced, self.synced_ps.load(Relaxed)));
                    Told::Later(Behind { vcpu, at_ps, asker_ps: ps, synced })
                }
            }
        };
        (self.sequence.load(Acquire) == sequence).then(told)
    }

    pub fn put_off(&self, sequence: u64, behind: Behind) {
        self.ps.store(behind.asker_ps, Relaxed);
        self.behind_ps.store(behind.at_ps, Relaxed);
        let (synced, synced_ps) = behind.synced.unwrap_or_default();
        self.synced.store(synced, Relaxed);
        self.synced_ps.store(synced_ps, Relaxed);
        self.put_off.store(1 + behind.vcpu.index() as u64, Relaxed);
        self.sequence.store(sequence, Release);
    }

    pub fn write(&self, sequence: u64, ps: u64, done: u64) {
        self.ps.store(ps, Relaxed);
        self.done.store(done, Relaxed);
        self.put_off.store(0, Relaxed);
        self.sequence.store(sequence, Release);
    }
}

/// Answers to sync points that are kept for each vCPU.
const SYNC_ANSWERS: usize = 4;

/// The last requests that devices have done, by how many there were before. More than a queue holds.
const DONE: usize = 1024;

/// The shared words of a ring.
#[repr(C)]
pub struct Header {
    magic: AtomicU64,
    capacity: AtomicU64,
    /// 1 once the consumer reads, 0 before
    pub consumer_attached: AtomicU32,
    /// next position to write `[records]`, the producer's
    pub head: Aligned<AtomicU64>,
    /// next position to read `[records]`, the consumer's
    pub tail: Aligned<AtomicU64>,
    /// where the producer sleeps, and the consumer
    pub producer: Aligned<Bell>,
    pub consumer: Aligned<Bell>,
    /// for each vCPU by its sequence number; the producer asks for an answer that lies a few back. It must not read
    /// another one when the consumer has been quick
    sync: [[Answer; SYNC_ANSWERS]; Vcpu::MOST],
    clock: Answer,
    /// numbers of requests that devices have done, the consumer's
    done: [AtomicU32; DONE],
    /// how long each vCPU has slept in all until the last answer, the consumer's `[ps]`; known of samples alone
    slept_ps: [AtomicU64; Vcpu::MOST],
    /// the guest's virtual time as last published `[ps]`, for those who show progress
    pub virtual_ps: Aligned<AtomicU64>,
}

impl Header {
    pub(super) fn initialise(&self, capacity: usize) {
        self.capacity.store(capacity as u64, Relaxed);
        self.magic.store(MAGIC, Release);
    }

    pub(super) fn checked_capacity(&self) -> Result<usize, String> {
        let (magic, capacity) = (self.magic.load(Acquire), self.capacity.load(Relaxed));
        if magic != MAGIC || !capacity.is_power_of_two() {
            return Err(format!("this is no CXLab ring of this version (magic {magic:#x}, wanted {MAGIC:#x})"));
        }
        Ok(capacity as usize)
    }

    /// The number of the request that devices have done after `before` others.
    #[must_use]
    pub fn done(&self, before: u64) -> u32 {
        self.done[before as usize % DONE].load(Acquire)
    }

    pub(super) fn set_done(&self, before: u64, number: u32) {
        self.done[before as usize % DONE].store(number, Release);
    }

    /// How long a vCPU has slept in all until the last answer `[ps]`.
    #[must_use]
    pub fn slept_ps(&self, vcpu: Vcpu) -> u64 {
        self.slept_ps[vcpu.index()].load(Acquire)
    }

    pub(super) fn set_slept(&self, vcpu: Vcpu, ps: u64) {
        self.slept_ps[vcpu.index()].store(ps, Release);
    }

    #[must_use]
    pub(super) fn reply(&self, reply: Reply, sequence: u64) -> &Answer {
        match reply {
            Reply::Sync(vcpu) => &self.sync[vcpu.index()][sequence as usize % SYNC_ANSWERS],
            Reply::Clock => &self.clock,
        }
    }
}
