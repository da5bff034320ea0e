//! Approvals that do not decide a request alone.

use serde::{Deserialize, Serialize};

use super::answers::ConfirmationAnswered;
use super::standing::AllowFor;
use crate::json::Json;
use crate::values::actor::Actor;
use crate::values::id::Seq;

/// `approval_given`: a yes to a request that needs more of them.
///
/// The last yes that is needed is a `confirmation_answered`. So a reader that does not count
/// approvals never takes a part of them for leave.
///
/// ```json
/// {"request":7,"by":{"name":"ada","authenticated_by":"token","issuer":"https://login.example"}}
/// {"request":7,"payload":{"cost_centre":"4711"},"edited_args":{"cents":4000},
///  "by":{"name":"ada","authenticated_by":"os_user"}}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalGiven {
    /// The request.
    pub request: Seq,
    /// The reason, in the approver's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The payload for the tool. The other approvals must have the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Json>,
    /// The arguments that replace those of the call. The other approvals must have the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_args: Option<Json>,
    /// Unknown keys of the answer, as an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Json>,
    /// The bound of a standing leave. One is given only if every approval has a bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow_for: Option<AllowFor>,
    /// The approver.
    pub by: Actor,
}

impl ApprovalGiven {
    /// The same yes as an answer that may decide.
    #[doc(hidden)]
    #[must_use]
    pub fn as_answer(&self) -> ConfirmationAnswered {
        ConfirmationAnswered {
            request: self.request,
            confirmed: true,
            reason: self.reason.clone(),
            payload: self.payload.clone(),
            edited_args: self.edited_args.clone(),
            extra: self.extra.clone(),
            found: None,
            allow_for: self.allow_for,
            by: self.by.clone(),
        }
    }
}

impl From<ConfirmationAnswered> for ApprovalGiven {
    /// The answer must be a yes.
    fn from(it: ConfirmationAnswered) -> ApprovalGiven {
        ApprovalGiven {
            request: it.request,
            reason: it.reason,
            payload: it.payload,
            edited_args: it.edited_args,
            extra: it.extra,
            allow_for: it.allow_for,
            by: it.by,
        }
    }
}
