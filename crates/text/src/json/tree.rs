//! JSON taken apart by one level without disturbing its texts.
//!
//! A number stays the text it was written as, and members stay in their order.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// A JSON value, taken apart by one level.
pub enum Tree<'j> {
    /// The members of an object, in their order.
    Members(Vec<(String, &'j RawValue)>),
    /// The elements of an array.
    Elements(Vec<&'j RawValue>),
    /// A string, a number, `true`, `false` or `null`.
    Leaf,
}

impl<'j> Tree<'j> {
    /// Takes a value apart.
    #[doc(hidden)]
    pub fn of(value: &'j RawValue) -> Tree<'j> {
        let text = value.get();
        let apart = match text.as_bytes().first() {
            Some(b'{') => {
                let owned = |(key, value): Member<'j>| (key.into_owned(), value);
                let members = members(text).ok();
                members.map(|it| Tree::Members(it.into_iter().map(owned).collect()))
            }
            Some(b'[') => serde_json::from_str(text).ok().map(Tree::Elements),
            Some(_) | None => None,
        };
        // A raw value is JSON, so it always comes apart.
        apart.unwrap_or(Tree::Leaf)
    }
}

/// A key and its value.
pub type Member<'j> = (Cow<'j, str>, &'j RawValue);

/// The members of an object in their order, repeated keys included.
///
/// # Errors
/// An error of serde_json where the text is no object, or a key is no text.
pub fn members(text: &str) -> serde_json::Result<Vec<Member<'_>>> {
    serde_json::from_str::<Members<'_>>(text).map(|it| it.0)
}

struct Members<'j>(Vec<Member<'j>>);

/// Borrowed from the text, unless there are escapes in it.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Members<'de>, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some((Key(key), value)) = map.next_entry()? {
                    members.push((key, value));
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}
