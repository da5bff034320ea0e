//! The effect of a confirmation request that no person answers in time.

use serde::{Deserialize, Serialize};

/// The effect of a confirmation request that no person answers in time.
///
/// It belongs to [`GateTerms::expires_after`](crate::GateTerms::expires_after). The request records
/// it, so that a later policy does not change the effect of an open request.
///
/// ```
/// use recount_session::OnExpiry;
/// assert_eq!(serde_json::to_string(&OnExpiry::Allow)?, r#""allow""#);
/// assert_eq!(OnExpiry::default(), OnExpiry::Deny);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(
    Clone, Copy, Debug, Default, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize,
)]
#[serde(rename_all = "snake_case")]
pub enum OnExpiry {
    /// The call counts as denied.
    #[default]
    Deny,
    /// The call runs although no person allowed it. `gate_waived` records that.
    ///
    /// The gate fails open: a call runs if every approver sleeps, and if no message reaches them.
    Allow,
}

impl OnExpiry {
    /// True if the call counts as denied.
    #[must_use]
    pub fn is_deny(&self) -> bool {
        match self {
            OnExpiry::Deny => true,
            OnExpiry::Allow => false,
        }
    }

    /// The choice of a gate that is merged from two gates: the call runs only if both allow it.
    pub(super) fn of_both(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (None, None) => None,
            (Some(OnExpiry::Allow), Some(OnExpiry::Allow)) => Some(OnExpiry::Allow),
            (Some(_) | None, Some(_) | None) => Some(OnExpiry::Deny),
        }
    }
}
