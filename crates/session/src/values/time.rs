//! Times as the session sees them: numbers that observations bring.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::milliseconds;

/// Microseconds since 1970-01-01T00:00:00Z.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// The time `ms` milliseconds earlier. It saturates instead of overflowing.
    pub const fn before_ms(self, ms: u64) -> Timestamp {
        Timestamp(self.0.saturating_sub(Timestamp(0).after_ms(ms).0))
    }

    /// The time `duration` later, in whole milliseconds. It saturates instead of overflowing.
    pub fn after(self, duration: Duration) -> Timestamp {
        self.after_ms(milliseconds::of(duration))
    }

    /// The time `ms` milliseconds later. It saturates instead of overflowing.
    pub const fn after_ms(self, ms: u64) -> Timestamp {
        let us = if ms > i64::MAX as u64 / 1000 {
            i64::MAX
        } else {
            ms as i64 * 1000
        };
        Timestamp(self.0.saturating_add(us))
    }
    /// The time in UTC as RFC 3339, such as `2026-11-20T14:03:07.112345Z`.
    pub(crate) fn utc(self) -> String {
        let seconds = self.0.div_euclid(1_000_000);
        let (year, month, day) = date(seconds.div_euclid(86_400));
        let (second, us) = (seconds.rem_euclid(86_400), self.0.rem_euclid(1_000_000));
        let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{us:06}Z")
    }
}

/// The year, the month and the day of this number of days since 1970-01-01, in the Gregorian
/// calendar. The algorithm is `civil_from_days` of Howard Hinnant: its years begin in March, so
/// that a leap day is the last day of a year.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utc_is_a_date_of_the_calendar() {
        for (us, utc) in [
            (0, "1970-01-01T00:00:00.000000Z"),
            (-1, "1969-12-31T23:59:59.999999Z"),
            (951_782_400_000_000, "2000-02-29T00:00:00.000000Z"),
            (1_763_700_060_000_000, "2025-11-21T04:41:00.000000Z"),
            (4_107_542_399_999_999, "2100-02-28T23:59:59.999999Z"),
            (4_107_542_400_000_000, "2100-03-01T00:00:00.000000Z"),
        ] {
            assert_eq!(Timestamp(us).utc(), utc);
        }
        // The extremes have a text, too.
        assert!(Timestamp(i64::MAX).utc().starts_with("294247-01-10T"));
        assert!(Timestamp(i64::MIN).utc().ends_with('Z'));
    }
}
