//! Latencies and what half, or all but a hundredth of them, stay under.

/// Nanoseconds; what is longer than four seconds counts as that.
pub(crate) type Latency = u32;

/// The microseconds that this share of the latencies stays under.
pub(crate) fn percentile(latencies: &mut [Latency], share: f64) -> f64 {
    let last = latencies.len().saturating_sub(1);
    let place = (last as f64 * share).round() as usize;
    if latencies.is_empty() {
        return f64::NAN;
    }
    let (_, latency, _) = latencies.select_nth_unstable(place);
    f64::from(*latency) / 1_000.0
}

/// Median and 99th percentile, in microseconds.
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
