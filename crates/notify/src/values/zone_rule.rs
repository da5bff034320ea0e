//! The rule of a zone for all years, such as `CET-1CEST,M3.5.0,M10.5.0/3` (POSIX, as RFC 9636 uses
//! it).

use chrono::{DateTime, Datelike, Days, NaiveDate, Utc};

/// The rule of a zone for all years. Offsets are in seconds east of UTC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    standard: i32,
    daylight: Option<Daylight>,
}

/// Daylight saving time. Both ends are local times before the change.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Daylight {
    offset: i32,
    start: Change,
    end: Change,
}

/// A change: a day of the year, and seconds since its midnight.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Change {
    day: Day,
    second: i32,
}

/// A day of the year.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Day {
    /// A weekday of a month: the first to the fourth one, or the last one (5). 0 is Sunday.
    OfMonth { month: u32, week: u32, weekday: u32 },
    /// A day from 1 to 365, without February 29.
    WithoutLeap(u32),
    /// A day from 0 to 365.
    OfYear(u32),
}

/// The usual time of a change.
const TWO_O_CLOCK: i32 = 2 * 3_600;

impl Rule {
    /// Reads a rule. `None` if the text is none.
    pub(super) fn parse(text: &str) -> Option<Rule> {
        let rest = name(text)?;
        let (west, rest) = clock(rest)?;
        let standard = -west;
        if rest.is_empty() {
            let daylight = None;
            return Some(Rule { standard, daylight });
        }
        let rest = name(rest)?;
        let (offset, rest) = match rest.starts_with(',') {
            true => (standard + 3_600, rest),
            false => clock(rest).map(|(west, rest)| (-west, rest))?,
        };
        let (start, end) = rest.strip_prefix(',')?.split_once(',')?;
        let daylight = Daylight {
            offset,
            start: Change::parse(start)?,
            end: Change::parse(end)?,
        };
        Some(Rule {
            standard,
            daylight: Some(daylight),
        })
    }

    /// The offset at a second since 1970, in seconds east of UTC.
    pub(super) fn offset_at(&self, second: i64) -> i32 {
        let Some(daylight) = &self.daylight else {
            return self.standard;
        };
        let local = second.saturating_add(i64::from(self.standard));
        let year = DateTime::<Utc>::from_timestamp(local, 0).map_or(1970, |it| it.year());
        let start = daylight.start.second_in(year, self.standard);
        let end = daylight.end.second_in(year, daylight.offset);
        let (Some(start), Some(end)) = (start, end) else {
            return self.standard;
        };
        // South of the equator, daylight saving time lasts over the end of the year.
        let is_daylight = match start < end {
            true => (start..end).contains(&second),
            false => !(end..start).contains(&second),
        };
        match is_daylight {
            true => daylight.offset,
            false => self.standard,
        }
    }
}

impl Change {
    fn parse(text: &str) -> Option<Change> {
        let (day, second) = match text.split_once('/') {
            Some((day, time)) => (day, clock(time).filter(|(_, rest)| rest.is_empty())?.0),
            None => (text, TWO_O_CLOCK),
        };
        let number = |text: &str, range: std::ops::RangeInclusive<u32>| {
            let number: u32 = text.parse().ok()?;
            range.contains(&number).then_some(number)
        };
        let day = if let Some(parts) = day.strip_prefix('M') {
            let (month, rest) = parts.split_once('.')?;
            let (week, weekday) = rest.split_once('.')?;
            Day::OfMonth {
                month: number(month, 1..=12)?,
                week: number(week, 1..=5)?,
                weekday: number(weekday, 0..=6)?,
            }
        } else if let Some(day) = day.strip_prefix('J') {
            Day::WithoutLeap(number(day, 1..=365)?)
        } else {
            Day::OfYear(number(day, 0..=365)?)
        };
        Some(Change { day, second })
    }

    /// The second since 1970 of the change in a year, at the offset before it.
    fn second_in(&self, year: i32, offset: i32) -> Option<i64> {
        let midnight = self
            .day
            .date(year)?
            .and_hms_opt(0, 0, 0)?
            .and_utc()
            .timestamp();
        Some(midnight + i64::from(self.second) - i64::from(offset))
    }
}

impl Day {
    fn date(&self, year: i32) -> Option<NaiveDate> {
        match *self {
            Day::OfMonth {
                month,
                week,
                weekday,
            } => {
                let first = NaiveDate::from_ymd_opt(year, month, 1)?;
                let ahead = (7 + weekday - first.weekday().num_days_from_sunday()) % 7;
                let day = |week: u32| {
                    let date = first + Days::new(u64::from(ahead + 7 * (week - 1)));
                    Some(date).filter(|it| it.month() == month)
                };
                // The last one is the fourth or the fifth.
                day(week).or_else(|| day(4))
            }
            Day::WithoutLeap(day) => {
                let is_after = day > 59 && NaiveDate::from_ymd_opt(year, 2, 29).is_some();
                NaiveDate::from_yo_opt(year, day + u32::from(is_after))
            }
            Day::OfYear(day) => NaiveDate::from_yo_opt(year, day + 1),
        }
    }
}

/// Skips the name of a zone, such as `CET` or `<+03>`.
fn name(text: &str) -> Option<&str> {
    if let Some(quoted) = text.strip_prefix('<') {
        return quoted.split_once('>').map(|(_, rest)| rest);
    }
    let rest = text.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    (text.len() - rest.len() >= 3).then_some(rest)
}

/// Reads a time such as `-3:30`, in seconds. Returns the text behind it, too.
fn clock(text: &str) -> Option<(i32, &str)> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = digits.find(|c: char| !c.is_ascii_digit() && c != ':');
    let (time, rest) = digits.split_at(end.unwrap_or(digits.len()));
    let mut parts = time.split(':');
    let mut part = |max: i32| -> Option<i32> {
        let number = parts.next().map_or(Some(0), |it| it.parse().ok())?;
        (number <= max).then_some(number)
    };
    // RFC 9636 allows hours of a whole week.
    let seconds = part(167)? * 3_600 + part(59)? * 60 + part(59)?;
    let is_whole = !time.is_empty() && parts.next().is_none();
    is_whole.then_some((sign * seconds, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> i64 {
        text.parse::<DateTime<Utc>>().unwrap().timestamp()
    }

    fn hours(rule: &str, time: &str) -> f64 {
        f64::from(Rule::parse(rule).unwrap().offset_at(at(time))) / 3_600.0
    }

    #[test]
    fn daylight_saving_time_begins_and_ends() {
        const BERLIN: &str = "CET-1CEST,M3.5.0,M10.5.0/3";
        for (time, offset) in [
            ("2026-03-29T00:59:59Z", 1.0),
            ("2026-03-29T01:00:00Z", 2.0),
            ("2026-10-25T00:59:59Z", 2.0),
            ("2026-10-25T01:00:00Z", 1.0),
            ("2027-01-01T00:00:00Z", 1.0),
        ] {
            assert_eq!(hours(BERLIN, time), offset, "{time}");
        }
    }

    #[test]
    fn southern_summer_lasts_over_the_new_year() {
        const AUCKLAND: &str = "NZST-12NZDT,M9.5.0,M4.1.0/3";
        for (time, offset) in [
            ("2026-01-01T00:00:00Z", 13.0),
            ("2026-04-04T13:59:59Z", 13.0),
            ("2026-04-04T14:00:00Z", 12.0),
            ("2026-09-26T14:00:00Z", 13.0),
            ("2026-12-31T23:00:00Z", 13.0),
        ] {
            assert_eq!(hours(AUCKLAND, time), offset, "{time}");
        }
    }

    #[test]
    fn other_forms_are_read() {
        assert_eq!(hours("<+0330>-3:30", "2026-07-01T00:00:00Z"), 3.5);
        assert_eq!(
            hours("EST5EDT,M3.2.0,M11.1.0", "2026-07-01T00:00:00Z"),
            -4.0
        );
        assert_eq!(
            hours("EST5EDT,M3.2.0,M11.1.0", "2026-03-08T06:59:59Z"),
            -5.0
        );
        assert_eq!(
            hours("EST5EDT,M3.2.0,M11.1.0", "2026-03-08T07:00:00Z"),
            -4.0
        );
        // Day 60 without a leap day is March 1 in each year.
        assert_eq!(hours("AAA0BBB,J60/0,J61/0", "2028-03-01T00:30:00Z"), 1.0);
        assert_eq!(hours("AAA0BBB,60/0,61/0", "2028-03-01T00:30:00Z"), 1.0);
        for wrong in [
            "",
            "CET",
            "C-1",
            "CET-1CEST",
            "CET-1CEST,M13.1.0,M1.1.0",
            "CET-200",
        ] {
            assert_eq!(Rule::parse(wrong), None, "{wrong}");
        }
    }
}
