//! Hours of a week.

use std::fmt;
use std::str::FromStr;

use chrono::{Datelike, Timelike, Weekday};
use recount::session::Timestamp;

use crate::values::Zone;

/// The minutes of a day.
const DAY_MINUTES: u32 = 24 * 60;

/// The weekdays in the order of a week, with their words.
const WEEK: [(Weekday, &str); 7] = [
    (Weekday::Mon, "mon"),
    (Weekday::Tue, "tue"),
    (Weekday::Wed, "wed"),
    (Weekday::Thu, "thu"),
    (Weekday::Fri, "fri"),
    (Weekday::Sat, "sat"),
    (Weekday::Sun, "sun"),
];

/// A time of day, such as `08:00`, to the minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeOfDay {
    minutes: u32,
}

/// The days of a week.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Days(Vec<Weekday>);

/// The hours of a week in which a route sends to its sinks.
///
/// ```
/// use recount_notify::{Days, Hours, Zone};
/// let hours = Hours::new("08:00-18:00", Days::of(["mon", "tue"])?, Zone::Utc)?;
/// assert!(Hours::new("08:00", Days::every(), Zone::Utc).is_err());
/// # let _ = hours;
/// # Ok::<(), recount_notify::UnfitHours>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hours {
    from: TimeOfDay,
    to: TimeOfDay,
    days: Days,
    zone: Zone,
}

/// The text has no hours.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, found {found:?}")]
pub struct UnfitHours {
    /// The expected form.
    pub expected: &'static str,
    /// The text.
    pub found: String,
}

impl UnfitHours {
    fn new(expected: &'static str, found: &str) -> UnfitHours {
        UnfitHours {
            expected,
            found: found.to_owned(),
        }
    }
}

impl FromStr for TimeOfDay {
    type Err = UnfitHours;

    fn from_str(text: &str) -> Result<TimeOfDay, UnfitHours> {
        let unfit = || UnfitHours::new("a time of day such as 08:00", text);
        let (hours, minutes) = text.split_once(':').ok_or_else(unfit)?;
        let number = |digits: &str, end: u32| {
            let is_whole = digits.len() == 2 && digits.bytes().all(|it| it.is_ascii_digit());
            let number: Option<u32> = digits.parse().ok().filter(|_| is_whole);
            number.filter(|it| *it < end).ok_or_else(unfit)
        };
        let minutes = number(hours, 24)? * 60 + number(minutes, 60)?;
        Ok(TimeOfDay { minutes })
    }
}

impl fmt::Display for TimeOfDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.minutes / 60, self.minutes % 60)
    }
}

impl TimeOfDay {
    #[cfg(test)]
    pub(crate) const fn from_minutes(minutes: u32) -> TimeOfDay {
        TimeOfDay { minutes }
    }

    /// The minutes since midnight.
    pub(crate) const fn minutes(self) -> u32 {
        self.minutes
    }
}

impl Days {
    /// Every day.
    #[must_use]
    pub fn every() -> Days {
        Days(WEEK.map(|(day, _)| day).to_vec())
    }

    /// The days with these words: `mon`, `tue`, `wed`, `thu`, `fri`, `sat` and `sun`.
    ///
    /// # Errors
    /// [`UnfitHours`] for any other word.
    pub fn of<'w>(words: impl IntoIterator<Item = &'w str>) -> Result<Days, UnfitHours> {
        let day = |word: &str| {
            let found = WEEK.iter().find(|(_, it)| *it == word);
            let unfit = || UnfitHours::new("mon, tue, wed, thu, fri, sat or sun", word);
            found.map(|(day, _)| *day).ok_or_else(unfit)
        };
        Ok(Days(words.into_iter().map(day).collect::<Result<_, _>>()?))
    }
}

impl Hours {
    /// Hours such as `08:00-18:00`. They end on the next day if the end is not after the beginning.
    ///
    /// # Errors
    /// [`UnfitHours`] if the text has another form.
    pub fn new(text: &str, days: Days, zone: Zone) -> Result<Hours, UnfitHours> {
        let unfit = || UnfitHours::new("hours such as 08:00-18:00", text);
        let (from, to) = text.split_once('-').ok_or_else(unfit)?;
        let time = |text: &str| text.trim().parse().map_err(|_| unfit());
        Ok(Hours {
            from: time(from)?,
            to: time(to)?,
            days,
            zone,
        })
    }

    /// True if the time is within the hours. They begin with their first minute and end before
    /// their last.
    pub(crate) fn contain(&self, at: Timestamp) -> bool {
        let at = self.zone.at(at);
        let minutes = at.hour() * 60 + at.minute();
        let (from, to) = (self.from.minutes, self.to.minutes);
        let (today, yesterday) = (at.weekday(), at.weekday().pred());
        let length = if from < to {
            to - from
        } else {
            DAY_MINUTES - from + to
        };
        // Hours that began yesterday may last until today.
        [(today, minutes), (yesterday, minutes + DAY_MINUTES)]
            .into_iter()
            .any(|(day, minutes)| {
                let is_within = (from..from + length).contains(&minutes);
                is_within && self.days.0.contains(&day)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Monday 2026-11-30, 00:00 UTC.
    const MONDAY_S: i64 = 1_795_996_800;

    fn at(day: i64, text: &str) -> Timestamp {
        let minutes: TimeOfDay = text.parse().unwrap();
        let seconds = MONDAY_S + day * 86_400 + i64::from(minutes.minutes) * 60;
        Timestamp(seconds * 1_000_000)
    }

    #[test]
    fn hours_hold_on_their_days_only() {
        assert_eq!(Zone::Utc.at(at(0, "00:00")).weekday(), Weekday::Mon);
        let days = Days::of(["mon", "tue"]).unwrap();
        let hours = Hours::new("08:00-18:00", days, Zone::Utc).unwrap();
        assert!(hours.contain(at(0, "08:00")) && hours.contain(at(1, "17:59")));
        assert!(!hours.contain(at(0, "07:59")) && !hours.contain(at(0, "18:00")));
        assert!(!hours.contain(at(2, "12:00")));
    }

    #[test]
    fn hours_over_midnight_belong_to_the_first_day() {
        let hours = Hours::new("22:00-06:00", Days::of(["fri"]).unwrap(), Zone::Utc).unwrap();
        assert!(hours.contain(at(4, "22:00")) && hours.contain(at(5, "05:59")));
        assert!(!hours.contain(at(4, "05:59")) && !hours.contain(at(5, "22:00")));
        let whole = Hours::new("00:00-00:00", Days::every(), Zone::Utc).unwrap();
        assert!(whole.contain(at(3, "00:00")) && whole.contain(at(3, "23:59")));
    }

    #[test]
    fn hours_are_those_of_their_zone() {
        let zone = "+02:00".parse().unwrap();
        let hours = Hours::new("08:00-09:00", Days::every(), zone).unwrap();
        assert!(hours.contain(at(0, "06:30")) && !hours.contain(at(0, "08:30")));
    }

    #[test]
    fn wrong_times_are_refused() {
        for text in ["", "8:00", "24:00", "08:60", "0800", "08:0x", "+8:00"] {
            assert!(text.parse::<TimeOfDay>().is_err(), "{text}");
        }
        assert!(Hours::new("08:00", Days::every(), Zone::Utc).is_err());
        assert!(Days::of(["monday"]).is_err());
    }
}
