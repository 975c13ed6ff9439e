//! Synthetic kernels as a feed: a program that a [`Kernel`] writes as it goes, one action at a time.
//!
//! ```text
//!   Kernel::act -> Action: load | chase | store | delay | settle -> Step + lines -> core
//! ```
//!
//! Each load and store is one instruction that touches one line, as vector code of 64 B does. Not modelled: loop
//! and address arithmetic, which a wide core hides behind memory.

use cxlab_kernel::Time;

use super::{Block, Feed, Instruction, LineAccess, Step};
use crate::addr::Hpa;
use crate::error::ModelError;

/// What a kernel does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// load a line whose address is known
    Load(Hpa),
    /// load a line whose address comes from the load before
    Chase(Hpa),
    /// store to a line that is owned first
    Store(Hpa),
    /// store past the caches
    NonTemporal(Hpa),
    /// let time pass in a loop
    Delay(Time),
    /// wait until all before is committed and every store has left the core
    Fence,
    /// wait until all before is committed, and tell the kernel the time
    Settle,
    End,
}

/// A program that writes itself.
pub trait Kernel {
    fn act(&mut self) -> Action;

    /// The time at a `Settle`.
    fn settled(&mut self, at: Time);
}

/// The instructions of kernels, decoded from their bytes.
#[derive(Clone, Copy, Debug)]
pub struct Prototypes {
    load: Instruction,
    chase: Instruction,
    aside: Instruction,
    store: Instruction,
    non_temporal: Instruction,
}

impl Default for Prototypes {
    fn default() -> Self {
        let one = |bytes: &[u8]| Block::decode(0, bytes).instructions[0];
        Prototypes {
            load: one(&[0x48, 0x8b, 0x01]),                           // mov rax, [rcx]
            chase: one(&[0x48, 0x8b, 0x00]),                          // mov rax, [rax]
            aside: one(&[0x48, 0x8b, 0x19]),                          // mov rbx, [rcx]
            store: one(&[0x48, 0x89, 0x11]),                          // mov [rcx], rdx
            non_temporal: one(&[0x62, 0xf1, 0x7d, 0x48, 0xe7, 0x01]), // vmovntdq [rcx], zmm0
        }
    }
}

impl Prototypes {
    /// A load whose address is known.
    #[inline]
    pub fn load(&self) -> Instruction {
        self.load
    }

    /// A load whose address comes from the load before.
    #[inline]
    pub fn chase(&self) -> Instruction {
        self.chase
    }

    /// A load whose address is known and for which no address waits.
    #[inline]
    pub fn aside(&self) -> Instruction {
        self.aside
    }

    #[inline]
    pub fn store(&self) -> Instruction {
        self.store
    }

    /// A whole line past the caches.
    #[inline]
    pub fn non_temporal(&self) -> Instruction {
        self.non_temporal
    }
}

/// A kernel as the feed of a core.
#[derive(Clone, Debug)]
pub struct Synthetic<K> {
    pub kernel: K,
    prototypes: Prototypes,
    access: Option<LineAccess>,
}

impl<K> Synthetic<K> {
    pub fn new(kernel: K) -> Self {
        Synthetic { kernel, prototypes: Prototypes::default(), access: None }
    }
}

impl<K: Kernel> Feed for Synthetic<K> {
    #[inline]
    fn next(&mut self) -> Result<Step, ModelError> {
        let Prototypes { load, chase, store, non_temporal, .. } = self.prototypes;
        let (instruction, address, store) = match self.kernel.act() {
            Action::Load(line) => (load, line, false),
            Action::Chase(line) => (chase, line, false),
            Action::Store(line) => (store, line, true),
            Action::NonTemporal(line) => (non_temporal, line, true),
            Action::Delay(span) => return Ok(Step::Delay { span }),
            Action::Fence => return Ok(Step::Fence),
            Action::Settle => return Ok(Step::Settle { sequence: 0 }),
            Action::End => return Ok(Step::End),
        };
        self.access = Some(LineAccess { address, store, place: 0, device: false });
        Ok(Step::Execute { instruction, kernel: false, outcome: None })
    }

    #[inline]
    fn accesses(&self) -> &[LineAccess] {
        self.access.as_slice()
    }

    fn answer_sync(&mut self, _sequence: u64, _ps: u64) -> Result<(), ModelError> {
        Ok(())
    }

    fn answer_clock(&mut self, _sequence: u64, ps: u64) -> Result<(), ModelError> {
        self.kernel.settled(Time::from_ps(ps));
        Ok(())
    }
}
