//! Waiting times: their median and their 95th percentile, and their words.

/// Waiting times, in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Times(Vec<i64>);

impl Times {
    pub(super) fn add(&mut self, us: i64) {
        self.0.push(us.max(0));
    }

    pub(super) fn number(&self) -> usize {
        self.0.len()
    }

    /// The median. `None` without a time.
    pub(super) fn median(&self) -> Option<i64> {
        self.percentile(50)
    }

    /// The time that 95 of 100 do not exceed. `None` without a time.
    pub(super) fn p95(&self) -> Option<i64> {
        self.percentile(95)
    }

    /// The percentile by the nearest rank, which is a time that occurred.
    fn percentile(&self, percent: usize) -> Option<i64> {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let rank = (sorted.len() * percent).div_ceil(100);
        sorted.get(rank.checked_sub(1)?).copied()
    }
}

/// A time in its two largest units, such as `3 min 20 s`.
pub(super) fn lasted(us: i64) -> String {
    let seconds = us / 1_000_000;
    let two = |large: i64, large_unit: &str, small: i64, small_unit: &str| match small {
        0 => format!("{large} {large_unit}"),
        small => format!("{large} {large_unit} {small} {small_unit}"),
    };
    match seconds {
        _ if us < 100_000 => "under 0.1 s".to_owned(),
        ..10 => format!("{:.1} s", us as f64 / 1e6),
        10..60 => format!("{seconds} s"),
        60..3_600 => two(seconds / 60, "min", seconds % 60, "s"),
        3_600..86_400 => two(seconds / 3_600, "h", seconds % 3_600 / 60, "min"),
        86_400.. => two(seconds / 86_400, "d", seconds % 86_400 / 3_600, "h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_times_that_occurred() {
        let times = |all: &[i64]| {
            let mut times = Times::default();
            all.iter().for_each(|it| times.add(*it));
            (times.median(), times.p95())
        };
        assert_eq!(times(&[]), (None, None));
        assert_eq!(times(&[7]), (Some(7), Some(7)));
        assert_eq!(times(&[9, 1, 5, 3]), (Some(3), Some(9)));
        let hundred: Vec<i64> = (1..=100).rev().collect();
        assert_eq!(times(&hundred), (Some(50), Some(95)));
        // A clock that was set back makes no negative time.
        assert_eq!(times(&[-4]), (Some(0), Some(0)));
    }

    #[test]
    fn time_has_its_two_largest_units() {
        let of = |seconds: f64| lasted((seconds * 1e6) as i64);
        assert_eq!(of(0.05), "under 0.1 s");
        assert_eq!(of(0.25), "0.2 s");
        assert_eq!(of(59.0), "59 s");
        assert_eq!(of(60.0), "1 min");
        assert_eq!(of(200.0), "3 min 20 s");
        assert_eq!(of(3_660.0), "1 h 1 min");
        assert_eq!(of(90_000.0), "1 d 1 h");
    }
}
