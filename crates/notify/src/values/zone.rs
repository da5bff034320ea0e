//! The time zone of hours, digests and the times in texts.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, FixedOffset, Local, Utc};
use recount::session::Timestamp;

use super::occasion::UnknownWord;

/// A time zone.
///
/// ```
/// use recount_notify::Zone;
/// assert_eq!("+02:00".parse::<Zone>()?.to_string(), "+02:00");
/// assert!("Europe/Berlin".parse::<Zone>().is_err());
/// # Ok::<(), recount_notify::UnknownWord>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Zone {
    /// Universal time.
    #[default]
    Utc,
    /// The zone of this machine, or of the variable TZ, with its daylight saving time.
    Local,
    /// A fixed distance from universal time.
    Offset(FixedOffset),
}

impl Zone {
    /// The time in this zone. A time beyond the calendar counts as 1970.
    pub(crate) fn at(self, at: Timestamp) -> DateTime<FixedOffset> {
        let at = DateTime::<Utc>::from_timestamp_micros(at.0).unwrap_or_default();
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

    /// The time for people, such as `2026-11-28 10:44 UTC`.
    pub(crate) fn text(self, at: Timestamp) -> String {
        let at = self.at(at);
        let zone = match self {
            Zone::Utc => "UTC".to_owned(),
            Zone::Local | Zone::Offset(_) => at.format("%:z").to_string(),
        };
        format!("{} {zone}", at.format("%Y-%m-%d %H:%M"))
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
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Zone, UnknownWord> {
        let unknown = || UnknownWord {
            expected: "utc, local (which reads the variable TZ) and an offset such as +02:00"
                .to_owned(),
            found: text.to_owned(),
        };
        match text {
            "utc" | "UTC" => Ok(Zone::Utc),
            "local" => Ok(Zone::Local),
            text if text.len() == "+02:00".len() => {
                text.parse().map(Zone::Offset).map_err(|_| unknown())
            }
            _ => Err(unknown()),
        }
    }
}
