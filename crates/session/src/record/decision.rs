//! What the engine concluded: always re-derivable from what stands before it.

use serde::{Deserialize, Serialize};

use super::kinds::events;
use crate::json::Json;
use crate::policies::condition::Condition;
use crate::values::id::Seq;
use crate::values::object::ObjectHash;
use crate::values::scheduling::FunctionResponseScheduling;
use crate::values::time::Timestamp;

pub use crate::values::endings::{CancelReason, Outcome};

events! {
    /// One conclusion of the engine.
    pub enum Decision {
        /// What the policies say to a call.
        PolicyDecided = "policy_decided",
        /// A gate does not hold here, and why.
        GateWaived = "gate_waived",
        /// A person is asked.
        ConfirmationRequested = "confirmation_requested",
        /// Nobody answered in time, which is a no.
        ConfirmationExpired = "confirmation_expired",
        /// The question has become pointless.
        ConfirmationWithdrawn = "confirmation_withdrawn",
        /// The tool is not the one that was asked about; the question is asked anew.
        ConfirmationReopened = "confirmation_reopened",
        /// The call may start as soon as somebody can run it.
        CallReady = "call_ready",
        /// The result of an earlier call is this one's, too.
        ResultReused = "result_reused",
        /// The call starts.
        CallStarted = "call_started",
        /// The model does not wait for the call that starts.
        BackgroundSpawned = "background_spawned",
        /// A failed call will be started again.
        RetryScheduled = "retry_scheduled",
        /// The call ends without a response.
        CallCancelled = "call_cancelled",
        /// The model is told something about a call.
        ResponseIssued = "response_issued",
        /// The model is told what became of a call whose outcome was unknown.
        OutcomeReconciled = "outcome_reconciled",
        /// An issued response takes another way to the model.
        DeliveryChosen = "delivery_chosen",
        /// The conversation is in another phase.
        PhaseEntered = "phase_entered",
    }
}

/// `policy_decided`.
///
/// ```json
/// {"call":5,"verdict":"ask","rule":"confirm","policies":"9f86…"}
/// {"call":8,"verdict":"refused","rule":"limit","reason":"…","policies":"9f86…","inputs":{"used":{"minute":3,"session":7}}}
/// {"call":9,"verdict":"refused","rule":"phase","reason":"…","policies":"9f86…","inputs":{"phase":"verify_identity"}}
/// {"call":11,"verdict":"allowed","rule":"default","policies":"9f86…","inputs":{"state":{"identity_verified":true}}}
/// {"call":14,"verdict":"allowed","rule":"cached","policies":"9f86…","inputs":{"of":11}}
/// {"call":18,"verdict":"refused","rule":"pending","reason":"…","policies":"9f86…","inputs":{"of":14}}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyDecided {
    /// The call.
    pub call: Seq,
    /// What they say.
    pub verdict: Verdict,
    /// Which rule said it.
    pub rule: Rule,
    /// Why, in words that the model may read; only of a refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The policies that were asked; absent where no runner was ever attached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policies: Option<ObjectHash>,
    /// What the verdict depended on beside the call and the policies: the `phase`, the values of
    /// the `state` that a condition reads, how often the tool was `used` where that is limited, the
    /// earlier result or the pending call (`of`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Json>,
}

/// What the policies say to a call.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It may run.
    Allowed,
    /// A person must be asked.
    Ask,
    /// The program says whether a person must be asked.
    AskProgram,
    /// It may not run.
    Refused,
}

/// The rule behind a verdict.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// The call names no tool.
    MissingName,
    /// No tool has that name.
    UnknownTool,
    /// The arguments are not one well-formed object.
    MalformedArgs,
    /// The arguments do not fit the declared schema.
    InvalidArgs,
    /// The tool is not there in this phase.
    Phase,
    /// What must hold of the state.
    Condition,
    /// There is a result of the same call.
    Cached,
    /// The same call has not ended.
    Pending,
    /// How often the tool may be called.
    Limit,
    /// The tool is gated.
    Confirm,
    /// Nothing speaks against it.
    Default,
}

/// `gate_waived`.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateWaived {
    /// The call.
    pub call: Seq,
    /// Why the gate does not hold.
    pub reason: String,
}

/// `confirmation_requested`: the seq of this record is the request's name.
///
/// ```json
/// {"call":5,"about":"gate","hint":"Refund 42.00 EUR?","args_sha256":"44136f…","contract":"1b4f0e…","declaration":"60303a…"}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfirmationRequested {
    /// The call.
    pub call: Seq,
    /// What is asked.
    pub about: About,
    /// What the tool's author wants the person to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// SHA-256 of the argument text that is approved.
    pub args_sha256: ObjectHash,
    /// The tool's contract that is approved.
    pub contract: ObjectHash,
    /// The tool's whole declaration, for the record.
    pub declaration: ObjectHash,
    /// When silence becomes a no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at_us: Option<Timestamp>,
    /// The JSON Schema that the payload of a yes must fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_schema: Option<Json>,
    /// The `tool_asked` in which the tool itself asks; its words are the hint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Seq>,
}

/// What a confirmation request asks.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum About {
    /// May it run?
    Gate,
    /// It may have run already; may it run again?
    InDoubt,
    /// The tool asks itself, and goes on with the answer.
    Tool,
}

/// `confirmation_expired`.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfirmationExpired {
    /// The call.
    pub call: Seq,
    /// The request.
    pub request: Seq,
}

/// `confirmation_withdrawn`.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfirmationWithdrawn {
    /// The call.
    pub call: Seq,
    /// The request.
    pub request: Seq,
    /// Why.
    pub reason: CancelReason,
}

/// `confirmation_reopened`: the seq of this record names the new request; the old one takes no
/// answers any more.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfirmationReopened {
    /// The request it takes the place of.
    pub request: Seq,
    /// The contract that was asked about.
    pub contract_before: ObjectHash,
    /// What is asked now, as in `confirmation_requested`.
    pub question: ConfirmationRequested,
}

/// `call_ready`.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallReady {
    /// The call.
    pub call: Seq,
}

/// `call_started`.
///
/// ```json
/// {"call":5,"attempt":1,"runner":2,"deadline_us":1763700000000000}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallStarted {
    /// The call.
    pub call: Seq,
    /// Which start of it, from 1.
    pub attempt: u32,
    /// The runner that starts it: the seq of its `runner_attached`.
    pub runner: Seq,
    /// When its time is up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_us: Option<Timestamp>,
}

/// `result_reused`: nothing runs, because an earlier call with the same arguments has returned.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultReused {
    /// The call.
    pub call: Seq,
    /// The `tool_returned` of the earlier call.
    pub of: Seq,
}

/// `background_spawned`: the model goes on while the tool runs.
///
/// ```json
/// {"call":5,"attempt":1,"scheduling":"WHEN_IDLE"}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackgroundSpawned {
    /// The call.
    pub call: Seq,
    /// Which start of it.
    pub attempt: u32,
    /// When the model should take up the result.
    pub scheduling: FunctionResponseScheduling,
}

/// `retry_scheduled`: the run failed, and there will be another.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryScheduled {
    /// The call.
    pub call: Seq,
    /// Which start of it that will be.
    pub attempt: u32,
    /// When.
    pub due_us: Timestamp,
}

/// `phase_entered`: the seq of this record names the stay in the phase.
///
/// ```json
/// {"phase":"inform_debt","from":"verify_identity","when":{"is_true":"identity_verified"}}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseEntered {
    /// The phase.
    pub phase: String,
    /// The phase before; absent where the conversation begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The condition that held; absent where it is the first phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<Condition>,
}

/// `call_cancelled`: the model took it back or the session closed, so nobody waits for a response.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallCancelled {
    /// The call.
    pub call: Seq,
    /// Why.
    pub reason: CancelReason,
}

/// `response_issued`: what the model is to be told. The seq of this record is the response's name.
///
/// ```json
/// {"call":5,"outcome":"returned","of":9,"route":{"via":"tool_response","epoch":3}}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponseIssued {
    /// The call.
    pub call: Seq,
    /// How the call ended; `interim` is the one that is no end.
    pub outcome: Outcome,
    /// The record that holds the response: `tool_returned`, `tool_paused` or `response_supplied`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<Seq>,
    /// The response itself where the engine made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Json>,
    /// How it travels.
    pub route: Route,
}

/// How a response travels to the model.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "via", rename_all = "snake_case")]
pub enum Route {
    /// As a `toolResponse` on the connection that brought the call.
    ToolResponse {
        /// That connection.
        epoch: Seq,
    },
    /// As text in the conversation, because the connection that brought the call is gone.
    Conversation {
        /// The connection of now.
        epoch: Seq,
    },
    /// Not yet: there is no connection.
    Parked,
    /// Not yet: there is no connection, and one is opened for it.
    Connect,
    /// Not to the model by itself: the embedding program is told, and a later conversation finds it
    /// in the story so far.
    Notify,
    /// Not to the model: to the program that made the call itself.
    Caller,
    /// Not to the model of the conversation: to the agent that made the call.
    Parent,
}

/// `outcome_reconciled`: what the model is to be told of a call whose unknown outcome was found
/// out. The call keeps its outcome; the seq of this record is the name of what is told.
///
/// ```json
/// {"call":5,"of":21,"route":{"via":"conversation","epoch":3}}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutcomeReconciled {
    /// The call.
    pub call: Seq,
    /// The `outcome_found`, which holds the result if there is one.
    pub of: Seq,
    /// What is told where it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Json>,
    /// How it travels.
    pub route: Route,
}

impl OutcomeReconciled {
    /// In which words it is told: as a result that was supplied, or as a failure.
    #[doc(hidden)]
    pub fn told_as(&self) -> Outcome {
        match self.response {
            None => Outcome::Supplied,
            Some(_) => Outcome::Failed,
        }
    }
}

/// `delivery_chosen`.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryChosen {
    /// The response: the seq of its `response_issued`, or of an `outcome_reconciled`.
    pub response: Seq,
    /// How it travels now.
    pub route: Route,
}

impl Decision {
    /// The question that it puts to a person, if it does.
    pub fn question(&self) -> Option<&ConfirmationRequested> {
        if let Decision::ConfirmationRequested(it) = self {
            Some(it)
        } else if let Decision::ConfirmationReopened(it) = self {
            Some(&it.question)
        } else {
            None
        }
    }

    /// The call it is about.
    pub fn call(&self) -> Option<Seq> {
        match self {
            Decision::PolicyDecided(it) => Some(it.call),
            Decision::GateWaived(it) => Some(it.call),
            Decision::ConfirmationRequested(it) => Some(it.call),
            Decision::ConfirmationExpired(it) => Some(it.call),
            Decision::ConfirmationWithdrawn(it) => Some(it.call),
            Decision::ConfirmationReopened(it) => Some(it.question.call),
            Decision::CallReady(it) => Some(it.call),
            Decision::ResultReused(it) => Some(it.call),
            Decision::BackgroundSpawned(it) => Some(it.call),
            Decision::RetryScheduled(it) => Some(it.call),
            Decision::CallStarted(it) => Some(it.call),
            Decision::CallCancelled(it) => Some(it.call),
            Decision::ResponseIssued(it) => Some(it.call),
            Decision::OutcomeReconciled(it) => Some(it.call),
            Decision::DeliveryChosen(_) | Decision::PhaseEntered(_) => None,
        }
    }
}
