//! A call as a row of the audit.

use std::collections::BTreeMap;

use serde::Serialize;

use super::moment;
use super::question::Question;
use super::verdict::Verdict;
use crate::session::{
    About, Actor, CallId, FoundAs, Gates, Hook, Json, Leave, ObjectHash, Outcome, PauseScope, Rule,
    Seq, SessionId, Timestamp, Verdict as PolicyOutcome,
};

/// A call: who allowed it, its arguments and its outcome.
///
/// In JSON, times are spelled as in the records, durations are microseconds, and absent values are
/// `null`:
///
/// ```json
/// {"session":"0199…","agent":"support","external_id":"ticket-1001","labels":{"channel":"chat"},
///  "on_behalf_of":null,
///  "sealed":false,"call":5,"call_id":"5b1c…","call_hash":"9f86…","wire_id":"fc-1",
///  "called_at":"2026-11-20T14:03:07.112345Z",
///  "called_by":null,"tool":"refund","args":{"amount_cents":4200},"malformed_args":null,
///  "sealed_args":[],"flaw":null,"edited_args":null,
///  "verdict":"approved","policy":{"seq":6,"verdict":"ask","rule":"confirm","reason":null,
///  "policies":"60303a…","inputs":null},
///  "gates":{"enforced":true},"waived":null,"program":[],"questions":[…],
///  "runs":[{"seq":11,"attempt":1,"leave":"approved","request":7,"started_at":"…","ended_at":"…"}],
///  "ran_without_confirmation":false,"reused":null,"error_kind":null,"supplied_by":null,
///  "cancelled":null,
///  "ended":{"seq":13,"at":"…","outcome":"returned","of":12},"waits_as":null,"reconciled":null}
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AuditedCall {
    /// The session.
    pub session: SessionId,
    /// The agent that serves the session.
    pub agent: String,
    /// The id that the embedding program chose for the session.
    pub external_id: Option<String>,
    /// The session's labels.
    pub labels: BTreeMap<String, String>,
    /// The person or account for whom the agent acts.
    pub on_behalf_of: Option<String>,
    /// True if the session's records are sealed. Its key was available to the audit.
    pub sealed: bool,
    /// The seq of the record that received the call.
    #[serde(rename = "call")]
    pub seq: Seq,
    /// The call's id.
    #[serde(rename = "call_id")]
    pub id: CallId,
    /// The hash of that record, which the hash chain protects.
    #[serde(rename = "call_hash")]
    pub hash: ObjectHash,
    /// The call's id in the model's protocol.
    pub wire_id: Option<String>,
    /// The time at which the call was received.
    #[serde(serialize_with = "moment::text")]
    pub called_at: Timestamp,
    /// The program that made the call. `None` if a model did.
    pub called_by: Option<Actor>,
    /// The idempotency key of that program. `None`, and omitted, if it gave none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The agent's call whose model made this call. `None`, and omitted, if the conversation's
    /// model did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<Seq>,
    /// The tool. Empty if the model named none.
    pub tool: String,
    /// The arguments exactly as recorded. At the pointers in [`sealed_args`](Self::sealed_args),
    /// the value is `{"$sealed":"v1.…"}`.
    pub args: Option<Json>,
    /// The text of malformed arguments, as far as the journal kept it.
    pub malformed_args: Option<String>,
    /// The JSON Pointers of the secret arguments, which are sealed.
    pub sealed_args: Vec<String>,
    /// The fault of the arguments.
    pub flaw: Option<String>,
    /// The arguments with which the tool runs instead of [`args`](Self::args), if an approver
    /// changed them.
    pub edited_args: Option<Json>,
    /// The decision that allowed or prevented the run.
    pub verdict: Verdict,
    /// The verdict of the policies. `None` if the embedding program answered first, or if nothing
    /// was decided.
    pub policy: Option<PolicyVerdict>,
    /// The state of the confirmation gates when the policies decided, with the reason if they were
    /// not enforced.
    pub gates: Gates,
    /// The waiver of the call's gate, if it was not enforced.
    pub waived: Option<Waiver>,
    /// The standing leave that allowed the call. `None`, and omitted, if none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leave: Option<LeaveUse>,
    /// The answers of the embedding program's hooks about the call.
    pub program: Vec<ProgramWord>,
    /// The confirmation requests, in order.
    pub questions: Vec<Question>,
    /// The starts of the tool.
    pub runs: Vec<Run>,
    /// True if at least one start had no approval by a person.
    pub ran_without_confirmation: bool,
    /// The `tool_returned` of an earlier call, whose result this call reuses.
    pub reused: Option<Seq>,
    /// The kind of the last failure, as the model received it.
    pub error_kind: Option<String>,
    /// The actor who supplied the result from outside.
    pub supplied_by: Option<Actor>,
    /// The cancellation of the call.
    pub cancelled: Option<Cancellation>,
    /// The end of the call. `None` for an open call.
    pub ended: Option<End>,
    /// The name of an open call's phase.
    pub waits_as: Option<&'static str>,
    /// The later finding about an unknown outcome.
    pub reconciled: Option<Reconciliation>,
    /// The pauses that held the call before a start, oldest first. Omitted if none did.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<Held>,
}

/// A pause that held a call, from the recorded `paused`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Held {
    /// The seq of the record.
    pub seq: Seq,
    /// The calls that the pause held.
    pub scope: PauseScope,
    /// The actor that paused.
    pub by: Actor,
    /// The reason.
    pub reason: Option<String>,
}

/// The verdict of the policies, from the recorded `policy_decided`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PolicyVerdict {
    /// The seq of the record.
    pub seq: Seq,
    /// The verdict.
    pub verdict: PolicyOutcome,
    /// The rule that gave the verdict.
    pub rule: Rule,
    /// The reason, only for a refusal.
    pub reason: Option<String>,
    /// The hash of the policies. `recount show` prints the policies.
    pub policies: Option<ObjectHash>,
    /// The other inputs of the verdict: phase, state, uses, an earlier call.
    pub inputs: Option<Json>,
}

/// A gate that was not enforced, from the recorded `gate_waived`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Waiver {
    /// The seq of the record.
    pub seq: Seq,
    /// The reason of the waiver.
    pub reason: String,
    /// The request that expired without an answer. `None`, and omitted, for other waivers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unanswered: Option<Seq>,
}

/// The standing leave that allowed a call, from the recorded `leave_used`.
///
/// ```json
/// {"seq":19,"given":9,"by":[{"name":"ada","authenticated_by":"os_user"}],"use":3,"count":5,
///  "until":null}
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LeaveUse {
    /// The seq of the record.
    pub seq: Seq,
    /// The seq of the answer that gave the leave.
    pub given: Seq,
    /// The people who gave it.
    pub by: Vec<Actor>,
    /// The number of calls that it has allowed, including this one.
    #[serde(rename = "use")]
    pub nth: u32,
    /// The number of calls that it allows, if it is bound to a count.
    pub count: Option<u32>,
    /// The time at which it ends, if it is bound to a time.
    #[serde(serialize_with = "moment::text_if_any")]
    pub until: Option<Timestamp>,
}

/// The answer of an embedding program's hook about a call, from the recorded `hook_answered`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProgramWord {
    /// The seq of the record.
    pub seq: Seq,
    /// The time of the answer.
    #[serde(serialize_with = "moment::text")]
    pub at: Timestamp,
    /// The hook.
    pub hook: Hook,
    /// True if the hook answered the call in place of the tool.
    pub answered: bool,
    /// True if the hook requires a confirmation.
    pub gated: Option<bool>,
    /// The reason why the hook gave no answer.
    pub failure: Option<String>,
    /// The actor of the answer.
    pub by: Option<Actor>,
}

/// One start of a call's tool.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    /// The seq of the `call_started`.
    pub seq: Seq,
    /// The number of the start, from 1.
    pub attempt: u32,
    /// The permission for the start: `not_gated`, `waived`, `approved`, `standing` or `unanswered`.
    #[serde(serialize_with = "leave")]
    pub leave: Leave,
    /// The confirmation request whose approval, or expiry, is the permission.
    pub request: Option<Seq>,
    /// The client that ran it. `None`, and omitted, if the process that served the session did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claimed_by: Option<Actor>,
    /// The time of the start.
    #[serde(serialize_with = "moment::text")]
    pub started_at: Timestamp,
    /// The time of the end. `None` if no end is recorded, for example after a crash.
    #[serde(serialize_with = "moment::text_if_any")]
    pub ended_at: Option<Timestamp>,
}

/// The end of a call.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct End {
    /// The seq of the record.
    pub seq: Seq,
    /// The time of the end.
    #[serde(serialize_with = "moment::text")]
    pub at: Timestamp,
    /// The outcome.
    pub outcome: Outcome,
    /// The record that holds the result, if there is one.
    pub of: Option<Seq>,
}

/// The cancellation of a call.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cancellation {
    /// The time of the cancellation.
    #[serde(serialize_with = "moment::text")]
    pub at: Timestamp,
    /// The actor. `None` if the model cancelled the call or the session was closed.
    pub by: Option<Actor>,
    /// The reason.
    pub reason: Option<String>,
}

/// A finding about a call whose outcome was unknown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reconciliation {
    /// The seq of the `outcome_found`.
    pub seq: Seq,
    /// The time of the finding.
    #[serde(serialize_with = "moment::text")]
    pub at: Timestamp,
    /// The finding: whether the call took effect.
    pub found: FoundAs,
    /// The reason of a failure.
    pub reason: Option<String>,
    /// The actor of the finding.
    pub by: Actor,
}

impl AuditedCall {
    /// Returns the request about the call's gate that decided it, or else the last request.
    pub fn deciding_question(&self) -> Option<&Question> {
        let about_gate = |it: &&Question| it.about == About::Gate;
        let gate = self.questions.iter().rev().find(about_gate);
        gate.or(self.questions.last())
    }

    /// Returns the text of the recorded arguments, well-formed or not. Empty if there are none.
    pub fn args_text(&self) -> &str {
        match (&self.args, &self.malformed_args) {
            (Some(args), _) => args.as_str(),
            (None, malformed) => malformed.as_deref().unwrap_or_default(),
        }
    }

    /// Returns the actors of all decisions and events of the call, and of the pauses that held it.
    pub fn people(&self) -> impl Iterator<Item = &Actor> {
        let answers = self.questions.iter().flat_map(|it| {
            let earlier = it.approvals.iter().map(|it| &it.by);
            let refused = it.refused.iter().map(|it| &it.by);
            earlier.chain(&it.by).chain(refused)
        });
        let program = self.program.iter().filter_map(|it| it.by.as_ref());
        let leave = self.leave.iter().flat_map(|it| &it.by);
        let clients = self.runs.iter().filter_map(|it| it.claimed_by.as_ref());
        let held = self.held.iter().map(|it| &it.by);
        let cancelled = self.cancelled.iter().filter_map(|it| it.by.as_ref());
        let reconciled = self.reconciled.iter().map(|it| &it.by);
        let alone = [&self.called_by, &self.supplied_by].into_iter().flatten();
        answers
            .chain(program)
            .chain(leave)
            .chain(clients)
            .chain(held)
            .chain(cancelled)
            .chain(reconciled)
            .chain(alone)
    }

    /// Returns the times of all decisions and events of the call.
    pub fn moments(&self) -> impl Iterator<Item = Timestamp> {
        let questions = self.questions.iter().flat_map(|it| {
            let earlier = it.approvals.iter().map(|it| it.at);
            let refused = it.refused.iter().map(|it| it.at);
            std::iter::once(it.asked_at)
                .chain(earlier)
                .chain(it.ended_at)
                .chain(refused)
        });
        let runs = self.runs.iter();
        let runs = runs.flat_map(|it| std::iter::once(it.started_at).chain(it.ended_at));
        let rest = [
            Some(self.called_at),
            self.ended.as_ref().map(|it| it.at),
            self.cancelled.as_ref().map(|it| it.at),
            self.reconciled.as_ref().map(|it| it.at),
        ];
        let program = self.program.iter().map(|it| it.at);
        questions
            .chain(runs)
            .chain(program)
            .chain(rest.into_iter().flatten())
    }
}

fn leave<S: serde::Serializer>(leave: &Leave, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(match leave {
        Leave::NotGated => "not_gated",
        Leave::Waived => "waived",
        Leave::Approved(_) => "approved",
        Leave::Standing(_) => "standing",
        Leave::Unanswered(_) => "unanswered",
    })
}
