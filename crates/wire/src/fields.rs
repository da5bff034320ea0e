//! Reading of the fields of one JSON object, each once and in either spelling.
//!
//! serde's own features for unknown fields (`flatten`, untagged enums) convert values to numbers
//! and maps and lose the original text. This reader keeps it.

use recount_text::json::{DecodeError, Member, Number, RawJson, kind, members};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::field::Field;
use super::levels::Levels;
use super::object_writer::ObjectWriter;
use super::other::Other;
use super::repeated::Repeated;
use super::spelling::{Shape, in_camel_case, is_spelling_of};

/// One level of a message as a type.
pub(crate) trait Message: Sized {
    /// Takes the known fields out of `fields`. The remaining ones go into [`Other`].
    fn read(fields: &mut Fields<'_>) -> Result<Self, DecodeError>;

    /// Writes all fields.
    fn write(&self, object: &mut ObjectWriter);

    fn from_json(value: &RawValue, levels: Levels) -> Result<Self, DecodeError> {
        Self::read(&mut Fields::within(value, levels)?)
    }

    fn to_text(&self) -> String {
        let mut object = ObjectWriter::with_room();
        self.write(&mut object);
        object.finish()
    }
}

/// The remaining fields of one object, borrowed from its text.
pub struct Fields<'a> {
    entries: Vec<Member<'a>>,
    levels: Levels,
}

impl<'a> Fields<'a> {
    /// Parses a text as an object.
    pub fn parse(text: &'a str) -> Result<Self, DecodeError> {
        Self::within_levels(text, Levels::default())
    }

    /// Returns the fields of an object.
    pub fn of(value: &'a RawJson) -> Result<Self, DecodeError> {
        Self::within(value.raw(), Levels::default())
    }

    /// Parses as [`parse`](Fields::parse) does, with the caller's limit for the nesting of the
    /// protocol's own objects and lists.
    pub(super) fn parse_within(text: &'a str, depth_max: usize) -> Result<Self, DecodeError> {
        Self::within_levels(text, Levels::at_most(depth_max))
    }

    fn within_levels(text: &'a str, levels: Levels) -> Result<Self, DecodeError> {
        match members(text) {
            Ok(entries) => Ok(Self {
                entries,
                levels: levels.inside()?,
            }),
            // A second parse finds the exact fault, which this error lacks.
            Err(error) => {
                object_entries(RawJson::parse(text)?.raw())?;
                Err(DecodeError::new("JSON", error.to_string()))
            }
        }
    }

    pub(super) fn within(value: &'a RawValue, levels: Levels) -> Result<Self, DecodeError> {
        Ok(Self {
            entries: object_entries(value)?,
            levels: levels.inside()?,
        })
    }

    /// Takes a field; `null` counts as absent.
    fn take(&mut self, name: &str) -> Result<Option<&'a RawValue>, DecodeError> {
        let Some(position) = self.entries.iter().position(|it| is_field(it, name)) else {
            return Ok(None);
        };
        let (_, value) = self.entries.remove(position);
        if self.entries.iter().any(|it| is_field(it, name)) {
            return Err(DecodeError::new("the field once", "it twice").under(name));
        }
        Ok((value.get() != "null").then_some(value))
    }

    /// Takes a field as text; `null` counts as absent.
    pub fn raw(&mut self, name: &str) -> Result<Option<RawJson>, DecodeError> {
        Ok(self.take(name)?.map(RawJson::of_raw))
    }

    /// Takes a field as text, with its keys in camelCase.
    pub(super) fn respelt(
        &mut self,
        name: &str,
        shape: Shape,
    ) -> Result<Option<RawJson>, DecodeError> {
        let levels = self.levels;
        self.take(name)?
            .map(|value| in_camel_case(value, shape, levels).map_err(|error| error.under(name)))
            .transpose()
    }

    /// Takes a string field.
    pub fn string(&mut self, name: &str) -> Result<Option<String>, DecodeError> {
        self.scalar(name, "a string")
    }

    /// Takes a boolean field.
    pub fn boolean(&mut self, name: &str) -> Result<Option<bool>, DecodeError> {
        self.scalar(name, "a boolean")
    }

    pub(super) fn number(&mut self, name: &str) -> Result<Option<Number>, DecodeError> {
        self.raw(name)?
            .map(|value| Number::of(value).map_err(|error| error.under(name)))
            .transpose()
    }

    /// Takes a field with one string or a list of strings.
    pub fn strings(&mut self, name: &str) -> Result<Repeated<String>, DecodeError> {
        self.each_item(name, |item| {
            serde_json::from_str(item.get())
                .map_err(|_| DecodeError::new("a string", found("a string", item.get())))
        })
    }

    pub(crate) fn message<M: Message>(&mut self, name: &str) -> Result<Option<M>, DecodeError> {
        let levels = self.levels;
        self.take(name)?
            .map(|value| M::from_json(value, levels).map_err(|error| error.under(name)))
            .transpose()
    }

    /// Takes a field with one function call or a list of them.
    pub fn function_calls(
        &mut self,
        name: &str,
    ) -> Result<Repeated<crate::FunctionCall>, DecodeError> {
        self.messages(name)
    }

    pub(crate) fn messages<M: Message>(&mut self, name: &str) -> Result<Repeated<M>, DecodeError> {
        let levels = self.levels;
        // The list counts as a level, too.
        self.each_item(name, |item| M::from_json(item, levels.inside()?))
    }

    /// Takes the fields of an object field.
    pub(super) fn inner(&mut self, name: &str) -> Result<Option<Self>, DecodeError> {
        let levels = self.levels;
        self.take(name)?
            .map(|value| Self::within(value, levels).map_err(|error| error.under(name)))
            .transpose()
    }

    /// Takes the items of a list. `read` reads each item and handles malformed ones.
    pub(super) fn each_apart<T>(
        &mut self,
        name: &str,
        read: impl Fn(&'a RawValue, Levels) -> T,
    ) -> Result<Vec<T>, DecodeError> {
        // The list counts as a level, too.
        let levels = self.levels.inside().map_err(|error| error.under(name))?;
        let items = self.each_item(name, |item| Ok(read(item, levels)))?;
        Ok(items.into_vec())
    }

    /// Takes a field, or leaves it in place if it has the wrong type.
    pub(super) fn or_left<F: Field + Default>(&mut self, name: &str) -> F {
        let mut found = (0..)
            .zip(&self.entries)
            .filter(|(_, entry)| is_field(entry, name));
        // If both spellings are present, neither may replace the other.
        let (Some((position, entry)), None) = (found.next(), found.next()) else {
            return F::default();
        };
        let entry = entry.clone();
        F::take(self, name).unwrap_or_else(|_| {
            let position = position.min(self.entries.len());
            self.entries.insert(position, entry);
            F::default()
        })
    }

    /// Takes all fields, whatever their names.
    pub(super) fn each<M: Message>(&mut self) -> Result<Vec<(String, M)>, DecodeError> {
        let levels = self.levels;
        let entries = std::mem::take(&mut self.entries).into_iter();
        let read = |(name, value): Member<'a>| match M::from_json(value, levels) {
            Ok(message) => Ok((name.into_owned(), message)),
            Err(error) => Err(error.under(&name)),
        };
        entries.map(read).collect()
    }

    /// Takes a field with one value or a list, each read by `read`.
    pub fn items<T>(
        &mut self,
        name: &str,
        read: impl Fn(RawJson) -> Result<T, DecodeError>,
    ) -> Result<Repeated<T>, DecodeError> {
        self.each_item(name, |item| read(RawJson::of_raw(item)))
    }

    fn each_item<T>(
        &mut self,
        name: &str,
        read: impl Fn(&'a RawValue) -> Result<T, DecodeError>,
    ) -> Result<Repeated<T>, DecodeError> {
        let Some(value) = self.take(name)? else {
            return Ok(Repeated::absent());
        };
        let items: Vec<&'a RawValue> = serde_json::from_str(value.get())
            .map_err(|_| DecodeError::new("a list", kind(value.get())).under(name))?;
        items
            .into_iter()
            .enumerate()
            .map(|(index, item)| {
                read(item).map_err(|error| error.under(&format!("[{index}]")).under(name))
            })
            .collect()
    }

    /// Takes the remaining fields. Fields in `known` get camelCase keys at every depth; unknown
    /// ones stay unchanged.
    pub fn rest(&mut self, known: &[&str]) -> Result<Other, DecodeError> {
        let mut other = Other::default();
        for &name in known {
            if let Some(value) = self.respelt(name, Shape::Message.of_field(name))? {
                other.push(name.to_owned(), value);
            }
        }
        for (key, value) in std::mem::take(&mut self.entries) {
            other.push(key.into_owned(), RawJson::of_raw(value));
        }
        Ok(other)
    }

    fn scalar<T: Deserialize<'a>>(
        &mut self,
        name: &str,
        expected: &str,
    ) -> Result<Option<T>, DecodeError> {
        let Some(value) = self.take(name)? else {
            return Ok(None);
        };
        serde_json::from_str(value.get())
            .map(Some)
            .map_err(|_| DecodeError::new(expected, found(expected, value.get())).under(name))
    }
}

/// The value in place of the expected one, in words.
fn found(expected: &str, value: &str) -> &'static str {
    match (expected, kind(value)) {
        // JSON allows it in a text, and no reader of text takes it. JavaScript writes it for an
        // emoji that was cut in two.
        ("a string", "a string") => "a string with half of a surrogate pair",
        (_, kind) => kind,
    }
}

/// True if the field has this name, in either spelling.
fn is_field((key, _): &Member<'_>, name: &str) -> bool {
    is_spelling_of(key, name)
}

/// Returns the keys and values of an object in order, including repeated keys.
pub(super) fn object_entries(value: &RawValue) -> Result<Vec<Member<'_>>, DecodeError> {
    let text = value.get();
    if !text.starts_with('{') {
        return Err(DecodeError::new("an object", kind(text)));
    }
    // The JSON was checked before, so only a key that is not text can fail.
    members(text).map_err(|error| DecodeError::new("keys that are text", error.to_string()))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;

    #[test]
    fn escaped_key_is_found_by_its_text() {
        for text in [r#"{"go\u0041way":"soon"}"#, r#"{"go\u005faway":"soon"}"#] {
            let mut fields = Fields::parse(text).unwrap();
            assert_eq!(fields.string("goAway").unwrap().unwrap(), "soon", "{text}");
            assert!(fields.rest(&[]).unwrap().is_empty(), "{text}");
        }
        let mut twice = Fields::parse(r#"{"goAway":1,"go\u0041way":2}"#).unwrap();
        let refused = twice.raw("goAway").unwrap_err().to_string();
        assert!(refused.contains("it twice"), "{refused}");
    }

    #[test]
    fn fault_of_a_text_is_reported() {
        let told = |text: &str| Fields::parse(text).err().unwrap().to_string();
        assert!(told(r#"{"\ud800":1}"#).contains("keys that are text"));
        for (text, found) in [("[1]", "a list"), ("null", "null"), ("\"{}\"", "a string")] {
            let told = told(text);
            assert!(told.contains("an object") && told.contains(found), "{told}");
        }
        for text in ["", "{", "{} {}", r#"{"a":}"#, "{\"a\u{1}\":1}"] {
            assert!(told(text).contains("JSON"), "{text}: {}", told(text));
        }
    }
}
