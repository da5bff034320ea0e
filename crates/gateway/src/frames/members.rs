//! The members of one JSON object with their exact texts.

use std::borrow::Cow;
use std::collections::HashSet;

use recount_text::json::{kind, levels};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::FrameError;

/// The maximum nesting of a message. The engine reads 64 levels of a message and 64 levels of
/// arguments inside it.
pub(super) const DEPTH_MAX: usize = 128;

/// One member of an object.
#[derive(Clone, Debug)]
pub(super) struct Member<'a> {
    /// The key without escapes.
    pub(super) key: Cow<'a, str>,
    /// The exact text of the key, with its quotes and escapes.
    pub(super) quoted: &'a str,
    /// The exact text of the value.
    pub(super) value: &'a str,
    /// The exact text from the key's first quote to the end of the value.
    pub(super) text: &'a str,
}

/// The members of an object, each with a key of its own.
#[derive(Debug)]
pub(super) struct Members<'a>(Vec<Member<'a>>);

impl<'a> Members<'a> {
    /// Reads a whole message.
    ///
    /// # Errors
    /// [`FrameError::NotAnObject`], [`FrameError::TooDeep`] or [`FrameError::Ambiguous`].
    pub(super) fn of_frame(frame: &'a str) -> Result<Self, FrameError> {
        let members = Self::of(frame)?;
        if levels(frame) > DEPTH_MAX {
            return Err(FrameError::TooDeep);
        }
        Ok(members)
    }

    /// Reads the text of one object.
    ///
    /// # Errors
    /// [`FrameError::NotAnObject`] or [`FrameError::Ambiguous`].
    pub(super) fn of(object: &'a str) -> Result<Self, FrameError> {
        let not_an_object =
            |error: serde_json::Error| FrameError::NotAnObject(fault(object, &error));
        let entries = recount_text::json::members(object).map_err(not_an_object)?;
        let mut members = Vec::with_capacity(entries.len());
        let mut seen = HashSet::with_capacity(entries.len());
        let mut end = 0;
        for (key, value) in entries {
            if !seen.insert(folded(&key)) {
                return Err(FrameError::Ambiguous(key.into_owned()));
            }
            let value = value.get();
            let member = member(object, end, key, value);
            // The value is a part of the object's text, so its place is found.
            let (member, after) = member.ok_or_else(|| unfound(object))?;
            end = after;
            members.push(member);
        }
        Ok(Self(members))
    }

    /// Takes a member by the camelCase name of its field, in either spelling.
    ///
    /// `None` if it is absent or null.
    ///
    /// # Errors
    /// [`FrameError::Misspelt`] if a key only resembles the name.
    pub(super) fn take(&mut self, name: &'static str) -> Result<Option<Member<'a>>, FrameError> {
        let alike = folded(name);
        let Some(at) = self.0.iter().position(|it| folded(&it.key) == alike) else {
            return Ok(None);
        };
        let member = self.0.remove(at);
        if !is_spelling_of(&member.key, name) {
            return Err(FrameError::Misspelt {
                expected: name,
                found: member.key.into_owned(),
            });
        }
        Ok((member.value != "null").then_some(member))
    }

    /// Takes a string member.
    pub(super) fn string(&mut self, name: &'static str) -> Result<Option<String>, FrameError> {
        self.scalar(name, "a string")
    }

    /// Takes a boolean member.
    pub(super) fn boolean(&mut self, name: &'static str) -> Result<Option<bool>, FrameError> {
        self.scalar(name, "a boolean")
    }

    fn scalar<T: for<'de> Deserialize<'de>>(
        &mut self,
        name: &'static str,
        expected: &'static str,
    ) -> Result<Option<T>, FrameError> {
        let Some(member) = self.take(name)? else {
            return Ok(None);
        };
        let value = serde_json::from_str(member.value);
        let value = value.map_err(|_| wrong_type(name, expected, member.value))?;
        Ok(Some(value))
    }

    /// The members that nothing has taken, in order.
    pub(super) fn left(&self) -> &[Member<'a>] {
        &self.0
    }

    /// The remaining members as an object of their own. `None` if there are none.
    pub(super) fn rest(&self) -> Option<String> {
        if self.0.is_empty() {
            return None;
        }
        let texts: Vec<&str> = self.0.iter().map(|it| it.text).collect();
        Some(format!("{{{}}}", texts.join(",")))
    }
}

/// Reads the elements of a list as their exact texts.
///
/// # Errors
/// [`FrameError::WrongType`] if the value is not a list.
pub(super) fn elements<'a>(key: &'static str, list: &'a str) -> Result<Vec<&'a str>, FrameError> {
    let elements: Vec<&'a RawValue> =
        serde_json::from_str(list).map_err(|_| wrong_type(key, "a list", list))?;
    Ok(elements.into_iter().map(RawValue::get).collect())
}

/// Reads the value of a member that must be an object.
///
/// # Errors
/// [`FrameError::WrongType`] if it is something else, and those of [`Members::of`].
pub(super) fn object_of<'a>(key: &'static str, value: &'a str) -> Result<Members<'a>, FrameError> {
    if !value.starts_with('{') {
        return Err(wrong_type(key, "an object", value));
    }
    Members::of(value)
}

pub(super) fn wrong_type(key: &'static str, expected: &'static str, value: &str) -> FrameError {
    FrameError::WrongType {
        key,
        expected,
        found: kind(value),
    }
}

/// The number of bytes before a part of a text. `None` if it is not a part of it.
pub(super) fn place_of(part: &str, text: &str) -> Option<usize> {
    let at = part.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
    (text.get(at..)?.len() >= part.len()).then_some(at)
}

/// Cuts the next member out of an object's text. `from` is the end of the member before it.
fn member<'a>(
    object: &'a str,
    from: usize,
    key: Cow<'a, str>,
    value: &'a str,
) -> Option<(Member<'a>, usize)> {
    let at = place_of(value, object)?;
    // Only a comma, a colon and white space stand between two values, besides the key.
    let before = object.get(from..at)?;
    let start = from + before.find('"')?;
    let quoted = object.get(start..at)?.trim_end();
    let quoted = quoted.strip_suffix(':')?.trim_end();
    let end = at + value.len();
    let text = object.get(start..end)?;
    let member = Member {
        key,
        quoted,
        value,
        text,
    };
    Some((member, end))
}

fn fault(text: &str, error: &serde_json::Error) -> String {
    let is_object = text.trim_start().starts_with('{');
    if is_object || text.trim_start().is_empty() {
        // The error of serde_json has a place and quotes no value.
        return match error.classify() {
            serde_json::error::Category::Eof => "a text that ends too early".to_owned(),
            _ => format!(
                "a fault in line {}, column {}",
                error.line(),
                error.column()
            ),
        };
    }
    kind(text.trim_start()).to_owned()
}

fn unfound(object: &str) -> FrameError {
    FrameError::NotAnObject(kind(object).to_owned())
}

/// The key without underscores and capitals. Keys with the same folded form must not be confused.
pub(super) fn folded(key: &str) -> String {
    let letters = key.chars().filter(|it| *it != '_');
    letters.map(|it| it.to_ascii_lowercase()).collect()
}

/// True if a key is the field `name`, in camelCase or snake_case, by the rule of the engine's
/// reader.
pub(super) fn is_spelling_of(key: &str, name: &str) -> bool {
    if key == name {
        return true;
    }
    let is_snake = key.contains('_')
        && key.starts_with(|it: char| it.is_ascii_alphabetic())
        && key.split('_').all(|word| !word.is_empty());
    if !is_snake {
        return false;
    }
    let mut raised = false;
    let mut camel = String::with_capacity(key.len());
    for letter in key.chars() {
        match letter {
            '_' => raised = true,
            letter if raised => {
                camel.push(letter.to_ascii_uppercase());
                raised = false;
            }
            letter => camel.push(letter),
        }
    }
    camel == name
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_exact_texts() {
        let text = "{ \"a\\u0041\" :\t[1, 2] ,\n\"b\":\"}\\\"{\"}";
        let members = Members::of(text).unwrap();
        let [first, second] = members.left() else {
            unreachable!("two members")
        };
        assert_eq!(first.key, "aA");
        assert_eq!(first.quoted, "\"a\\u0041\"");
        assert_eq!(first.value, "[1, 2]");
        assert_eq!(first.text, "\"a\\u0041\" :\t[1, 2]");
        assert_eq!(second.text, "\"b\":\"}\\\"{\"");
        assert_eq!(
            members.rest().unwrap(),
            "{\"a\\u0041\" :\t[1, 2],\"b\":\"}\\\"{\"}"
        );
        assert!(Members::of("{}").unwrap().rest().is_none());
    }

    #[test]
    fn key_in_two_spellings_is_ambiguous() {
        for text in [
            r#"{"goAway":1,"goAway":2}"#,
            r#"{"goAway":1,"go_away":2}"#,
            r#"{"goAway":1,"go\u0041way":2}"#,
            r#"{"goAway":1,"GOAWAY":2}"#,
        ] {
            let refused = Members::of(text).unwrap_err();
            assert!(
                matches!(refused, FrameError::Ambiguous(_)),
                "{text}: {refused}"
            );
        }
    }

    #[test]
    fn resembling_key_is_misspelt() {
        for (text, is_found) in [
            (r#"{"toolCall":1}"#, true),
            (r#"{"tool_call":1}"#, true),
            (r#"{"ToolCall":1}"#, false),
            (r#"{"tool__call":1}"#, false),
            (r#"{"toolcall":1}"#, false),
            (r#"{"_toolCall":1}"#, false),
        ] {
            let taken = Members::of(text).unwrap().take("toolCall");
            match taken {
                Ok(member) => assert!(is_found && member.unwrap().value == "1", "{text}"),
                Err(error) => assert!(!is_found, "{text}: {error}"),
            }
        }
        let mut absent = Members::of(r#"{"toolCall":null,"toolCallCancellation":1}"#).unwrap();
        assert!(absent.take("toolCall").unwrap().is_none());
    }

    #[test]
    fn fault_has_a_place_and_no_value() {
        for (text, told) in [
            ("[1]", "a list"),
            ("", "ends too early"),
            ("{\"key\":\"sec", "ends too early"),
            ("{\"key\":secret}", "line 1, column"),
            ("{'key':1}", "line 1, column"),
        ] {
            let error = Members::of_frame(text).unwrap_err().to_string();
            assert!(
                error.contains(told) && !error.contains("sec"),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn deep_message_is_refused() {
        let nested = |depth: usize| {
            let (open, close) = ("[".repeat(depth - 1), "]".repeat(depth - 1));
            format!("{{\"a\":{open}{close}}}")
        };
        assert!(Members::of_frame(&nested(DEPTH_MAX)).is_ok());
        let refused = Members::of_frame(&nested(DEPTH_MAX + 1)).unwrap_err();
        assert_eq!(refused, FrameError::TooDeep);
        // The reader does not recurse, so the depth of a message is not a depth of the stack.
        assert!(Members::of_frame(&nested(200_000)).is_err());
    }
}
