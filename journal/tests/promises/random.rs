//! Pseudo-random numbers, repeatable by their seed.

use std::env;

/// The SplitMix64 generator.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ value >> 31
    }

    /// Returns a number below a bound.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.number() % bound.max(1)
    }

    /// Returns an index into something of this length.
    pub(crate) fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap()
    }

    pub(crate) fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.index(of.len())]
    }
}

/// Returns the number of repetitions from an environment variable, or a default that is fast enough
/// for every change.
pub(crate) fn times(variable: &str, otherwise: u64) -> u64 {
    env::var(variable).map_or(otherwise, |text| text.parse().unwrap())
}
