//! Decisions: conclusions of the engine that can be derived again from the records before them.

use serde::{Deserialize, Serialize};

use super::approvals::needs::Needs;
use super::kinds::events;
use crate::json::Json;
use crate::policies::condition::Condition;
use crate::policies::policy::OnExpiry;
use crate::values::id::Seq;
use crate::values::object::ObjectHash;
use crate::values::scheduling::FunctionResponseScheduling;
use crate::values::time::Timestamp;

pub use super::approvals::standing::LeaveUsed;
pub use crate::values::endings::{CancelReason, Outcome};

events! {
    /// A conclusion of the engine.
    pub enum Decision {
        /// The policies gave a verdict on a call.
        PolicyDecided = "policy_decided",
        /// A gate does not apply to a call.
        GateWaived = "gate_waived",
        /// A standing leave allows a gated call.
        LeaveUsed = "leave_used",
        /// An approver is asked.
        ConfirmationRequested = "confirmation_requested",
        /// No answer came in time. It counts as a denial, unless the request says otherwise.
        ConfirmationExpired = "confirmation_expired",
        /// The question has become pointless.
        ConfirmationWithdrawn = "confirmation_withdrawn",
        /// The tool has changed since the question, which is asked again.
        ConfirmationReopened = "confirmation_reopened",
        /// The call may start as soon as a runner has a slot.
        CallReady = "call_ready",
        /// The call gets the result of an earlier call.
        ResultReused = "result_reused",
        /// The call starts.
        CallStarted = "call_started",
        /// The model does not wait for the call that starts.
        BackgroundSpawned = "background_spawned",
        /// A failed call will be started again.
        RetryScheduled = "retry_scheduled",
        /// The call ends without a response.
        CallCancelled = "call_cancelled",
        /// The model receives a response about a call.
        ResponseIssued = "response_issued",
        /// The model receives the outcome of a call that had ended with an unknown one.
        OutcomeReconciled = "outcome_reconciled",
        /// An issued response takes another route to the model.
        DeliveryChosen = "delivery_chosen",
        /// The conversation enters a phase.
        PhaseEntered = "phase_entered",
    }
}

/// `policy_decided`: the verdict of the policies on a call.
///
/// ```json
/// {"call":5,"verdict":"ask","rule":"confirm","policies":"9f86…"}
/// {"call":8,"verdict":"refused","rule":"limit","reason":"…","policies":"9f86…",
///  "inputs":{"used":{"minute":3,"session":7}}}
/// {"call":9,"verdict":"refused","rule":"phase","reason":"…","policies":"9f86…",
///  "inputs":{"phase":"verify_identity"}}
/// {"call":11,"verdict":"allowed","rule":"default","policies":"9f86…",
///  "inputs":{"state":{"identity_verified":true}}}
/// {"call":14,"verdict":"allowed","rule":"cached","policies":"9f86…","inputs":{"of":11}}
/// {"call":18,"verdict":"refused","rule":"pending","reason":"…","policies":"9f86…",
///  "inputs":{"of":14}}
/// {"call":21,"verdict":"refused","rule":"limit","reason":"…","policies":"9f86…",
///  "inputs":{"open_requests":{"session":3,"tool":1}}}
/// ```
///
/// A call whose gate closes after its verdict gets a second one if a limit of open requests is
/// reached by then: it is refused by the rule `limit`.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyDecided {
    /// The call.
    pub call: Seq,
    /// The verdict.
    pub verdict: Verdict,
    /// The rule that gave the verdict.
    pub rule: Rule,
    /// The reason of a refusal, in words that the model may read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The hash of the policies; absent if no runner was ever attached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policies: Option<ObjectHash>,
    /// The inputs of the verdict beside the call and the policies: the `phase`, the values of the
    /// `state` that a condition reads, the number of calls `used` if it is limited, the number of
    /// `open_requests` if it is limited, and the earlier result or pending call (`of`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Json>,
}

/// The verdict of the policies on a call.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The call may run.
    Allowed,
    /// An approver must be asked.
    Ask,
    /// The program decides whether an approver must be asked.
    AskProgram,
    /// The call may not run.
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
    /// The tool is not available in this phase.
    Phase,
    /// The condition on the state does not hold.
    Condition,
    /// An equal call has a result.
    Cached,
    /// An equal call has not ended.
    Pending,
    /// The maximum number of calls is reached.
    Limit,
    /// The tool is gated.
    Confirm,
    /// No other rule applies.
    Default,
}

/// `gate_waived`: the gate does not apply to a call.
///
/// ```json
/// {"call":5,"reason":"no durable journal and no confirmation provider"}
/// {"call":5,"reason":"no person answered in time …","unanswered":7}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateWaived {
    /// The call.
    pub call: Seq,
    /// The reason.
    pub reason: String,
    /// The request that expired without an answer, if the call runs because of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unanswered: Option<Seq>,
}

/// `confirmation_requested`: a question to an approver. The seq of this record identifies the
/// request.
///
/// ```json
/// {"call":5,"about":"gate","hint":"Refund 42.00 EUR?","args_sha256":"44136f…",
///  "contract":"1b4f0e…","declaration":"60303a…"}
/// {"call":5,"about":"gate","args_sha256":"44136f…","contract":"1b4f0e…",
///  "declaration":"60303a…","needs":{"approvers":[{"roles":["finance"]}],"quorum":2}}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfirmationRequested {
    /// The call.
    pub call: Seq,
    /// The subject of the question.
    pub about: About,
    /// The hint of the tool's author for the approver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The SHA-256 of the argument text to approve.
    pub args_sha256: ObjectHash,
    /// The hash of the tool's contract to approve.
    pub contract: ObjectHash,
    /// The hash of the tool's whole declaration, for information.
    pub declaration: ObjectHash,
    /// The time at which the request expires without an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at_us: Option<Timestamp>,
    /// The effect of an expiry. Absent: the call counts as denied.
    #[serde(default, skip_serializing_if = "OnExpiry::is_deny")]
    pub on_expiry: OnExpiry,
    /// The JSON Schema of the payload of an approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_schema: Option<Json>,
    /// The `tool_asked` in which the tool itself asks. Its text is the hint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Seq>,
    /// True if an approval may also allow later calls of the tool in the session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_allow_for_session: bool,
    /// The terms that the answers must meet. Absent: any one answer decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<Box<Needs>>,
}

/// The subject of a confirmation request.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum About {
    /// The call may run or not.
    Gate,
    /// The call may have run already, and may run again or not.
    InDoubt,
    /// The tool itself asks, and continues with the answer.
    Tool,
}

/// `confirmation_expired`: no answer came in time.
///
/// It counts as a denial, unless `goes_on` is true. No expiry is an approval: `gate_waived` follows
/// and names the rule that lets the call run.
///
/// ```json
/// {"call":5,"request":7}
/// {"call":5,"request":7,"goes_on":true}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfirmationExpired {
    /// The call.
    pub call: Seq,
    /// The request.
    pub request: Seq,
    /// True if the call runs without an answer, as the request says.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub goes_on: bool,
}

/// `confirmation_withdrawn`: the question has become pointless.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfirmationWithdrawn {
    /// The call.
    pub call: Seq,
    /// The request.
    pub request: Seq,
    /// The reason.
    pub reason: CancelReason,
}

/// `confirmation_reopened`: a new request in place of an old one. The seq of this record identifies
/// the new request. The old one accepts no answers.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfirmationReopened {
    /// The request that is replaced.
    pub request: Seq,
    /// The contract in the old request.
    pub contract_before: ObjectHash,
    /// The new question, as in `confirmation_requested`.
    pub question: ConfirmationRequested,
}

/// `call_ready`: the call may start as soon as a runner has a slot.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallReady {
    /// The call.
    pub call: Seq,
}

/// `call_started`: the start of a call's tool.
///
/// ```json
/// {"call":5,"attempt":1,"runner":2,"deadline_us":1763700000000000}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallStarted {
    /// The call.
    pub call: Seq,
    /// The number of the start, from 1.
    pub attempt: u32,
    /// The runner that starts the call: the seq of its `runner_attached`. For a call that a client
    /// runs, the seq of its `call_claimed`.
    pub runner: Seq,
    /// The end of the run's time limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_us: Option<Timestamp>,
}

/// `result_reused`: the call does not run, because an equal call has returned.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultReused {
    /// The call.
    pub call: Seq,
    /// The `tool_returned` of the earlier call.
    pub of: Seq,
}

/// `background_spawned`: the model does not wait while the tool runs.
///
/// ```json
/// {"call":5,"attempt":1,"scheduling":"WHEN_IDLE"}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackgroundSpawned {
    /// The call.
    pub call: Seq,
    /// The number of the start.
    pub attempt: u32,
    /// The time at which the model should use the result.
    pub scheduling: FunctionResponseScheduling,
}

/// `retry_scheduled`: the run failed, and the call will be started again.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryScheduled {
    /// The call.
    pub call: Seq,
    /// The number of the next start.
    pub attempt: u32,
    /// The time of the next start.
    pub due_us: Timestamp,
}

/// `phase_entered`: the conversation enters a phase. The seq of this record identifies the stay in
/// it.
///
/// ```json
/// {"phase":"inform_debt","from":"verify_identity","when":{"is_true":"identity_verified"}}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseEntered {
    /// The phase.
    pub phase: String,
    /// The phase before; absent at the beginning of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The condition that held; absent for the first phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<Condition>,
}

/// `call_cancelled`: the model cancelled the call or the session closed, so no response is
/// expected.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallCancelled {
    /// The call.
    pub call: Seq,
    /// The reason.
    pub reason: CancelReason,
}

/// `response_issued`: a response for the model. The seq of this record identifies the response.
///
/// ```json
/// {"call":5,"outcome":"returned","of":9,"route":{"via":"tool_response","epoch":3}}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponseIssued {
    /// The call.
    pub call: Seq,
    /// The outcome of the call; only `interim` is not an end.
    pub outcome: Outcome,
    /// The record with the response: `tool_returned`, `tool_paused` or `response_supplied`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<Seq>,
    /// The response itself, if the engine made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Json>,
    /// The route to the model.
    pub route: Route,
}

/// The route of a response to the model.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "via", rename_all = "snake_case")]
pub enum Route {
    /// A `toolResponse` on the connection that brought the call.
    ToolResponse {
        /// The connection.
        epoch: Seq,
    },
    /// Text of the conversation, because the connection that brought the call is gone.
    Conversation {
        /// The current connection.
        epoch: Seq,
    },
    /// No route yet: there is no connection.
    Parked,
    /// No route yet: there is no connection, and the engine opens one for the response.
    Connect,
    /// Not sent to the model: the embedding program receives the response, and the history of a
    /// later conversation contains it.
    Notify,
    /// Not sent to the model: the program that made the call receives the response.
    Caller,
    /// Not sent to the model of the conversation: the agent that made the call receives the
    /// response.
    Parent,
}

/// `outcome_reconciled`: news for the model about a call whose unknown outcome was found. The call
/// keeps its outcome. The seq of this record identifies the news as a response.
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
    /// The response, if the call failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Json>,
    /// The route to the model.
    pub route: Route,
}

impl OutcomeReconciled {
    /// The outcome as the model is told it: a supplied result, or a failure.
    #[doc(hidden)]
    pub fn told_as(&self) -> Outcome {
        match self.response {
            None => Outcome::Supplied,
            Some(_) => Outcome::Failed,
        }
    }
}

/// `delivery_chosen`: an issued response takes another route.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryChosen {
    /// The response: the seq of its `response_issued`, or of an `outcome_reconciled`.
    pub response: Seq,
    /// The new route.
    pub route: Route,
}

impl Decision {
    /// Returns the question to an approver, if the decision contains one.
    pub fn question(&self) -> Option<&ConfirmationRequested> {
        if let Decision::ConfirmationRequested(it) = self {
            Some(it)
        } else if let Decision::ConfirmationReopened(it) = self {
            Some(&it.question)
        } else {
            None
        }
    }

    /// Returns the call that the decision is about.
    pub fn call(&self) -> Option<Seq> {
        match self {
            Decision::PolicyDecided(it) => Some(it.call),
            Decision::GateWaived(it) => Some(it.call),
            Decision::LeaveUsed(it) => Some(it.call),
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
