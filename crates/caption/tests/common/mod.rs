//! Closed-form throughput curves over the share of CXL memory, each with its best share known, and a noise with a seed.

#![allow(dead_code)]

use cxlab_caption::share::CxlShare;

/// Throughput against the share of pages on CXL.
#[derive(Clone, Copy, Debug)]
pub enum Curve {
    /// Bandwidth-bound: each memory serves its share of the pages, the slower side sets the pace.
    /// min(ddr / (1 - s), cxl / s); best where both finish together, s = cxl / (ddr + cxl).
    Bandwidth { ddr: f64, cxl: f64 },
    /// Latency-bound, one access after the other: 1 / ((1 - s) ddr + s cxl); best at 0 % while CXL is slower.
    Latency { ddr: f64, cxl: f64 },
}

impl Curve {
    pub fn at(self, share: CxlShare) -> f64 {
        let s = share.fraction();
        match self {
            Curve::Bandwidth { ddr, cxl } => (ddr / (1.0 - s)).min(cxl / s),
            Curve::Latency { ddr, cxl } => 1.0 / ((1.0 - s) * ddr + s * cxl),
        }
    }

    pub fn best(self) -> f64 {
        match self {
            Curve::Bandwidth { ddr, cxl } => cxl / (ddr + cxl),
            Curve::Latency { .. } => 0.0,
        }
    }
}

/// SplitMix64: Steele, Lea and Flood, OOPSLA 2014.
pub struct Noise(pub u64);

impl Noise {
    /// Uniform in -1..1.
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as f64 / u64::MAX as f64 * 2.0 - 1.0
    }
}

pub fn share(fraction: f64) -> CxlShare {
    CxlShare::new(fraction).unwrap()
}
