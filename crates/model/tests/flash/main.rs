//! Flash: what holds for every drive, whatever its parameters.

mod amplification;
mod cells;
mod gaps;
mod harness;
mod timing;
