//! Access to a value inside a JSON text by its pointer. The text around it stays unchanged.

use std::fmt;

use serde::Deserializer;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::pointer::unescaped;
use super::value::Json;

impl Json {
    /// Returns the text of the value at a JSON Pointer through objects; `""` is the whole text.
    ///
    /// ```
    /// use recount_text::json::Json;
    /// let args = Json::parse(r#"{"card": {"number": "4111", "a/b": 1.0}}"#)?;
    /// assert_eq!(args.text_at("/card/number"), Some("\"4111\""));
    /// assert_eq!(args.text_at("/card/a~1b"), Some("1.0"));
    /// assert_eq!(args.text_at("/card/owner"), None);
    /// # Ok::<(), recount_text::json::JsonProblem>(())
    /// ```
    pub fn text_at(&self, pointer: &str) -> Option<&str> {
        match self.along(pointer)? {
            (held, text) if held == pointer => Some(text),
            _ => None,
        }
    }

    /// Returns the value at the pointer or, on its path, the first value that is not an object. The
    /// result includes the pointer of that value.
    ///
    /// ```
    /// use recount_text::json::Json;
    /// let args = Json::parse(r#"{"card": "4111"}"#)?;
    /// assert_eq!(args.along("/card/number"), Some(("/card", "\"4111\"")));
    /// assert_eq!(args.along("/iban"), None);
    /// # Ok::<(), recount_text::json::JsonProblem>(())
    /// ```
    pub fn along<'p>(&self, pointer: &'p str) -> Option<(&'p str, &str)> {
        let (mut text, mut at) = (self.as_str(), 0);
        while let Some(step) = pointer.get(at..).and_then(|rest| rest.strip_prefix('/')) {
            if !text.starts_with('{') {
                break;
            }
            let step = step.split('/').next().unwrap_or_default();
            text = member(text, &unescaped(step))?;
            at += 1 + step.len();
        }
        Some((pointer.get(..at)?, text))
    }

    /// Replaces the value at a pointer. `None` if the pointer has no value or `text` is not JSON.
    ///
    /// ```
    /// use recount_text::json::Json;
    /// let args = Json::parse(r#"{"a":1.0,"b":{"c":2}}"#)?;
    /// let other = args.with_text_at("/b/c", "[]").map(|it| it.to_string());
    /// assert_eq!(other.as_deref(), Some(r#"{"a":1.0,"b":{"c":[]}}"#));
    /// # Ok::<(), recount_text::json::JsonProblem>(())
    /// ```
    pub fn with_text_at(&self, pointer: &str, text: &str) -> Option<Json> {
        let before = self.text_at(pointer)?;
        let whole = self.as_str();
        // `before` is borrowed from the whole text, so it begins within it.
        let start = (before.as_ptr() as usize).checked_sub(whole.as_ptr() as usize)?;
        let (head, tail) = (whole.get(..start)?, whole.get(start + before.len()..)?);
        let raw = RawValue::from_string(format!("{head}{text}{tail}")).ok()?;
        Some(Json::of_checked(raw))
    }
}

/// Returns the text of a member of an object.
fn member<'a>(object: &'a str, name: &str) -> Option<&'a str> {
    let mut reader = serde_json::Deserializer::from_str(object);
    reader.deserialize_map(Member(name)).ok().flatten()
}

struct Member<'n>(&'n str);

impl<'de> Visitor<'de> for Member<'_> {
    type Value = Option<&'de str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Option<&'de str>, A::Error> {
        let mut found = None;
        while let Some(key) = map.next_key::<String>()? {
            if key == self.0 {
                let value: &RawValue = map.next_value()?;
                found = Some(value.get());
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn json(text: &str) -> Json {
        Json::parse(text).unwrap()
    }

    #[test]
    fn tokens_around_the_place_stay_unchanged() {
        let args = json(r#"{"\u0061":1.00,"b":{"c":"x\"}","d":9007199254740993},"e":[{}]}"#);
        let other = args.with_text_at("/b/c", r#"{"$sealed":"v1.A"}"#).unwrap();
        let expected =
            r#"{"\u0061":1.00,"b":{"c":{"$sealed":"v1.A"},"d":9007199254740993},"e":[{}]}"#;
        assert_eq!(other.as_str(), expected);
        assert_eq!(other.with_text_at("/b/c", r#""x\"}""#).unwrap(), args);
        // A key is found in any spelling of its escapes.
        assert_eq!(args.text_at("/a"), Some("1.00"));
        assert_eq!(args.with_text_at("", "7").unwrap().as_str(), "7");
    }

    #[test]
    fn a_pointer_leads_through_objects_only() {
        let args = json(r#"{"a":[{"b":1}],"c":null,"":{"":2},"~":{"/":3}}"#);
        assert_eq!(args.along("/a/0/b"), Some(("/a", r#"[{"b":1}]"#)));
        assert_eq!(args.text_at("/a/0/b"), None);
        assert_eq!(args.along("/c/x"), Some(("/c", "null")));
        assert_eq!(args.text_at("//"), Some("2"));
        assert_eq!(args.text_at("/~0/~1"), Some("3"));
        assert_eq!(args.along("/d/e"), None);
        assert_eq!(args.along("d"), Some(("", args.as_str())));
        assert_eq!(args.text_at("d"), None);
        assert_eq!(args.with_text_at("/c", "not json"), None);
    }
}
