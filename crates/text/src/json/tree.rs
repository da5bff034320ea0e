//! JSON taken apart without disturbing its texts: what a pointer names, and in what two values differ.
//!
//! A number stays the text it was written as, and members stay in their order.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserializer;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

use super::value::Json;

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
                let members = serde_json::Deserializer::from_str(text).deserialize_map(InOrder);
                members.ok().map(Tree::Members)
            }
            Some(b'[') => serde_json::from_str(text).ok().map(Tree::Elements),
            Some(_) | None => None,
        };
        // A raw value is JSON, so it always comes apart.
        apart.unwrap_or(Tree::Leaf)
    }
}

struct InOrder;

impl<'de> Visitor<'de> for InOrder {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(members)
    }
}

/// Why a JSON Pointer leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamesNothing {
    /// It is no JSON Pointer: it is neither empty nor begins with `/`.
    NoPointer,
    /// It leads so far, and what follows is not there.
    Beyond {
        /// The pointer to the last value on the way.
        held: String,
        /// The step that it does not have.
        missing: String,
        /// The steps that it has.
        there: Vec<String>,
    },
}

/// The value that a JSON Pointer names, through objects and arrays; `""` names the whole.
///
/// ```
/// use recount_text::json::{Json, NamesNothing, value_at};
///
/// let whole = Json::parse(r#"{"calls":{"5":{"args":{"a/b":[1.00]}}}}"#)?;
/// let found = value_at(&whole, "/calls/5/args/a~1b/0").map(|it| it.to_string());
/// assert_eq!(found.as_deref(), Ok("1.00"));
/// let Err(NamesNothing::Beyond { held, there, .. }) = value_at(&whole, "/calls/7") else { unreachable!() };
/// assert_eq!((held.as_str(), there), ("/calls", vec!["5".to_owned()]));
/// # Ok::<(), recount_text::json::JsonProblem>(())
/// ```
///
/// # Errors
/// [`NamesNothing`], with what is there.
pub fn value_at(whole: &Json, pointer: &str) -> Result<Json, NamesNothing> {
    named(whole.raw(), pointer).map(Json::of_serialized)
}

fn named<'j>(whole: &'j RawValue, pointer: &str) -> Result<&'j RawValue, NamesNothing> {
    let Some(steps) = pointer.strip_prefix('/') else {
        return match pointer {
            "" => Ok(whole),
            _ => Err(NamesNothing::NoPointer),
        };
    };
    let (mut value, mut held) = (whole, String::new());
    for written in steps.split('/') {
        let step = written.replace("~1", "/").replace("~0", "~");
        let (found, there) = match Tree::of(value) {
            Tree::Members(members) => (
                members
                    .iter()
                    .find(|(name, _)| *name == step)
                    .map(|it| it.1),
                members.into_iter().map(|(name, _)| name).collect(),
            ),
            Tree::Elements(elements) => (
                step.parse()
                    .ok()
                    .and_then(|at: usize| elements.get(at).copied()),
                (0..elements.len()).map(|at| at.to_string()).collect(),
            ),
            Tree::Leaf => (None, Vec::new()),
        };
        let Some(found) = found else {
            return Err(NamesNothing::Beyond {
                held,
                missing: step,
                there,
            });
        };
        value = found;
        held.push('/');
        held.push_str(written);
    }
    Ok(value)
}

/// Something in which two values differ.
#[derive(Clone, Debug)]
pub struct Change {
    /// Where, as a JSON Pointer. Of effects that are owed, which have no order, it names the list.
    pub pointer: String,
    /// What stands in the one; none where it is only in the other.
    pub before: Option<Json>,
    /// What stands in the other.
    pub after: Option<Json>,
}

/// Everything in which two values differ, in the order of the first, then what only the second has.
///
/// ```
/// use recount_text::json::{Json, changes};
///
/// let before = Json::parse(r#"{"a":1,"b":{"c":2}}"#)?;
/// let after = Json::parse(r#"{"a":1,"b":{"c":3},"d":[]}"#)?;
/// let changed: Vec<String> = changes(&before, &after).into_iter().map(|it| it.pointer).collect();
/// assert_eq!(changed, ["/b/c", "/d"]);
/// # Ok::<(), recount_text::json::JsonProblem>(())
/// ```
pub fn changes(before: &Json, after: &Json) -> Vec<Change> {
    let mut changes = Vec::new();
    compare(String::new(), before.raw(), after.raw(), &mut changes);
    changes
}

fn compare(pointer: String, before: &RawValue, after: &RawValue, changes: &mut Vec<Change>) {
    if before.get() == after.get() {
        return;
    }
    let change = |pointer, before: Option<&RawValue>, after: Option<&RawValue>| Change {
        pointer,
        before: before.map(Json::of_serialized),
        after: after.map(Json::of_serialized),
    };
    match (Tree::of(before), Tree::of(after)) {
        (Tree::Members(one), Tree::Members(other)) => {
            let mut only_after: BTreeMap<&str, &RawValue> = other
                .iter()
                .map(|(name, it)| (name.as_str(), *it))
                .collect();
            for (name, before) in &one {
                let pointer = format!("{pointer}/{}", escaped(name));
                match only_after.remove(name.as_str()) {
                    Some(after) => compare(pointer, before, after, changes),
                    None => changes.push(change(pointer, Some(before), None)),
                }
            }
            let new = |(name, _): &&(String, _)| only_after.contains_key(name.as_str());
            for (name, after) in other.iter().filter(new) {
                let pointer = format!("{pointer}/{}", escaped(name));
                changes.push(change(pointer, None, Some(after)));
            }
        }
        (Tree::Elements(one), Tree::Elements(other)) if is_set(&one) && is_set(&other) => {
            let without =
                |all: &[&RawValue], it: &RawValue| !all.iter().any(|other| other.get() == it.get());
            for gone in one.iter().copied().filter(|it| without(&other, it)) {
                changes.push(change(pointer.clone(), Some(gone), None));
            }
            for new in other.iter().copied().filter(|it| without(&one, it)) {
                changes.push(change(pointer.clone(), None, Some(new)));
            }
        }
        (Tree::Members(_) | Tree::Elements(_) | Tree::Leaf, _) => {
            changes.push(change(pointer, Some(before), Some(after)));
        }
    }
}

/// Whether an array lists the effects that are owed, which have no order, and is no value of somebody else.
fn is_set(elements: &[&RawValue]) -> bool {
    elements
        .iter()
        .all(|it| it.get().starts_with("{\"effect\":"))
}

fn escaped(step: &str) -> String {
    step.replace('~', "~0").replace('/', "~1")
}
