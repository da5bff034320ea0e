//! What the world did: recorded, never computed.
//!
//! The shapes here and in [`decision`](super::decision) are the schema of the journal. A field may
//! be added if it may be absent; nothing is renamed or removed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::kinds::events;
use crate::declared::capabilities::Capabilities;
use crate::json::Json;
use crate::values::actor::Actor;
use crate::values::id::Seq;
use crate::values::object::ObjectHash;
use crate::values::time::Timestamp;

pub use super::answers::{
    AnswerRefused, ConfirmationAnswered, OperatorCancelled, OutcomeFound, ResponseSupplied,
};
pub use super::hook::HookAnswered;
pub use super::llm::LlmAsked;
pub use super::llm::LlmPart;
pub use super::llm::LlmReplied;
pub use super::media::MediaCounted;
pub use super::reconnection::{
    ConnectFailed, Disconnected, HistorySent, ReconnectScheduled, ReconnectsExhausted,
    RunnerDetached, RunnerDraining, Start, SwitchPlanned,
};
pub use super::state_change::{Author, InstructionSent, StateChange, StateChanged};
pub use super::tool_report::{ToolAsked, ToolEventEmitted, ToolPaused, ToolReturned, ToolYielded};

events! {
    /// One thing that the world did.
    pub enum Observation {
        /// The session began.
        SessionOpened = "session_opened",
        /// A process that can run tools took the session.
        RunnerAttached = "runner_attached",
        /// That process let go of it.
        RunnerDetached = "runner_detached",
        /// That process will let go of it soon and starts nothing more.
        RunnerDraining = "runner_draining",
        /// A connection to the model is ready: a new epoch.
        Connected = "connected",
        /// The connection is gone.
        Disconnected = "disconnected",
        /// The server will close the connection soon.
        GoAwayReceived = "go_away_received",
        /// The connection will be left for another one.
        SwitchPlanned = "switch_planned",
        /// Another connection will be tried for.
        ReconnectScheduled = "reconnect_scheduled",
        /// A connection could not be opened.
        ConnectFailed = "connect_failed",
        /// No further connection is tried for.
        ReconnectsExhausted = "reconnects_exhausted",
        /// A connection was told what it did not know of the conversation.
        HistorySent = "history_sent",
        /// The server gave a handle by which the conversation can be resumed.
        ResumptionHandleReceived = "resumption_handle_received",
        /// The model, or that of an agent, called a function.
        FunctionCallReceived = "function_call_received",
        /// The embedding program's own code spoke about a call.
        HookAnswered = "hook_answered",
        /// The model takes calls back.
        CallCancellationReceived = "call_cancellation_received",
        /// A tool ended.
        ToolReturned = "tool_returned",
        /// A tool gave one result of several.
        ToolYielded = "tool_yielded",
        /// A tool began what will be finished elsewhere.
        ToolPaused = "tool_paused",
        /// A tool asks a person, and goes on with the answer.
        ToolAsked = "tool_asked",
        /// A tool told the embedding program something.
        ToolEventEmitted = "tool_event_emitted",
        /// The agent behind a call asks its model.
        LlmAsked = "llm_asked",
        /// That model replied.
        LlmReplied = "llm_replied",
        /// Somebody wrote to the state.
        StateChanged = "state_changed",
        /// A person answered a confirmation request.
        ConfirmationAnswered = "confirmation_answered",
        /// An answer was turned away.
        AnswerRefused = "answer_refused",
        /// The result of a paused call came from outside.
        ResponseSupplied = "response_supplied",
        /// Somebody found out what became of a call whose outcome was unknown.
        OutcomeFound = "outcome_found",
        /// Responses left through the socket.
        ResponsesSent = "responses_sent",
        /// The model was told the instruction of its phase.
        InstructionSent = "instruction_sent",
        /// A time came.
        DeadlinePassed = "deadline_passed",
        /// The model said something.
        ModelOutputReceived = "model_output_received",
        /// Speech was written down.
        TranscriptReceived = "transcript_received",
        /// The user's text left for the model.
        UserTextSent = "user_text_sent",
        /// The model's turn ended.
        TurnCompleted = "turn_completed",
        /// The model's turn was cut off.
        TurnInterrupted = "turn_interrupted",
        /// Audio and video went past the journal.
        MediaCounted = "media_counted",
        /// The service counted tokens.
        UsageReported = "usage_reported",
        /// A frame of the server could not be understood.
        FrameRejected = "frame_rejected",
        /// Somebody outside took a call back.
        OperatorCancelled = "operator_cancelled",
        /// The session ended.
        SessionClosed = "session_closed",
    }
}

/// `session_opened`: always the first record.
///
/// ```json
/// {"agent":"support","external_id":"ticket-7","labels":{"tenant":"acme"},"rules":1,"program":"recount 0.1.0"}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionOpened {
    /// The registered agent that serves the session; code is not in the journal.
    pub agent: String,
    /// The embedding program's own name for the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// Labels by which the session is found again.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// The one for whom the agent acts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_behalf_of: Option<String>,
    /// The number of the rules that decide from here on.
    pub rules: u32,
    /// The program and version that opened it.
    pub program: String,
}

/// `runner_attached`: from here on calls may start, by these declarations, policies and rules.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunnerAttached {
    /// The agent that the process runs.
    pub agent: String,
    /// The tools it has: the hash of a [`Catalog`](crate::Catalog).
    pub catalog: ObjectHash,
    /// The policies on them: the hash of a [`PolicySet`](crate::PolicySet).
    pub policies: ObjectHash,
    /// The number of the rules that decide from here on.
    pub rules: u32,
    /// The program and its version.
    pub program: String,
    /// Whether confirmation gates hold here.
    pub gates: Gates,
    /// True if the process that was attached goes on with other terms: what it runs is not cut off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub goes_on: bool,
}

/// Whether confirmation gates hold.
///
/// ```json
/// {"enforced":false,"reason":"no durable journal and no confirmation provider"}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gates {
    /// A gated call waits for a person; otherwise `gate_waived` says that it did not.
    pub enforced: bool,
    /// Why they do not hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Gates {
    /// Gates hold.
    pub fn enforced() -> Gates {
        Gates {
            enforced: true,
            reason: None,
        }
    }

    /// Gates do not hold, and why.
    pub fn waived(reason: impl Into<String>) -> Gates {
        Gates {
            enforced: false,
            reason: Some(reason.into()),
        }
    }
}

/// `connected`: setup is complete; the seq of this record is the epoch's name.
///
/// ```json
/// {"model":"models/gemini-live-2.5-flash","endpoint":"wss://generativelanguage.googleapis.com","resumed":"c0ffee0123456789"}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connected {
    /// The model asked for.
    pub model: String,
    /// Where to, without credentials: scheme, host and port.
    pub endpoint: String,
    /// The `phase_entered` whose instruction the setup carried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Seq>,
    /// What the model was taken to understand, so what was left off the wire; records of old
    /// versions do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Capabilities>,
    /// The functions that the model does not wait for, as it was told or as it is by nature.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub non_blocking: Vec<String>,
    /// The fingerprint of the handle by which it goes on with an earlier conversation; without it,
    /// it knows of none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed: Option<String>,
}

/// `go_away_received`.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoAwayReceived {
    /// The connection it came on.
    pub epoch: Seq,
    /// The time left, as the server wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_left: Option<String>,
}

/// `resumption_handle_received`: a handle is a secret, so the stream has its fingerprint only.
///
/// ```json
/// {"epoch":3,"resumable":true,"fingerprint":"c0ffee0123456789","expires_at_us":1795190587112345}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResumptionHandleReceived {
    /// The connection it came on.
    pub epoch: Seq,
    /// Whether the conversation can be resumed at this point.
    pub resumable: bool,
    /// The first 16 hex digits of the handle's SHA-256.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// Until when the handle is good at least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at_us: Option<Timestamp>,
}

/// `function_call_received`: the seq of this record is the call's name.
///
/// ```json
/// {"epoch":3,"id":"fc-1","name":"refund","args":{"order_id":"1001","amount_cents":4200}}
/// {"epoch":0,"name":"look_up","args":{"order":7},"by":{"name":"pipeline","authenticated_by":"embedder"}}
/// {"epoch":3,"id":"fc-2","name":"pay","args":{"cents":4200,"card":{"$sealed":"v1.…"}},"sealed_args":["/card"]}
/// {"epoch":0,"id":"a1","name":"look_up","args":{"order":7},"parent":5}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionCallReceived {
    /// The connection it came on.
    pub epoch: Seq,
    /// The id on the wire, unique at most within its connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The tool's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The arguments exactly as sent, white space between tokens apart; absent where none came or
    /// they are malformed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Json>,
    /// What came instead of arguments that can be kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub malformed_args: Option<MalformedArgs>,
    /// What the declared schema has against the arguments. It is observed and not decided, so that
    /// a replay needs no schema validator and no version of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invalid_args: Option<String>,
    /// The JSON Pointers in `args` under which `{"$sealed":"v1.…"}` stands for what came; `""` says
    /// that the text of `malformed_args` is sealed. Approvals and hashes are about the arguments as
    /// they stand here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sealed_args: Vec<String>,
    /// The string that came where `args` was read out of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_args: Option<Json>,
    /// The program that made the call itself, without a model; `epoch` is 0 then, and the program
    /// gets the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Actor>,
    /// The call of an agent in whose run it was made, by that agent's model; `epoch` is 0 then, and
    /// the agent gets the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Seq>,
    /// The number of calls that one message may bring, where this call came beyond it: it is
    /// refused. It is observed and not decided, because the session does not know which calls came
    /// in one message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beyond_max: Option<u32>,
}

/// Arguments that are not one well-formed JSON object.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MalformedArgs {
    /// The text as it came.
    pub text: String,
    /// What is wrong with it.
    pub problem: String,
}

/// `call_cancellation_received`.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallCancellationReceived {
    /// The connection it came on.
    pub epoch: Seq,
    /// The ids on the wire.
    pub ids: Vec<String>,
}

/// `responses_sent`: written to the socket, which is not yet delivered.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponsesSent {
    /// The connection.
    pub epoch: Seq,
    /// The `response_issued` records whose contents went out.
    pub responses: Vec<Seq>,
}

/// `deadline_passed`.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadlinePassed {
    /// Whose.
    pub deadline: Deadline,
    /// When it was due.
    pub due_us: Timestamp,
}

/// What waits for a time to come.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deadline {
    /// A running call's time limit.
    Run {
        /// The call.
        call: Seq,
        /// Which start of it.
        attempt: u32,
    },
    /// A confirmation request's expiry.
    Confirmation {
        /// The call it is about.
        call: Seq,
        /// The request.
        request: Seq,
    },
    /// The wait before another run.
    Retry {
        /// The call.
        call: Seq,
        /// Which start of it is waited for.
        attempt: u32,
    },
}

/// `model_output_received`.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelOutputReceived {
    /// The connection it came on.
    pub epoch: Seq,
    /// The text.
    pub text: String,
}

/// `transcript_received`.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TranscriptReceived {
    /// The connection it came on.
    pub epoch: Seq,
    /// Who spoke.
    pub speaker: Speaker,
    /// What was said.
    pub text: String,
}

/// Who spoke.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    /// The person in the conversation.
    User,
    /// The model.
    Model,
}

/// `user_text_sent`.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserTextSent {
    /// The connection it went to.
    pub epoch: Seq,
    /// The text.
    pub text: String,
}

/// `turn_completed`.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnCompleted {
    /// The connection it came on.
    pub epoch: Seq,
    /// The server's reason where it gave one, such as `MALFORMED_FUNCTION_CALL`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// `turn_interrupted`.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnInterrupted {
    /// The connection it came on.
    pub epoch: Seq,
}

/// `usage_reported`.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageReported {
    /// The connection it came on.
    pub epoch: Seq,
    /// The counts as the service gave them.
    pub usage: Json,
}

/// `frame_rejected`: a message, or a part of one, cannot be read; the conversation goes on.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameRejected {
    /// The connection it came on.
    pub epoch: Seq,
    /// What is wrong with it.
    pub problem: String,
}

/// `session_closed`: what is open is cancelled, nothing is accepted any more.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionClosed {
    /// Why.
    pub reason: String,
    /// Who.
    pub by: Actor,
}
