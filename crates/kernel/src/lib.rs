//! Discrete-event simulation. This crate knows nothing of memory.
//!
//! ```text
//!   quantity  Time, Frequency, Bytes, Bandwidth: made from text that carries a unit
//!   event     the queue: totally ordered by (time, sequence), so equal inputs give equal bits
//!   server    what keeps order reserves time ahead; what may reorder schedules an event
//!   order     time that went back: counted in every build
//!   credits   back-pressure: a FIFO of waiters, each woken once
//!   slots     entries whose return may be known ahead, and a queue of waiters
//!   turns     a queue of waiters that serves its sources in turn
//!   host_cache hints to the caches of the computer that simulates
//!   slab      rows that live while a transaction does, addressed by index
//!   statistic declared once beside its field: name, unit, description
//!   random    named streams of random numbers from one seed
//! ```
//!
//! It does not model anything: it knows no address, no cache, no link.

pub mod credits;
pub mod event;
pub mod host_cache;
pub mod order;
pub mod quantity;
pub mod random;
pub mod server;
pub mod slab;
pub mod slots;
pub mod statistic;
pub mod turns;

pub use credits::{Credits, Grant};
pub use event::EventQueue;
pub use quantity::{Bandwidth, Bytes, Frequency, QuantityError, Time};
pub use random::Stream;
pub use server::Server;
pub use slab::{Key, Slab};
pub use slots::Slots;
pub use turns::Turns;
