//! The time zone of the times on screens, as `--tz` chooses it.

use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

use chrono::{DateTime, FixedOffset, Local, NaiveDate, TimeDelta, TimeZone, Utc};

/// The zone of this process. Set once, before anything is printed.
static CHOSEN: OnceLock<Zone> = OnceLock::new();

/// The longest gap, in hours, that a change of clocks leaves at the beginning of a day.
const GAP_HOURS_MAX: i64 = 3;

/// A time zone for people. JSON and CSV are in UTC whatever is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Zone {
    /// Universal time.
    #[default]
    Utc,
    /// The zone of this machine, or of the variable TZ.
    Local,
    /// A fixed distance from universal time.
    Offset(FixedOffset),
}

impl Zone {
    /// Makes this the zone of the process.
    pub fn choose(self) {
        // The command line is read once, so there is no earlier choice.
        let _ = CHOSEN.set(self);
    }

    /// The zone of the process; UTC before one was chosen.
    pub fn chosen() -> Zone {
        CHOSEN.get().copied().unwrap_or_default()
    }

    /// The time in this zone.
    pub(super) fn at(self, at: DateTime<Utc>) -> DateTime<FixedOffset> {
        let offset = match self {
            Zone::Utc => return at.fixed_offset(),
            Zone::Local => *at.with_timezone(&Local).offset(),
            Zone::Offset(offset) => offset,
        };
        // At the ends of the calendar there is no such local time.
        match at.naive_utc().checked_add_offset(offset) {
            Some(_) => at.with_timezone(&offset),
            None => at.fixed_offset(),
        }
    }

    /// The words for the zone of a time behind the time, such as `UTC` or `+01:00`.
    pub(super) fn suffix(self, at: &DateTime<FixedOffset>) -> String {
        match self {
            Zone::Utc => "UTC".to_owned(),
            Zone::Local | Zone::Offset(_) => at.format("%:z").to_string(),
        }
    }

    /// The first moment of a day in this zone.
    pub(super) fn midnight(self, day: NaiveDate) -> Option<DateTime<Utc>> {
        let midnight = day.and_hms_opt(0, 0, 0)?;
        match self {
            Zone::Utc => Some(midnight.and_utc()),
            Zone::Offset(offset) => {
                let at = offset.from_local_datetime(&midnight).earliest()?;
                Some(at.to_utc())
            }
            // If the clocks skip midnight, the day begins behind the gap.
            Zone::Local => (0..=GAP_HOURS_MAX).find_map(|hours| {
                let local = midnight.checked_add_signed(TimeDelta::hours(hours))?;
                let at = Local.from_local_datetime(&local).earliest()?;
                Some(at.to_utc())
            }),
        }
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Zone::Utc => f.write_str("utc"),
            Zone::Local => f.write_str("local"),
            Zone::Offset(offset) => write!(f, "{offset}"),
        }
    }
}

impl FromStr for Zone {
    type Err = String;

    fn from_str(text: &str) -> Result<Zone, String> {
        match text.to_ascii_lowercase().as_str() {
            "utc" | "z" => return Ok(Zone::Utc),
            "local" => return Ok(Zone::Local),
            _ => {}
        }
        let problem = || {
            let example = if text.contains('/') {
                text
            } else {
                "Europe/Berlin"
            };
            format!(
                "expected utc, local or an offset such as +02:00; for a zone by its name, set \
                 the variable TZ: TZ={example} recount --tz local …"
            )
        };
        offset(text).map(Zone::Offset).ok_or_else(problem)
    }
}

/// The offset in a text such as `+02:00`.
fn offset(text: &str) -> Option<FixedOffset> {
    let sign = match text.chars().next()? {
        '+' => 1,
        '-' => -1,
        _ => return None,
    };
    let (hours, minutes) = text.get(1..)?.split_once(':')?;
    let number = |digits: &str, max: i32| {
        let is_whole = digits.len() == 2 && digits.chars().all(|c| c.is_ascii_digit());
        let number: i32 = digits.parse().ok().filter(|_| is_whole)?;
        (number <= max).then_some(number)
    };
    let seconds = number(hours, 23)? * 3_600 + number(minutes, 59)? * 60;
    FixedOffset::east_opt(sign * seconds)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn zone_is_read_as_it_is_shown() {
        for text in ["utc", "local", "+02:00", "-09:30", "+00:00"] {
            assert_eq!(text.parse::<Zone>().unwrap().to_string(), text);
        }
        assert_eq!("UTC".parse(), Ok(Zone::Utc));
        assert_eq!("Z".parse(), Ok(Zone::Utc));
    }

    #[test]
    fn wrong_zone_is_answered_with_right_ones() {
        for wrong in [
            "", "mars", "2", "+2", "+02", "02:00", "+24:00", "+02:60", "+02:00x",
        ] {
            let problem = wrong.parse::<Zone>().unwrap_err();
            assert!(
                problem.contains("utc, local or an offset such as +02:00"),
                "{wrong}"
            );
        }
        let named = "Asia/Tokyo".parse::<Zone>().unwrap_err();
        assert!(
            named.contains("TZ=Asia/Tokyo recount --tz local"),
            "{named}"
        );
    }

    #[test]
    fn time_and_midnight_are_those_of_the_zone() {
        let zone: Zone = "+02:00".parse().unwrap();
        let at = DateTime::from_timestamp(1_767_225_600, 0).unwrap();
        let shown = zone.at(at);
        assert_eq!(shown.format("%m-%d %H:%M").to_string(), "01-01 02:00");
        assert_eq!(zone.suffix(&shown), "+02:00");
        let midnight = zone.midnight(shown.date_naive()).unwrap();
        assert_eq!(midnight.timestamp(), 1_767_225_600 - 2 * 3_600);
        assert_eq!(Zone::Utc.suffix(&Zone::Utc.at(at)), "UTC");
        // The ends of the calendar have a time, too.
        zone.at(DateTime::<Utc>::MAX_UTC);
    }
}
