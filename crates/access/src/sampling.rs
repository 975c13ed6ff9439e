//! Sampling: which instructions of a run are followed in detail, and what the model is told of the others.
//!
//! ```text
//!   0                                every                        position: instructions, and lines of those that repeat
//!   |======|----|#######|============|==|----|#######|====...     # measured (detail)  - detailed, not measured (warm)
//!           warm '- detail                                        = warming: lines and branches, no time
//! ```
//!
//! Stratified sampling: one window in each `every` instructions, which draws where it begins. Between
//! windows caches and branch predictor are kept warm functionally (SMARTS; Wunderlich, Wenisch, Falsafi and Hoe, ISCA
//! 2003). A live guest and a replayed trace share these types, so both sample alike. An instruction that repeats
//! counts for what it does, and phases begin and end within it. Linux clears a page with one, and memcpy moves a
//! megabyte. A window in a million instructions would hardly ever see that, or see nothing else. Not modelled:
//! windows placed by phases of the program. The start of a run on one processor is followed in detail ([`BEGINNING`]).
//!
//! A schedule that thins has a greatest number of windows. When the next one would begin, `every` doubles, and every
//! window of each pair so far is dropped. So a program of unknown length has between half of them and all of them.

mod line_filter;
mod progress;
mod schedule;

pub use line_filter::LineFilter;
pub use progress::{Progress, REPEATED_LINE};
pub use schedule::{BEGINNING, Schedule};
