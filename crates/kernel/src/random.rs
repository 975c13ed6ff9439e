//! Named streams of random numbers from one seed. A new user of random numbers does not change those of the others.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// One stream; the same (seed, name) gives the same numbers on every machine.
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    #[must_use]
    pub fn new(seed: u64, name: &str) -> Stream {
        // FNV-1a over the name (Fowler, Noll, Vo; RFC 9923) separates the streams; the generator's own
        // seeding (SplitMix64) spreads the result.
        let hash = name
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        Stream(Xoshiro256PlusPlus::seed_from_u64(seed ^ hash))
    }

    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in `0..bound`, without bias worth the name (Lemire's multiply-shift; error below 2^-32 for
    /// bounds below 2^32).
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Uniform in [0, 1), 53 bits.
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }
}
