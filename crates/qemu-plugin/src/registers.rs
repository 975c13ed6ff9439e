//! The guest's registers, by their names in QEMU's description for gdb.

use std::collections::HashMap;
use std::ffi::{CStr, c_void};
use std::sync::OnceLock;

use iced_x86::Register;

use crate::api::{self, ByteArray, RegisterDescriptor};
use crate::series;

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
        // SAFETY: QEMU gives an array of descriptors, each as large as glib says, whose names are C strings that it keeps.
        unsafe {
            let array = api::qemu_plugin_get_registers();
            let (data, size) = ((*array).data, api::g_array_get_element_size(array) as usize);
            let all = (0..(*array).length as usize).map(|index| &*data.add(index * size).cast::<RegisterDescriptor>());
            let name = |register: &RegisterDescriptor| CStr::from_ptr(register.name).to_string_lossy().into_owned();
            Registers(all.map(|register| (name(register), register.handle)).collect())
        }
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
            series::read_register(handle, bytes);
            let length = (*bytes).length as usize;
            let value = (length == 8).then(|| u64::from_le_bytes(*(*bytes).data.cast::<[u8; 8]>()));
            api::g_byte_array_unref(bytes);
            value
        }
    }
}
