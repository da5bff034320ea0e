//! The places in which two states of a session differ.

use recount_text::json;
use serde_json::value::RawValue;

pub use recount_text::json::Change;

use crate::session::Json;

/// Everything in which two values differ, in the order of the first, then what only the second has.
/// A change of the effects that are owed, which have no order, names their list.
///
/// ```
/// use recount::replay::changes;
/// use recount::session::Json;
///
/// let before = Json::parse(r#"{"a":1,"b":{"c":2}}"#)?;
/// let after = Json::parse(r#"{"a":1,"b":{"c":3},"d":[]}"#)?;
/// let changed: Vec<String> = changes(&before, &after).into_iter().map(|it| it.pointer).collect();
/// assert_eq!(changed, ["/b/c", "/d"]);
/// # Ok::<(), recount::session::JsonProblem>(())
/// ```
pub fn changes(before: &Json, after: &Json) -> Vec<Change> {
    json::changes(before, after, &are_effects)
}

/// True of a list of the effects that are owed.
fn are_effects(elements: &[&RawValue]) -> bool {
    elements
        .iter()
        .all(|it| it.get().starts_with("{\"effect\":"))
}
