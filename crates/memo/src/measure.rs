//! The measurements. Each pushes points as it goes and ends early, with what it has, when it is asked to.

pub mod bandwidth;
pub mod instruction_latency;
pub mod latency;
pub mod loaded_latency;
pub mod matrix;
pub mod stream;
