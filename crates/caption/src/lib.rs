//! Caption: steers the share of new pages that go to CXL memory, while the programs run.
//!
//! ```text
//!   sensor --> controller: window (M1) --> estimator (M2) --> tuner (M3) --> actuator --> kernel places new pages
//!      ^                                                                                        |
//!      +-------------------------- the machine, and the programs on it <------------------------+
//!
//!   custody holds the old weights: lock, journal, guardian
//! ```
//! Pure: controller, estimator, tuner, weights. Everything that touches the machine goes through `root`.
//! Source: Sun et al., "Demystifying CXL Memory with Genuine CXL-Ready Systems and Devices", MICRO 2023, section 6.

pub mod actuator;
pub mod atomic;
pub mod controller;
pub mod custody;
pub mod error;
pub mod estimator;
pub mod interrupt;
pub mod journal;
pub mod live;
pub mod lock;
pub mod log;
pub mod mempolicy;
pub mod place;
pub mod root;
pub mod run;
pub mod sample;
pub mod sensor;
pub mod share;
pub mod topology;
pub mod tuner;
pub mod units;
pub mod weights;
pub mod window;

pub use error::{Error, Result};
