//! Standing leaves in sentences, and the times and spans that a person types.

use std::time::Duration;

use chrono::DateTime;

use super::actor::acted_in_short;
use super::age;
use recount::session::{Actor, AllowFor, Timestamp};

/// The leave behind a call, such as `by standing leave of ada, 3 of 5`.
pub fn by_leave(by: &[Actor], nth: u32, bound: Option<AllowFor>) -> String {
    let people: Vec<String> = by.iter().map(|it| acted_in_short("of", it)).collect();
    let people = match people.as_slice() {
        [] => String::new(),
        people => format!(" {}", people.join(" and ")),
    };
    let used = match bound {
        Some(AllowFor::Count(count)) => format!("{nth} of {count}"),
        Some(AllowFor::Until(until)) => format!("use {nth}, until {}", age::moment(until)),
        None => format!("use {nth}"),
    };
    format!("by standing leave{people}, {used}")
}

/// The bound of a leave, such as `for 5 further calls`.
pub fn bound_words(bound: AllowFor) -> String {
    match bound {
        AllowFor::Count(1) => "for 1 further call".to_owned(),
        AllowFor::Count(count) => format!("for {count} further calls"),
        AllowFor::Until(until) => format!("until {}", age::moment(until)),
    }
}

/// Reads the end of a leave: a time such as 2026-11-01T09:30:00Z, or a span from `now` on such as
/// 90m, 8h or 2d. `None` if it is neither.
pub fn end_of_leave(text: &str, now: Timestamp) -> Option<Timestamp> {
    if let Ok(at) = DateTime::parse_from_rfc3339(text) {
        return Some(Timestamp(at.timestamp_micros()));
    }
    Some(now.after(span(text)?))
}

/// Reads a span: a number with a unit, such as 60s, 90m, 8h or 2d.
pub fn span(text: &str) -> Option<Duration> {
    let unit = text.chars().next_back()?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        _ => return None,
    };
    let number: u64 = text.strip_suffix(unit)?.parse().ok()?;
    Some(Duration::from_secs(number.checked_mul(seconds)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leave_names_its_people_and_uses() {
        let ada = Actor::os_user("ada");
        let bob = Actor::unverified("bob");
        let count = Some(AllowFor::Count(5));
        let shown = by_leave(std::slice::from_ref(&ada), 3, count);
        assert_eq!(shown, "by standing leave of ada, 3 of 5");
        let shown = by_leave(&[ada, bob], 1, None);
        let both = "by standing leave of ada and (identity not verified) of \"bob\", use 1";
        assert_eq!(shown, both);
    }

    #[test]
    fn end_is_a_time_or_a_span() {
        let now = Timestamp(1_767_225_600_000_000);
        let after = |seconds: i64| Some(Timestamp(now.0 + seconds * 1_000_000));
        assert_eq!(end_of_leave("90m", now), after(5_400));
        assert_eq!(end_of_leave("2d", now), after(172_800));
        assert_eq!(end_of_leave("2026-01-01T00:00:01Z", now), after(1));
        for odd in [
            "",
            "m",
            "-1h",
            "1.5h",
            "9",
            "1w",
            "é",
            "tomorrow",
            "99999999999999999999d",
        ] {
            assert_eq!(end_of_leave(odd, now), None, "{odd}");
        }
    }
}
