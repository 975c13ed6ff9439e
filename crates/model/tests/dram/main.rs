//! DRAM: what the models promise, spoken in the standard's words.

mod channel_map;
mod checker;
mod coarse;
mod gaps;
mod harness;
mod laws;
mod machine;
mod presets;
mod schedule;
mod soak;
mod statistics;
