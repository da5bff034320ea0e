#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::BTreeSet;
use std::fmt;

use proptest::prelude::*;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use super::plain::plain_length;
use super::strict::{Flaw, RESERVED, What, check, check_line};
use super::unreadable::Unreadable;

/// The same check, based on serde_json and a set of keys.
struct Readable;

impl<'de> Deserialize<'de> for Readable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Readable;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON")
            }
            fn visit_unit<E>(self) -> Result<Readable, E> {
                Ok(Readable)
            }
            fn visit_bool<E>(self, _: bool) -> Result<Readable, E> {
                Ok(Readable)
            }
            fn visit_i64<E>(self, _: i64) -> Result<Readable, E> {
                Ok(Readable)
            }
            fn visit_u64<E>(self, _: u64) -> Result<Readable, E> {
                Ok(Readable)
            }
            fn visit_f64<E>(self, _: f64) -> Result<Readable, E> {
                Ok(Readable)
            }
            fn visit_str<E>(self, _: &str) -> Result<Readable, E> {
                Ok(Readable)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Readable, A::Error> {
                while seq.next_element::<Readable>()?.is_some() {}
                Ok(Readable)
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Readable, A::Error> {
                let mut keys = BTreeSet::new();
                while let Some(key) = map.next_key::<String>()? {
                    map.next_value::<Readable>()?;
                    if key.as_bytes().starts_with(RESERVED) || !keys.insert(key) {
                        return Err(A::Error::custom("twice or reserved"));
                    }
                }
                Ok(Readable)
            }
        }
        deserializer.deserialize_any(Any)
    }
}

fn flaw(text: &str) -> Option<What> {
    check_line(text, 4).err().map(|flaw| flaw.what)
}

#[test]
fn flaws_have_kinds() {
    let unreadable = |what| Some(What::Unreadable(what));
    for text in [
        r#"{"a":1,"b":{"a":2},"c":[{"a":3},{"a":4}]}"#,
        // The keys have the same length and the same first and last character.
        r#"{"abc":1,"axc":2,"":3}"#,
        r#" "\ud83d\ude00 \" \\ \/ é" "#,
        "[0,-0,1.5e10,-2E-300,1e-999,9007199254740993]",
        "[[[[]]]]",
        "null",
    ] {
        assert_eq!(flaw(text), None, "{text}");
    }
    for text in [
        r#"{"a":1,"a":1}"#,
        r#"{"a":1,"b":{"c":1},"a":2}"#,
        r#"{"a":1,"\u0061":2}"#,
        r#"[{"\u00e9":1,"x":0,"é":2}]"#,
        r#"{"":1,"":2}"#,
        r#"{"abc":1,"axc":2,"abc":3}"#,
    ] {
        assert_eq!(flaw(text), unreadable(Unreadable::DuplicateKey), "{text}");
    }
    for text in [
        r#""\ud800""#,
        r#""\udc00\ud800""#,
        r#""\ud800\u0041""#,
        r#"{"\ud800x":1}"#,
    ] {
        assert_eq!(flaw(text), unreadable(Unreadable::LoneSurrogate), "{text}");
    }
    for text in ["1e999", "[-1E400]", &"9".repeat(400)] {
        assert_eq!(flaw(text), unreadable(Unreadable::Number), "{text}");
    }
    assert_eq!(
        flaw(r#"{"$serde_json::private::RawValue":"1"}"#),
        unreadable(Unreadable::ReservedKey)
    );
    assert_eq!(flaw("[[[[[]]]]]"), Some(What::TooDeep));
    for text in [
        "",
        "{",
        "[1,]",
        "{\"a\" 1}",
        "01",
        "1.",
        "-",
        "+1",
        "tru",
        "nulll",
        "\"\u{1}\"",
        "\"\\x\"",
        "\"\\u12\"",
        "[1\n]",
        "1 2",
        "{1:2}",
        "\"",
        "'a'",
    ] {
        assert_eq!(flaw(text), Some(What::Syntax), "{text}");
    }
}

#[test]
fn repeated_keys_are_found_at_any_count() {
    for count in [1, 15, 16, 17, 31, 32, 33, 200] {
        let keys = |extra: &str| {
            let many: Vec<_> = (0..count)
                .map(|n| format!(r#""k{n}":{{"k{n}":0,"x":[]}}"#))
                .collect();
            format!("[{{{}{extra}}},{{\"k0\":1}}]", many.join(","))
        };
        assert_eq!(flaw(&keys("")), None, "{count}");
        for twice in [0, count / 2, count - 1] {
            let text = keys(&format!(r#","k{twice}":0"#));
            let told = flaw(&text);
            assert_eq!(
                told,
                Some(What::Unreadable(Unreadable::DuplicateKey)),
                "{text}"
            );
        }
    }
}

/// Pieces whose concatenation is sometimes JSON and mostly almost JSON.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "\"a\"",
            "\"b\"",
            "\"\\u0061\"",
            "\"\\ud83d\\ude00\"",
            "\"\\ud83d\"",
            "\"é\"",
            "1",
            "-0",
            "1e999",
            "1e-5",
            "0.5",
            "01",
            "true",
            "null",
            "{}",
            "[]",
            "{\"a\":1,\"b\":2}",
            "{\"a\":1,\"a\":2}",
            "{\"a\":1,\"\\u0061\":2}",
            "\"\\\"\"",
            "\"$serde_json::private::x\"",
            "\u{7f}",
            " ",
            "\t",
            "\n",
            "\r",
        ])
        .prop_map(str::to_owned),
        "\"[ -~]{0,20}\"",
        "[0-9.eE+-]{1,6}",
    ]
}

fn json() -> impl Strategy<Value = String> {
    piece().prop_recursive(5, 60, 5, |inner| {
        let member = (piece(), inner.clone()).prop_map(|(key, value)| format!("{key}:{value}"));
        prop_oneof![
            prop::collection::vec(inner, 0..5).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec(member, 0..5)
                .prop_map(|members| format!("{{{}}}", members.join(", "))),
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
    fn it_agrees_with_serde_json(
        mut text in json(),
        cut in any::<prop::sample::Index>(),
        with in piece(),
        how in 0..4,
    ) {
        let at = cut.index(text.len() + 1);
        if text.is_char_boundary(at) {
            match how {
                0 => text.truncate(at),
                1 => text.insert_str(at, &with),
                _ => {}
            }
        }
        let expected = serde_json::from_str::<Readable>(&text);
        prop_assert_eq!(
            check(&text, 100).is_ok(),
            expected.is_ok(),
            "{} {:?}",
            text,
            expected.err()
        );
    }

    #[test]
    fn string_ends_at_its_quote(
        text in "[ -!#-\\[\\]-~éü😀]{0,40}",
        behind in "[\"\\\\\u{0}-\u{1f}]?",
        more in "[ -~\u{0}-\u{1f}]{0,9}",
    ) {
        // Later bytes in the same word must not count as the first ones.
        let bytes = format!("{text}{behind}\"{more}");
        prop_assert_eq!(plain_length(bytes.as_bytes()), text.len());
    }
}

#[test]
fn line_ends_are_white_space_unless_text_is_a_record() {
    assert_eq!(check("[1,\r\n2]\n", 1), Ok(()));
    assert_eq!(check_line("[1,\n2]", 1).unwrap_err().at, 3);
}

#[test]
fn first_repetition_counts_in_an_object_of_many_keys() {
    let many: String = (0..40).map(|n| format!(r#""k{n}":0,"#)).collect();
    let text = format!(r#"{{{many}"k7":0,"k3":0,"x":1e999}}"#);
    let found = check(&text, 1).unwrap_err();
    let what = What::Unreadable(Unreadable::DuplicateKey);
    let at = many.len() + 1;
    assert_eq!(found, Flaw { at, what });
}

#[test]
fn the_flaw_is_told_with_its_place() {
    let found = check(r#"{"n":[1,1e999]}"#, 4).unwrap_err();
    assert_eq!(found.at, 8);
}
