//! CXL.mem between two ends: messages, slots and flits, the wire, credits and retry, and the load that a device reports.
//!
//! ```text
//!   sender                        wire                          receiver
//!   [credits: Gate] -message-> [slots | flits, retry] -flight-> [buffer, whose entries are the credits]
//! ```
//!
//! A read is M2S Req and S2M DRS, a write M2S RwD and S2M NDR. The components at the ends of a link, and what joins them,
//! are in `fabric`.
//!
//! Not modelled: 256 B flits (CXL 3.x), CXL.cache and CXL.io traffic on the link, back-invalidation, poison,
//! multi-logical devices. Also not modelled: the slots that credit returns and link-layer control take when no message
//! flows.
//!
//! Source: CXL specification 2.0, chapters 3 (transactions) and 4 (link layer); names are its names.

mod dev_load;
mod entries;
mod error;
mod flit;
mod link;
mod message;
mod stats;
mod wire;

pub use dev_load::{DevLoad, DevLoadSpec, Thresholds, Throttle, ThrottleSpec};
pub use entries::{ByKind, Entries, Gate, Occupied};
pub use error::{CxlError, not_zero};
pub use flit::{Encoding, FlitClock, Lanes, LinkRate, PackingSpec};
pub use link::{LinkSpec, WireTime};
pub use message::{Class, M2sReq, M2sRwd, S2mDrs, S2mNdr};
pub use stats::{WireReport, WireStats};
pub use wire::Wire;
