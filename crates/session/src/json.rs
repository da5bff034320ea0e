//! JSON kept as text, re-exported from `recount-text` for this crate.

pub use recount_text::json::{DEPTH_MAX, Json, JsonProblem};
pub(crate) use recount_text::json::{check, escaped, levels, write_canonical};

/// The maximum nesting of a record's body: a JSON value and the object around it.
pub(crate) const BODY_DEPTH_MAX: usize = DEPTH_MAX + 1;

/// True if the value replaces a sealed one: `{"$sealed":"v1.…"}`.
pub(crate) fn is_sealed(json: &Json) -> bool {
    json.as_str().starts_with(r#"{"$sealed":"#)
}
