//! The kinds of error under which a model hears of a refusal.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// The `kind` of what a repeat is told.
pub(crate) const PENDING: &str = "pending";

/// A kind of [`REFUSAL_KINDS`]. Named, because serde would borrow a bare `&str` from what it reads.
pub(crate) type RefusalKind = &'static str;

/// The kinds of error under which a model hears of a refusal.
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
