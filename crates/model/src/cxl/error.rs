//! Errors in the description of a CXL path. Each says the cause and what is valid.

use std::ops::RangeInclusive;

use cxlab_kernel::{Bytes, Time};

/// Why a path or decoder cannot be built.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CxlError {
    #[error("CXL001: `{key}` is 0: nothing could ever pass; write at least 1")]
    Zero { key: &'static str },
    #[error("CXL002: `{key}` is {value}; valid: {} to {}", valid.start(), valid.end())]
    Packing { key: &'static str, value: u8, valid: RangeInclusive<u8> },
    #[error(
        "CXL003: the flits of a message with data take {wire} on this link, but `{key}`, which is to contain them \
         (link.wire_time = \"within\"), is only {latency}; raise it, widen the link, or write wire_time = \"on top\""
    )]
    WireLongerThanLatency { key: &'static str, wire: Time, latency: Time },
    #[error("CXL004: `{key}` is {value}; valid: from 0 to below {below}")]
    Share { key: &'static str, value: f64, below: f64 },
    #[error(
        "CXL005: the thresholds of device.dev_load must rise: optimal {optimal} < moderate {moderate} < severe {severe} \
         is false"
    )]
    Thresholds { optimal: f64, moderate: f64, severe: f64 },
    #[error("CXL006: `throttle.floor` is {floor}, above the {response_fifo} entries of root_port.response_fifo")]
    Floor { floor: u32, response_fifo: u32 },
    #[error(
        "CXL007: `rated.bandwidth` is {rated:.2} GB/s at {reads}:{writes}, but the link's slots carry at most \
         {bound:.2} GB/s in that mix: the device is faster than its lanes; check lanes, rate and packing"
    )]
    FasterThanLanes { rated: f64, bound: f64, reads: u32, writes: u32 },
    #[error("CXL008: a mix of 0:0 reads to writes moves nothing; write at least one of them")]
    EmptyMix,
    #[error("CXL010: an HDM decoder interleaves {ways} ways; valid: 1, 2, 4, 8 targets")]
    Ways { ways: usize },
    #[error("CXL011: `granularity` is {value}; valid: 256 B, 512 B, 1 KiB, 2 KiB, 4 KiB, 8 KiB, 16 KiB")]
    Granularity { value: Bytes },
    #[error("CXL012: HDM decoder `{key}` is {value:#x} bytes, not a multiple of {multiple}")]
    Alignment { key: &'static str, value: u64, multiple: Bytes },
    #[error("CXL013: an HDM decoder of 0 bytes decodes nothing")]
    Empty,
    #[error(
        "CXL014: interleave over unequal devices: `{first}` ({first_capacity}) and `{other}` ({other_capacity}) differ; \
         the targets of one decoder are equal in model, capacity and every parameter"
    )]
    UnequalTargets { first: String, first_capacity: Bytes, other: String, other_capacity: Bytes },
    #[error("CXL015: HDM decoders need {needed} of target {target}, which has {capacity}")]
    TooLarge { target: u8, needed: Bytes, capacity: Bytes },
    #[error("CXL016: target {target} stands twice in one decoder; each way is another device")]
    TargetTwice { target: u8 },
    #[error("CXL017: HDM decoders {first:#x} and {second:#x} (their bases) overlap")]
    Overlap { first: u64, second: u64 },
    #[error("CXL018: an HDM decoder names target {target}, but there are {devices} devices, counted from 0")]
    NoSuchTarget { target: u8, devices: usize },
    #[error("CXL021: a link of x{most_lanes} at {most_rate} GT/s cannot be trained to x{lanes} at {rate} GT/s")]
    Retraining { lanes: u64, rate: u64, most_lanes: u64, most_rate: u64 },
    #[error("CXL022: {switches} switches between root port and device; valid: 0 to {most}")]
    Switches { switches: usize, most: usize },
    #[error("CXL023: `{key}` is {value}; valid: {valid}")]
    DeviceCache { key: &'static str, value: String, valid: &'static str },
}

/// Queues and credits of zero let nothing pass.
///
/// # Errors
/// `CXL001` names the first that is zero.
pub fn not_zero(values: &[(&'static str, u32)]) -> Result<(), CxlError> {
    match values.iter().find(|(_, value)| *value == 0) {
        Some((key, _)) => Err(CxlError::Zero { key }),
        None => Ok(()),
    }
}
