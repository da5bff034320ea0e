//! The life of one call.
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
//! A tool that asks by itself goes from `Running` to `Asking`, and so to `AwaitingConfirmation`;
//! one that waits where it stands comes back from there to `Running`. A gate that the program
//! decides is an `AwaitingVerdict` before `Gated` or `Permitted`. Where the agent has a hook for
//! calls, `Received` comes after `AwaitingHook`, which may also end in `Supplied`, `Refused` or
//! `InDoubt`. Who is asked about a doubt may know what became of the call, which is `Found` then. A
//! run that failed, or whose time was up, may be followed by another:
//! `Retrying ─▶ InDoubt ─▶ Running`. An agent goes from `Running` to `AwaitingCalls` and back, turn
//! by turn. A call that somebody took back has `cancel` set beside its phase, and ends at the next
//! decision.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::calls::agent_run::AgentRun;
use crate::calls::refusal_kinds::{RefusalKind, refusal_kind};
use crate::json::Json;
use crate::record::decision::{About, CancelReason};
use crate::record::observation::ToolAsked;
use crate::values::id::Seq;
use crate::values::object::ObjectHash;
use crate::values::scheduling::FunctionResponseScheduling;
use crate::values::time::Timestamp;

/// A call that has not ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// The connection that brought it.
    pub epoch: Seq,
    /// Its id on the wire.
    pub wire_id: Option<String>,
    /// The tool's name; empty where the model named none.
    pub name: String,
    /// The arguments, exactly as they stand on record.
    pub args: Json,
    /// The JSON Pointers under which arguments are sealed.
    pub sealed_args: Vec<String>,
    /// What is wrong with the call before any policy is asked.
    pub flaw: Option<Flaw>,
    /// Where it stands.
    pub phase: Phase,
    /// Since when it waits as it does: received, asked, or paused.
    pub since: Timestamp,
    /// How often its tool was started.
    pub attempts: u32,
    /// The contract that a person was asked about.
    pub contract: Option<ObjectHash>,
    /// The request about its gate that was answered with a yes under that contract: what that
    /// answer gives the tool gets also where it runs again out of a doubt.
    pub gate_passed: Option<Seq>,
    /// Somebody took it back; it ends at the next decision.
    pub cancel: Option<CancelReason>,
    /// The `operator_cancelled` that says in which words the model hears of it.
    pub cancelled_in: Option<Seq>,
    /// The model took it back while a person decides: the request stays open, and shows it.
    pub model_lost_interest: bool,
    /// A program made it and gets its response; no connection brought it.
    pub made_by_program: bool,
    /// What results it may share with other calls, where its tool allows that.
    pub cache_key: Option<ObjectHash>,
    /// By what its repeats are known while it is open, where its tool answers them.
    pub repeat_key: Option<ObjectHash>,
    /// When the model takes up its result, if it does not wait for it.
    pub background: Option<FunctionResponseScheduling>,
    /// The `tool_yielded`, and the `response_supplied` that are news, of which the model has not
    /// been told yet, oldest first.
    pub yields: VecDeque<Seq>,
    /// Whether the model was told something about it before its end.
    pub told_meanwhile: bool,
    /// Whether the model was told that it waits.
    pub acknowledged: bool,
    /// What its tool asked last, and with what answer it goes on.
    pub asked: Option<Box<Asked>>,
    /// What the program said of its gate, where it was asked.
    pub gate_verdict: Option<bool>,
    /// An open request that has become pointless, and why; it is withdrawn at the next decision.
    pub moot: Option<(Seq, CancelReason)>,
    /// When the model takes up its result, as the result says itself.
    pub own_scheduling: Option<FunctionResponseScheduling>,
    /// The call of the agent in whose run it was made; that one gets its response.
    pub parent: Option<Seq>,
    /// How far it has come, where its tool is an agent and was started.
    pub agent: Option<Box<AgentRun>>,
}

/// What a tool asks by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// The `tool_asked`.
    pub at: Seq,
    /// What the person is asked.
    pub hint: String,
    /// The JSON Schema that the payload of a yes must fit.
    pub payload_schema: Option<Json>,
    /// After how many milliseconds silence is a no.
    pub expires_after_ms: Option<u64>,
    /// The request that was answered with a yes: the next start goes on from the state of `at`.
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

/// A run that waits for the answer to its question, and what it goes on with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InPlace {
    /// What it asks.
    pub question: Asked,
    /// Which start of the call it is.
    pub attempt: u32,
    /// The runner that runs it.
    pub runner: Seq,
    /// By what leave it started.
    pub leave: Leave,
    /// True if it started out of a doubt.
    pub out_of_doubt: bool,
    /// How much of its time limit is left, in microseconds: waiting does not count.
    pub time_left_us: Option<i64>,
}

impl Call {
    /// Whether its tool runs: also while it waits for an answer where it stands.
    pub fn runs(&self) -> bool {
        self.run().is_some()
    }

    pub(crate) fn run_of_agent(&mut self) -> Option<&mut AgentRun> {
        self.agent.as_deref_mut()
    }

    /// The calls that the agent behind it has made and that have not ended.
    pub fn awaited(&self) -> impl Iterator<Item = Seq> + '_ {
        let last = self.agent.as_deref().and_then(|run| run.turns.last());
        let made = last.into_iter().flat_map(|turn| &turn.calls);
        made.filter(|it| it.ended.is_none()).map(|it| it.call)
    }

    /// Whether no connection brought it, so that no model of a conversation gets its response.
    pub(crate) fn made_inside(&self) -> bool {
        self.made_by_program || self.parent.is_some()
    }

    /// Which start of it runs, and whose that is.
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

    /// The run that waits for an answer where it stands.
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

/// What is wrong with a call before any policy is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Flaw {
    /// It names no tool.
    MissingName,
    /// The arguments are not one well-formed object.
    MalformedArgs(String),
    /// They do not fit the schema.
    InvalidArgs(String),
    /// Its message brought more calls than this number, and it came beyond them.
    BeyondMax(u32),
}

/// Where a call stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    /// The policies have not been asked.
    Received,
    /// The embedding program looks at it first.
    AwaitingHook,
    /// They refused it; the model is to be told why.
    Refused {
        /// What the model is told.
        reason: String,
        /// The `kind` of the error.
        #[serde(deserialize_with = "refusal_kind")]
        kind: RefusalKind,
    },
    /// The program says whether a person is asked.
    AwaitingVerdict,
    /// They want a person to be asked.
    Gated,
    /// The tool itself wants a person to be asked.
    Asking {
        /// Its run, if it waits for the answer.
        in_place: Option<Box<InPlace>>,
    },
    /// A person is asked.
    AwaitingConfirmation {
        /// The request.
        request: Seq,
        /// What is asked.
        about: About,
        /// When silence becomes a no.
        expires_at: Option<Timestamp>,
        /// That time has come.
        expired: bool,
        /// The run that waits for the answer, if its tool asks where it stands.
        in_place: Option<Box<InPlace>>,
    },
    /// The question was withdrawn; the call is about to end.
    Withdrawn,
    /// A person agreed.
    Approved {
        /// The request that was answered.
        request: Seq,
    },
    /// A person said no, or nobody answered in time.
    Denied {
        /// What was asked.
        about: About,
        /// The reason that was given.
        reason: Option<String>,
        /// Nobody answered.
        expired: bool,
    },
    /// It may run without asking anybody.
    Permitted {
        /// Its gate was waived.
        waived: bool,
    },
    /// It starts as soon as a runner has the tool and a free slot.
    Ready {
        /// By what leave.
        leave: Leave,
    },
    /// Its tool runs.
    Running {
        /// Which start of it.
        attempt: u32,
        /// The runner that runs it.
        runner: Seq,
        /// When its time is up.
        deadline: Option<Timestamp>,
        /// By what leave it started.
        leave: Leave,
        /// True if it started out of a doubt, by the leave of the start before.
        out_of_doubt: bool,
    },
    /// Its tool is an agent between two turns of its model.
    AwaitingCalls {
        /// By what leave it started.
        leave: Leave,
        /// How many calls of the last turn have not ended; of none, it goes on as soon as a runner
        /// has a place for it.
        open: u32,
    },
    /// The runner is gone and nobody knows what the tool did.
    InDoubt {
        /// By what leave it had started.
        leave: Leave,
    },
    /// It goes on elsewhere; the result will be supplied.
    Paused {
        /// The `tool_paused` whose interim response the model has not been told yet.
        interim: Option<Seq>,
    },
    /// The tool ended.
    Returned {
        /// Its `tool_returned`.
        of: Seq,
        /// Whether it failed.
        failed: bool,
        /// By what leave it may run again, where its policy says so and it failed in a way that may
        /// pass.
        again: Option<Leave>,
    },
    /// It failed and will be started again.
    Retrying {
        /// Which start of it that will be.
        attempt: u32,
        /// When.
        due: Timestamp,
        /// By what leave it starts.
        leave: Leave,
    },
    /// The result came from outside.
    Supplied {
        /// Its `response_supplied`.
        of: Seq,
    },
    /// It was in doubt, and a person found out what became of it.
    Found {
        /// The `confirmation_answered` that says so, with the result if there is one.
        of: Seq,
        /// Why it failed, if it did.
        failed: Option<String>,
    },
    /// Its time was up.
    TimedOut {
        /// By what leave it may run again, where its policy says so.
        again: Leave,
    },
}

/// What has to happen before a call goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitsFor {
    /// The next decision is due at once; no step ends in such a phase.
    Nothing,
    /// A person answers.
    Person,
    /// Somebody outside gives the result.
    Response,
    /// A process that has the tool attaches, or a slot gets free.
    Runner,
    /// The tool ends.
    Tool,
    /// The calls end that it made itself.
    Calls,
    /// The embedding program says whether it answers the call itself, or whether a person is asked
    /// about it.
    Hook,
    /// A time comes.
    Time,
}

/// By what leave a call may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Leave {
    /// Its tool has no gate.
    NotGated,
    /// Its gate was waived.
    Waived,
    /// A person agreed to this request.
    Approved(Seq),
}

impl Phase {
    /// Whether the tool runs.
    pub fn is_running(&self) -> bool {
        matches!(self, Phase::Running { .. })
    }

    /// What has to happen before the call goes on.
    pub fn waits_for(&self) -> WaitsFor {
        match self {
            Phase::AwaitingConfirmation { .. } => WaitsFor::Person,
            Phase::Paused { .. } => WaitsFor::Response,
            Phase::Ready { .. } | Phase::InDoubt { .. } => WaitsFor::Runner,
            Phase::Running { .. } => WaitsFor::Tool,
            Phase::AwaitingCalls { open: 0, .. } => WaitsFor::Runner,
            Phase::AwaitingCalls { .. } => WaitsFor::Calls,
            Phase::AwaitingHook | Phase::AwaitingVerdict => WaitsFor::Hook,
            Phase::Retrying { .. } => WaitsFor::Time,
            Phase::Received
            | Phase::Refused { .. }
            | Phase::Gated
            | Phase::Asking { .. }
            | Phase::Withdrawn
            | Phase::Approved { .. }
            | Phase::Denied { .. }
            | Phase::Permitted { .. }
            | Phase::Returned { .. }
            | Phase::Supplied { .. }
            | Phase::Found { .. }
            | Phase::TimedOut { .. } => WaitsFor::Nothing,
        }
    }

    /// The phase as a word, as listings and rejections show it.
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
