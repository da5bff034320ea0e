//! The differences between two JSON values.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::pointer::escaped;
use super::tree::Tree;
use super::value::Json;

/// A difference between two values.
#[derive(Clone, Debug)]
pub struct Change {
    /// The place as a JSON Pointer. For an element of a set, the pointer of the list.
    pub pointer: String,
    /// The first value's content. `None` if only the second value has the place.
    pub before: Option<Json>,
    /// The second value's content. `None` if only the first value has the place.
    pub after: Option<Json>,
}

/// Returns the differences in the order of the first value, then the additions of the second. The
/// order of elements in a set is ignored.
///
/// ```
/// use recount_text::json::{Json, changes};
///
/// let before = Json::parse(r#"{"a":[1,2],"b":{"c":2}}"#)?;
/// let after = Json::parse(r#"{"a":[2,1],"b":{"c":3},"d":[]}"#)?;
/// let changed = |is_set| -> Vec<String> {
///     changes(&before, &after, &|_| is_set).into_iter().map(|it| it.pointer).collect()
/// };
/// assert_eq!(changed(false), ["/a", "/b/c", "/d"]);
/// assert_eq!(changed(true), ["/b/c", "/d"]);
/// # Ok::<(), recount_text::json::JsonProblem>(())
/// ```
pub fn changes(before: &Json, after: &Json, is_set: &IsSet<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    let raw = (before.raw(), after.raw());
    compare(String::new(), raw, is_set, &mut changes);
    changes
}

/// A function that returns true if a list is a set.
pub type IsSet<'s> = dyn Fn(&[&RawValue]) -> bool + 's;

fn compare(
    pointer: String,
    (before, after): (&RawValue, &RawValue),
    is_set: &IsSet<'_>,
    changes: &mut Vec<Change>,
) {
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
                    Some(after) => compare(pointer, (before, after), is_set, changes),
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
