//! The QEMU plugin tells the model what the guest executes, and the guest what time it is.
//!
//! ```text
//!   QEMU (vCPUs take turns)                                                   model process
//!   translate.rs  a block is translated -> Define, its callbacks are laid      |
//!   callbacks.rs  block entered, memory touched, clock read
//!   stream.rs     what is told of it                         ------ ring ----> | timing
//!                 sync point: time of the one before        <---- answers ---- |
//!   named_line.rs lines that flushes and prefetches name
//!   accelerator.rs QEMU asks us for the time
//!   clock.rs      the guest's virtual clock and time-stamp counter read from here
//!   idle.rs       nothing to do: jump to the next timer, or to a device's answer
//!   device.rs     QEMU's virtio devices and their queues
//!   descriptor.rs descriptors of a virtio queue, and the chain of a request
//!   used_ring.rs  its answers in the guest's memory: how much a request has moved
//!   host_files.rs what the guest asks of the host's files, and when it is answered
//!   disk.rs       a block device whose other end is here: what it is asked, and when it answers
//!   under_way.rs  requests of both: when they are done where the model does not say
//!   counters.rs   a program asks for the machine's counters: stand still until they are in its port
//!   cpuid.rs      what CPUID says of caches, TLBs and cores
//!   port.rs       what the guest has received in a serial port
//!   stop.rs       the run has come to its bound: stand still until the program is stopped
//!   mode.rs       is there detail now?
//!   turns.rs      which vCPU runs, and until when
//!   releases.rs   which plain stores give back locks
//!   boot.rs       Linux is up: the machine's state is saved here, or was loaded
//!   region.rs     detail begins and ends: markers, flushing translations
//!   window.rs     RAM over the CXL windows
//!   poison.rs     poisoned lines in them: machine checks
//!   qemu.rs       QEMU's own functions that the plugin interface does not offer, checked at start
//!   series.rs     the series of QEMU that are known, and what is different between them
//!   exports.rs    what QEMU exports, by name
//!   imports.rs    which functions of libraries QEMU calls
//!   host_time.rs  the size of a vCPU's TLB does not depend on the host's time
//! ```
//!
//! It does not model timing. Its sources are QEMU's plugin interface, version 4 of 10.0 and version 7 of 11.1
//! (docs/devel/tcg-plugins.rst), and measurements on 10.0.2 and 11.1.3.
//!
//! Licence: GPL-2.0-or-later, as QEMU.

mod accelerator;
mod answer;
mod api;
mod arguments;
mod boot;
mod callbacks;
mod clock;
mod counters;
mod cpuid;
mod decoded;
mod descriptor;
mod device;
mod disk;
mod end;
mod exports;
mod host_files;
mod host_time;
mod idle;
mod imports;
mod invalidation;
mod mode;
mod named_line;
mod pages;
mod poison;
mod port;
mod progress;
mod qemu;
mod region;
mod registers;
mod releases;
mod series;
mod stop;
mod stream;
mod translate;
mod turns;
mod under_way;
mod used_ring;
mod window;

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::AtomicI32;
use std::sync::atomic::Ordering::Relaxed;

use api::{Block, PluginId};

/// The version of the plugin interface that this plugin uses. QEMU reads it when it has loaded us.
#[unsafe(no_mangle)]
pub static qemu_plugin_version: AtomicI32 = AtomicI32::new(4);

/// The loader calls this before QEMU looks at the version.
#[used]
#[unsafe(link_section = ".init_array")]
static ON_LOAD: extern "C" fn() = choose_interface;

/// QEMU 11.1 takes version 7 alone, 10.0 nothing above 4.
extern "C" fn choose_interface() {
    if let Some(series) = series::found() {
        qemu_plugin_version.store(series.interface, Relaxed);
    }
}

/// QEMU calls this once, before the machine starts.
///
/// # Safety
/// QEMU passes `argc` valid strings in `argv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: PluginId,
    _info: *const api::Info,
    argc: c_int,
    argv: *const *const c_char,
) -> c_int {
    // SAFETY: the caller's promise.
    let words = (0..argc as usize).map(|index| unsafe { CStr::from_ptr(*argv.add(index)) });
    let started = arguments::Arguments::parse(words.map(|word| word.to_string_lossy().into_owned()))
        .and_then(|arguments| install(id, &arguments));
    match started {
        Ok(()) => 0,
        Err(message) => {
            eprintln!("cxlab plugin: {message}");
            1
        }
    }
}

fn install(id: PluginId, arguments: &arguments::Arguments) -> Result<(), String> {
    qemu::check()?;
    turns::start(arguments);
    stream::open(arguments)?;
    clock::start(arguments);
    cpuid::start(&arguments.cpuid)?;
    boot::start(arguments);
    region::start(arguments);
    window::start(arguments);
    counters::start(arguments);
    disk::start(arguments)?;
    host_time::start()?;
    let nothing = std::ptr::null_mut();
    let (of_vcpu, of_block) = if series::here().interface == series::INTERFACE_WITH_DATA {
        (vcpu_init_with_data as api::VcpuCallback, block_with_data as api::BlockCallback)
    } else {
        (vcpu_init_with_id as api::VcpuCallback, block_with_id as api::BlockCallback)
    };
    // SAFETY: the functions live as long as the process, and match the types of the interface that was declared.
    unsafe {
        api::qemu_plugin_register_vcpu_init_cb(id, of_vcpu, nothing);
        api::qemu_plugin_register_vcpu_tb_trans_cb(id, of_block, nothing);
        api::qemu_plugin_register_flush_cb(id, decoded::on_flush, nothing);
        api::qemu_plugin_register_atexit_cb(id, at_exit, nothing);
    }
    Ok(())
}

unsafe extern "C" fn vcpu_init_with_id(_id: PluginId, vcpu: u32) {
    vcpu_init(vcpu);
}

unsafe extern "C" fn vcpu_init_with_data(vcpu: u32, _data: *mut c_void) {
    vcpu_init(vcpu);
}

unsafe extern "C" fn block_with_id(_id: PluginId, block: *mut Block) {
    translate::block(block);
}

unsafe extern "C" fn block_with_data(block: *mut Block, _data: *mut c_void) {
    translate::block(block);
}

fn vcpu_init(vcpu: u32) {
    host_time::is_of_vcpus();
    host_time::forget_translations(qemu::cpu(vcpu as usize));
    if turns::several() {
        qemu::share_blocks(vcpu as usize);
    }
    if vcpu == 0 {
        if let Err(message) = accelerator::hook().and_then(|()| host_files::hook()) {
            end::give_up(&message);
        }
        idle::start();
    }
}

unsafe extern "C" fn at_exit() {
    stream::with(|stream| stream.feed.end());
}
