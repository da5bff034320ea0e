//! Conditions over a session's state, as data.
//!
//! Guards of phases and policies evaluate them, and a replay can evaluate them again.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::json::Json;
use crate::json::is_sealed;

/// A condition on the state of a session, or on the arguments of a call. Built with [`S`].
///
/// The stored form is shown below. A key names a value of the state. In a gate's condition,
/// `args:amount` names an argument, and `args:/card/limit` names one by its JSON Pointer. `>` may
/// also be `<`, `<=` or `>=`:
///
/// ```json
/// {"is_true":"identity_verified"}
/// {"exists":"plan"}
/// {"equals":["plan","monthly"]}
/// {"compares":["amount",">",1000]}
/// {"and":[{"is_true":"a"},{"not":{"exists":"b"}}]}
/// {"or":[{"is_true":"a"},{"is_true":"b"}]}
/// ```
///
/// Integers of any length are compared exactly. If one of two numbers has a fraction or an
/// exponent, both are compared as 64-bit floats, so `1` equals `1.0`. Texts are ordered by their
/// code points. A comparison of values that cannot be compared is false, also if the key is
/// missing.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// The value is the boolean `true`.
    IsTrue(String),
    /// The key has a value.
    Exists(String),
    /// The value equals this one.
    Equals(String, Value),
    /// The value compares to this one as stated.
    Compares(String, Comparison, Value),
    /// All conditions hold; true for an empty list.
    And(Vec<Condition>),
    /// At least one condition holds; false for an empty list.
    Or(Vec<Condition>),
    /// The condition does not hold.
    Not(Box<Condition>),
}

/// A comparison of two values.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum Comparison {
    /// Smaller.
    #[serde(rename = "<")]
    Less,
    /// Smaller or equal.
    #[serde(rename = "<=")]
    AtMost,
    /// Greater or equal.
    #[serde(rename = ">=")]
    AtLeast,
    /// Greater.
    #[serde(rename = ">")]
    Greater,
}

/// Constructors of conditions with short names.
///
/// ```
/// use recount_session::{Comparison, S};
///
/// let large = S::compares("amount", Comparison::Greater, 1000);
/// let guard = S::and([S::is_true("identity_verified"), large]);
/// let stored = r#"{"and":[{"is_true":"identity_verified"},{"compares":["amount",">",1000]}]}"#;
/// assert_eq!(serde_json::to_string(&guard)?, stored);
/// assert_eq!(guard.keys(), ["amount", "identity_verified"]);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct S;

/// The prefix of keys in a gate's condition that name arguments.
pub(crate) const ARGUMENT: &str = "args:";

impl S {
    /// Returns the key of an argument, by its name or its JSON Pointer, for the condition of a
    /// gate. See `T::confirm_when`.
    ///
    /// ```
    /// use recount_session::S;
    /// assert_eq!(S::arg("amount"), "args:amount");
    /// ```
    pub fn arg(name_or_pointer: impl AsRef<str>) -> String {
        format!("{ARGUMENT}{}", name_or_pointer.as_ref())
    }

    /// The value is the boolean `true`.
    pub fn is_true(key: impl Into<String>) -> Condition {
        Condition::IsTrue(key.into())
    }

    /// The key has a value.
    pub fn exists(key: impl Into<String>) -> Condition {
        Condition::Exists(key.into())
    }

    /// The value equals `value`.
    pub fn equals(key: impl Into<String>, value: impl Into<Value>) -> Condition {
        Condition::Equals(key.into(), value.into())
    }

    /// The value compares to `value` as `comparison` states.
    pub fn compares(
        key: impl Into<String>,
        comparison: Comparison,
        value: impl Into<Value>,
    ) -> Condition {
        Condition::Compares(key.into(), comparison, value.into())
    }

    /// A condition that holds if all of these hold.
    pub fn and(conditions: impl IntoIterator<Item = Condition>) -> Condition {
        Condition::And(conditions.into_iter().collect())
    }

    /// A condition that holds if at least one of these holds.
    pub fn or(conditions: impl IntoIterator<Item = Condition>) -> Condition {
        Condition::Or(conditions.into_iter().collect())
    }

    /// The condition does not hold.
    pub fn not(condition: Condition) -> Condition {
        Condition::Not(Box::new(condition))
    }
}

impl Condition {
    /// True if the condition holds for the values that `value_of` returns by key.
    ///
    /// ```
    /// use recount_session::{Comparison, Json, S};
    ///
    /// let amount = Json::parse("9007199254740993")?;
    /// let greater = |than: u64| S::compares("amount", Comparison::Greater, than);
    /// let more = |than: u64| greater(than).holds(&|_| Some(&amount));
    /// assert!(more(9007199254740992) && !more(9007199254740993));
    /// # Ok::<(), recount_session::JsonProblem>(())
    /// ```
    pub fn holds<'a>(&self, value_of: &dyn Fn(&str) -> Option<&'a Json>) -> bool {
        match self {
            Condition::IsTrue(key) => value_of(key).is_some_and(|it| it.as_str() == "true"),
            Condition::Exists(key) => value_of(key).is_some(),
            Condition::Equals(key, value) => value_of(key).is_some_and(|it| equal(it, value)),
            Condition::Compares(key, comparison, value) => value_of(key)
                .and_then(|it| order(it, value))
                .is_some_and(|order| comparison.admits(order)),
            Condition::And(all) => all.iter().all(|it| it.holds(value_of)),
            Condition::Or(any) => any.iter().any(|it| it.holds(value_of)),
            Condition::Not(it) => !it.holds(value_of),
        }
    }

    /// True if the condition holds, or if it cannot be evaluated.
    ///
    /// A comparison cannot be evaluated if a value is missing, sealed or of another kind. Gates use
    /// this method, so that such a call is asked about instead of let through.
    ///
    /// ```
    /// use recount_session::{Comparison, Json, S};
    ///
    /// let large = S::compares("args:amount", Comparison::Greater, 1000);
    /// assert!(large.holds_or_unknown(&|_| None) && !large.holds(&|_| None));
    /// let small = Json::parse("7")?;
    /// assert!(!large.holds_or_unknown(&|_| Some(&small)));
    /// # Ok::<(), recount_session::JsonProblem>(())
    /// ```
    pub fn holds_or_unknown<'a>(&self, value_of: &dyn Fn(&str) -> Option<&'a Json>) -> bool {
        self.known(value_of).unwrap_or(true)
    }

    /// The result of the condition, or `None` if it cannot be evaluated.
    fn known<'a>(&self, value_of: &dyn Fn(&str) -> Option<&'a Json>) -> Option<bool> {
        let open = |key: &str| value_of(key).filter(|it| !is_sealed(it));
        match self {
            Condition::IsTrue(key) | Condition::Equals(key, _) => match value_of(key) {
                Some(value) if is_sealed(value) => None,
                Some(_) | None => Some(self.holds(value_of)),
            },
            Condition::Exists(_) => Some(self.holds(value_of)),
            Condition::Compares(key, comparison, value) => {
                Some(comparison.admits(order(open(key)?, value)?))
            }
            Condition::And(all) => {
                let known: Vec<Option<bool>> = all.iter().map(|it| it.known(value_of)).collect();
                let no = known.contains(&Some(false));
                if no || !known.contains(&None) {
                    Some(!no)
                } else {
                    None
                }
            }
            Condition::Or(any) => {
                let known: Vec<Option<bool>> = any.iter().map(|it| it.known(value_of)).collect();
                let yes = known.contains(&Some(true));
                if yes || !known.contains(&None) {
                    Some(yes)
                } else {
                    None
                }
            }
            Condition::Not(it) => it.known(value_of).map(|held| !held),
        }
    }

    /// Returns the keys that the condition reads, sorted and without duplicates.
    pub fn keys(&self) -> Vec<&str> {
        let mut keys = Vec::new();
        self.collect_keys(&mut keys);
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    fn collect_keys<'a>(&'a self, into: &mut Vec<&'a str>) {
        match self {
            Condition::IsTrue(key)
            | Condition::Exists(key)
            | Condition::Equals(key, _)
            | Condition::Compares(key, _, _) => into.push(key),
            Condition::And(all) | Condition::Or(all) => {
                all.iter().for_each(|it| it.collect_keys(into));
            }
            Condition::Not(it) => it.collect_keys(into),
        }
    }
}

impl Comparison {
    fn admits(self, order: Ordering) -> bool {
        match self {
            Comparison::Less => order.is_lt(),
            Comparison::AtMost => order.is_le(),
            Comparison::AtLeast => order.is_ge(),
            Comparison::Greater => order.is_gt(),
        }
    }
}

fn equal(found: &Json, wanted: &Value) -> bool {
    match wanted {
        Value::Number(_) | Value::String(_) => {
            order(found, wanted).is_some_and(|order| order.is_eq())
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
            found.to_value() == *wanted
        }
    }
}

/// The order of two numbers or two texts.
fn order(found: &Json, other: &Value) -> Option<Ordering> {
    match other {
        Value::Number(number) => number_order(found.as_str(), &number.to_string()),
        Value::String(text) => {
            let found: String = serde_json::from_str(found.as_str()).ok()?;
            Some(found.as_str().cmp(text))
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn number_order(one: &str, other: &str) -> Option<Ordering> {
    match (Integer::read(one), Integer::read(other)) {
        (Some(one), Some(other)) => Some(one.order(&other)),
        (Some(_) | None, Some(_) | None) => {
            // Other values do not parse as a number: JSON has no words such as `inf`, and its texts
            // are quoted.
            let number = |text: &str| text.parse::<f64>().ok().filter(|it| it.is_finite());
            number(one)?.partial_cmp(&number(other)?)
        }
    }
}

/// An integer of any length, as JSON spells it: without leading zeros.
struct Integer<'a> {
    negative: bool,
    digits: &'a str,
}

impl<'a> Integer<'a> {
    fn read(token: &'a str) -> Option<Integer<'a>> {
        let (negative, digits) = match token.strip_prefix('-') {
            Some(digits) => (digits != "0", digits),
            None => (false, token),
        };
        let all_digits = !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit());
        all_digits.then_some(Integer { negative, digits })
    }

    fn order(&self, other: &Self) -> Ordering {
        let size = |one: &Self, two: &Self| {
            let by_length = one.digits.len().cmp(&two.digits.len());
            by_length.then_with(|| one.digits.cmp(two.digits))
        };
        match (self.negative, other.negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => size(self, other),
            (true, true) => size(other, self),
        }
    }
}

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]
mod tests {
    use super::*;
    use serde_json::json;

    fn holds(condition: &Condition, state: Value) -> bool {
        let Value::Object(state) = state else {
            return false;
        };
        let state: Vec<(String, Json)> = state
            .iter()
            .map(|(key, value)| (key.clone(), Json::of(value)))
            .collect();
        condition.holds(&|key| state.iter().find(|(k, _)| k == key).map(|(_, v)| v))
    }

    fn compared(found: &str, comparison: Comparison, with: Value) -> bool {
        let found = Json::parse(found).unwrap();
        Condition::Compares("n".into(), comparison, with).holds(&|_| Some(&found))
    }

    #[test]
    fn true_is_the_boolean_and_nothing_that_looks_like_it() {
        assert!(holds(&S::is_true("a"), json!({"a": true})));
        for other in [json!("true"), json!(1), json!(false), json!({})] {
            assert!(!holds(&S::is_true("a"), json!({ "a": other })));
        }
    }

    #[test]
    fn missing_key_makes_every_condition_but_not_false() {
        let conditions = [
            S::is_true("a"),
            S::exists("a"),
            S::equals("a", Value::Null),
            S::compares("a", Comparison::AtMost, 1),
        ];
        for condition in conditions {
            assert!(!holds(&condition, json!({})), "{condition:?}");
            assert!(holds(&S::not(condition), json!({})));
        }
    }

    #[test]
    fn integers_are_compared_digit_by_digit() {
        let (large, larger) = (
            "170141183460469231731687303715884105728",
            "170141183460469231731687303715884105729",
        );
        assert_eq!(number_order(large, larger), Some(Ordering::Less));
        assert_eq!(
            number_order(&format!("-{large}"), &format!("-{larger}")),
            Some(Ordering::Greater)
        );
        assert_eq!(number_order("-0", "0"), Some(Ordering::Equal));
        assert_eq!(number_order("-1", "0"), Some(Ordering::Less));
        assert!(compared(
            "9007199254740993",
            Comparison::Greater,
            json!(9007199254740992_u64)
        ));
        assert!(compared("10", Comparison::Greater, json!(9)));
    }

    #[test]
    fn fractions_compare_as_floats_and_equal_their_integer() {
        assert!(compared("1.5", Comparison::Greater, json!(1)));
        assert!(compared("-1.5", Comparison::Less, json!(0)));
        assert!(compared("1e3", Comparison::AtLeast, json!(1000)));
        assert!(holds(&S::equals("a", 1), json!({"a": 1.0})));
        assert!(!holds(&S::equals("a", 1), json!({"a": "1"})));
        assert!(!compared("\"inf\"", Comparison::Less, json!(1)));
        assert!(!compared("true", Comparison::AtMost, json!(1)));
    }

    #[test]
    fn texts_are_ordered_and_whole_values_are_equal_or_not() {
        assert!(compared(
            "\"2026-01-02\"",
            Comparison::Greater,
            json!("2026-01-01")
        ));
        assert!(holds(
            &S::equals("a", json!({"x": [1]})),
            json!({"a": {"x": [1]}})
        ));
        assert!(!compared("[2]", Comparison::Greater, json!([1])));
    }

    #[test]
    fn of_nothing_and_holds_and_or_does_not() {
        assert!(holds(&S::and([]), json!({})));
        assert!(!holds(&S::or([]), json!({})));
        let either = S::or([S::is_true("a"), S::is_true("b")]);
        assert!(holds(&either, json!({"b": true})));
        assert!(!holds(
            &S::and([either, S::exists("c")]),
            json!({"b": true})
        ));
    }

    #[test]
    fn unknown_part_matters_unless_the_rest_decides() {
        let sealed = Json::parse(r#"{"$sealed":"v1.abc"}"#).unwrap();
        let (yes, no) = (Json::parse("true").unwrap(), Json::parse("false").unwrap());
        let of = |key: &str| match key {
            "sealed" => Some(&sealed),
            "yes" => Some(&yes),
            "no" => Some(&no),
            _ => None,
        };
        let known = |condition: Condition| condition.known(&of);
        assert_eq!(known(S::is_true("sealed")), None);
        assert_eq!(
            known(S::equals("sealed", json!({"$sealed": "v1.abc"}))),
            None
        );
        assert_eq!(known(S::compares("sealed", Comparison::Less, 1)), None);
        assert_eq!(known(S::exists("sealed")), Some(true));
        assert_eq!(known(S::is_true("yes")), Some(true));
        assert_eq!(known(S::is_true("absent")), Some(false));
        let (open, yes, no) = (
            || S::is_true("sealed"),
            || S::is_true("yes"),
            || S::is_true("no"),
        );
        assert_eq!(known(S::and([yes(), yes()])), Some(true));
        assert_eq!(known(S::and([yes(), no()])), Some(false));
        assert_eq!(known(S::and([open(), yes()])), None);
        assert_eq!(known(S::and([open(), no()])), Some(false));
        assert_eq!(known(S::or([no(), no()])), Some(false));
        assert_eq!(known(S::or([no(), yes()])), Some(true));
        assert_eq!(known(S::or([open(), no()])), None);
        assert_eq!(known(S::or([open(), yes()])), Some(true));
        assert_eq!(known(S::not(no())), Some(true));
        assert_eq!(known(S::not(open())), None);
    }

    #[test]
    fn the_stored_form_reads_back() {
        let text = concat!(
            r#"{"or":[{"not":{"exists":"a"}},{"equals":["b",{"c":1}]},"#,
            r#"{"compares":["d","<=",1.5]}]}"#
        );
        let read: Condition = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
        assert_eq!(read.keys(), ["a", "b", "d"]);
    }
}
