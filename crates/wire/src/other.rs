//! The fields of a message that have no type of their own.

use recount_text::json::RawJson;

/// Fields kept as they came: those this version does not look into, and those it has never heard
/// of.
///
/// A field whose name the protocol is known to use is found under its camelCase name, however it
/// was spelt; an unknown one keeps its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Other(Vec<(String, RawJson)>);

impl Other {
    /// The value of `name`.
    pub fn get(&self, name: &str) -> Option<&RawJson> {
        self.0
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value)
    }

    /// Adds a field, which takes the place of one of the same name.
    pub fn set(&mut self, name: impl Into<String>, value: RawJson) {
        let name = name.into();
        self.0.retain(|(key, _)| *key != name);
        self.0.push((name, value));
    }

    /// The fields in the order in which they came.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &RawJson)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn push(&mut self, name: String, value: RawJson) {
        self.0.push((name, value));
    }
}
