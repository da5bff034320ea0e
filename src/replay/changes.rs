//! The places in which two states of a session differ.

use recount_text::json;
use serde_json::value::RawValue;

pub use recount_text::json::Change;

use crate::session::Json;

/// Returns the differences between two values, in the order of the first, then additions of the
/// second. A change among the owed effects, which have no order, names the whole list.
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

/// True for a list of owed effects.
fn are_effects(elements: &[&RawValue]) -> bool {
    elements
        .iter()
        .all(|it| it.get().starts_with("{\"effect\":"))
}
