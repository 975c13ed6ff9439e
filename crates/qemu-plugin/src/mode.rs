//! The mode: how much the model is told of the blocks that execute now.
//!
//! Blocks are translated for one of two kinds: those that only count, and those that tell. Between the two ways of telling
//! nothing is translated anew.

use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::{Acquire, Release};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Mode {
    /// nothing: instructions are counted
    Counted,
    /// lines and branches, for caches and predictor; time comes from counting, too
    Warming,
    /// everything: time comes from the model
    Detail,
}

static MODE: AtomicU8 = AtomicU8::new(Mode::Counted as u8);

#[inline]
pub fn now() -> Mode {
    match MODE.load(Acquire) {
        0 => Mode::Counted,
        1 => Mode::Warming,
        _ => Mode::Detail,
    }
}

#[inline]
pub fn in_detail() -> bool {
    now() == Mode::Detail
}

/// Whether the model is told anything.
#[inline]
pub fn tells() -> bool {
    now() != Mode::Counted
}

pub fn set(mode: Mode) {
    MODE.store(mode as u8, Release);
}
