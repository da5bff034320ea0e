//! The time zone of hours, digests and the times in texts.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use chrono::{DateTime, FixedOffset, Local, Utc};
use recount::session::Timestamp;

use super::occasion::UnknownWord;
use super::zone_file::ZoneFile;

/// A time zone.
///
/// ```
/// use recount_notify::Zone;
/// assert_eq!("+02:00".parse::<Zone>()?.to_string(), "+02:00");
/// assert!("Mars/Olympus_Mons".parse::<Zone>().is_err());
/// # Ok::<(), recount_notify::UnknownWord>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Zone {
    /// Universal time.
    #[default]
    Utc,
    /// The zone of this machine, or of the variable TZ, with its daylight saving time.
    Local,
    /// A fixed distance from universal time.
    Offset(FixedOffset),
    /// A zone of the system's time zone database, with its daylight saving time.
    Named(NamedZone),
}

/// A zone of the system's time zone database, such as `Europe/Berlin`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedZone {
    name: Arc<str>,
    file: Arc<ZoneFile>,
}

impl Zone {
    /// The time in this zone. A time beyond the calendar counts as 1970.
    pub(crate) fn at(&self, at: Timestamp) -> DateTime<FixedOffset> {
        let at = DateTime::<Utc>::from_timestamp_micros(at.0).unwrap_or_default();
        let offset = match self {
            Zone::Utc => return at.fixed_offset(),
            Zone::Local => *at.with_timezone(&Local).offset(),
            Zone::Offset(offset) => *offset,
            Zone::Named(zone) => {
                let seconds = zone.file.offset_at(at.timestamp());
                match FixedOffset::east_opt(seconds) {
                    Some(offset) => offset,
                    None => return at.fixed_offset(),
                }
            }
        };
        // At the ends of the calendar there is no such local time.
        match at.naive_utc().checked_add_offset(offset) {
            Some(_) => at.with_timezone(&offset),
            None => at.fixed_offset(),
        }
    }

    /// The time for people, such as `2026-11-28 10:44 UTC`.
    pub(crate) fn text(&self, at: Timestamp) -> String {
        let at = self.at(at);
        let zone = match self {
            Zone::Utc => "UTC".to_owned(),
            Zone::Local | Zone::Offset(_) | Zone::Named(_) => at.format("%:z").to_string(),
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
            Zone::Named(zone) => f.write_str(&zone.name),
        }
    }
}

impl FromStr for Zone {
    type Err = UnknownWord;

    /// Reads a zone. A name is looked up in the directory of the variable `TZDIR`, and in
    /// `/usr/share/zoneinfo` and its like.
    fn from_str(text: &str) -> Result<Zone, UnknownWord> {
        let offset = || {
            let has_sign = text.starts_with(['+', '-']) && text.len() == "+02:00".len();
            text.parse().ok().filter(|_| has_sign).map(Zone::Offset)
        };
        let named = || {
            let file = Arc::new(ZoneFile::named(text)?);
            let name = text.into();
            Some(Zone::Named(NamedZone { name, file }))
        };
        let unknown = || UnknownWord {
            expected:
                "utc, local, an offset such as +02:00, and the names in /usr/share/zoneinfo, \
                       such as Europe/Berlin"
                    .to_owned(),
            found: text.to_owned(),
        };
        match text {
            "utc" | "UTC" => Ok(Zone::Utc),
            "local" => Ok(Zone::Local),
            _ => offset().or_else(named).ok_or_else(unknown),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zone_is_read_as_it_is_shown() {
        for text in ["utc", "local", "+02:00", "-09:30"] {
            assert_eq!(text.parse::<Zone>().unwrap().to_string(), text);
        }
        for text in ["", "mars", "+2", "02:00", "+25:00", "../../etc/passwd"] {
            assert!(text.parse::<Zone>().is_err(), "{text}");
        }
    }

    #[test]
    fn text_has_the_offset() {
        let zone: Zone = "+02:00".parse().unwrap();
        assert_eq!(zone.text(Timestamp(0)), "1970-01-01 02:00 +02:00");
        assert_eq!(Zone::Utc.text(Timestamp(0)), "1970-01-01 00:00 UTC");
    }
}
