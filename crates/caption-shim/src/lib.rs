//! A library that is preloaded into one application, so that its new pages follow Caption's control file. The
//! application has its own ratio, without privilege, beside others with theirs.
//!
//! ```text
//!   LD_PRELOAD=libcxlab_caption_shim.so CXLAB_CAPTION_CONTROL=FILE program
//!
//!   malloc, calloc, ... mmap (hooks.rs) --> the kernel or the allocator gives memory, not yet touched
//!        |                                            |
//!        +--> follower.rs: has the control page changed? which side is this chunk on? (sides.rs)
//!                 large: mbind each chunk to DDR or CXL      small: the thread's policy, chunk after chunk
//! ```
//! Nothing here allocates, and nothing here may fail the application. If the kernel refuses, the shim says so once,
//! and the memory keeps the policy it had.
//!
//! Does not model: memory that the allocator hands out again (its pages are placed), mappings made inside the C library
//! (thread stacks), statically linked programs.
//! Source: man 2 mbind, man 2 set_mempolicy.

mod follower;
mod hooks;
mod policy;
mod sides;

#[path = "../../caption/src/actuator/control.rs"]
#[allow(dead_code)] // the writer's half
mod control;
