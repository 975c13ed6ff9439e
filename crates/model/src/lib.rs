//! The simulated machine: each folder is a room, and a room imports only from rooms on the floors below it.
//!
//! ```text
//!   study                                                   applications on a machine with an operating system
//!   bench  os  session                                      what feeds the cores
//!   apps  summary                                           programs; what a run tells
//!   machine                                                 the event loop
//!   config                                                  what a machine file says
//!   core  home                                              the two ends of the mesh
//!   feed  fabric  drive                                     instructions; ways from a home agent to a memory; an SSD
//!   check                                                   rules of standards, for runs that are checked
//!   request  cxl  media                                     a line on its way; links; what stores the bytes
//!   cache  translation  mem  document                       who holds a line, a page; accesses and stages; files of facts
//!   addr  error  fact                                       what all others are written in
//! ```
//!
//! `scripts/check_imports.py` holds the table of floors.

pub mod addr;
pub mod apps;
pub mod bench;
pub mod cache;
pub mod check;
pub mod config;
pub mod core;
pub mod cxl;
pub mod document;
pub mod drive;
pub mod error;
pub mod fabric;
pub mod fact;
pub mod feed;
pub mod home;
pub mod machine;
pub mod media;
pub mod mem;
pub mod os;
pub mod request;
pub mod session;
pub mod study;
pub mod summary;
pub mod translation;

pub use config::MachineSpec;
pub use error::ModelError;
pub use machine::Machine;
