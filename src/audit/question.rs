//! A question to a person about a call, and what became of it.

use serde::Serialize;

use super::moment;
use crate::ledger::HintBy;
use crate::session::{About, Actor, Finding, Json, ObjectHash, RequestId, Seq, Timestamp};

/// A question that was put to a person about a call.
///
/// ```json
/// {"request":"7c6f…","seq":7,"about":"gate","hint":"Refund 42.00 EUR?","hint_by":"declaration",
///  "args":{"amount_cents":4200},"args_sha256":"44136f…",
///  "contract":"1b4f0e…","asked_at":"2026-11-20T14:03:07.112345Z","expires_at":null,"end":"approved","ended_seq":9,
///  "ended_at":"2026-11-20T14:03:19.112345Z","waited_us":12000000,"by":{"name":"ada","authenticated_by":"os_user"},
///  "reason":null,"payload":null,"edited_args":null,"found":null,"superseded_by":null,"refused":[]}
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Question {
    /// Its name outside.
    #[serde(rename = "request")]
    pub id: RequestId,
    /// Its record.
    pub seq: Seq,
    /// What was asked.
    pub about: About,
    /// What the person was shown beside the call.
    pub hint: Option<String>,
    /// Who wrote that.
    pub hint_by: HintBy,
    /// The arguments that it was about: those of the call, or as an earlier answer changed them.
    pub args: Json,
    /// SHA-256 of the argument text that it was about.
    pub args_sha256: ObjectHash,
    /// The tool's contract that it was about.
    pub contract: ObjectHash,
    /// When it was put.
    #[serde(serialize_with = "moment::text")]
    pub asked_at: Timestamp,
    /// When silence was to become a no.
    #[serde(serialize_with = "moment::text_if_any")]
    pub expires_at: Option<Timestamp>,
    /// What became of it.
    pub end: QuestionEnd,
    /// The record that says so; none while it is open.
    pub ended_seq: Option<Seq>,
    /// When that was recorded.
    #[serde(serialize_with = "moment::text_if_any")]
    pub ended_at: Option<Timestamp>,
    /// How long it waited, in microseconds; none while it is open.
    pub waited_us: Option<i64>,
    /// Who answered.
    pub by: Option<Actor>,
    /// Why, in the person's words; of a withdrawal, why it was withdrawn.
    pub reason: Option<String>,
    /// What the person gave for the tool.
    pub payload: Option<Json>,
    /// The arguments as the person changed them.
    pub edited_args: Option<Json>,
    /// What the person found out about a run that was cut off.
    pub found: Option<Finding>,
    /// The question that took its place because the tool had changed, before or after an answer.
    pub superseded_by: Option<Seq>,
    /// The answers to it that did not count.
    pub refused: Vec<RefusedAnswer>,
}

/// What became of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionEnd {
    /// It waits for an answer.
    Open,
    /// A person said yes.
    Approved,
    /// A person said no.
    Denied,
    /// A person found out that the run which was cut off had taken effect.
    SettledAsDone,
    /// A person found out that it had not.
    SettledAsFailed,
    /// Nobody answered in time, which is a no.
    Expired,
    /// It had become pointless.
    Withdrawn,
    /// The tool changed, and another question took its place before anybody answered.
    Superseded,
}

/// An answer that did not count.
///
/// ```json
/// {"at":"2026-11-20T14:04:00.000000Z","refusal":"already_answered","by":{"name":"bob","authenticated_by":"token"},"last_recorded":false}
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RefusedAnswer {
    /// When it came.
    #[serde(serialize_with = "moment::text")]
    pub at: Timestamp,
    /// Why it did not count, as the journal spells it.
    pub refusal: String,
    /// Who gave it.
    pub by: Actor,
    /// Further ones to the same question are not on record.
    pub last_recorded: bool,
}

impl QuestionEnd {
    /// As JSON and the command line spell it.
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
            QuestionEnd::Withdrawn => "withdrawn",
            QuestionEnd::Superseded => "superseded",
        }
    }
}

impl Question {
    /// It ends, once: what is on record first counts.
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
