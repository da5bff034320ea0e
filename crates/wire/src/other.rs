//! The fields of a message without a type of their own.

use recount_text::json::RawJson;

use super::spelling::is_spelling_of;

/// Fields kept as text: those that this version does not parse, and unknown ones.
///
/// A field that the protocol is known to use has its camelCase name, whatever its spelling in the
/// message. An unknown field keeps its spelling.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Other(Vec<(String, RawJson)>);

impl Other {
    /// Returns the value of `name`.
    pub fn get(&self, name: &str) -> Option<&RawJson> {
        self.0
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value)
    }

    /// Returns the value of the protocol's field `name`, in either spelling.
    ///
    /// The parser leaves a field of the wrong type here as it was spelled.
    #[doc(hidden)]
    pub fn get_field(&self, name: &str) -> Option<&RawJson> {
        let mut fields = self.0.iter().filter(|(key, _)| is_spelling_of(key, name));
        fields.next().map(|(_, value)| value)
    }

    /// Adds a field, or replaces the field of the same name.
    pub fn set(&mut self, name: impl Into<String>, value: RawJson) {
        let name = name.into();
        self.0.retain(|(key, _)| *key != name);
        self.0.push((name, value));
    }

    /// Returns the fields in the order of the message.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &RawJson)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// True if there are no fields.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn push(&mut self, name: String, value: RawJson) {
        self.0.push((name, value));
    }
}
