//! Instructions whose operands the model is told of: decoded where they are translated, their registers read where they
//! are executed.
//!
//! ```text
//!   translation: known by their bytes -> a callback with the registers
//!   execution:   named_line: a line    invalidation: translations to forget
//! ```

use std::ffi::c_void;

/// A translated instruction of this kind; lives as long as the process, as its translation may.
pub struct Decoded {
    /// its index in its block
    pub index: u16,
    pub code: iced_x86::Instruction,
}

impl Decoded {
    /// What a callback that was laid here is given.
    ///
    /// # Safety
    /// `data` is that of such a callback.
    pub unsafe fn of<'a>(data: *mut c_void) -> &'a Decoded {
        // SAFETY: it was leaked, and nobody changes it.
        unsafe { &*data.cast() }
    }
}
