//! Whether blocks that are translated and executed now tell the model.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};

static DETAIL: AtomicBool = AtomicBool::new(false);

#[inline]
pub fn in_detail() -> bool {
    DETAIL.load(Acquire)
}

pub fn set_detail(detail: bool) {
    DETAIL.store(detail, Release);
}
