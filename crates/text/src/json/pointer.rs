//! JSON Pointers: their steps and their values.

use serde_json::value::RawValue;

use super::tree::Tree;
use super::value::Json;

/// Escapes a key for a JSON Pointer.
///
/// ```
/// use recount_text::json::{escaped, unescaped};
/// assert_eq!(escaped("a/b~1"), "a~1b~01");
/// assert_eq!(unescaped("a~1b~01"), "a/b~1");
/// ```
pub fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// Unescapes a step of a JSON Pointer.
pub fn unescaped(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

/// Returns the keys along a JSON Pointer.
pub fn steps(pointer: &str) -> impl Iterator<Item = String> {
    pointer.split('/').skip(1).map(unescaped)
}

/// True if the first JSON Pointer is equal to the second or extends it.
///
/// ```
/// use recount_text::json::is_within;
/// assert!(is_within("/card/number", "/card") && is_within("/card", ""));
/// assert!(!is_within("/cards", "/card"));
/// ```
pub fn is_within(inner: &str, outer: &str) -> bool {
    inner
        .strip_prefix(outer)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The reason why a JSON Pointer names no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamesNothing {
    /// The text is not a JSON Pointer: it is neither empty nor begins with `/`.
    NoPointer,
    /// The pointer's path ends early.
    Beyond {
        /// The pointer to the last existing value.
        held: String,
        /// The missing step.
        missing: String,
        /// The existing steps from that value.
        there: Vec<String>,
    },
}

/// Returns the value at a JSON Pointer through objects and arrays; `""` is the whole value.
///
/// ```
/// use recount_text::json::{Json, NamesNothing, value_at};
///
/// let whole = Json::parse(r#"{"calls":{"5":{"args":{"a/b":[1.00]}}}}"#)?;
/// let found = value_at(&whole, "/calls/5/args/a~1b/0").map(|it| it.to_string());
/// assert_eq!(found.as_deref(), Ok("1.00"));
/// let Err(NamesNothing::Beyond { held, there, .. }) = value_at(&whole, "/calls/7") else {
///     unreachable!()
/// };
/// assert_eq!((held.as_str(), there), ("/calls", vec!["5".to_owned()]));
/// # Ok::<(), recount_text::json::JsonProblem>(())
/// ```
///
/// # Errors
/// [`NamesNothing`], with the existing steps.
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
        let step = unescaped(written);
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
