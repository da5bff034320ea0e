//! The daily digest.

use chrono::{Days, NaiveDate, Timelike};
use recount::session::Timestamp;

use crate::routing::TimeOfDay;
use crate::values::Zone;

/// The times of a daily digest.
#[derive(Clone, Debug)]
pub(super) struct Daily {
    pub(super) time: TimeOfDay,
    pub(super) zone: Zone,
}

impl Daily {
    /// The day of the last digest as a sink that starts now must have it: no digest is sent for a
    /// time before the start.
    ///
    /// A last digest in the future is one of a clock that was wrong. It would hold back every
    /// digest until that day.
    pub(super) fn last(&self, last: Option<NaiveDate>, now: Timestamp) -> NaiveDate {
        let (today, is_over) = self.today(now);
        let before = match is_over {
            true => today,
            false => today.checked_sub_days(Days::new(1)).unwrap_or(today),
        };
        let tomorrow = today.checked_add_days(Days::new(1)).unwrap_or(today);
        last.filter(|it| *it <= tomorrow).unwrap_or(before)
    }

    /// The day of the digest that is due, if one is. Corrects a last digest in the future, as
    /// [`last`](Daily::last) does: the clock may be set back while the sink runs.
    pub(super) fn due(&self, last: &mut NaiveDate, now: Timestamp) -> Option<NaiveDate> {
        *last = self.last(Some(*last), now);
        let (today, is_over) = self.today(now);
        (is_over && *last < today).then_some(today)
    }

    /// The day, and true if the time of its digest is over.
    fn today(&self, now: Timestamp) -> (NaiveDate, bool) {
        let now = self.zone.at(now);
        let minutes = now.hour() * 60 + now.minute();
        (now.date_naive(), minutes >= self.time.minutes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAILY: Daily = Daily {
        time: TimeOfDay::from_minutes(8 * 60),
        zone: Zone::Utc,
    };

    /// A time of November 2026, in UTC.
    fn at(day: i64, hour: i64) -> Timestamp {
        const FIRST_S: i64 = 1_793_491_200;
        Timestamp((FIRST_S + (day - 1) * 86_400 + hour * 3_600) * 1_000_000)
    }

    fn date(day: u32) -> NaiveDate {
        NaiveDate::from_ymd_opt(2026, 11, day).unwrap()
    }

    #[test]
    fn digest_is_due_once_a_day() {
        let due = |mut last, now| DAILY.due(&mut last, now);
        assert_eq!(due(date(27), at(28, 7)), None);
        assert_eq!(due(date(27), at(28, 8)), Some(date(28)));
        assert_eq!(due(date(28), at(28, 9)), None);
        assert_eq!(due(date(28), at(27, 9)), None, "the clock was set back");
        assert_eq!(
            due(date(20), at(28, 23)),
            Some(date(28)),
            "one for all days"
        );
    }

    #[test]
    fn new_sink_begins_with_the_next_digest() {
        assert_eq!(DAILY.last(None, at(28, 7)), date(27));
        assert_eq!(DAILY.last(None, at(28, 9)), date(28));
        assert_eq!(DAILY.last(Some(date(25)), at(28, 9)), date(25));
    }

    #[test]
    fn clock_set_far_back_holds_back_no_digest() {
        let mut last = NaiveDate::from_ymd_opt(2027, 1, 1).unwrap();
        assert_eq!(DAILY.due(&mut last, at(27, 9)), None, "no second one today");
        assert_eq!(DAILY.due(&mut last, at(28, 7)), None);
        assert_eq!(DAILY.due(&mut last, at(28, 8)), Some(date(28)));
    }

    #[test]
    fn last_digest_in_the_future_holds_back_no_other() {
        let next_year = NaiveDate::from_ymd_opt(2027, 1, 1);
        assert_eq!(DAILY.last(next_year, at(28, 7)), date(27));
        assert_eq!(DAILY.last(Some(date(29)), at(28, 9)), date(29));
    }
}
