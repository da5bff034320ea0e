//! An open call as JSON, with its phase; a part of the [state](super::state_json).

use serde::Serialize;

use crate::session::{
    About, Actor, Asked, Call, CancelReason, Claim, ClaimState, Flaw, FunctionResponseScheduling,
    Json, Leave, OnExpiry, Phase, Seq, Timestamp, WaitsFor,
};

#[derive(Serialize)]
pub(super) struct CallView<'s> {
    tool: &'s str,
    args: &'s Json,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    sealed_args: &'s [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    wire_id: Option<&'s str>,
    epoch: Seq,
    phase: PhaseView<'s>,
    since_us: Timestamp,
    attempts: u32,
    /// The problem for which it is refused before a policy is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    flaw: Option<&'s str>,
    /// The reason of its cancellation. It ends at the next decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    cancel: Option<CancelReason>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    model_lost_interest: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    made_by_program: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    background: Option<FunctionResponseScheduling>,
    /// The yields that were not sent to the model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    yields: Vec<Seq>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    acknowledged: bool,
    /// The request about its gate that was confirmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    gate_passed: Option<Seq>,
    /// The program's verdict about its gate.
    #[serde(skip_serializing_if = "Option::is_none")]
    gate_verdict: Option<bool>,
    /// The open or last question of its tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    asked: Option<AskedView<'s>>,
    /// True if the tool asked in place: it keeps running while it waits.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    in_place: bool,
    /// The call of the agent whose model made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<Seq>,
    /// The last claim of a client on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    claim: Option<ClaimView<'s>>,
    /// The number of turns of the called agent's model. `awaits` are the open calls of the last
    /// turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    turns: Option<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    awaits: Vec<Seq>,
}

impl<'s> CallView<'s> {
    pub(super) fn of(call: &'s Call) -> CallView<'s> {
        let in_place = call.in_place().map(|it| &it.question);
        CallView {
            tool: &call.name,
            args: &call.args,
            sealed_args: &call.sealed_args,
            wire_id: call.wire_id.as_deref(),
            epoch: call.epoch,
            phase: PhaseView::of(&call.phase),
            since_us: call.since,
            attempts: call.attempts,
            flaw: call.flaw.as_ref().map(|flaw| match flaw {
                Flaw::MissingName => "it names no tool",
                Flaw::MalformedArgs(problem) | Flaw::InvalidArgs(problem) => problem,
                Flaw::BeyondMax(_) => "its message brought more calls than it may",
            }),
            cancel: call.cancel,
            model_lost_interest: call.model_lost_interest,
            made_by_program: call.made_by_program,
            background: call.background,
            yields: call.yields.iter().copied().collect(),
            acknowledged: call.acknowledged,
            gate_passed: call.gate_passed,
            gate_verdict: call.gate_verdict,
            asked: in_place.or(call.asked.as_deref()).map(AskedView::of),
            in_place: in_place.is_some(),
            parent: call.parent,
            claim: call.claim.as_deref().map(ClaimView::of),
            turns: call.agent.as_deref().map(|run| run.turns.len()),
            awaits: call.awaited().collect(),
        }
    }
}

#[derive(Serialize)]
struct ClaimView<'s> {
    claim: &'s str,
    attempt: u32,
    by: &'s Actor,
    until_us: Timestamp,
    /// `held`, `lapsed` or `done`.
    state: &'static str,
}

impl<'s> ClaimView<'s> {
    fn of(claim: &'s Claim) -> ClaimView<'s> {
        ClaimView {
            claim: &claim.claim,
            attempt: claim.attempt,
            by: &claim.by,
            until_us: claim.until,
            state: match claim.state {
                ClaimState::Held => "held",
                ClaimState::Lapsed => "lapsed",
                ClaimState::Done => "done",
            },
        }
    }
}

#[derive(Serialize)]
struct AskedView<'s> {
    at: Seq,
    hint: &'s str,
    #[serde(skip_serializing_if = "Option::is_none")]
    answered: Option<Seq>,
}

impl<'s> AskedView<'s> {
    fn of(asked: &'s Asked) -> AskedView<'s> {
        AskedView {
            at: asked.at,
            hint: &asked.hint,
            answered: asked.answered,
        }
    }
}

/// A phase by its name, with its fields.
#[derive(Default, Serialize)]
struct PhaseView<'s> {
    name: &'static str,
    waits_for: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<Seq>,
    #[serde(skip_serializing_if = "Option::is_none")]
    about: Option<About>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at_us: Option<Timestamp>,
    /// The effect of an expiry. Omitted if it counts as a denial.
    #[serde(skip_serializing_if = "OnExpiry::is_deny")]
    on_expiry: OnExpiry,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    expired: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    runner: Option<Seq>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline_us: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    due_us: Option<Timestamp>,
    /// `not_gated`, `waived`, `approved`, `standing` or `unanswered`.
    #[serde(skip_serializing_if = "Option::is_none")]
    leave: Option<&'static str>,
    /// The request that was approved.
    #[serde(skip_serializing_if = "Option::is_none")]
    approved: Option<Seq>,
    /// The answer that gave the standing leave.
    #[serde(skip_serializing_if = "Option::is_none")]
    given: Option<Seq>,
    /// The record that holds the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    of: Option<Seq>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    failed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'s str>,
}

impl<'s> PhaseView<'s> {
    fn of(phase: &'s Phase) -> PhaseView<'s> {
        let named = PhaseView {
            name: phase.name(),
            waits_for: waits_for(phase.waits_for()),
            ..PhaseView::default()
        };
        match phase {
            Phase::Received
            | Phase::AwaitingHook
            | Phase::AwaitingVerdict
            | Phase::Gated
            | Phase::Asking { .. }
            | Phase::Withdrawn => named,
            Phase::Refused { reason, kind: _ } => PhaseView {
                reason: Some(reason),
                ..named
            },
            Phase::AwaitingConfirmation {
                request,
                about,
                expires_at,
                on_expiry,
                expired,
                in_place: _,
            } => PhaseView {
                request: Some(*request),
                on_expiry: *on_expiry,
                about: Some(*about),
                expires_at_us: *expires_at,
                expired: *expired,
                ..named
            },
            Phase::Approved { request } | Phase::Unanswered { request } => PhaseView {
                request: Some(*request),
                ..named
            },
            Phase::Denied {
                about,
                reason,
                expired,
            } => PhaseView {
                about: Some(*about),
                reason: reason.as_deref(),
                expired: *expired,
                ..named
            },
            // Nothing is said of a call without a gate, as in every state shown before.
            Phase::Permitted {
                leave: Leave::NotGated,
            } => named,
            Phase::Permitted { leave }
            | Phase::Ready { leave }
            | Phase::AwaitingCalls { leave, .. }
            | Phase::InDoubt { leave }
            | Phase::TimedOut { again: leave } => named.by(*leave),
            Phase::Running {
                attempt,
                runner,
                deadline,
                leave,
                out_of_doubt: _,
            } => PhaseView {
                attempt: Some(*attempt),
                runner: Some(*runner),
                deadline_us: *deadline,
                ..named.by(*leave)
            },
            Phase::Paused { interim } => PhaseView {
                of: *interim,
                ..named
            },
            Phase::Returned { of, failed, again } => {
                let returned = PhaseView {
                    of: Some(*of),
                    failed: *failed,
                    ..named
                };
                match again {
                    Some(leave) => returned.by(*leave),
                    None => returned,
                }
            }
            Phase::Retrying {
                attempt,
                due,
                leave,
            } => PhaseView {
                attempt: Some(*attempt),
                due_us: Some(*due),
                ..named.by(*leave)
            },
            Phase::Supplied { of } => PhaseView {
                of: Some(*of),
                ..named
            },
            Phase::Found { of, failed } => PhaseView {
                of: Some(*of),
                failed: failed.is_some(),
                reason: failed.as_deref(),
                ..named
            },
        }
    }

    /// Adds the permission with which the call starts, or started.
    fn by(self, leave: Leave) -> PhaseView<'s> {
        let (leave, approved, given) = match leave {
            Leave::NotGated => ("not_gated", None, None),
            Leave::Waived => ("waived", None, None),
            Leave::Approved(request) => ("approved", Some(request), None),
            Leave::Standing(answer) => ("standing", None, Some(answer)),
            Leave::Unanswered(_) => ("unanswered", None, None),
        };
        PhaseView {
            leave: Some(leave),
            approved,
            given,
            ..self
        }
    }
}

fn waits_for(what: WaitsFor) -> &'static str {
    match what {
        WaitsFor::Nothing => "nothing",
        WaitsFor::Person => "person",
        WaitsFor::Response => "response",
        WaitsFor::Runner => "runner",
        WaitsFor::Tool => "tool",
        WaitsFor::Calls => "calls",
        WaitsFor::Hook => "hook",
        WaitsFor::Time => "time",
    }
}
