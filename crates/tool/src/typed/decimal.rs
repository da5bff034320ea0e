//! A JSON number as an exact decimal number, so that two spellings of one number are equal.

use std::cmp::Ordering;

/// The value of a JSON number: `digits` times ten to the power of `exponent`. The digits neither
/// start nor end with zero.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    negative: bool,
    digits: String,
    exponent: i64,
}

impl Decimal {
    /// Reads a number token of valid JSON.
    pub(crate) fn of(token: &str) -> Decimal {
        let (negative, token) = match token.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, token),
        };
        let (mantissa, exponent) = token.split_once(['e', 'E']).unwrap_or((token, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        // An exponent beyond 64 bits equals the maximum one: no type holds such a number.
        let exponent = exponent.parse().unwrap_or(if exponent.starts_with('-') {
            i64::MIN
        } else {
            i64::MAX
        });
        let all = format!("{whole}{fraction}");
        let digits = all.trim_end_matches('0');
        let zeros = all.len() - digits.len();
        let digits = digits.trim_start_matches('0');
        let shift = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        if digits.is_empty() {
            return Decimal {
                negative: false,
                digits: String::new(),
                exponent: 0,
            };
        }
        Decimal {
            negative,
            digits: digits.to_owned(),
            exponent: exponent
                .saturating_sub(shift(fraction.len()))
                .saturating_add(shift(zeros)),
        }
    }

    /// Returns sign and amount of a whole number of up to 128 bits.
    pub(super) fn whole(&self) -> Option<(bool, u128)> {
        let zeros = usize::try_from(self.exponent).ok()?;
        if self.digits.is_empty() {
            return Some((false, 0));
        }
        if self.digits.len().saturating_add(zeros) > DIGITS_MAX {
            return None;
        }
        let amount = format!("{}{}", self.digits, "0".repeat(zeros)).parse();
        amount.ok().map(|amount| (self.negative, amount))
    }
}

impl Decimal {
    /// True if the number is not whole.
    pub(crate) fn has_fraction(&self) -> bool {
        self.exponent < 0
    }

    /// Returns the power of ten of the first digit and the digits, by which two amounts compare.
    fn amount(&self) -> Option<(i64, &str)> {
        let length = i64::try_from(self.digits.len()).unwrap_or(i64::MAX);
        (length > 0).then(|| (self.exponent.saturating_add(length), self.digits.as_str()))
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Decimal) -> Option<Ordering> {
        // Without trailing zeros, the longer of two digit texts with the same start is the greater
        // amount.
        let amounts = self.amount().cmp(&other.amount());
        Some(match (self.negative, other.negative) {
            (false, false) => amounts,
            (true, true) => amounts.reverse(),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        })
    }
}

/// Reads the token as a float, if that float's text denotes the same number.
pub(crate) fn kept_by_f64(token: &str) -> Option<f64> {
    let float: f64 = token.parse().ok()?;
    (float.is_finite() && Decimal::of(&format!("{float:e}")) == Decimal::of(token)).then_some(float)
}

/// Reads the token like [`kept_by_f64`], as a float of single precision.
pub(super) fn kept_by_f32(token: &str) -> Option<f32> {
    let float: f32 = token.parse().ok()?;
    (float.is_finite() && Decimal::of(&format!("{float:e}")) == Decimal::of(token)).then_some(float)
}

/// The number of digits of 2^128.
const DIGITS_MAX: usize = 39;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_number_are_one_number() {
        for spellings in [
            &["1", "1.0", "10e-1", "0.1E1", "0.01e+2"][..],
            &["0", "-0", "0.000", "0e99999999999999999999"],
            &["-1200", "-1.2e3", "-12E+02"],
        ] {
            let mut numbers: Vec<_> = spellings.iter().map(|it| Decimal::of(it)).collect();
            numbers.dedup();
            assert_eq!(numbers.len(), 1, "{numbers:?}");
        }
        assert_ne!(Decimal::of("1"), Decimal::of("-1"));
        assert_ne!(Decimal::of("10"), Decimal::of("1"));
        assert_ne!(
            Decimal::of("9007199254740993"),
            Decimal::of("9007199254740992")
        );
    }

    #[test]
    fn whole_numbers_go_up_to_128_bits() {
        let max = u128::MAX.to_string();
        assert_eq!(Decimal::of(&max).whole(), Some((false, u128::MAX)));
        let beyond = "340282366920938463463374607431768211456";
        assert_eq!(Decimal::of(beyond).whole(), None);
        assert_eq!(Decimal::of("-1.5e1").whole(), Some((true, 15)));
        assert_eq!(Decimal::of("1.5").whole(), None);
        assert_eq!(Decimal::of("1e40").whole(), None);
        assert_eq!(Decimal::of("1e99999999999999999999").whole(), None);
        assert_eq!(Decimal::of("1e-99999999999999999999").whole(), None);
    }

    #[test]
    fn a_float_that_is_written_as_another_number_does_not_keep_it() {
        for kept in ["0.1", "1e21", "-2.50", "9007199254740992", "5e-324", "-0.0"] {
            assert!(kept_by_f64(kept).is_some(), "{kept}");
        }
        for lost in [
            "9007199254740993",
            "1180591620717411303424",
            "0.1000000000000000055",
            "1e999",
            "1e-999",
        ] {
            assert_eq!(kept_by_f64(lost), None, "{lost}");
        }
        assert_eq!(kept_by_f32("52.52"), Some(52.52));
        assert_eq!(kept_by_f32("16777217"), None);
    }
}
