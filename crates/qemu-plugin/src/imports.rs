//! QEMU's table of imports: the addresses of the functions of libraries that it calls.
//!
//! Source: System V ABI, chapter 5 (dynamic linking), and its supplement for AMD64.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null;

/// Types of `Dynamic`: elf.h.
const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_RELA: i64 = 7;
const DT_RELASZ: i64 = 8;
const DT_PLTRELSZ: i64 = 2;
const DT_JMPREL: i64 = 23;
/// Types of `Relocation` that hold a function's address.
const R_X86_64_GLOB_DAT: u64 = 6;
const R_X86_64_JUMP_SLOT: u64 = 7;

#[repr(C)]
struct Dynamic {
    tag: i64,
    value: u64,
}

#[repr(C)]
struct Relocation {
    offset: u64,
    info: u64,
    addend: i64,
}

/// Addresses of the parts of the executed program.
struct Program {
    base: u64,
    dynamic: *const Dynamic,
}

/// Let QEMU call `function` where it calls the library's function of this name. Returns whether it calls one.
pub fn replace(name: &CStr, function: *mut c_void) -> Result<bool, String> {
    let program = Program::find();
    let mut found = false;
    // SAFETY: the linker has loaded these tables, and they stay.
    unsafe {
        let (names, symbols) = (program.value(DT_STRTAB), program.value(DT_SYMTAB));
        for (table, size) in [(DT_JMPREL, DT_PLTRELSZ), (DT_RELA, DT_RELASZ)] {
            let count = program.value(size) as usize / size_of::<Relocation>();
            let first = program.value(table) as *const Relocation;
            for relocation in (0..count).map(|index| &*first.add(index)) {
                if !matches!(relocation.info & 0xffff_ffff, R_X86_64_GLOB_DAT | R_X86_64_JUMP_SLOT) {
                    continue;
                }
                let symbol = &*(symbols as *const libc::Elf64_Sym).add((relocation.info >> 32) as usize);
                if CStr::from_ptr((names + u64::from(symbol.st_name)) as *const c_char) == name {
                    write((program.base + relocation.offset) as *mut *mut c_void, function)?;
                    found = true;
                }
            }
        }
    }
    Ok(found)
}

impl Program {
    fn find() -> Program {
        let mut found = Program { base: 0, dynamic: null() };
        // SAFETY: calls `first` with the program, which comes before its libraries.
        unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut found).cast()) };
        found
    }

    /// Value of an entry of the dynamic section. 0 means that there is no such entry.
    unsafe fn value(&self, tag: i64) -> u64 {
        let mut entry = self.dynamic;
        // SAFETY: the section ends with an entry of zeros.
        unsafe {
            while !entry.is_null() && (*entry).tag != 0 {
                if (*entry).tag == tag {
                    return (*entry).value;
                }
                entry = entry.add(1);
            }
        }
        0
    }
}

/// The linker tells of a loaded file: note the first, and ask for no other.
unsafe extern "C" fn first(info: *mut libc::dl_phdr_info, _size: usize, found: *mut c_void) -> c_int {
    // SAFETY: the linker's table, and our `Program`.
    unsafe {
        let (info, program) = (&*info, &mut *found.cast::<Program>());
        program.base = info.dlpi_addr;
        for header in (0..usize::from(info.dlpi_phnum)).map(|index| &*info.dlpi_phdr.add(index)) {
            if header.p_type == libc::PT_DYNAMIC {
                program.dynamic = (info.dlpi_addr + header.p_vaddr) as *const Dynamic;
            }
        }
    }
    1
}

/// Write to a slot, whose page the linker may have protected.
unsafe fn write(slot: *mut *mut c_void, function: *mut c_void) -> Result<(), String> {
    // SAFETY: the caller's slot; its page is mapped.
    unsafe {
        let page = libc::sysconf(libc::_SC_PAGESIZE) as usize;
        let from = (slot as usize & !(page - 1)) as *mut c_void;
        if libc::mprotect(from, page, libc::PROT_READ | libc::PROT_WRITE) != 0 {
            return Err(format!("QEMU's imports cannot be written: {}", std::io::Error::last_os_error()));
        }
        slot.write(function);
    }
    Ok(())
}
