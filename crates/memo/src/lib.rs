//! memo measures latency and bandwidth of a real machine's memory, by instruction, load and node.
//!
//! ```text
//!   host     where it runs, and what makes figures unreliable there
//!   cpu, buffer, mempolicy, page      threads pinned; memory bound to a node, and checked to be there
//!   tsc, isa, instruction, chase, traffic      the clock and the loops that are measured
//!   measure/ memo | latency | loaded latency | bandwidth | STREAM | matrix
//!   summary, distribution      median, interval, outlier rule; percentiles and CDF
//!   report/  one shape for all: table, JSON, CSV;  import/ puts Intel MLC's and multichase's text into it
//! ```
//! It does not count hardware events, and it never changes a setting of the machine: prefetchers, governors and huge-page
//! pools are read and reported only.
//! Source: Sun et al., "Demystifying CXL Memory with Genuine CXL-Ready Systems and Devices", MICRO 2023, section 4.
//! Intel Memory Latency Checker. McVoy and Staelin, "lmbench", USENIX 1996 (lat_mem_rd). McCalpin's STREAM.

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
compile_error!("cxlab-memo measures with x86-64 instructions through Linux's placement calls: it has no other port");

pub mod buffer;
pub mod chase;
pub mod cpu;
pub mod distribution;
pub mod error;
pub mod host;
pub mod import;
pub mod instruction;
pub mod interrupt;
pub mod isa;
pub mod list;
pub mod measure;
pub mod mempolicy;
pub mod mix;
pub mod page;
pub mod progress;
pub mod report;
pub mod roi;
pub mod session;
pub mod stream_kernel;
pub mod summary;
pub mod team;
pub mod traffic;
pub mod tsc;

pub use error::{Error, Result};
