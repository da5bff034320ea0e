//! The differences between two JSON values.

use serde::Serialize;

use crate::replay::changes;
use crate::session::Json;

/// One place at which two JSON values differ.
///
/// ```
/// use recount::compare::Change;
/// use recount::session::Json;
///
/// let a = Json::parse(r#"{"order":7,"cents":4200}"#)?;
/// let b = Json::parse(r#"{ "cents": 4300, "order": 7 }"#)?;
/// let found = Change::between(&a, &b);
/// let [Change { at, a, b }] = found.as_slice() else { unreachable!() };
/// assert_eq!(at, "/cents");
/// assert_eq!([a, b].map(|it| it.as_ref().map(Json::as_str)), [Some("4200"), Some("4300")]);
/// # Ok::<(), recount::session::JsonProblem>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// A JSON Pointer.
    pub at: String,
    /// The value of the first one at this pointer, if it has one.
    pub a: Option<Json>,
    /// The value of the second one at this pointer, if it has one.
    pub b: Option<Json>,
}

impl Change {
    /// Returns each place at which two values differ. It descends as long as both have objects at a
    /// place. The order of keys and white space do not count. Numbers are compared as text, at any
    /// length.
    pub fn between(a: &Json, b: &Json) -> Vec<Change> {
        let changed = changes(&in_order(a), &in_order(b)).into_iter();
        let named = changed.map(|it| Change {
            at: it.pointer,
            a: it.before,
            b: it.after,
        });
        named.collect()
    }
}

/// The value in canonical order, as it is compared.
pub(super) fn in_order(value: &Json) -> Json {
    // Canonical JSON is valid JSON.
    Json::parse(&value.canonical()).unwrap_or_else(|_| value.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_numbers_are_compared_as_text() {
        let of = |digit: char| {
            let args = format!(r#"{{"order":12345678901234567890123456789{digit}}}"#);
            Json::parse(&args).unwrap_or_else(|_| Json::empty_object())
        };
        assert!(Change::between(&of('0'), &of('0')).is_empty());
        let found = Change::between(&of('0'), &of('1'));
        let places: Vec<&str> = found.iter().map(|it| it.at.as_str()).collect();
        assert_eq!(places, ["/order"]);
    }
}
