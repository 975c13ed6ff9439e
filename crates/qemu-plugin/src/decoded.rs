//! Instructions whose operands the model is told of: decoded where they are translated, their registers read where they
//! are executed.
//!
//! ```text
//!   translation: known by their bytes -> a callback with the registers
//!   execution:   named_line: a line    invalidation: translations to forget
//!   QEMU throws all translations away: nothing of them is executed again, and what was decoded goes
//! ```

use std::ffi::c_void;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{AcqRel, Release};

/// A translated instruction of this kind; lives as long as its translation.
pub struct Decoded {
    /// its index in its block
    pub index: u16,
    pub code: iced_x86::Instruction,
}

/// All that translations have. A box stays where it is, and callbacks have its address.
#[expect(clippy::vec_box)]
static KEPT: Mutex<Vec<Box<Decoded>>> = Mutex::new(Vec::new());
/// All translations were thrown away since this was last asked.
static FLUSHED: AtomicBool = AtomicBool::new(false);

impl Decoded {
    /// Keeps an instruction. Returns the pointer that its callback is given.
    pub fn keep(index: u16, code: iced_x86::Instruction) -> *mut c_void {
        let mut kept = KEPT.lock().expect("nobody panics with it");
        kept.push(Box::new(Decoded { index, code }));
        let last: *const Decoded = &raw const **kept.last().expect("it was pushed");
        last.cast_mut().cast()
    }

    /// Reads the pointer that a callback laid here is given.
    ///
    /// # Safety
    /// `data` is that of such a callback.
    pub unsafe fn of<'a>(data: *mut c_void) -> &'a Decoded {
        // SAFETY: its translation is executed, so it is kept, and nobody changes it.
        unsafe { &*data.cast() }
    }
}

/// QEMU has thrown all translations away. No vCPU is in a block meanwhile.
pub unsafe extern "C" fn on_flush() {
    KEPT.lock().expect("nobody panics with it").clear();
    FLUSHED.store(true, Release);
}

/// Whether all translations were thrown away since this was last asked: no block of before is executed again.
pub fn take_flushed() -> bool {
    FLUSHED.swap(false, AcqRel)
}
