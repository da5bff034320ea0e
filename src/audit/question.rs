//! A confirmation request about a call, and its answer.

use serde::Serialize;

use super::moment;
use crate::ledger::HintBy;
use crate::session::{
    About, Actor, AllowFor, Finding, Json, ObjectHash, OnExpiry, RequestId, Seq, Timestamp,
};

/// A confirmation request about a call.
///
/// ```json
/// {"request":"7c6f…","seq":7,"about":"gate","hint":"Refund 42.00 EUR?","hint_by":"declaration",
///  "args":{"amount_cents":4200},"args_sha256":"44136f…",
///  "contract":"1b4f0e…","asked_at":"2026-11-20T14:03:07.112345Z","expires_at":null,
///  "end":"approved","ended_seq":9,
///  "ended_at":"2026-11-20T14:03:19.112345Z","waited_us":12000000,"by":{"name":"ada",
///  "authenticated_by":"os_user"},"approvals_needed":1,"approvals":[],
///  "reason":null,"payload":null,"edited_args":null,"found":null,"superseded_by":null,"refused":[]}
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Question {
    /// The request's id.
    #[serde(rename = "request")]
    pub id: RequestId,
    /// The seq of the request's record.
    pub seq: Seq,
    /// The subject of the request.
    pub about: About,
    /// The text that the approver saw beside the call.
    pub hint: Option<String>,
    /// The author of the hint.
    pub hint_by: HintBy,
    /// The arguments that the request binds: those of the call, or those that an earlier answer
    /// changed.
    pub args: Json,
    /// The SHA-256 hash of the argument text that the request binds.
    pub args_sha256: ObjectHash,
    /// The hash of the tool's contract that the request binds.
    pub contract: ObjectHash,
    /// The time of the request.
    #[serde(serialize_with = "moment::text")]
    pub asked_at: Timestamp,
    /// The time at which the request expires.
    #[serde(serialize_with = "moment::text_if_any")]
    pub expires_at: Option<Timestamp>,
    /// The effect of an expiry. Omitted if it counts as a no.
    #[serde(skip_serializing_if = "OnExpiry::is_deny")]
    pub on_expiry: OnExpiry,
    /// The end of the request.
    pub end: QuestionEnd,
    /// The seq of the record that ended it. `None` for an open request.
    pub ended_seq: Option<Seq>,
    /// The time of that record.
    #[serde(serialize_with = "moment::text_if_any")]
    pub ended_at: Option<Timestamp>,
    /// The waiting time, in microseconds. `None` for an open request.
    pub waited_us: Option<i64>,
    /// The actor who answered.
    pub by: Option<Actor>,
    /// The number of approvals that the request needs. 1 for most.
    pub approvals_needed: u32,
    /// The approvals before the answer that decided, in their order.
    pub approvals: Vec<EarlierApproval>,
    /// The approver's reason or, for a withdrawal, the reason of the withdrawal.
    pub reason: Option<String>,
    /// The value that the approver gave for the tool.
    pub payload: Option<Json>,
    /// The arguments that the approver wrote instead.
    pub edited_args: Option<Json>,
    /// The bound of the standing leave that the answer also gave. `None`, and omitted, for most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_for: Option<AllowFor>,
    /// The approver's finding about an interrupted run.
    pub found: Option<Finding>,
    /// The request that replaced this one, before or after an answer, because the tool had changed.
    pub superseded_by: Option<Seq>,
    /// The refused answers.
    pub refused: Vec<RefusedAnswer>,
}

/// An approval that did not decide its request alone.
///
/// ```json
/// {"seq":8,"at":"2026-11-20T14:03:10.112345Z","by":{"name":"ada","authenticated_by":"os_user"},
///  "reason":null,"payload":null,"edited_args":null}
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EarlierApproval {
    /// The seq of its `approval_given`.
    pub seq: Seq,
    /// The time of the approval.
    #[serde(serialize_with = "moment::text")]
    pub at: Timestamp,
    /// The actor who approved.
    pub by: Actor,
    /// The approver's reason.
    pub reason: Option<String>,
    /// The value that the approver gave for the tool.
    pub payload: Option<Json>,
    /// The arguments that the approver wrote instead.
    pub edited_args: Option<Json>,
    /// The bound of a standing leave, which each approval must give. `None`, and omitted, for most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_for: Option<AllowFor>,
}

/// The end of a confirmation request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionEnd {
    /// The request waits for an answer.
    Open,
    /// A person approved.
    Approved,
    /// A person denied.
    Denied,
    /// A person found that the interrupted run had taken effect.
    SettledAsDone,
    /// A person found that the interrupted run had not taken effect.
    SettledAsFailed,
    /// The request expired without an answer, which counts as a no.
    Expired,
    /// The request expired without an answer, and the call runs then. No person allowed it.
    AllowedUnanswered,
    /// The request was withdrawn because the call no longer needed it.
    Withdrawn,
    /// The tool changed before an answer, and another request replaced this one.
    Superseded,
}

/// An answer that was refused.
///
/// ```json
/// {"at":"2026-11-20T14:04:00.000000Z","refusal":"already_answered","by":{"name":"bob",
///  "authenticated_by":"token"},"last_recorded":false}
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RefusedAnswer {
    /// The time of the answer.
    #[serde(serialize_with = "moment::text")]
    pub at: Timestamp,
    /// The reason of the refusal, as the journal spells it.
    pub refusal: String,
    /// The actor who answered.
    pub by: Actor,
    /// True if further refused answers to this request are not recorded.
    pub last_recorded: bool,
}

impl QuestionEnd {
    /// The end of a request that expired.
    pub(super) fn of_expiry(goes_on: bool) -> QuestionEnd {
        match goes_on {
            true => QuestionEnd::AllowedUnanswered,
            false => QuestionEnd::Expired,
        }
    }

    /// Returns the name in JSON and on the command line.
    ///
    /// ```
    /// assert_eq!(recount::audit::QuestionEnd::SettledAsDone.as_str(), "settled_as_done");
    /// ```
    pub fn as_str(self) -> &'static str {
        match self {
            QuestionEnd::Open => "open",
            QuestionEnd::Approved => "approved",
            QuestionEnd::Denied => "denied",
            QuestionEnd::SettledAsDone => "settled_as_done",
            QuestionEnd::SettledAsFailed => "settled_as_failed",
            QuestionEnd::Expired => "expired",
            QuestionEnd::AllowedUnanswered => "allowed_unanswered",
            QuestionEnd::Withdrawn => "withdrawn",
            QuestionEnd::Superseded => "superseded",
        }
    }
}

impl Question {
    /// Ends an open request. Returns false for an ended one, because the first recorded end counts.
    pub(super) fn ends(&mut self, end: QuestionEnd, seq: Seq, at: Timestamp) -> bool {
        let was_open = self.end == QuestionEnd::Open;
        if was_open {
            self.end = end;
            self.ended_seq = Some(seq);
            self.ended_at = Some(at);
            self.waited_us = Some(at.0.saturating_sub(self.asked_at.0));
        }
        was_open
    }
}
