//! Finds whether a hypervisor stands between memo and the memory.
//!
//! Source: CPUID Fn1 `ECX[31]` is reserved for hypervisors (AMD APM vol. 3, appendix E), Fn4000_0000 names them.

use super::tree::Tree;
use std::arch::x86_64::__cpuid;

/// Its own name, and what firmware calls the machine; `None` on bare metal.
pub fn hypervisor(tree: &Tree) -> Option<String> {
    if __cpuid(1).ecx >> 31 == 0 {
        return None;
    }
    let leaf = __cpuid(0x4000_0000);
    let bytes: Vec<u8> = [leaf.ebx, leaf.ecx, leaf.edx].iter().flat_map(|r| r.to_le_bytes()).collect();
    let name = String::from_utf8_lossy(&bytes);
    let name = name.trim_end_matches('\0').trim();
    let name = if name.is_empty() { "a hypervisor without a name" } else { name };
    Some(match tree.text("sys/class/dmi/id/product_name") {
        Some(product) => format!("{name} ({product})"),
        None => name.to_string(),
    })
}
