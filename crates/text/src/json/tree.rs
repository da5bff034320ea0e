//! JSON split into its parts, one level deep, with all texts unchanged.
//!
//! Numbers keep their digits, and members keep their order.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// A JSON value split into its parts, one level deep.
pub enum Tree<'j> {
    /// The members of an object, in order.
    Members(Vec<(String, &'j RawValue)>),
    /// The elements of an array.
    Elements(Vec<&'j RawValue>),
    /// A string, a number, `true`, `false` or `null`.
    Leaf,
}

impl<'j> Tree<'j> {
    /// Splits a value into its parts.
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
        // A raw value is valid JSON, so splitting cannot fail.
        apart.unwrap_or(Tree::Leaf)
    }
}

/// A key and its value.
pub type Member<'j> = (Cow<'j, str>, &'j RawValue);

/// Returns the members of an object in order, including repeated keys.
///
/// # Errors
/// An error of serde_json if the text is not an object, or a key is not text.
pub fn members(text: &str) -> serde_json::Result<Vec<Member<'_>>> {
    serde_json::from_str::<Members<'_>>(text).map(|it| it.0)
}

struct Members<'j>(Vec<Member<'j>>);

/// A key, borrowed from the text unless it contains escapes.
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
