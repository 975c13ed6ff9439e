//! The CXL path, held to the specification's arithmetic and to the laws of queues.

mod bad_input;
mod decoder;
mod dev_load;
mod gaps;
mod harness;
mod laws;
mod link_bound;
mod packing;
mod retraining;
mod retry;
mod soak;
mod switch;
mod zero_load;
