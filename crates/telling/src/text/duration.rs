//! Durations as people write them.

use std::time::Duration;

/// The expected form, for messages.
pub const EXPECTED: &str = "a time such as 500ms, 30s, 5m, 2h or 30d";

/// Reads a whole number with a unit, such as `500ms`, `30s`, `5m`, `2h` or `30d`.
pub fn read(text: &str) -> Option<Duration> {
    let unit = text.trim_start_matches(|it: char| it.is_ascii_digit());
    let number: u64 = text.strip_suffix(unit)?.parse().ok()?;
    let seconds = match unit {
        "ms" => return Some(Duration::from_millis(number)),
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 24 * 3600,
        _ => return None,
    };
    Some(Duration::from_secs(number.checked_mul(seconds)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duration_is_a_number_with_a_unit() {
        for (text, seconds) in [("30s", 30), ("5m", 300), ("2h", 7200), ("30d", 2_592_000)] {
            assert_eq!(read(text), Some(Duration::from_secs(seconds)), "{text}");
        }
        assert_eq!(read("500ms"), Some(Duration::from_millis(500)));
        for text in ["", "30", "s", "1.5s", "-1s", "1 s", "18446744073709551615d"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
