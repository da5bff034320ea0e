//! Numbers in any spelling.

use std::fmt;

use super::decode_error::DecodeError;
use super::raw_json::RawJson;

/// A number of the protocol. `40`, `40.0` and, for 64-bit integers, `"40"` are equal.
///
/// Each number is written again in the spelling that was read.
///
/// ```
/// use recount_text::json::Number;
///
/// assert_eq!(Number::from(40), Number::from(40.0));
/// assert_eq!(Number::from(40.0).as_i64(), Some(40));
/// assert_eq!(Number::from(0.5).as_f64(), 0.5);
/// ```
#[derive(Clone)]
pub struct Number(RawJson);

impl Number {
    /// Parses a value as a number.
    #[doc(hidden)]
    pub fn of(value: RawJson) -> Result<Number, DecodeError> {
        let number = Number(value);
        match number.0.as_str().as_bytes().first().copied() {
            Some(b'"') if number.parsed().is_some() => Ok(number),
            Some(b'-' | b'0'..=b'9') => Ok(number),
            Some(_) | None => Err(DecodeError::new("a number", number.0.kind())),
        }
    }

    /// Returns the nearest float.
    #[must_use]
    pub fn as_f64(&self) -> f64 {
        self.parsed().unwrap_or_default()
    }

    /// Returns the number if it is a whole number that fits.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        /// Up to this number, each whole number is exact as a float.
        const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;
        let as_float = || {
            let float = self.parsed()?;
            let is_whole = float.fract() == 0.0 && float.abs() <= WHOLE_MAX;
            is_whole.then(|| format!("{float:.0}").parse().ok())?
        };
        self.digits().parse().ok().or_else(as_float)
    }

    /// The number as it was written.
    #[doc(hidden)]
    pub fn raw(&self) -> &RawJson {
        &self.0
    }

    #[doc(hidden)]
    pub fn digits(&self) -> &str {
        self.0.as_str().trim_matches('"')
    }

    fn parsed(&self) -> Option<f64> {
        let parsed: f64 = self.digits().parse().ok()?;
        // `parse` also accepts `inf` and `nan`.
        parsed.is_finite().then_some(parsed)
    }
}

impl From<i64> for Number {
    fn from(number: i64) -> Number {
        Number(RawJson::from(serde_json::Value::from(number)))
    }
}

impl From<f64> for Number {
    /// Converts a float. Infinities and NaN become zero.
    fn from(number: f64) -> Number {
        let finite = if number.is_finite() { number } else { 0.0 };
        Number(RawJson::from(serde_json::Value::from(finite)))
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Number) -> bool {
        match (self.as_i64(), other.as_i64()) {
            (Some(one), Some(another)) => one == another,
            (None, None) => match (self.parsed(), other.parsed()) {
                (Some(one), Some(another)) => one.total_cmp(&another).is_eq(),
                (Some(_), None) | (None, Some(_)) => false,
                // Numbers that are too large for the types are compared by their digits.
                (None, None) => self.digits() == other.digits(),
            },
            (Some(_), None) | (None, Some(_)) => false,
        }
    }
}

impl Eq for Number {}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;

    fn number(text: &str) -> Result<Number, DecodeError> {
        Number::of(RawJson::parse(text).unwrap())
    }

    #[test]
    fn every_spelling_of_a_number_is_the_same_number() {
        let spelt = ["40", "40.0", "\"40\"", "4e1"].map(|it| number(it).unwrap());
        for one in &spelt {
            assert_eq!(*one, spelt[0]);
            assert_eq!(one.as_i64(), Some(40));
        }
        let (near, nearer) = ("9007199254740993", "\"9007199254740992\"");
        assert_ne!(number(near).unwrap(), number(nearer).unwrap());
        assert_ne!(number("0.5").unwrap(), number("0.25").unwrap());
        assert_eq!(number("1e400").unwrap().as_i64(), None);
    }

    #[test]
    fn non_numbers_are_rejected() {
        for text in ["\"\"", "\"x\"", "\"inf\"", "\"nan\"", "true", "[]", "{}"] {
            assert!(number(text).is_err(), "{text}");
        }
    }
}
