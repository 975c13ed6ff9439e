//! The channel map: it gives a line's channel and the line's number within that channel.
//!
//! ```text
//!   line number = [ stripe | turn | line in granule ]      turn in 0..channels
//!   channel = (turn + hash(stripe)) mod channels           local line = [ stripe | line in granule ]
//! ```
//!
//! Each stripe visits every channel once. So any number of channels shares a stream equally, and no two lines have the
//! same place. The hash changes the order from stripe to stripe, so that a power-of-two stride does not use a single
//! channel only. Hosts hash too (Pessl et al., DRAMA, USENIX Security 2016). Each has a function of its own that no
//! data sheet prints.
//!
//! Not modelled: channels of unequal size.

use cxlab_kernel::Bytes;

use super::DramError;
use crate::addr::{Dpa, LINE_BYTES};

/// Bytes that stay together in one channel: a power of two, and at least a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Granularity {
    /// log2 of the lines in a granule
    lines_log2: u32,
}

impl Granularity {
    /// # Errors
    /// Returned if `bytes` is no power of two, or less than a line.
    pub fn new(key: &'static str, bytes: Bytes) -> Result<Granularity, DramError> {
        if bytes.get() < LINE_BYTES || !bytes.get().is_power_of_two() {
            return Err(DramError::out_of_range(key, bytes, "a power of two, 64 B or more"));
        }
        Ok(Granularity { lines_log2: (bytes.get() / LINE_BYTES).trailing_zeros() })
    }
}

/// A line's channel and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// number of the channel, from 0
    pub channel: u32,
    /// line number within the channel, dense from 0
    pub line: u64,
}

/// A one-to-one map of lines to channels.
#[derive(Clone, Copy, Debug)]
pub struct ChannelMap {
    channels: u32,
    granularity: Granularity,
}

impl ChannelMap {
    /// # Errors
    /// Returned if there are no channels.
    pub fn new(channels: u32, granularity: Granularity) -> Result<ChannelMap, DramError> {
        if !(1..=256).contains(&channels) {
            return Err(DramError::out_of_range("channels", channels, "1 to 256"));
        }
        Ok(ChannelMap { channels, granularity })
    }

    #[must_use]
    pub fn channels(&self) -> u32 {
        self.channels
    }

    /// Place of the line of `dpa`.
    #[must_use]
    pub fn place(&self, dpa: Dpa) -> Place {
        let number = dpa.line_number();
        let (granule, inside) =
            (number >> self.granularity.lines_log2, number & ((1 << self.granularity.lines_log2) - 1));
        let channels = u64::from(self.channels);
        let (stripe, turn) = (granule / channels, granule % channels);
        Place {
            channel: ((turn + fold(stripe) % channels) % channels) as u32,
            line: (stripe << self.granularity.lines_log2) | inside,
        }
    }
}

/// Folds `stripe`, so that each of its bits changes the low bits.
fn fold(stripe: u64) -> u64 {
    let folded = stripe ^ (stripe >> 32);
    let folded = folded ^ (folded >> 16);
    (folded ^ (folded >> 8) ^ (folded >> 4)) & 0xff
}
