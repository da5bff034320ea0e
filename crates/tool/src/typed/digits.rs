//! Numbers that a parsed value cannot hold. A tool must not run with other digits than were
//! approved.
//!
//! Arguments and results are recorded as text. A [`Value`] has floats of 64 bits, which change some
//! numbers: 20000000000000000001 becomes 2e19. A parsed value is used only if it equals its text,
//! number for number.

use std::collections::BTreeMap;

use recount_session::Json;
use serde_json::Value;
use serde_json::value::RawValue;

use super::decimal::{Decimal, kept_by_f64};
use super::misfit::Misfit;
use super::reader;

/// Parses a JSON text whose numbers a [`Value`] can hold exactly.
///
/// # Errors
/// The place of a number that would lose digits. The text quotes nothing at the `secret` pointers.
#[doc(hidden)]
pub fn exact_value(json: &Json, secret: &[String]) -> Result<Value, String> {
    if numbers(json.as_str()).all(is_short) {
        return Ok(json.to_value());
    }
    reader::read(json).map_err(|misfit: Misfit| misfit.message(secret))
}

/// True if a number of the text would change in a parsed value.
#[doc(hidden)]
pub fn is_inexact(json: &Json) -> bool {
    numbers(json.as_str()).any(|it| !is_short(it) && !is_exact(it))
}

/// True if `value` was parsed from the text.
pub(crate) fn is_text_of(json: &Json, value: &Value) -> bool {
    json.to_value() == *value || exact_value(json, &[]).as_ref() == Ok(value)
}

/// Returns two values that enclose the text: each inexact number is rounded down in one, up in the
/// other.
///
/// A schema whose bounds hold for both values holds for the text. `None` if an inexact number has a
/// fraction, because both floats could be whole.
pub(crate) fn bounds(json: &Json) -> Option<[Value; 2]> {
    let hides_fraction = |token: &str| {
        !is_exact(token) && Decimal::of(token).has_fraction() && nearest(token).abs() >= WHOLE_FROM
    };
    if numbers(json.as_str()).any(hides_fraction) {
        return None;
    }
    Some([false, true].map(|up| bound(json.as_str(), up)))
}

/// Restores the digits of numbers in `words`, which quote `shown`, the parsed value of `text`.
#[doc(hidden)]
pub fn restored(words: &Value, shown: &Value, text: &Json) -> Json {
    if !is_inexact(text) {
        return Json::of(words);
    }
    let mut out = String::new();
    write_restored(words, shown, text.raw(), &mut out);
    // The parts are joined as valid JSON, so this parses. Otherwise the words keep their rounded
    // numbers.
    Json::parse(&out).unwrap_or_else(|_| Json::of(words))
}

fn write_restored(words: &Value, shown: &Value, text: &RawValue, out: &mut String) {
    if words == shown {
        return out.push_str(text.get());
    }
    match words {
        Value::Object(members) => {
            let texts = members_of(text);
            out.push('{');
            for (index, (key, member)) in members.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                match (shown.get(key), texts.get(key)) {
                    (Some(shown), Some(text)) => write_restored(member, shown, text, out),
                    // The response may wrap the shown value.
                    (_, _) => write_restored(member, shown, text, out),
                }
            }
            out.push('}');
        }
        Value::Array(items) => {
            let texts: Vec<&RawValue> = serde_json::from_str(text.get()).unwrap_or_default();
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                match (shown.get(index), texts.get(index)) {
                    (Some(shown), Some(text)) => write_restored(item, shown, text, out),
                    (_, _) => write_restored(item, shown, text, out),
                }
            }
            out.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            out.push_str(&words.to_string());
        }
    }
}

fn members_of(text: &RawValue) -> BTreeMap<String, &RawValue> {
    serde_json::from_str(text.get()).unwrap_or_default()
}

fn bound(text: &str, up: bool) -> Value {
    match text.bytes().next() {
        Some(b'{') => {
            let members: BTreeMap<String, &RawValue> =
                serde_json::from_str(text).unwrap_or_default();
            let bounded = members.into_iter();
            Value::Object(
                bounded
                    .map(|(key, it)| (key, bound(it.get(), up)))
                    .collect(),
            )
        }
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(text).unwrap_or_default();
            items.into_iter().map(|it| bound(it.get(), up)).collect()
        }
        Some(b'-' | b'0'..=b'9') if !is_exact(text) => next_to(text, up).into(),
        Some(_) | None => serde_json::from_str(text).unwrap_or_default(),
    }
}

/// Returns the float next to a number token: at or above it, or at or below it.
fn next_to(token: &str, up: bool) -> f64 {
    let nearest = nearest(token);
    let is_above = Decimal::of(&format!("{nearest:e}")) > Decimal::of(token);
    match (is_above, up) {
        (false, true) => nearest.next_up(),
        (true, false) => nearest.next_down(),
        (true, true) | (false, false) => nearest,
    }
}

fn nearest(token: &str) -> f64 {
    token.parse().unwrap_or_default()
}

/// True if a parsed value holds the number: as a whole number of 64 bits, or as a float whose
/// shortest text denotes it.
fn is_exact(token: &str) -> bool {
    let is_whole = !token.contains(['.', 'e', 'E']);
    let fits = is_whole && (token.parse::<u64>().is_ok() || token.parse::<i64>().is_ok());
    fits || kept_by_f64(token).is_some()
}

/// True if the number has so few digits that every parser keeps it. This is the usual case, checked
/// without parsing.
fn is_short(token: &str) -> bool {
    token.len() <= SHORT_DIGITS && !token.contains(['e', 'E'])
}

/// Returns the number tokens of valid JSON in order.
fn numbers(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let at = rest.find(|c: char| c == '"' || c == '-' || c.is_ascii_digit())?;
            let (_, found) = rest.split_at_checked(at)?;
            if let Some(inner) = found.strip_prefix('"') {
                rest = after_string(inner);
                continue;
            }
            let is_part = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e' | 'E');
            let end = found.find(|c| !is_part(c)).unwrap_or(found.len());
            let (token, behind) = found.split_at_checked(end)?;
            rest = behind;
            return Some(token);
        }
    })
}

/// Returns the text after the closing quote of the string at its beginning.
fn after_string(inner: &str) -> &str {
    let mut is_escaped = false;
    let closing = inner.find(|c: char| {
        let closes = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        closes
    });
    closing
        .and_then(|at| inner.get(at + 1..))
        .unwrap_or_default()
}

/// The number of digits that a float always keeps.
const SHORT_DIGITS: usize = 15;

/// The value from which every float is a whole number: 2^52.
const WHOLE_FROM: f64 = 4_503_599_627_370_496.0;

#[cfg(test)]
#[expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may fail"
)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Result<Value, String> {
        exact_value(&Json::parse(text).unwrap(), &[])
    }

    #[test]
    fn value_equal_to_its_text_is_handed_on() {
        for text in [
            "1.50",
            "0.1",
            "1e2",
            "-0.0",
            "18446744073709551615",
            "-9223372036854775808",
            "9007199254740993",
            "1e22",
            "5e-324",
            "0.30000000000000004",
            "100000000000000000000",
        ] {
            assert!(read(text).is_ok(), "{text}");
            assert!(!is_inexact(&Json::parse(text).unwrap()), "{text}");
        }
    }

    #[test]
    fn number_that_would_be_another_is_refused_with_its_place() {
        for token in [
            "20000000000000000001",
            "18446744073709551617",
            "9007199254740993.0",
            "0.1000000000000000055511151231257827",
            "1e-400",
            "-9223372036854775809",
            "123456789012345678e-1",
        ] {
            let problem = read(&format!(r#"{{"a":[1,{token}],"s":"2e19"}}"#)).unwrap_err();
            assert!(problem.starts_with("/a/1: "), "{problem}");
            assert!(problem.contains(token), "{problem}");
        }
    }

    #[test]
    fn secret_number_is_not_quoted() {
        let args = Json::parse(r#"{"pin":20000000000000000001}"#).unwrap();
        let problem = exact_value(&args, &["/pin".to_owned()]).unwrap_err();
        assert!(!problem.contains("2000"), "{problem}");
    }

    #[test]
    fn bounds_enclose_the_number() {
        let of = |text: &str| bounds(&Json::parse(text).unwrap());
        let [low, high] = of("[20000000000000000001,1.5]").unwrap();
        assert_eq!(low, json!([2e19, 1.5]));
        assert_eq!(high, json!([20_000_000_000_000_004_096.0, 1.5]));
        let [low, high] = of("-20000000000000000001").unwrap();
        assert_eq!(high, json!(-2e19));
        assert_eq!(low, json!(-20_000_000_000_000_004_096.0));
        assert_eq!(of("9007199254740993.5"), None);
    }

    #[test]
    fn words_made_of_a_value_keep_its_digits() {
        let text = Json::parse(r#"{"b":20000000000000000001,"a":[1e-400,1.50]}"#).unwrap();
        let shown = text.to_value();
        let whole = json!({"status": "completed", "result": shown});
        let restored = |words: &Value| restored(words, &shown, &text).to_string();
        assert_eq!(restored(&shown), text.as_str());
        assert_eq!(
            restored(&whole),
            format!(r#"{{"result":{text},"status":"completed"}}"#)
        );
        let mut changed = shown.clone();
        changed["c"] = json!("new");
        assert_eq!(
            restored(&changed),
            r#"{"a":[1e-400,1.50],"b":20000000000000000001,"c":"new"}"#
        );
    }

    proptest! {
        #[test]
        fn scan_and_reader_agree(
            mantissa in any::<i64>(),
            point in 0_usize..25,
            exponent in -330_i32..330,
        ) {
            let mut token = format!("{mantissa}");
            if point > 0 && point < token.trim_start_matches('-').len() {
                token.insert(token.len() - point, '.');
            }
            for token in [token.clone(), format!("{token}e{exponent}")] {
                let Ok(json) = Json::parse(&format!(r#"{{"n":{token}}}"#)) else { continue };
                prop_assert_eq!(exact_value(&json, &[]).is_err(), is_inexact(&json), "{}", token);
            }
        }
    }
}
