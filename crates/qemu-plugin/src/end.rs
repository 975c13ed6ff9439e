//! The end of QEMU with a reason: what cannot be mended is said on standard error.

/// Ends QEMU at once, and says why. The exit status is that of any program that has failed.
pub fn give_up(why: &str) -> ! {
    eprintln!("cxlab plugin: {why}");
    // SAFETY: ends the process without running QEMU's exit handlers, which would ask the model again.
    unsafe { libc::_exit(1) }
}
