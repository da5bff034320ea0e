//! Times and spans for people, and times as the records have them.

use chrono::{DateTime, FixedOffset, NaiveDate, Utc};

use super::zone::Zone;
use recount::session::Timestamp;

/// A time as a date, a time of day and the zone that `--tz` chose.
pub fn moment(at: Timestamp) -> String {
    moment_in(Zone::chosen(), at)
}

fn moment_in(zone: Zone, at: Timestamp) -> String {
    let at = zone.at(utc(at));
    format!("{} {}", at.format("%Y-%m-%d %H:%M:%S"), zone.suffix(&at))
}

/// A time without its year, for a column of a table.
pub fn short_moment(at: Timestamp) -> String {
    short_moment_in(Zone::chosen(), at)
}

fn short_moment_in(zone: Zone, at: Timestamp) -> String {
    let at = zone.at(utc(at));
    let time = at.format("%m-%d %H:%M:%S");
    match zone {
        Zone::Utc => format!("{time}Z"),
        Zone::Local | Zone::Offset(_) => format!("{time}{}", zone.suffix(&at)),
    }
}

/// The calendar of a time in the zone that `--tz` chose.
pub fn in_zone(at: Timestamp) -> DateTime<FixedOffset> {
    Zone::chosen().at(utc(at))
}

/// The day of a time and its zone, such as `2026-11-20 UTC`.
pub fn day(at: DateTime<FixedOffset>) -> String {
    let zone = Zone::chosen().suffix(&at);
    format!("{} {zone}", at.format("%Y-%m-%d"))
}

/// The first moment of a day in the zone that `--tz` chose.
pub fn midnight(day: NaiveDate) -> Option<Timestamp> {
    let at = Zone::chosen().midnight(day)?;
    Some(Timestamp(at.timestamp_micros()))
}

fn utc(at: Timestamp) -> DateTime<Utc> {
    DateTime::from_timestamp_micros(at.0).unwrap_or_default()
}

/// A time as JSON, CSV and the records have it: RFC 3339 in UTC.
pub fn stamp(at: Timestamp) -> String {
    utc(at).format("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

/// The time between `at` and `now`, in the unit that says most.
pub fn span(at: Timestamp, now: Timestamp) -> String {
    let seconds = (now.0.saturating_sub(at.0) / 1_000_000).unsigned_abs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..172_800 => format!("{} h", seconds / 3_600),
        172_800.. => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn every_moment_has_its_zone() {
        let at = Timestamp(1_767_225_600_000_000);
        let zone: Zone = "+01:00".parse().unwrap();
        assert_eq!(moment_in(Zone::Utc, at), "2026-01-01 00:00:00 UTC");
        assert_eq!(moment_in(zone, at), "2026-01-01 01:00:00 +01:00");
        assert_eq!(short_moment_in(Zone::Utc, at), "01-01 00:00:00Z");
        assert_eq!(short_moment_in(zone, at), "01-01 01:00:00+01:00");
    }

    #[test]
    fn span_has_the_unit_that_says_most() {
        let ago = |seconds: i64| span(Timestamp(0), Timestamp(seconds * 1_000_000));
        assert_eq!(ago(59), "59 s");
        assert_eq!(ago(61), "1 min");
        assert_eq!(ago(7_200), "2 h");
        assert_eq!(ago(200_000), "2 days");
        assert_eq!(span(Timestamp(5_000_000), Timestamp(0)), "5 s");
    }
}
