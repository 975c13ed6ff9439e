//! Touches: how an instruction uses the lines that it names.

use iced_x86::Mnemonic;

use super::Class;

/// The way an instruction's lines are touched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Touch {
    /// loads and stores through the caches
    #[default]
    Plain,
    /// a load that owns its line, then a store, and nobody between them
    Locked,
    /// stores past the caches, through a write-combining buffer (movnt)
    NonTemporal,
    /// the line leaves every cache, to its memory where it was changed (clflush, clflushopt)
    Flush,
    /// a changed line goes to its memory and stays (clwb)
    Clean,
    /// the line is brought, and nobody waits for it
    Prefetch,
    /// the same, to be stored to
    PrefetchToOwn,
}

impl Touch {
    pub(super) fn new(code: &iced_x86::Instruction, class: Class) -> Touch {
        use Mnemonic as M;
        match code.mnemonic() {
            M::Movnti | M::Movntdq | M::Movntps | M::Movntpd | M::Movntq | M::Vmovntdq | M::Vmovntps | M::Vmovntpd => {
                Touch::NonTemporal
            }
            M::Clflush | M::Clflushopt => Touch::Flush,
            M::Clwb => Touch::Clean,
            M::Prefetcht0 | M::Prefetcht1 | M::Prefetcht2 | M::Prefetchnta | M::Prefetch => Touch::Prefetch,
            M::Prefetchw | M::Prefetchwt1 => Touch::PrefetchToOwn,
            _ if class == Class::Locked => Touch::Locked,
            _ => Touch::Plain,
        }
    }

    /// QEMU tells no access of these: the plugin does.
    pub(super) fn is_silent(self) -> bool {
        matches!(self, Touch::Flush | Touch::Clean | Touch::Prefetch | Touch::PrefetchToOwn)
    }
}
