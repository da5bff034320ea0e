use std::borrow::Cow;
use std::fmt;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::problem::{JsonProblem, check, levels};

/// The same check based on serde_json, which produced the messages in older records.
fn by_serde(text: &str, depth: usize) -> Result<(), JsonProblem> {
    if levels(text) > depth {
        return Err(JsonProblem::TooDeep);
    }
    match serde_json::from_str::<Checked>(text) {
        Ok(Checked) => Ok(()),
        Err(error) => Err(problem(&error.to_string())),
    }
}

/// The prefixes that mark a key in serde's error text.
const DUPLICATE: &str = "duplicate key ";
const RESERVED: &str = "reserved key ";

/// The prefix of the keys under which serde_json passes raw values and numbers to itself. It does
/// so even for a `Value`.
const SERDE_JSON_KEYS: &str = "$serde_json::private::";

fn problem(error: &str) -> JsonProblem {
    let key_behind = |marker: &str| {
        let rest = error.strip_prefix(marker)?;
        let key = rest.rsplit_once(" at line ").map_or(rest, |(key, _)| key);
        Some(serde_json::from_str(key).unwrap_or_else(|_| key.to_owned()))
    };
    if let Some(key) = key_behind(RESERVED) {
        return JsonProblem::ReservedKey(key);
    }
    match key_behind(DUPLICATE) {
        Some(key) => JsonProblem::DuplicateKey(key),
        // The syntax was checked before and numbers are not parsed. So the remaining error is an
        // invalid escape.
        None if error.contains("surrogate") || error.contains("hex escape") => {
            JsonProblem::LoneSurrogate
        }
        None => JsonProblem::Syntax(error.to_owned()),
    }
}

/// A visitor for JSON in which no object repeats a key.
struct Checked;

impl<'de> Deserialize<'de> for Checked {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Checked, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Checked;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON")
            }
            fn visit_unit<E>(self) -> Result<Checked, E> {
                Ok(Checked)
            }
            fn visit_bool<E>(self, _: bool) -> Result<Checked, E> {
                Ok(Checked)
            }
            fn visit_i64<E>(self, _: i64) -> Result<Checked, E> {
                Ok(Checked)
            }
            fn visit_u64<E>(self, _: u64) -> Result<Checked, E> {
                Ok(Checked)
            }
            fn visit_f64<E>(self, _: f64) -> Result<Checked, E> {
                Ok(Checked)
            }
            fn visit_str<E>(self, _: &str) -> Result<Checked, E> {
                Ok(Checked)
            }
            fn visit_seq<A: serde::de::SeqAccess<'de>>(
                self,
                mut seq: A,
            ) -> Result<Checked, A::Error> {
                while seq.next_element::<Checked>()?.is_some() {}
                Ok(Checked)
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<Checked, A::Error> {
                let mut seen = std::collections::BTreeSet::new();
                while let Some(Key(key)) = map.next_key()? {
                    map.next_value::<Checked>()?;
                    let quoted = |key: &str| serde_json::Value::from(key);
                    if key.starts_with(SERDE_JSON_KEYS) {
                        let key = quoted(&key);
                        return Err(A::Error::custom(format!("{RESERVED}{key}")));
                    }
                    if let Some(key) = seen.replace(key) {
                        let key = quoted(&key);
                        return Err(A::Error::custom(format!("{DUPLICATE}{key}")));
                    }
                }
                Ok(Checked)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// A key, copied only if it contains escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

/// JSON texts with several flaws, each valid by the grammar.
fn flawed() -> impl Strategy<Value = String> {
    let keys = r#""a"|"b"|"\u0061"|"c"|"\ud800"|"$serde_json::private::RawValue"|"k3"|"k\n""#;
    let key = select(keys.split('|').collect::<Vec<_>>());
    let leaf = select(vec![
        "1",
        "\"x\"",
        "true",
        "1e999",
        "-1E+400",
        "\"\\ud800\"",
        "\"\\udc00x\"",
        "1e99999999999",
        "{}",
        "[]",
        "\"\\ud83d\\ude00\"",
        "0.5e-400",
        "12345678901234567890123",
    ])
    .prop_map(str::to_owned);
    leaf.prop_recursive(4, 80, 6, move |inner| {
        let blank = select(vec!["", "", " ", "\n", "\r\n\t"]);
        let member = (key.clone(), blank, inner.clone());
        let member = member.prop_map(|(key, blank, value)| format!("{key}:{blank}{value}"));
        let members = vec(member, 0..6).prop_map(|it| it.join(","));
        prop_oneof![
            2 => vec(inner, 0..4).prop_map(|it| format!("[{}]", it.join(",\n"))),
            3 => members.clone().prop_map(|it| format!("{{{it}}}")),
            1 => (members, 15..40_usize).prop_map(|(rest, count)| {
                let many: Vec<_> = (0..count).map(|n| format!("\"k{n}\":{n}")).collect();
                let rest = if rest.is_empty() { "\"z\":0" } else { &rest };
                format!("{{{},{rest},\"k1\":1e999}}", many.join(","))
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 4_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn problem_is_the_one_that_serde_json_meets_first(text in flawed(), depth in 1..6_usize) {
        prop_assert_eq!(check(&text, depth), by_serde(&text, depth), "{}", text);
    }
}
