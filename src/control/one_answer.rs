//! The outcome of one of several answers that were sent together.

use serde::{Deserialize, Serialize};

use super::Refusal;
use super::reply::{OnRecord, Problem};
use crate::session::RequestId;

/// The outcome of one answer to `answer_many` or `deny_all`, as an item of the reply.
///
/// ```json
/// {"request":"7c6f…","done":{"session":"0199…","seq":21,"tool":"refund","by":{"name":"ada",
///  "authenticated_by":"token"}}}
/// {"request":"81d0…","refused":{"code":"already_answered","text":"…","session":"0199…"}}
/// {"request":"52ab…","error":{"code":"unknown_request","text":"…"}}
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OneAnswer {
    /// The request.
    pub request: RequestId,
    /// The outcome of its answer.
    #[serde(flatten)]
    pub outcome: OneOutcome,
}

/// The outcome of one of several answers.
#[expect(
    clippy::large_enum_variant,
    reason = "there is one at a time, on its way to the client"
)]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OneOutcome {
    /// The answer is recorded.
    Done(OnRecord),
    /// A rule rejected the answer.
    Refused(Refusal),
    /// The answer failed.
    Error(Problem),
}
