//! The program as a user meets it: ctrl-C, kill -9, two at once, odd flags, and a whole loop against a simulated machine.

#[path = "../common/mod.rs"]
mod common;
mod harness;
#[path = "../common/tree.rs"]
mod tree;

mod custody;
mod place;
mod refusals;
mod run;
mod samples;
