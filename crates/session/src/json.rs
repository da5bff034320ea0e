//! JSON kept as text, by the names that the core has for it.

pub use recount_text::json::{DEPTH_MAX, Json, JsonProblem};
pub(crate) use recount_text::json::{check, escaped, levels, write_canonical};

/// The levels of a record's body: those of a JSON value that stands in it, and the object around
/// that.
pub(crate) const BODY_DEPTH_MAX: usize = DEPTH_MAX + 1;

/// True of the value that stands in place of a sealed one: `{"$sealed":"v1.…"}`.
pub(crate) fn is_sealed(json: &Json) -> bool {
    json.as_str().starts_with(r#"{"$sealed":"#)
}
