//! Synthetic kernels as a feed: a program that a [`Kernel`] writes as it goes, one action at a time.
//!
//! ```text
//!   Kernel::act -> Action: load | chase | store | delay | settle -> Step + lines -> core
//! ```
//!
//! Each load and store is one instruction that touches one line, as vector code of 64 B does. Not modelled: loop
//! and address arithmetic, which a wide core hides behind memory.

use cxlab_access::{Keep, Phase};
use cxlab_kernel::Time;

use super::{Block, Execution, Feed, Instruction, LineAccess, Step};
use crate::addr::Hpa;
use crate::error::ModelError;
use crate::translation::AddressSpace;

/// The next action of a kernel.
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
    /// store 32 B past the caches, half of a line
    NonTemporalHalf(Hpa),
    /// the line leaves every cache
    Flush(Hpa),
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
    non_temporal_half: Instruction,
    flush: Instruction,
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
            non_temporal_half: one(&[0xc5, 0xfd, 0xe7, 0x01]),        // vmovntdq [rcx], ymm0
            flush: one(&[0x0f, 0xae, 0x39]),                          // clflush [rcx]
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
    executing: Option<Instruction>,
    access: Option<LineAccess>,
    /// how its addresses are translated; `None` where they are physical
    space: Option<AddressSpace>,
}

impl<K> Synthetic<K> {
    pub fn new(kernel: K) -> Self {
        Synthetic { kernel, prototypes: Prototypes::default(), executing: None, access: None, space: None }
    }

    /// Puts the program's lines into an address space.
    pub fn within(self, space: AddressSpace) -> Self {
        Synthetic { space: Some(space), ..self }
    }
}

impl<K: Kernel> Feed for Synthetic<K> {
    #[inline]
    fn next(&mut self) -> Result<Step, ModelError> {
        let Prototypes { load, chase, store, non_temporal, non_temporal_half, flush, .. } = self.prototypes;
        let (instruction, address, store) = match self.kernel.act() {
            Action::Load(line) => (load, line, false),
            Action::Chase(line) => (chase, line, false),
            Action::Store(line) => (store, line, true),
            Action::NonTemporal(line) => (non_temporal, line, true),
            Action::NonTemporalHalf(half) => (non_temporal_half, half, true),
            Action::Flush(line) => (flush, line, true),
            Action::Delay(span) => return Ok(Step::Delay { span }),
            Action::Fence => return Ok(Step::Fence),
            Action::Settle => return Ok(Step::Settle { sequence: 0 }),
            Action::End => return Ok(Step::End),
        };
        let page = self.space.as_ref().map(|space| space.page(address));
        self.access = Some(LineAccess { address, store, place: 0, device: false, page });
        self.executing = Some(instruction);
        Ok(Step::Execute)
    }

    #[inline]
    fn execution(&self) -> Execution<'_> {
        Execution::of(self.executing.as_ref().expect("the last step is to execute it"))
    }

    #[inline]
    fn accesses(&self) -> &[LineAccess] {
        self.access.as_slice()
    }

    fn answer_sync(&mut self, _sequence: u64, _ps: u64) -> Result<(), ModelError> {
        Ok(())
    }

    fn reached(&mut self, phase: Phase, _position: u64, _keep: Keep) {
        unreachable!("nothing is sampled here, so {phase:?} does not begin")
    }

    fn answer_clock(&mut self, _sequence: u64, ps: u64) -> Result<(), ModelError> {
        self.kernel.settled(Time::from_ps(ps));
        Ok(())
    }
}
