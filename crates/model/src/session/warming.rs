//! Warming: touches lines and teaches branches from the records of a phase that is not timed.
//!
//! If a block is entered, the branch at the end of the previous block went there. A fault within a block looks like a branch
//! into the kernel, and is ignored. The few faults that stay in the kernel teach the predictor a branch too many. The rest
//! of such a block is counted although it was not executed.
//!
//! A touch waits behind a few others before the machine sees it. Meanwhile this host fetches the tags that it needs.

use std::collections::VecDeque;
use std::sync::Arc;

use cxlab_access::BlockId;
use cxlab_access::record::MemoryAccess;

use super::blocks::Blocks;
use crate::addr::Hpa;
use crate::feed::{Block, Branch, Instruction, LineAccess, Outcome, Touch, Work};
use crate::machine::Machine;

/// Figures of a block that warming needs.
#[derive(Clone, Copy, Debug)]
struct Shape {
    pc: u64,
    end: u64,
    branch: Option<Branch>,
    instructions: u16,
    kernel: bool,
    /// all its lines go through the caches
    plain: bool,
    /// its first and its last instruction may repeat
    begins_repeat: bool,
    ends_repeat: bool,
}

/// Touches that wait: this host fetches memory while it handles so many.
const AHEAD: usize = 16;

/// A touch of a line.
#[derive(Clone, Copy, Debug)]
struct Touching {
    vcpu: usize,
    access: LineAccess,
    touch: Touch,
}

/// The blocks, and where each vCPU is.
#[derive(Debug)]
pub(super) struct Warming {
    shapes: Blocks<Shape>,
    at: Vec<Option<BlockId>>,
    /// instructions that this counted for
    counted: Vec<u64>,
    /// touches that the machine has not seen, in order
    waiting: VecDeque<Touching>,
    /// instructions executed without time, of user mode and of the kernel
    pub instructions: [u64; 2],
}

impl Warming {
    pub fn new(vcpus: u16) -> Warming {
        let vcpus = usize::from(vcpus);
        Warming {
            shapes: Blocks::default(),
            at: vec![None; vcpus],
            counted: vec![0; vcpus],
            waiting: VecDeque::with_capacity(AHEAD),
            instructions: [0; 2],
        }
    }

    /// A block was defined.
    pub fn define(&mut self, block: &Block) {
        let through = |touch| matches!(touch, Touch::Plain | Touch::Locked | Touch::Prefetch | Touch::PrefetchToOwn);
        let repeats = |code: Option<&Instruction>| code.is_some_and(|code| code.work == Work::String);
        self.shapes.push(Shape {
            pc: block.pc,
            end: block.end,
            branch: block.instructions.last().and_then(|last| last.branch),
            instructions: block.instructions.len() as u16,
            kernel: block.kernel,
            plain: block.instructions.iter().all(|instruction| through(instruction.touch)),
            begins_repeat: repeats(block.instructions.first()),
            ends_repeat: repeats(block.instructions.last()),
        });
    }

    /// Whether each vCPU is in this block or in a later one, or in none.
    pub fn is_past(&self, first: BlockId) -> bool {
        self.at.iter().flatten().all(|block| block.0 >= first.0)
    }

    /// No block before this one is named again.
    pub fn drop_before(&mut self, block: BlockId) {
        self.shapes.drop_before(block);
    }

    /// Time has passed since the last block: it leads nowhere.
    pub fn begin(&mut self) {
        self.at.fill(None);
    }

    /// `vcpu` enters a block, from an instruction on: whether it is known.
    #[inline]
    pub fn enter(&mut self, vcpu: usize, (block, from): (BlockId, u16), machine: &mut Machine) -> bool {
        let Some(entered) = self.shapes.get(block) else { return false };
        let mut instructions = u64::from(entered.instructions.saturating_sub(from));
        if let Some(left) = self.at[vcpu].replace(block) {
            let left = &self.shapes[left];
            // QEMU has come back to it: it goes on, and was counted.
            instructions -= u64::from(left.ends_repeat && entered.begins_repeat);
            if let Some(branch) = left.branch.filter(|_| left.kernel == entered.kernel) {
                machine.learn_branch(vcpu, branch, Outcome { next: left.end, target: entered.pc });
            }
        }
        self.instructions[usize::from(entered.kernel)] += instructions;
        self.counted[vcpu] = instructions;
        true
    }

    /// The block that `vcpu` is in ends before this instruction.
    pub fn cut(&mut self, vcpu: usize, instruction: u16) {
        if let Some(block) = self.at[vcpu] {
            let rest = self.counted[vcpu].saturating_sub(u64::from(instruction));
            // A changed trace can cut a block twice, or one that was counted before a region began.
            self.counted[vcpu] -= rest;
            let total = &mut self.instructions[usize::from(self.shapes[block].kernel)];
            *total = total.saturating_sub(rest);
        }
    }

    /// An instruction of the block that `vcpu` is in touches a line. The machine sees it a few touches later, or when
    /// [`Warming::settle`] is called.
    #[inline]
    pub fn access(&mut self, vcpu: usize, access: MemoryAccess, blocks: &Blocks<Arc<Block>>, machine: &mut Machine) {
        if access.device {
            return;
        }
        let touch = match self.at[vcpu] {
            Some(block) if !self.shapes[block].plain => {
                let instructions = &blocks[block].instructions;
                instructions.get(usize::from(access.instruction)).map_or(Touch::Plain, |code| code.touch)
            }
            _ => Touch::Plain,
        };
        let MemoryAccess { physical, store, device, page, .. } = access;
        let pc = self.at[vcpu].map_or(0, |block| self.shapes[block].pc);
        let place = pc.wrapping_add(u64::from(access.instruction));
        if self.waiting.len() == AHEAD {
            self.touch_first(machine);
        }
        let access = LineAccess { address: Hpa::new(physical), store, place, device, page };
        machine.expect_touch(vcpu, access.line());
        self.waiting.push_back(Touching { vcpu, access, touch });
    }

    /// Shows the machine the touch that has waited longest. Returns whether there was one.
    #[inline]
    fn touch_first(&mut self, machine: &mut Machine) -> bool {
        let first = self.waiting.pop_front();
        if let Some(Touching { vcpu, access, touch }) = first {
            machine.touch(vcpu, access, touch);
        }
        first.is_some()
    }

    /// Shows the machine all touches that wait.
    pub fn settle(&mut self, machine: &mut Machine) {
        while self.touch_first(machine) {}
    }
}
