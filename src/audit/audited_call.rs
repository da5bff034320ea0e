//! A call as an auditor asks about it: one row.

use std::collections::BTreeMap;

use serde::Serialize;

use super::moment;
use super::question::Question;
use super::verdict::Verdict;
use crate::session::{
    About, Actor, CallId, FoundAs, Gates, Hook, Json, Leave, ObjectHash, Outcome, Rule, Seq,
    SessionId, Timestamp, Verdict as PolicySaid,
};

/// A call: by whom it was allowed, on which arguments, and what became of it.
///
/// Times in JSON are spelled as in the records, durations are microseconds, absent things are
/// `null`:
///
/// ```json
/// {"session":"0199…","agent":"support","external_id":"ticket-1001","labels":{"channel":"chat"},"on_behalf_of":null,
///  "sealed":false,"call":5,"call_id":"5b1c…","call_hash":"9f86…","wire_id":"fc-1","called_at":"2026-11-20T14:03:07.112345Z",
///  "called_by":null,"tool":"refund","args":{"amount_cents":4200},"malformed_args":null,"sealed_args":[],"flaw":null,"edited_args":null,
///  "verdict":"approved","policy":{"seq":6,"verdict":"ask","rule":"confirm","reason":null,"policies":"60303a…","inputs":null},
///  "gates":{"enforced":true},"waived":null,"program":[],"questions":[…],
///  "runs":[{"seq":11,"attempt":1,"leave":"approved","request":7,"started_at":"…","ended_at":"…"}],
///  "ran_without_confirmation":false,"reused":null,"error_kind":null,"supplied_by":null,"cancelled":null,
///  "ended":{"seq":13,"at":"…","outcome":"returned","of":12},"waits_as":null,"reconciled":null}
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AuditedCall {
    /// The session.
    pub session: SessionId,
    /// The agent that serves it.
    pub agent: String,
    /// The embedding program's own name for the session.
    pub external_id: Option<String>,
    /// The session's labels.
    pub labels: BTreeMap<String, String>,
    /// The one for whom the agent acts.
    pub on_behalf_of: Option<String>,
    /// The session is sealed on record; its key was here.
    pub sealed: bool,
    /// The record that received the call, which is its name in the session.
    #[serde(rename = "call")]
    pub seq: Seq,
    /// Its name outside.
    #[serde(rename = "call_id")]
    pub id: CallId,
    /// The hash of that record, which the chain vouches for.
    #[serde(rename = "call_hash")]
    pub hash: ObjectHash,
    /// Its id on the wire.
    pub wire_id: Option<String>,
    /// When it was received.
    #[serde(serialize_with = "moment::text")]
    pub called_at: Timestamp,
    /// The program that made it itself; none where the model did.
    pub called_by: Option<Actor>,
    /// The call of the agent whose model made it; none, and left out, where that of the
    /// conversation did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<Seq>,
    /// The tool; empty where the model named none.
    pub tool: String,
    /// The arguments exactly as they are on record; under [`sealed_args`](Self::sealed_args) stands
    /// `{"$sealed":"v1.…"}`.
    pub args: Option<Json>,
    /// What came instead of arguments that can be kept, as far as the journal kept it.
    pub malformed_args: Option<String>,
    /// The JSON Pointers of the arguments that are secret, and sealed.
    pub sealed_args: Vec<String>,
    /// What was wrong with the arguments.
    pub flaw: Option<String>,
    /// The arguments with which it runs in place of [`args`](Self::args), because a person changed
    /// them.
    pub edited_args: Option<Json>,
    /// By what it was let run, or kept from it.
    pub verdict: Verdict,
    /// What the policies said; none where the embedding program answered before, or nothing was
    /// decided.
    pub policy: Option<PolicyVerdict>,
    /// Whether confirmation gates held when the policies spoke, and why not.
    pub gates: Gates,
    /// Its gate did not hold.
    pub waived: Option<Waiver>,
    /// What the embedding program's own code said of the call.
    pub program: Vec<ProgramWord>,
    /// What people were asked, in that order.
    pub questions: Vec<Question>,
    /// How often, when and by what leave it ran.
    pub runs: Vec<Run>,
    /// It ran at least once without a person's yes.
    pub ran_without_confirmation: bool,
    /// The `tool_returned` of an earlier call, whose result is this one's, too.
    pub reused: Option<Seq>,
    /// The kind of its last failure, as the model heard it.
    pub error_kind: Option<String>,
    /// Who gave its result, where that came from outside.
    pub supplied_by: Option<Actor>,
    /// Somebody took it back.
    pub cancelled: Option<Cancellation>,
    /// How it ended; none while it goes on.
    pub ended: Option<End>,
    /// As what it waits while it goes on: the name of its phase.
    pub waits_as: Option<&'static str>,
    /// What was found out later, where its outcome was unknown.
    pub reconciled: Option<Reconciliation>,
}

/// What the policies said: the `policy_decided` on record.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PolicyVerdict {
    /// Its record.
    pub seq: Seq,
    /// What they said.
    pub verdict: PolicySaid,
    /// Which rule said it.
    pub rule: Rule,
    /// Why; only of a refusal.
    pub reason: Option<String>,
    /// The policies that were asked; `recount show` prints what stands behind the hash.
    pub policies: Option<ObjectHash>,
    /// What else it depended on: phase, state, uses, an earlier call.
    pub inputs: Option<Json>,
}

/// A gate that did not hold: the `gate_waived` on record.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Waiver {
    /// Its record.
    pub seq: Seq,
    /// Why the gate did not hold.
    pub reason: String,
}

/// What the embedding program's own code said of a call: the `hook_answered` on record.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProgramWord {
    /// Its record.
    pub seq: Seq,
    /// When.
    #[serde(serialize_with = "moment::text")]
    pub at: Timestamp,
    /// Which hook.
    pub hook: Hook,
    /// It answered the call in the tool's place.
    pub answered: bool,
    /// Whether a person was to be asked.
    pub gated: Option<bool>,
    /// Why it said nothing.
    pub failure: Option<String>,
    /// Who answered.
    pub by: Option<Actor>,
}

/// One start of a call.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    /// Its `call_started`.
    pub seq: Seq,
    /// Which start it was, from 1.
    pub attempt: u32,
    /// By what leave: `not_gated`, `waived` or `approved`.
    #[serde(serialize_with = "leave")]
    pub leave: Leave,
    /// The question whose yes that was.
    pub request: Option<Seq>,
    /// When it started.
    #[serde(serialize_with = "moment::text")]
    pub started_at: Timestamp,
    /// When it ended, as far as that is on record; a run that was cut off has no end.
    #[serde(serialize_with = "moment::text_if_any")]
    pub ended_at: Option<Timestamp>,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct End {
    /// The record that says so.
    pub seq: Seq,
    /// When.
    #[serde(serialize_with = "moment::text")]
    pub at: Timestamp,
    /// How.
    pub outcome: Outcome,
    /// The record that holds the result, where there is one.
    pub of: Option<Seq>,
}

/// Somebody took a call back.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cancellation {
    /// When.
    #[serde(serialize_with = "moment::text")]
    pub at: Timestamp,
    /// Who; none where it was the model, or the session was closed.
    pub by: Option<Actor>,
    /// Why.
    pub reason: Option<String>,
}

/// What was found out about a call whose outcome was unknown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reconciliation {
    /// The `outcome_found`.
    pub seq: Seq,
    /// When.
    #[serde(serialize_with = "moment::text")]
    pub at: Timestamp,
    /// Whether it took effect.
    pub found: FoundAs,
    /// Why it failed.
    pub reason: Option<String>,
    /// Who found out.
    pub by: Actor,
}

impl AuditedCall {
    /// The question whose answer was the word about its gate, or else the last one.
    pub fn deciding_question(&self) -> Option<&Question> {
        let about_gate = |it: &&Question| it.about == About::Gate;
        let gate = self.questions.iter().rev().find(about_gate);
        gate.or(self.questions.last())
    }

    /// The text of the arguments as they are on record, well-formed or not; empty where none came.
    pub fn args_text(&self) -> &str {
        match (&self.args, &self.malformed_args) {
            (Some(args), _) => args.as_str(),
            (None, malformed) => malformed.as_deref().unwrap_or_default(),
        }
    }

    /// Everybody who said or did something about it, by name.
    pub fn people(&self) -> impl Iterator<Item = &Actor> {
        let questions = self.questions.iter();
        let answers =
            questions.flat_map(|it| it.by.iter().chain(it.refused.iter().map(|it| &it.by)));
        let program = self.program.iter().filter_map(|it| it.by.as_ref());
        let cancelled = self.cancelled.iter().filter_map(|it| it.by.as_ref());
        let reconciled = self.reconciled.iter().map(|it| &it.by);
        let alone = [&self.called_by, &self.supplied_by].into_iter().flatten();
        answers
            .chain(program)
            .chain(cancelled)
            .chain(reconciled)
            .chain(alone)
    }

    /// When something was decided about it or happened to it.
    pub fn moments(&self) -> impl Iterator<Item = Timestamp> {
        let questions = self.questions.iter().flat_map(|it| {
            let refused = it.refused.iter().map(|it| it.at);
            std::iter::once(it.asked_at)
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
    })
}
