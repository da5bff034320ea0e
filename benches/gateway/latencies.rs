//! Latencies as counts by microseconds, so that those of several processes can be added.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The latency from which all count alike, in microseconds.
const MAX_US: usize = 200_000;

/// Counts of latencies.
pub(crate) struct Latencies(Vec<u32>);

impl Latencies {
    pub(crate) fn new() -> Latencies {
        Latencies(vec![0; MAX_US + 1])
    }

    pub(crate) fn add(&mut self, nanoseconds: u64) {
        let place = usize::try_from(nanoseconds / 1_000).unwrap_or(MAX_US);
        if let Some(count) = self.0.get_mut(place.min(MAX_US)) {
            *count += 1;
        }
    }

    /// Adds those of a line of [`to_line`](Latencies::to_line).
    pub(crate) fn add_line(&mut self, line: &str) {
        for pair in line.split(',').filter(|it| !it.is_empty()) {
            let (place, more) = pair.split_once(':').expect("a place and its count");
            let place: usize = place.parse().expect("a place");
            let count = self.0.get_mut(place).expect("a place that exists");
            *count += more.parse::<u32>().expect("a count");
        }
    }

    pub(crate) fn to_line(&self) -> String {
        let counted = self.0.iter().enumerate().filter(|(_, count)| **count > 0);
        let pairs: Vec<String> = counted.map(|(at, count)| format!("{at}:{count}")).collect();
        pairs.join(",")
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.iter().map(|count| u64::from(*count)).sum()
    }

    /// The latency, in microseconds, that this share of all does not exceed.
    pub(crate) fn at(&self, share: f64) -> f64 {
        let wanted = self.count() as f64 * share;
        let mut below = 0.0;
        let reaches = |count: &u32| {
            below += f64::from(*count);
            below >= wanted
        };
        let place = self.0.iter().position(reaches);
        // The middle of the microsecond.
        place.unwrap_or(MAX_US) as f64 + 0.5
    }
}

/// The time of the clock that all processes of the machine share, in nanoseconds.
pub(crate) fn now() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let now = Duration::try_from(now).expect("a time since the start");
    u64::try_from(now.as_nanos()).expect("less than five centuries")
}
