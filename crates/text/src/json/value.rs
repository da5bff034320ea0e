//! JSON kept as its original text.
//!
//! A number that is parsed as a float and written again may change. An approval of one number must
//! not allow another. So arguments, responses and results stay text: only the white space between
//! tokens is removed.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::canonical::write_canonical;
use super::problem::{DEPTH_MAX, JsonProblem, check};

/// A JSON value as text, without white space between its tokens. It has passed the
/// [check](Json::parse).
///
/// [`RawJson`](super::RawJson) is JSON without this check.
#[derive(Clone)]
pub struct Json(Box<RawValue>);

impl Json {
    /// Checks `text` and keeps it, without white space between tokens.
    ///
    /// ```
    /// use recount_text::json::Json;
    /// let kept = Json::parse(r#"{ "n": 9007199254740993, "s": "a b" }"#).unwrap();
    /// assert_eq!(kept.as_str(), r#"{"n":9007199254740993,"s":"a b"}"#);
    /// ```
    ///
    /// # Errors
    /// A [`JsonProblem`] if the text is not JSON, nests deeper than [`DEPTH_MAX`], repeats a key,
    /// or contains half of a surrogate pair.
    pub fn parse(text: &str) -> Result<Json, JsonProblem> {
        let syntax = |error: serde_json::Error| JsonProblem::Syntax(error.to_string());
        let kept = compact(text);
        if kept.len() < text.len() {
            // White space separates tokens, so removing it may turn invalid text into JSON.
            let _: &RawValue = serde_json::from_str(text).map_err(syntax)?;
        }
        let kept = RawValue::from_string(kept).map_err(syntax)?;
        check(kept.get(), DEPTH_MAX)?;
        Ok(Json(kept))
    }

    /// Serializes a value that was created by the caller.
    ///
    /// ```
    /// use recount_text::json::Json;
    /// assert_eq!(Json::of(&serde_json::json!({"b": 1, "a": 2})).as_str(), r#"{"a":2,"b":1}"#);
    /// ```
    pub fn of(value: &serde_json::Value) -> Json {
        Json::of_serialized(value)
    }

    /// Serializes a value of any type that was created by the caller.
    #[doc(hidden)]
    pub fn of_serialized<S: Serialize + ?Sized>(value: &S) -> Json {
        // Short values, which most arguments and results are, are written to the stack and
        // allocated once.
        let mut short = [0; 256];
        let mut rest = &mut short[..];
        if serde_json::to_writer(&mut rest, value).is_ok() {
            let used = 256 - rest.len();
            let text = short
                .get(..used)
                .and_then(|it| std::str::from_utf8(it).ok());
            let raw = text.map(|text| RawValue::from_string(text.to_owned()));
            if let Some(Ok(raw)) = raw {
                return Json(raw);
            }
        }
        // Serializing our own value cannot fail; `null` satisfies the type.
        Json(serde_json::value::to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned()))
    }

    /// Returns the text with sorted keys in all objects and uniform escapes in strings. Numbers
    /// stay unchanged.
    ///
    /// ```
    /// use recount_text::json::Json;
    /// let one = Json::parse(r#"{"b":1.0,"a":[{"d":1,"c":"\u00e9"}]}"#)?;
    /// assert_eq!(one.canonical(), r#"{"a":[{"c":"é","d":1}],"b":1.0}"#);
    /// # Ok::<(), recount_text::json::JsonProblem>(())
    /// ```
    pub fn canonical(&self) -> String {
        let mut out = String::with_capacity(self.as_str().len());
        write_canonical(self.as_str(), &mut out);
        out
    }

    /// Keeps a value that was derived from a checked one, without another check.
    pub(super) fn of_checked(raw: Box<RawValue>) -> Json {
        Json(raw)
    }

    /// The text as a raw value of serde_json.
    #[doc(hidden)]
    pub fn raw(&self) -> &RawValue {
        &self.0
    }

    /// Returns `{}`.
    pub fn empty_object() -> Json {
        Json::of(&serde_json::Value::Object(serde_json::Map::new()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// Parses the value with serde_json's numbers; `null` if they cannot hold it.
    pub fn to_value(&self) -> serde_json::Value {
        serde_json::from_str(self.as_str()).unwrap_or_default()
    }

    /// True if this is an object.
    pub fn is_object(&self) -> bool {
        self.as_str().starts_with('{')
    }

    /// Returns the object in a string. Some models and programs send arguments as a string.
    #[doc(hidden)]
    pub fn object_in_text(&self) -> Option<Json> {
        let text: String = serde_json::from_str(self.as_str()).ok()?;
        Json::parse(&text).ok().filter(Json::is_object)
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Json) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Json {}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Json, D::Error> {
        // JSON in a journal was checked when it was written. Another check would slow down each
        // replay.
        Box::<RawValue>::deserialize(deserializer).map(Json)
    }
}

/// Removes white space between the tokens. The caller has checked that the text is JSON.
fn compact(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut in_string, mut escaped) = (false, false);
    for c in text.chars() {
        if in_string {
            out.push(c);
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => in_string = false,
                _ => {}
            }
        } else if !matches!(c, ' ' | '\t' | '\n' | '\r') {
            in_string = c == '"';
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    #[test]
    fn every_token_stays_as_it_came() {
        let text =
            "{\n \"a\" : [ 1.0 , 1e2, 9007199254740993, -0.0 ],\t\"b\": \" x \\\" y \\u00e9\" }";
        let kept = Json::parse(text).unwrap();
        assert_eq!(
            kept.as_str(),
            r#"{"a":[1.0,1e2,9007199254740993,-0.0],"b":" x \" y \u00e9"}"#
        );
        let line = serde_json::to_string(&kept).unwrap();
        assert_eq!(serde_json::from_str::<Json>(&line).unwrap(), kept);
    }

    #[test]
    fn two_texts_are_equal_when_every_token_is() {
        let one = Json::parse("[1, 2]").unwrap();
        assert_eq!(one, Json::parse("[1,2]").unwrap());
        assert_ne!(one, Json::parse("[1,2.0]").unwrap());
    }

    #[test]
    fn canonical_text_sorts_keys_and_keeps_numbers() {
        let canonical = |text: &str| Json::parse(text).unwrap().canonical();
        assert_eq!(
            canonical(r#"{"b":[1.0,"\u00e9",{"d":1e2,"c":null}],"a":[],"c":{}}"#),
            r#"{"a":[],"b":[1.0,"é",{"c":null,"d":1e2}],"c":{}}"#
        );
        assert_eq!(canonical("true"), "true");
    }

    #[test]
    fn brackets_in_a_string_do_not_nest() {
        let brackets = "[".repeat(DEPTH_MAX + 1);
        assert!(Json::parse(&format!(r#"["\"{brackets}"]"#)).is_ok());
        let deep = format!(r#"["a\\",{brackets}{}]"#, "]".repeat(DEPTH_MAX + 1));
        assert_eq!(Json::parse(&deep), Err(JsonProblem::TooDeep));
    }

    #[test]
    fn ambiguous_json_is_refused() {
        assert_eq!(
            Json::parse(r#"{"a":1,"b":{"a":2,"\u0061":3}}"#),
            Err(JsonProblem::DuplicateKey("a".into()))
        );
        assert_eq!(
            Json::parse(r#"{"a":"\ud800"}"#),
            Err(JsonProblem::LoneSurrogate)
        );
        let deep = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert!(Json::parse(&deep(DEPTH_MAX)).is_ok());
        assert_eq!(Json::parse(&deep(DEPTH_MAX + 1)), Err(JsonProblem::TooDeep));
        assert!(matches!(
            Json::parse("{'a':1}"),
            Err(JsonProblem::Syntax(_))
        ));
    }

    #[test]
    fn key_that_hides_another_value_is_refused() {
        let hidden = r#"{"$serde_json::private::RawValue":"{\"amount\":1,\"amount\":1000}"}"#;
        let key = "$serde_json::private::RawValue".to_owned();
        assert_eq!(Json::parse(hidden), Err(JsonProblem::ReservedKey(key)));
    }

    #[test]
    fn number_beyond_floats_is_an_error() {
        assert!(matches!(
            Json::parse("[1e999]"),
            Err(JsonProblem::Syntax(_))
        ));
    }

    /// The expected text by the rules in order: JSON, without white space, without flaws.
    fn by_the_rules(text: &str) -> Option<String> {
        serde_json::from_str::<&RawValue>(text).ok()?;
        let kept = compact(text);
        check(&kept, DEPTH_MAX).ok().map(|()| kept)
    }

    /// Texts that are JSON, almost JSON, or not JSON.
    fn texts() -> impl Strategy<Value = String> {
        let pieces = "{|}|[|]|:|,| |\n|\t|\u{b}|\u{a0}|\"a\"|\"a\":1|\"a\" : { \"b\":1 ,\"b\":2}|\"c\" : [ ]|\"|\\|\"\\u0061\":2|\"\\ud800\"|1|-|.5|e9|1 2|true|tr ue|null|\"$serde_json::private::Number\":\"1\"";
        let piece = select(pieces.split('|').collect::<Vec<_>>());
        let soup = vec(piece.clone(), 0..12).prop_map(|it| it.concat());
        let part = prop_oneof![4 => piece.prop_map(str::to_owned), 1 => soup.clone()];
        let value = vec(part, 0..4);
        prop_oneof![
            soup,
            value.clone().prop_map(|it| format!("{{{}}}", it.join(","))),
            value.prop_map(|it| format!("[ {} ]", it.join(" , "))),
        ]
    }

    proptest! {
        #[test]
        fn kept_text_equals_the_rules_in_order(text in texts()) {
            let kept = Json::parse(&text).ok().map(|it| it.as_str().to_owned());
            prop_assert_eq!(kept, by_the_rules(&text));
        }
    }

    #[test]
    fn built_text_is_written_whole_at_every_length() {
        for length in (0..300).chain([10_000]) {
            let text = "7".repeat(length);
            let expected = format!("\"{text}\"");
            assert_eq!(
                Json::of(&serde_json::Value::String(text)).as_str(),
                expected
            );
        }
        for number in [7, 12, 1234, 1_234_567] {
            assert_eq!(Json::of(&number.into()).as_str(), number.to_string());
        }
    }
}
