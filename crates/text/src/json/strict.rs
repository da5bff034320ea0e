//! The check of JSON text: one pass, which allocates nothing in the usual case.
//!
//! The grammar allows text that readers refuse or read differently: a key that an object has twice,
//! half of a surrogate pair, a number beyond all floats, more levels than a reader has stack for.
//! A journal that acknowledged such a record would have promised what it cannot keep.
//!
//! Of several flaws the one counts that a reader meets first. A reader meets a key that it refuses
//! once it has read the value behind it, as serde does. The order is on record: a model's arguments
//! are refused with the first flaw, and a replay compares the words.

use super::keys::{Keys, Span};
use super::plain::plain_length;
use super::unreadable::Unreadable;

/// What is wrong, and at which byte of the text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Flaw {
    /// The byte.
    pub at: usize,
    /// The flaw there.
    pub what: What,
}

/// The kinds of flaws.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum What {
    /// It is not JSON.
    Syntax,
    /// Objects and arrays nest deeper than allowed.
    TooDeep,
    /// It is JSON that not every reader reads, or reads alike.
    Unreadable(Unreadable),
}

/// The start of the keys under which serde_json hands raw values to itself, also when it reads a value.
pub(super) const RESERVED: &[u8] = b"$serde_json::private::";

/// A number of fewer characters and without an exponent fits any float.
const SHORT_NUMBER: usize = 300;

/// Checks one JSON value, with white space around it or not. Brackets may nest to `depth`.
///
/// # Errors
/// The first flaw.
pub fn check(text: &str, depth: usize) -> Result<(), Flaw> {
    whole(text, depth, false)
}

/// Checks as [`check`] does, and that the text is one line, as a record of a journal is.
///
/// # Errors
/// The first flaw.
pub fn check_line(text: &str, depth: usize) -> Result<(), Flaw> {
    whole(text, depth, true)
}

fn whole(text: &str, depth: usize, on_one_line: bool) -> Result<(), Flaw> {
    let mut scanner = Scanner {
        text,
        bytes: text.as_bytes(),
        at: 0,
        on_one_line,
        keys: Keys::new(text.as_bytes()),
    };
    scanner.value(depth)?;
    scanner.blank();
    if scanner.at == text.len() {
        Ok(())
    } else {
        Err(scanner.flaw(What::Syntax))
    }
}

struct Scanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    on_one_line: bool,
    keys: Keys<'a>,
}

impl Scanner<'_> {
    fn value(&mut self, depth: usize) -> Result<(), Flaw> {
        self.blank();
        match self.peek() {
            Some(b'"') => self.string().map(drop),
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word(b"true"),
            Some(b'f') => self.word(b"false"),
            Some(b'n') => self.word(b"null"),
            Some(_) | None => Err(self.flaw(What::Syntax)),
        }
    }

    fn object(&mut self, depth: usize) -> Result<(), Flaw> {
        let depth = self.deeper(depth)?;
        let first = self.keys.count();
        let found = self.members(depth, first);
        // Of an object with many keys, those whose values were read are compared only here.
        let repeated = self.keys.close(first);
        repeated.map_or(found, |key| Err(duplicate(key.quoted_at)))
    }

    fn members(&mut self, depth: usize, first: usize) -> Result<(), Flaw> {
        let mut seen = 0;
        if self.closes(b'}') {
            return Ok(());
        }
        loop {
            self.blank();
            let key = self.key()?;
            let reserved = self.keys.bytes(key).starts_with(RESERVED);
            self.blank();
            self.expect(b':')?;
            self.value(depth)?;
            if reserved {
                return Err(Flaw {
                    at: key.quoted_at,
                    what: What::Unreadable(Unreadable::ReservedKey),
                });
            }
            if !self.keys.add(first, key, &mut seen) {
                return Err(duplicate(key.quoted_at));
            }
            if self.closes(b'}') {
                return Ok(());
            }
            self.expect(b',')?;
        }
    }

    fn array(&mut self, depth: usize) -> Result<(), Flaw> {
        let depth = self.deeper(depth)?;
        if self.closes(b']') {
            return Ok(());
        }
        loop {
            self.value(depth)?;
            if self.closes(b']') {
                return Ok(());
            }
            self.expect(b',')?;
        }
    }

    /// Goes behind an opening bracket.
    fn deeper(&mut self, depth: usize) -> Result<usize, Flaw> {
        let left = depth
            .checked_sub(1)
            .ok_or_else(|| self.flaw(What::TooDeep))?;
        self.at += 1;
        Ok(left)
    }

    /// A string, and where it stands within its quotes; true if it has escapes.
    fn string(&mut self) -> Result<(Span, bool), Flaw> {
        let quoted_at = self.at;
        self.expect(b'"')?;
        let start = self.at;
        let mut escaped = false;
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            self.at += plain_length(rest);
            match self.peek() {
                Some(b'"') => {
                    let span = Span::new(quoted_at, start, self.at - start);
                    self.at += 1;
                    return Ok((span, escaped));
                }
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                Some(_) | None => return Err(self.flaw(What::Syntax)),
            }
        }
    }

    fn key(&mut self) -> Result<Span, Flaw> {
        let quoted = self.at;
        let (span, escaped) = self.string()?;
        if !escaped {
            return Ok(span);
        }
        let text = self.text.get(quoted..self.at).unwrap_or_default();
        match serde_json::from_str::<String>(text) {
            Ok(key) => Ok(self.keys.unescaped(quoted, &key)),
            Err(_) => Err(self.flaw(What::Syntax)),
        }
    }

    fn escape(&mut self) -> Result<(), Flaw> {
        let at = self.at;
        let lone = Flaw {
            at,
            what: What::Unreadable(Unreadable::LoneSurrogate),
        };
        self.at += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.at += 1;
                Ok(())
            }
            Some(b'u') => match self.unit()? {
                0xd800..0xdc00 => {
                    let pair = self.bytes.get(self.at..).unwrap_or_default();
                    if !pair.starts_with(b"\\u") {
                        return Err(lone);
                    }
                    self.at += 1;
                    match self.unit()? {
                        0xdc00..0xe000 => Ok(()),
                        _ => Err(lone),
                    }
                }
                0xdc00..0xe000 => Err(lone),
                _ => Ok(()),
            },
            Some(_) | None => Err(self.flaw(What::Syntax)),
        }
    }

    /// The `u` and four hex digits.
    fn unit(&mut self) -> Result<u32, Flaw> {
        let digits = self.bytes.get(self.at + 1..self.at + 5);
        let unit = digits.and_then(|digits| {
            digits.iter().try_fold(0, |unit, digit| {
                char::from(*digit)
                    .to_digit(16)
                    .map(|value| unit << 4 | value)
            })
        });
        let unit = unit.ok_or_else(|| self.flaw(What::Syntax))?;
        self.at += 5;
        Ok(unit)
    }

    fn number(&mut self) -> Result<(), Flaw> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        let exponent = matches!(self.peek(), Some(b'e' | b'E'));
        if exponent {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        let text = self.text.get(start..self.at).unwrap_or_default();
        if (exponent || text.len() > SHORT_NUMBER) && serde_json::from_str::<f64>(text).is_err() {
            return Err(Flaw {
                at: start,
                what: What::Unreadable(Unreadable::Number),
            });
        }
        Ok(())
    }

    /// At least one digit.
    fn digits(&mut self) -> Result<(), Flaw> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start {
            Err(self.flaw(What::Syntax))
        } else {
            Ok(())
        }
    }

    fn word(&mut self, word: &[u8]) -> Result<(), Flaw> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        if !rest.starts_with(word) {
            return Err(self.flaw(What::Syntax));
        }
        self.at += word.len();
        Ok(())
    }

    /// Whether this bracket comes next; goes behind it.
    fn closes(&mut self, bracket: u8) -> bool {
        self.blank();
        let closes = self.peek() == Some(bracket);
        self.at += usize::from(closes);
        closes
    }

    fn expect(&mut self, byte: u8) -> Result<(), Flaw> {
        if self.peek() == Some(byte) {
            self.at += 1;
            Ok(())
        } else {
            Err(self.flaw(What::Syntax))
        }
    }

    /// Goes behind white space, to which line ends belong unless the text is to be one line.
    fn blank(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t') => self.at += 1,
                Some(b'\n' | b'\r') if !self.on_one_line => self.at += 1,
                Some(_) | None => return,
            }
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn flaw(&self, what: What) -> Flaw {
        Flaw { at: self.at, what }
    }
}

fn duplicate(at: usize) -> Flaw {
    Flaw {
        at,
        what: What::Unreadable(Unreadable::DuplicateKey),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::collections::BTreeSet;
    use std::fmt;

    use proptest::prelude::*;
    use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

    use super::*;

    /// The same question, answered by serde_json and a set of keys.
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
    fn what_cannot_be_read_back_has_a_name() {
        let unreadable = |what| Some(What::Unreadable(what));
        for text in [
            r#"{"a":1,"b":{"a":2},"c":[{"a":3},{"a":4}]}"#,
            // Of the same length and with the same ends.
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
    fn keys_are_told_apart_however_many_there_are() {
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

    /// Pieces that, strung together, are JSON now and then and nearly JSON most of the time.
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
                prop::collection::vec(inner, 0..5)
                    .prop_map(|items| format!("[{}]", items.join(","))),
                prop::collection::vec(member, 0..5)
                    .prop_map(|members| format!("{{{}}}", members.join(", "))),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn it_agrees_with_serde_json(mut text in json(), cut in any::<prop::sample::Index>(), with in piece(), how in 0..4) {
            let at = cut.index(text.len() + 1);
            if text.is_char_boundary(at) {
                match how {
                    0 => text.truncate(at),
                    1 => text.insert_str(at, &with),
                    _ => {}
                }
            }
            let expected = serde_json::from_str::<Readable>(&text);
            prop_assert_eq!(check(&text, 100).is_ok(), expected.is_ok(), "{} {:?}", text, expected.err());
        }

        #[test]
        fn a_string_ends_where_its_quote_is(text in "[ -!#-\\[\\]-~éü😀]{0,40}", behind in "[\"\\\\\u{0}-\u{1f}]?", more in "[ -~\u{0}-\u{1f}]{0,9}") {
            // What comes behind in the same word must not be taken for what comes first.
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
        assert_eq!(found, duplicate(many.len() + 1));
    }

    #[test]
    fn the_flaw_is_told_with_its_place() {
        let found = check(r#"{"n":[1,1e999]}"#, 4).unwrap_err();
        assert_eq!(found.at, 8);
    }
}
