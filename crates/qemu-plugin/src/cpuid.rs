//! Answers CPUID in the guest: caches, TLBs and cores are the host file's, not QEMU's own.
//!
//! ```text
//!   a block with CPUID is translated --> QEMU calls what `helper_info_cpuid` points to: ours
//!   ours: QEMU's helper_cpuid, then the bits that the supervisor has asked for are put into EAX, EBX, ECX, EDX
//! ```
//!
//! QEMU 10.0 has properties for vendor, family, model, stepping and brand. It has none for sizes of caches and TLBs.

use std::ffi::c_void;
use std::sync::OnceLock;

use crate::answer::{Answer, Register};
use crate::qemu;

type Helper = unsafe extern "C" fn(*mut u64);

static ANSWERS: OnceLock<Vec<Answer>> = OnceLock::new();
static QEMU_S: OnceLock<Helper> = OnceLock::new();

/// Have QEMU call [`cpuid`] in blocks that it translates from now on.
pub fn start(answers: &[Answer]) -> Result<(), String> {
    if answers.is_empty() {
        return Ok(());
    }
    let _ = ANSWERS.set(answers.to_vec());
    let helper = qemu::cpuid_helper()?;
    // SAFETY: the first word of a TCGHelperInfo is its function (include/tcg/helper-info.h of 10.0). No vCPU runs yet.
    unsafe {
        let _ = QEMU_S.set(std::mem::transmute::<*mut c_void, Helper>(*helper));
        *helper = cpuid as *mut c_void;
    }
    Ok(())
}

/// The instruction, for translated blocks.
///
/// # Safety
/// QEMU calls it with the state of the vCPU that executes CPUID.
unsafe extern "C" fn cpuid(registers: *mut u64) {
    let (Some(answers), Some(original)) = (ANSWERS.get(), QEMU_S.get()) else { return };
    // SAFETY: the state begins with sixteen registers; only this thread uses them now.
    unsafe {
        let leaf = *registers as u32;
        let subleaf = *registers.add(Register::Ecx as usize) as u32;
        original(registers);
        for answer in answers.iter().filter(|answer| answer.is_of(leaf, subleaf)) {
            let register = registers.add(answer.register as usize);
            *register = u64::from(answer.put_into(*register as u32));
        }
    }
}
