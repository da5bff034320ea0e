//! The error kinds of refusals, as the model receives them.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// The `kind` of the response to a repeated call.
pub(crate) const PENDING: &str = "pending";

/// One of [`REFUSAL_KINDS`]. This is a named type because serde would borrow a bare `&str` from its
/// input.
pub(crate) type RefusalKind = &'static str;

/// All error kinds of refusals.
const REFUSAL_KINDS: [&str; 7] = [
    "not_found",
    "invalid_args",
    "not_available",
    "limit_reached",
    PENDING,
    "refused",
    "hook_failed",
];

pub(crate) fn refusal_kind<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<RefusalKind, D::Error> {
    let kind = String::deserialize(deserializer)?;
    let known = REFUSAL_KINDS.into_iter().find(|it| *it == kind);
    known.ok_or_else(|| D::Error::custom(format!("no refusal is of kind {kind:?}")))
}
