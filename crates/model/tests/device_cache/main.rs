//! A device's cache: what it holds, against lists; how long requests take, and that none is lost.

mod harness;
mod policies;
mod reference;
mod station;
mod write_log;
