//! Latencies, and their percentiles.

/// A latency in nanoseconds. Values over four seconds are capped.
pub(crate) type Latency = u32;

/// The percentile of the latencies for this share, in microseconds.
pub(crate) fn percentile(latencies: &mut [Latency], share: f64) -> f64 {
    let last = latencies.len().saturating_sub(1);
    let place = (last as f64 * share).round() as usize;
    if latencies.is_empty() {
        return f64::NAN;
    }
    let (_, latency, _) = latencies.select_nth_unstable(place);
    f64::from(*latency) / 1_000.0
}

/// The median and the 99th percentile, in microseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Percentiles {
    pub(crate) p50: f64,
    pub(crate) p99: f64,
}

impl Percentiles {
    pub(crate) fn of(latencies: &mut [Latency]) -> Self {
        Self {
            p50: percentile(latencies, 0.50),
            p99: percentile(latencies, 0.99),
        }
    }
}

impl std::fmt::Display for Percentiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.0} / {:.0}", self.p50, self.p99)
    }
}
