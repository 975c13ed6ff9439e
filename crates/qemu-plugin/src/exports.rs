//! Finds the functions and variables that QEMU exports, by their names.

use std::ffi::{CStr, c_char, c_void};

/// Declares a table of QEMU's functions. Its `find` says the name of the first one that QEMU lacks.
macro_rules! functions {
    ($(#[$about:meta])* $table:ident: $($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)+) => {
        $(#[$about])*
        #[allow(non_snake_case)]
        pub struct $table { $(pub $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)+ }

        impl $table {
            pub fn find() -> Result<$table, &'static str> {
                Ok($table { $($name: {
                    let name = concat!(stringify!($name), "\0");
                    let address = $crate::exports::address(name).ok_or(stringify!($name))?;
                    // SAFETY: QEMU's function of this name has this type in the series of the table (its headers).
                    unsafe {
                        std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) $(-> $result)?>(address)
                    }
                },)+ })
            }
        }
    };
}
pub(crate) use functions;

/// Address of a name in QEMU; `name` ends with a zero.
pub fn address(name: &str) -> Option<*mut c_void> {
    let name = CStr::from_bytes_with_nul(name.as_bytes()).expect("the caller adds the zero");
    // SAFETY: a lookup by a valid C string.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!address.is_null()).then_some(address)
}

/// `VersionInfo` of qapi/control.json.
#[repr(C)]
struct VersionInfo {
    /// major, minor, micro
    qemu: *const [i64; 3],
    package: *const c_char,
}

/// The version that runs, if it tells.
pub fn version() -> Option<String> {
    let address = address("qmp_query_version\0")?;
    // SAFETY: the QMP command's implementation has this type since 1.0. Its result is freed by nobody: it is small, and
    // it is asked for twice at most.
    unsafe {
        let query: unsafe extern "C" fn(*mut c_void) -> *const VersionInfo = std::mem::transmute(address);
        let [major, minor, micro] = *(*query(std::ptr::null_mut())).qemu;
        Some(format!("{major}.{minor}.{micro}"))
    }
}
