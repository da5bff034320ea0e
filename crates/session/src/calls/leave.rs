//! The permission under which a call may start.

use serde::{Deserialize, Serialize};

use crate::values::id::Seq;

/// The permission under which a call may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Leave {
    /// The tool has no gate.
    NotGated,
    /// The gate was waived.
    Waived,
    /// A person approved this request.
    Approved(Seq),
    /// A standing leave allows the call: the seq of the answer that gave it.
    Standing(Seq),
    /// This request expired without an answer, and its terms let the call run. No person allowed
    /// it.
    Unanswered(Seq),
}
