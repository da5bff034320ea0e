//! The streams of an access journal: one for each day in UTC.

use chrono::{DateTime, Datelike};
use recount::session::Timestamp;
use uuid::Uuid;

/// The part of the ids that is the same for all days: a UUID of version 8, and `access` in ASCII.
const SAME: u128 = 0x0000_8000_8000_6163_6365_7373;

/// The number of bits of the part that is the same.
const SAME_BITS: u32 = 96;

/// Returns the stream of the day of a time. Its id begins with the date, so that the ids of
/// streams are in the order of their days.
///
/// ```
/// use recount::session::Timestamp;
/// let stream = recount_reads::stream_of(Timestamp(1_795_183_387_112_345));
/// assert_eq!(stream.to_string(), "20261120-0000-8000-8000-616363657373");
/// ```
#[must_use]
pub fn stream_of(at: Timestamp) -> Uuid {
    let date = DateTime::from_timestamp_micros(at.0).unwrap_or_default();
    let year = u32::try_from(date.year()).unwrap_or(0).min(9999);
    let digits = format!("{year:04}{:02}{:02}", date.month(), date.day());
    // Eight decimal digits are eight hexadecimal ones.
    let begin = u32::from_str_radix(&digits, 16).unwrap_or(0);
    Uuid::from_u128((u128::from(begin) << SAME_BITS) | SAME)
}

/// True if the stream is that of a day.
pub(crate) fn is_day(stream: Uuid) -> bool {
    let below = (1_u128 << SAME_BITS) - 1;
    stream.as_u128() & below == SAME
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_US: i64 = 24 * 3600 * 1_000_000;

    #[test]
    fn streams_are_in_the_order_of_their_days() {
        let start = 1_795_183_387_112_345;
        let streams: Vec<Uuid> = (0..800)
            .map(|day| stream_of(Timestamp(start + day * DAY_US)))
            .collect();
        assert!(streams.is_sorted_by(|a, b| a < b));
        assert!(streams.iter().all(|it| is_day(*it)));
        assert!(!is_day(Uuid::nil()) && !is_day(Uuid::from_u128(7)));
    }

    #[test]
    fn day_ends_at_midnight_in_utc() {
        let midnight = 1_795_183_387_112_345 / DAY_US * DAY_US;
        let stream = |us| stream_of(Timestamp(us));
        assert_eq!(stream(midnight), stream(midnight + DAY_US - 1));
        assert_ne!(stream(midnight), stream(midnight - 1));
        // A clock that is far off still has a stream.
        assert!(is_day(stream(i64::MAX)) && is_day(stream(i64::MIN)));
    }
}
