//! Times for the eye.

use chrono::{DateTime, Utc};

use recount::session::Timestamp;

/// A time as a date and a time of day, in UTC.
pub(crate) fn moment(at: Timestamp) -> String {
    utc(at).format("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// A time as a calendar would write it.
pub(crate) fn utc(at: Timestamp) -> DateTime<Utc> {
    DateTime::from_timestamp_micros(at.0).unwrap_or_default()
}

/// A time as JSON has it: as in the records.
pub(crate) fn stamp(at: Timestamp) -> String {
    utc(at).format("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

/// How long `at` is away from `now`, in the unit that says most.
pub(crate) fn span(at: Timestamp, now: Timestamp) -> String {
    let seconds = (now.0.saturating_sub(at.0) / 1_000_000).unsigned_abs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..172_800 => format!("{} h", seconds / 3_600),
        172_800.. => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_told_in_the_unit_that_says_most() {
        let ago = |seconds: i64| span(Timestamp(0), Timestamp(seconds * 1_000_000));
        assert_eq!(ago(59), "59 s");
        assert_eq!(ago(61), "1 min");
        assert_eq!(ago(7_200), "2 h");
        assert_eq!(ago(200_000), "2 days");
        assert_eq!(span(Timestamp(5_000_000), Timestamp(0)), "5 s");
    }
}
