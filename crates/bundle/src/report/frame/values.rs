//! Times, numbers and hashes.

use std::fmt::Display;

use maud::{Markup, html};
use recount::session::Timestamp;
use recount_telling::age::stamp;

/// A time in UTC, to the millisecond; with its microseconds for programs.
pub(in crate::report) fn at(time: Timestamp) -> Markup {
    let stamp = stamp(time);
    let (day, rest) = stamp.split_once('T').unwrap_or((stamp.as_str(), ""));
    let time = rest.get(..12).unwrap_or(rest);
    html! { time datetime=(stamp) { (day) " " (time) " UTC" } }
}

/// A number with a comma between thousands.
pub(in crate::report) fn number(number: impl Display) -> String {
    let digits = number.to_string();
    let mut shown = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// A number with its noun: `1 call`, `2,000 calls`.
pub(in crate::report) fn numbered(count: u64, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{} {noun}s", number(count)),
    }
}

/// A hash, which may be broken between any two digits.
pub(in crate::report) fn hash(hash: impl Display) -> Markup {
    html! { code.hash { (hash.to_string()) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_apart() {
        let shown = [0, 999, 1_000, 1_234_567].map(number);
        assert_eq!(shown, ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(numbered(1, "call"), "1 call");
        assert_eq!(numbered(1_000, "call"), "1,000 calls");
    }

    #[test]
    fn time_is_utc_to_the_millisecond() {
        let shown = at(Timestamp(1_767_225_600_123_456)).into_string();
        assert!(shown.contains(">2026-01-01 00:00:00.123 UTC<"), "{shown}");
        assert!(shown.contains("\"2026-01-01T00:00:00.123456Z\""), "{shown}");
    }
}
