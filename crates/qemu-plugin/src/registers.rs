//! The guest's registers, by their names in QEMU's description for gdb.

use std::collections::HashMap;
use std::ffi::{CStr, c_void};
use std::sync::OnceLock;

use iced_x86::Register;

use crate::api::{self, ByteArray, RegisterDescriptor};

/// QEMU's handles of the registers, by name.
pub struct Registers(HashMap<String, *mut c_void>);

// SAFETY: handles are constants of QEMU's.
unsafe impl Send for Registers {}
// SAFETY: as above.
unsafe impl Sync for Registers {}

static REGISTERS: OnceLock<Registers> = OnceLock::new();

impl Registers {
    /// Called on a vCPU's thread.
    pub fn get() -> &'static Registers {
        REGISTERS.get_or_init(Registers::find)
    }

    fn find() -> Registers {
        // SAFETY: QEMU gives an array of descriptors whose names it keeps.
        let all = unsafe {
            let array = api::qemu_plugin_get_registers();
            std::slice::from_raw_parts((*array).data.cast::<RegisterDescriptor>(), (*array).length as usize)
        };
        // SAFETY: the names are C strings that QEMU keeps.
        let name = |register: &RegisterDescriptor| unsafe { CStr::from_ptr(register.name) };
        let named = |register| (name(register).to_string_lossy().into_owned(), register.handle);
        Registers(all.iter().map(named).collect())
    }

    /// In a callback that was registered for registers: the value; `None` of what QEMU does not show. Linux gives all
    /// segments but FS and GS the base 0.
    pub fn read(&self, register: Register) -> Option<u64> {
        let name = match register {
            Register::ES | Register::CS | Register::SS | Register::DS => return Some(0),
            Register::FS => "fs_base".to_owned(),
            Register::GS => "gs_base".to_owned(),
            other => format!("{:?}", other.full_register()).to_lowercase(),
        };
        let value = self.named(&name)?;
        Some(if register.is_gpr32() { value & 0xffff_ffff } else { value })
    }

    /// A control register, which QEMU keeps up to date in any callback of a vCPU.
    pub fn control(&self, name: &CStr) -> Option<u64> {
        self.named(name.to_str().ok()?)
    }

    fn named(&self, name: &str) -> Option<u64> {
        let handle = *self.0.get(name)?;
        // SAFETY: a growing array of glib's, and a handle of QEMU's.
        unsafe {
            let bytes: *mut ByteArray = api::g_byte_array_new();
            let length = api::qemu_plugin_read_register(handle, bytes);
            let read = std::slice::from_raw_parts((*bytes).data, usize::try_from(length).unwrap_or(0));
            let value = <[u8; 8]>::try_from(read).ok().map(u64::from_le_bytes);
            api::g_byte_array_unref(bytes);
            value
        }
    }
}
