//! The life of one call, as a state machine.
//!
//! ```text
//! Received ─┬─▶ Refused ──────────────────────────────────────────────────────────────┐
//!           ├─▶ Permitted ─▶ Ready ─▶ Running ─┬─▶ Returned ──────────────────────────┤
//!           └─▶ Gated ─▶ AwaitingConfirmation  ├─▶ TimedOut ──────────────────────────┤
//!                          │   │   │           ├─▶ Paused ─▶ Supplied ────────────────┼─▶ settled
//!                          │   │   └─▶ Denied  └─▶ InDoubt ─▶ Running, asked, unknown │
//!                          │   │         └────────────────────────────────────────────┤
//!                          │   └─▶ Approved ─▶ Ready ─▶ result of an earlier call ────┤
//!                          └─▶ Withdrawn ─────────────────────────────────────────────┘
//! ```
//!
//! Transitions that the picture leaves out:
//!
//! * A tool that asks a question itself goes from `Running` to `Asking` and then to
//!   `AwaitingConfirmation`. If it waits for the answer inside its run, the call returns to
//!   `Running`.
//! * A request whose terms let an unanswered call run goes to `Unanswered` and `Permitted`.
//! * A gate that the embedding program decides is `AwaitingVerdict` before `Gated` or `Permitted`.
//! * With a hook for calls (`on_tool_call`), a call starts in `AwaitingHook`. From there it goes to
//!   `Received`, `Supplied`, `Refused` or `InDoubt`.
//! * A person who is asked about a call in doubt may state its outcome: `Found`.
//! * A failed or timed-out run may be repeated: `Retrying ─▶ InDoubt ─▶ Running`.
//! * A tool that is an agent alternates between `Running` and `AwaitingCalls`, one turn after
//!   another.
//! * A cancelled call keeps its phase, has `cancel` set, and ends at the next decision.
//!
//! `docs/phases-of-a-call.md` lists every transition. `tests/transitions.rs` generates it from the
//! rules if `RECOUNT_WRITE_DOCS=1` is set, and compares it otherwise.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::calls::agent_run::AgentRun;
use crate::calls::claim::{Claim, ClaimState};
pub use crate::calls::leave::Leave;
use crate::calls::refusal_kinds::{RefusalKind, refusal_kind};
use crate::json::Json;
use crate::policies::policy::OnExpiry;
use crate::record::decision::{About, CancelReason};
use crate::record::observation::ToolAsked;
use crate::values::actor::Actor;
use crate::values::id::Seq;
use crate::values::object::ObjectHash;
use crate::values::scheduling::FunctionResponseScheduling;
use crate::values::time::Timestamp;

/// A call that has not ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// The connection that delivered the call.
    pub epoch: Seq,
    /// The call's id on the wire.
    pub wire_id: Option<String>,
    /// The tool's name. Empty if the model named none.
    pub name: String,
    /// The arguments, exactly as recorded.
    pub args: Json,
    /// The JSON Pointers to sealed arguments.
    pub sealed_args: Vec<String>,
    /// The defect of the call that is known before any policy is asked.
    pub flaw: Option<Flaw>,
    /// The phase of the call.
    pub phase: Phase,
    /// The time since which the call waits: when it was received, asked about, or paused.
    pub since: Timestamp,
    /// The beginning of the wait for a person or a result. Removed once the time for which the wait
    /// is not acknowledged has passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unacknowledged_since: Option<Timestamp>,
    /// The number of starts of the tool.
    pub attempts: u32,
    /// The contract that a person was asked about, for a start of the tool.
    pub contract: Option<ObjectHash>,
    /// The gate's request that was approved under that contract. A rerun after doubt gets the
    /// payload of this answer, too.
    pub gate_passed: Option<Seq>,
    /// Set once the call is cancelled. The call ends at the next decision.
    pub cancel: Option<CancelReason>,
    /// The `operator_cancelled` record that contains the response for the model.
    pub cancelled_in: Option<Seq>,
    /// True if the model cancelled the call, or the agent's call that made it. The call stays open
    /// if it waits for a person or a result. An open request shows it.
    pub model_lost_interest: bool,
    /// True if a program made the call. The program gets the response, and no connection delivered
    /// the call.
    pub made_by_program: bool,
    /// The actor that made the call, if a program made it, or an agent that a program called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requester: Option<Actor>,
    /// The key under which calls share results, if the tool's policy allows it.
    pub cache_key: Option<ObjectHash>,
    /// The key that identifies repeats of this call while it is open, if the tool's policy answers
    /// them.
    pub repeat_key: Option<ObjectHash>,
    /// The scheduling of the result, if the call runs in the background.
    pub background: Option<FunctionResponseScheduling>,
    /// Results for which no response was issued yet, oldest first: `tool_yielded` records, and
    /// `response_supplied` records with `will_continue`.
    pub yields: VecDeque<Seq>,
    /// True if a response was issued for the call before its end.
    pub told_meanwhile: bool,
    /// True if the model was told that the call waits.
    pub acknowledged: bool,
    /// The last question of the tool, and the answer with which the tool continues.
    pub asked: Option<Box<Asked>>,
    /// The program's verdict on the gate, if it was asked.
    pub gate_verdict: Option<bool>,
    /// An open request that became pointless, with the reason. The next decision withdraws it.
    pub moot: Option<(Seq, CancelReason)>,
    /// The scheduling that the result itself asks for.
    pub own_scheduling: Option<FunctionResponseScheduling>,
    /// The call of the agent that made this call. That agent gets the response.
    pub parent: Option<Seq>,
    /// The progress of the run, if the tool is an agent and was started.
    pub agent: Option<Box<AgentRun>>,
    /// The last claim of a client on the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Box<Claim>>,
    /// The number of starts that clients gave back before they began.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub given_back: u32,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// A question that a tool asks itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// The `tool_asked` record.
    pub at: Seq,
    /// The question shown to the person.
    pub hint: String,
    /// The JSON Schema for the payload of an approval.
    pub payload_schema: Option<Json>,
    /// The time after which the request expires, which counts as a denial, in milliseconds.
    pub expires_after_ms: Option<u64>,
    /// The request that was approved. The next start continues from the state recorded in `at`.
    pub answered: Option<Seq>,
}

impl Asked {
    pub(crate) fn of(at: Seq, it: &ToolAsked) -> Asked {
        Asked {
            at,
            hint: it.hint.clone(),
            payload_schema: it.payload_schema.clone(),
            expires_after_ms: it.expires_after_ms,
            answered: None,
        }
    }
}

/// A run that waits for the answer to its question, with what it needs to continue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InPlace {
    /// The question.
    pub question: Asked,
    /// The number of the start.
    pub attempt: u32,
    /// The runner that runs the tool.
    pub runner: Seq,
    /// The permission under which the run started.
    pub leave: Leave,
    /// True if the run started from `InDoubt`.
    pub out_of_doubt: bool,
    /// The rest of the time limit, in microseconds. Time spent waiting does not count.
    pub time_left_us: Option<i64>,
}

impl Call {
    /// True if a run of the tool has not ended. Unlike [`Phase::is_running`], also true if the run
    /// waits for an answer inside it.
    pub fn runs(&self) -> bool {
        self.run().is_some()
    }

    /// True if a run of the tool takes one of the process's slots. A run at a client takes none.
    pub fn takes_slot(&self) -> bool {
        self.runs() && self.held_claim().is_none()
    }

    /// The claim of the client that runs the call, or is about to.
    pub fn held_claim(&self) -> Option<&Claim> {
        let claim = self.claim.as_deref();
        claim.filter(|it| it.state == ClaimState::Held)
    }

    pub(crate) fn set_claim_state(&mut self, state: ClaimState) {
        if let Some(claim) = self.claim.as_deref_mut() {
            claim.state = state;
        }
    }

    /// The number of starts whose tool may have begun to run.
    pub(crate) fn begun(&self) -> u32 {
        self.attempts.saturating_sub(self.given_back)
    }

    pub(crate) fn run_of_agent(&mut self) -> Option<&mut AgentRun> {
        self.agent.as_deref_mut()
    }

    /// The calls that this call's agent has made and that have not ended.
    pub fn awaited(&self) -> impl Iterator<Item = Seq> + '_ {
        let last = self.agent.as_deref().and_then(|run| run.turns.last());
        let made = last.into_iter().flat_map(|turn| &turn.calls);
        made.filter(|it| it.ended.is_none()).map(|it| it.call)
    }

    /// True if no connection delivered the call, so that no model of a conversation gets its
    /// response.
    pub(crate) fn made_inside(&self) -> bool {
        self.made_by_program || self.parent.is_some()
    }

    /// The number of the current start, and the runner that runs it.
    pub(crate) fn run(&self) -> Option<(u32, Seq)> {
        if let Phase::Running {
            attempt, runner, ..
        } = self.phase
        {
            return Some((attempt, runner));
        }
        let waits = self.in_place()?;
        Some((waits.attempt, waits.runner))
    }

    /// The run that waits for an answer inside it.
    pub fn in_place(&self) -> Option<&InPlace> {
        if let Phase::Asking { in_place } | Phase::AwaitingConfirmation { in_place, .. } =
            &self.phase
        {
            in_place.as_deref()
        } else {
            None
        }
    }

    pub(crate) fn take_in_place(&mut self) -> Option<Box<InPlace>> {
        if let Phase::Asking { in_place } | Phase::AwaitingConfirmation { in_place, .. } =
            &mut self.phase
        {
            in_place.take()
        } else {
            None
        }
    }
}

/// A defect of a call that is known before any policy is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Flaw {
    /// The call names no tool.
    MissingName,
    /// The arguments are not one well-formed JSON object.
    MalformedArgs(String),
    /// The arguments do not fit the schema.
    InvalidArgs(String),
    /// The message contained more calls than this limit, and this call is beyond it.
    BeyondMax(u32),
}

/// The phase of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    /// No policy was asked yet.
    Received,
    /// The embedding program's hook sees the call first.
    AwaitingHook,
    /// The policies refused the call, and the model is to be told why.
    Refused {
        /// The reason for the model.
        reason: String,
        /// The `kind` of the error.
        #[serde(deserialize_with = "refusal_kind")]
        kind: RefusalKind,
    },
    /// The embedding program decides whether a person is asked.
    AwaitingVerdict,
    /// The policies require that a person is asked.
    Gated,
    /// The tool itself wants a person to be asked.
    Asking {
        /// The run, if it waits for the answer.
        in_place: Option<Box<InPlace>>,
    },
    /// A person is asked.
    AwaitingConfirmation {
        /// The confirmation request.
        request: Seq,
        /// The subject of the request.
        about: About,
        /// The time at which the request expires.
        expires_at: Option<Timestamp>,
        /// The effect of an expiry, as the request records it.
        #[serde(default, skip_serializing_if = "OnExpiry::is_deny")]
        on_expiry: OnExpiry,
        /// True once that time has passed.
        expired: bool,
        /// The run that waits for the answer, if the tool asks inside its run.
        in_place: Option<Box<InPlace>>,
    },
    /// The request was withdrawn, and the call is about to end.
    Withdrawn,
    /// A person approved the call.
    Approved {
        /// The request that was answered.
        request: Seq,
    },
    /// The request expired without an answer, and its terms let the call run.
    Unanswered {
        /// The request that expired.
        request: Seq,
    },
    /// A person denied the call, or the request expired.
    Denied {
        /// The subject of the request.
        about: About,
        /// The reason that the person gave.
        reason: Option<String>,
        /// True if the request expired without an answer.
        expired: bool,
    },
    /// The call may run without a question.
    Permitted {
        /// The permission to start without an answer about this call.
        leave: Leave,
    },
    /// The call starts as soon as a runner has the tool and a free slot.
    Ready {
        /// The permission to start.
        leave: Leave,
    },
    /// The tool runs.
    Running {
        /// The number of the start.
        attempt: u32,
        /// The runner that runs the tool, or the `call_claimed` record of the client that does.
        runner: Seq,
        /// The end of the time limit.
        deadline: Option<Timestamp>,
        /// The permission under which the run started.
        leave: Leave,
        /// True if the run started from `InDoubt`, under the permission of the start before.
        out_of_doubt: bool,
    },
    /// The tool is an agent between two turns of its model.
    AwaitingCalls {
        /// The permission under which the agent started.
        leave: Leave,
        /// The number of calls of the last turn that have not ended. With none, the agent continues
        /// as soon as a runner has a slot for it.
        open: u32,
    },
    /// An earlier run or hook may have had effects. The tool's `in_doubt` policy decides next. Also
    /// the phase before a retry starts.
    InDoubt {
        /// The permission for the next start. `NotGated` after a hook, because the tool had not
        /// started.
        leave: Leave,
    },
    /// The work continues elsewhere, and its result will be supplied from outside.
    Paused {
        /// The `tool_paused` record whose interim response was not issued yet.
        interim: Option<Seq>,
    },
    /// The tool returned or failed.
    Returned {
        /// The `tool_returned` record.
        of: Seq,
        /// True if the tool failed.
        failed: bool,
        /// The permission for another run. Set if the failure is of a kind that may pass.
        again: Option<Leave>,
    },
    /// The run failed and will be repeated.
    Retrying {
        /// The number of the next start.
        attempt: u32,
        /// The time of the next start.
        due: Timestamp,
        /// The permission for the next start.
        leave: Leave,
    },
    /// The result came from outside.
    Supplied {
        /// The record with the result: `response_supplied` or `hook_answered`.
        of: Seq,
    },
    /// The call was in doubt, and a person or its client stated its outcome.
    Found {
        /// The `confirmation_answered` or `outcome_found` record that contains the outcome, with
        /// the result if there is one.
        of: Seq,
        /// The reason for the failure, if the call failed.
        failed: Option<String>,
    },
    /// The time limit passed.
    TimedOut {
        /// The permission for another run, used if the tool's policy retries.
        again: Leave,
    },
}

/// The event that a call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitsFor {
    /// The next decision is due at once. Only `Gated` outlasts a step: it waits while no runner
    /// declares the tool.
    Nothing,
    /// An answer of a person.
    Person,
    /// A result from outside.
    Response,
    /// A runner with the tool, or a free slot.
    Runner,
    /// The end of the tool's run.
    Tool,
    /// The ends of the calls that this call made.
    Calls,
    /// A verdict of the embedding program: whether it answers the call itself, or whether a person
    /// is asked.
    Hook,
    /// A point in time.
    Time,
}

impl Phase {
    /// True in `Running` only. [`Call::runs`] includes runs that wait for an answer.
    pub fn is_running(&self) -> bool {
        matches!(self, Phase::Running { .. })
    }

    /// The event that the call waits for.
    pub fn waits_for(&self) -> WaitsFor {
        match self {
            Phase::AwaitingConfirmation { .. } => WaitsFor::Person,
            Phase::Paused { .. } => WaitsFor::Response,
            // Only `Asking` lasts: while no runner declares the tool.
            Phase::Ready { .. } | Phase::InDoubt { .. } | Phase::Asking { .. } => WaitsFor::Runner,
            Phase::Running { .. } => WaitsFor::Tool,
            Phase::AwaitingCalls { open: 0, .. } => WaitsFor::Runner,
            Phase::AwaitingCalls { .. } => WaitsFor::Calls,
            Phase::AwaitingHook | Phase::AwaitingVerdict => WaitsFor::Hook,
            Phase::Retrying { .. } => WaitsFor::Time,
            Phase::Received
            | Phase::Refused { .. }
            | Phase::Gated
            | Phase::Withdrawn
            | Phase::Approved { .. }
            | Phase::Unanswered { .. }
            | Phase::Denied { .. }
            | Phase::Permitted { .. }
            | Phase::Returned { .. }
            | Phase::Supplied { .. }
            | Phase::Found { .. }
            | Phase::TimedOut { .. } => WaitsFor::Nothing,
        }
    }

    /// The phase as a word, for listings and rejections.
    pub fn name(&self) -> &'static str {
        match self {
            Phase::Received => "received",
            Phase::AwaitingHook => "awaiting_hook",
            Phase::AwaitingVerdict => "awaiting_verdict",
            Phase::Refused { .. } => "refused",
            Phase::Gated => "gated",
            Phase::Asking { .. } => "asking",
            Phase::AwaitingConfirmation { .. } => "awaiting_confirmation",
            Phase::Withdrawn => "withdrawn",
            Phase::Approved { .. } => "approved",
            Phase::Unanswered { .. } => "unanswered",
            Phase::Denied { .. } => "denied",
            Phase::Permitted { .. } => "permitted",
            Phase::Ready { .. } => "ready",
            Phase::Running { .. } => "running",
            Phase::AwaitingCalls { .. } => "awaiting_calls",
            Phase::InDoubt { .. } => "in_doubt",
            Phase::Paused { .. } => "paused",
            Phase::Returned { .. } => "returned",
            Phase::Supplied { .. } => "supplied",
            Phase::Found { .. } => "found",
            Phase::Retrying { .. } => "retrying",
            Phase::TimedOut { .. } => "timed_out",
        }
    }
}
