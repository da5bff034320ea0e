//! Observations: facts of the world outside that are recorded and never computed.
//!
//! The types here and in [`decision`](super::decision) are the schema of the journal. A new field
//! must be optional, and no field is renamed or removed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::kinds::events;
use crate::declared::capabilities::Capabilities;
use crate::json::Json;
use crate::values::actor::Actor;
use crate::values::id::Seq;
use crate::values::time::Timestamp;

pub use super::approvals::answers::{
    AnswerRefused, ConfirmationAnswered, OperatorCancelled, OutcomeFound, ResponseSupplied,
};
pub use super::approvals::approval::ApprovalGiven;
pub use super::approvals::standing::LeaveRevoked;
pub use super::claims::{CallClaimed, ClaimEnded, LeaseRenewed};
pub use super::hook::HookAnswered;
pub use super::llm::LlmAsked;
pub use super::llm::LlmPart;
pub use super::llm::LlmReplied;
pub use super::media::MediaCounted;
pub use super::pause::{PauseScope, Paused, RULES_OF_PAUSES, Unpaused};
pub use super::reconnection::{
    ConnectFailed, Disconnected, HistorySent, ReconnectScheduled, ReconnectsExhausted,
    RunnerDetached, RunnerDraining, Start, SwitchPlanned,
};
pub use super::runner::{CatalogChanged, Gates, RunnerAttached};
pub use super::state_change::{Author, InstructionSent, StateChange, StateChanged};
pub use super::tool_report::{ToolAsked, ToolEventEmitted, ToolPaused, ToolReturned, ToolYielded};

events! {
    /// A fact of the world outside.
    pub enum Observation {
        /// The session was opened.
        SessionOpened = "session_opened",
        /// A process that can run tools attached to the session.
        RunnerAttached = "runner_attached",
        /// The process detached from the session.
        RunnerDetached = "runner_detached",
        /// The tools of the attached process changed. Its running calls go on.
        CatalogChanged = "catalog_changed",
        /// The process will detach soon and starts no more calls.
        RunnerDraining = "runner_draining",
        /// A connection to the model is ready: a new epoch.
        Connected = "connected",
        /// The connection ended.
        Disconnected = "disconnected",
        /// The server will close the connection soon.
        GoAwayReceived = "go_away_received",
        /// The connection will be replaced by another one.
        SwitchPlanned = "switch_planned",
        /// Another attempt to connect will be made.
        ReconnectScheduled = "reconnect_scheduled",
        /// A connection could not be opened.
        ConnectFailed = "connect_failed",
        /// No further attempt to connect is made.
        ReconnectsExhausted = "reconnects_exhausted",
        /// A connection received the part of the conversation that it did not know.
        HistorySent = "history_sent",
        /// The server sent a handle for resuming the conversation.
        ResumptionHandleReceived = "resumption_handle_received",
        /// The model, or that of an agent, called a function.
        FunctionCallReceived = "function_call_received",
        /// A hook of the embedding program answered about a call.
        HookAnswered = "hook_answered",
        /// The model cancelled calls.
        CallCancellationReceived = "call_cancellation_received",
        /// A tool returned or failed.
        ToolReturned = "tool_returned",
        /// A tool reported one of several results.
        ToolYielded = "tool_yielded",
        /// A tool started work that will be finished elsewhere.
        ToolPaused = "tool_paused",
        /// A tool asks a person, and continues with the answer.
        ToolAsked = "tool_asked",
        /// A tool sent an event to the embedding program.
        ToolEventEmitted = "tool_event_emitted",
        /// A client claimed a call and runs it.
        CallClaimed = "call_claimed",
        /// The client of a claimed call renewed its lease.
        LeaseRenewed = "lease_renewed",
        /// A claim ended without a result.
        ClaimEnded = "claim_ended",
        /// The agent behind a call asks its model.
        LlmAsked = "llm_asked",
        /// That model replied.
        LlmReplied = "llm_replied",
        /// The state was changed.
        StateChanged = "state_changed",
        /// An approver answered a confirmation request.
        ConfirmationAnswered = "confirmation_answered",
        /// An approver said yes to a confirmation request that needs more approvals.
        ApprovalGiven = "approval_given",
        /// An answer was refused.
        AnswerRefused = "answer_refused",
        /// A standing leave was revoked.
        LeaveRevoked = "leave_revoked",
        /// The result of a paused call was supplied from outside.
        ResponseSupplied = "response_supplied",
        /// The outcome of a call that had ended with an unknown one was reported.
        OutcomeFound = "outcome_found",
        /// Responses were written to the socket.
        ResponsesSent = "responses_sent",
        /// The instruction of its phase was sent to the model.
        InstructionSent = "instruction_sent",
        /// A deadline passed.
        DeadlinePassed = "deadline_passed",
        /// The model sent text.
        ModelOutputReceived = "model_output_received",
        /// A transcript of speech was received.
        TranscriptReceived = "transcript_received",
        /// Text of the user was sent to the model.
        UserTextSent = "user_text_sent",
        /// The model's turn ended.
        TurnCompleted = "turn_completed",
        /// The model's turn was interrupted.
        TurnInterrupted = "turn_interrupted",
        /// Audio and video, which the journal does not store, were counted.
        MediaCounted = "media_counted",
        /// The service reported token counts.
        UsageReported = "usage_reported",
        /// A frame of the server could not be parsed.
        FrameRejected = "frame_rejected",
        /// An operator or the embedding program cancelled a call.
        OperatorCancelled = "operator_cancelled",
        /// The session was closed.
        SessionClosed = "session_closed",
        /// A pause began: nothing in its scope starts.
        Paused = "paused",
        /// A pause ended.
        Unpaused = "unpaused",
    }
}

/// `session_opened`: always the first record.
///
/// ```json
/// {"agent":"support","external_id":"ticket-7","labels":{"tenant":"acme"},"rules":1,
///  "program":"recount 0.1.0"}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionOpened {
    /// The name of the agent that serves the session. Code is not in the journal.
    pub agent: String,
    /// The embedding program's own id of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// Labels by which the session can be found.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// The person or organization for whom the agent acts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_behalf_of: Option<String>,
    /// The number of the rules that decide from this record on.
    pub rules: u32,
    /// The program that opened the session, with its version.
    pub program: String,
}

/// `connected`: setup is complete. The seq of this record identifies the epoch.
///
/// ```json
/// {"model":"models/gemini-live-2.5-flash","endpoint":"wss://generativelanguage.googleapis.com",
///  "resumed":"c0ffee0123456789"}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connected {
    /// The requested model.
    pub model: String,
    /// The endpoint without credentials: scheme, host and port.
    pub endpoint: String,
    /// The `phase_entered` whose instruction was part of the setup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Seq>,
    /// The assumed capabilities of the model; unsupported features were not sent. Absent in records
    /// of old versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Capabilities>,
    /// The functions that the model does not wait for, by declaration or because it never waits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub non_blocking: Vec<String>,
    /// The fingerprint of the handle by which the connection resumes an earlier conversation.
    /// Absent for a fresh one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed: Option<String>,
}

/// `go_away_received`: the server will close the connection soon.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoAwayReceived {
    /// The connection that received it.
    pub epoch: Seq,
    /// The remaining time, as the server wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_left: Option<String>,
}

/// `resumption_handle_received`: a handle for resuming the conversation. A handle is a secret, so
/// only its fingerprint is recorded.
///
/// ```json
/// {"epoch":3,"resumable":true,"fingerprint":"c0ffee0123456789","expires_at_us":1795190587112345}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResumptionHandleReceived {
    /// The connection that received it.
    pub epoch: Seq,
    /// True if the conversation can be resumed at this point.
    pub resumable: bool,
    /// The first 16 hex digits of the handle's SHA-256.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// The earliest time at which the handle may become invalid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at_us: Option<Timestamp>,
}

/// `function_call_received`: a call of a function. The seq of this record identifies the call.
///
/// ```json
/// {"epoch":3,"id":"fc-1","name":"refund","args":{"order_id":"1001","amount_cents":4200}}
/// {"epoch":0,"name":"look_up","args":{"order":7},
///  "by":{"name":"pipeline","authenticated_by":"embedder"}}
/// {"epoch":3,"id":"fc-2","name":"pay","args":{"cents":4200,"card":{"$sealed":"v1.…"}},
///  "sealed_args":["/card"]}
/// {"epoch":0,"id":"a1","name":"look_up","args":{"order":7},"parent":5}
/// {"epoch":0,"name":"refund","args":{"order":7},
///  "by":{"name":"pipeline","authenticated_by":"embedder"},"key":"refund-of-order-7"}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionCallReceived {
    /// The connection that received it.
    pub epoch: Seq,
    /// The id on the wire, unique at most within its connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The tool's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The arguments exactly as sent, except for white space between tokens. Absent if there were
    /// none or they are malformed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Json>,
    /// The arguments as text, if they are malformed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub malformed_args: Option<MalformedArgs>,
    /// The violation of the declared schema by the arguments. It is an observation, so that a
    /// replay needs no schema validator of a certain version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invalid_args: Option<String>,
    /// The JSON Pointers in `args` of values that are replaced by `{"$sealed":"v1.…"}`. `""` means
    /// that the text of `malformed_args` is sealed. Approvals and hashes refer to the sealed form.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sealed_args: Vec<String>,
    /// The original JSON string, if `args` was parsed out of a string.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_args: Option<Json>,
    /// The program that made the call itself, without a model. Then `epoch` is 0, and the program
    /// receives the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Actor>,
    /// The call of the agent whose model made this call during its run. Then `epoch` is 0, and the
    /// agent receives the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Seq>,
    /// The maximum number of calls in one message, if this call exceeds it. The call is refused. It
    /// is an observation, because the session does not know which calls came in one message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beyond_max: Option<u32>,
    /// The idempotency key of the program that made the call. A later call with the same key is the
    /// same call. Rules 2 must be in force, because older programs overlook it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// Arguments that are not a well-formed JSON object.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MalformedArgs {
    /// The text as received.
    pub text: String,
    /// The problem with the text.
    pub problem: String,
}

/// `call_cancellation_received`: the model cancels calls.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallCancellationReceived {
    /// The connection that received it.
    pub epoch: Seq,
    /// The ids on the wire.
    pub ids: Vec<String>,
}

/// `responses_sent`: responses were written to the socket, which does not mean delivered.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponsesSent {
    /// The connection.
    pub epoch: Seq,
    /// The `response_issued` records of the sent responses.
    pub responses: Vec<Seq>,
}

/// `deadline_passed`: a timer fired.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadlinePassed {
    /// The deadline.
    pub deadline: Deadline,
    /// The time at which it was due.
    pub due_us: Timestamp,
}

/// An event that is due at a certain time.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deadline {
    /// The time limit of a running call.
    Run {
        /// The call.
        call: Seq,
        /// The number of the start.
        attempt: u32,
    },
    /// The expiry of a confirmation request.
    Confirmation {
        /// The call it is about.
        call: Seq,
        /// The request.
        request: Seq,
    },
    /// The wait before a retry.
    Retry {
        /// The call.
        call: Seq,
        /// The number of the next start.
        attempt: u32,
    },
    /// The end of the lease of a client that runs a call.
    Lease {
        /// The call.
        call: Seq,
        /// The number of the start.
        attempt: u32,
    },
    /// The end of the time for which a waiting call is not acknowledged. Rules 2 must be in force,
    /// because the policy that sets the time needs them.
    Acknowledgement {
        /// The call.
        call: Seq,
    },
}

/// `model_output_received`: text of the model.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelOutputReceived {
    /// The connection that received it.
    pub epoch: Seq,
    /// The text.
    pub text: String,
}

/// `transcript_received`: a transcript of speech.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TranscriptReceived {
    /// The connection that received it.
    pub epoch: Seq,
    /// The speaker.
    pub speaker: Speaker,
    /// The transcript.
    pub text: String,
}

/// The speaker of a transcript.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    /// The person in the conversation.
    User,
    /// The model.
    Model,
}

/// `user_text_sent`: text of the user that was sent to the model.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserTextSent {
    /// The connection that it was sent on.
    pub epoch: Seq,
    /// The text.
    pub text: String,
}

/// `turn_completed`: the model's turn ended.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnCompleted {
    /// The connection that received it.
    pub epoch: Seq,
    /// The server's reason, if it sent one, such as `MALFORMED_FUNCTION_CALL`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// `turn_interrupted`: the model's turn was interrupted.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnInterrupted {
    /// The connection that received it.
    pub epoch: Seq,
}

/// `usage_reported`: token counts of the service.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageReported {
    /// The connection that received it.
    pub epoch: Seq,
    /// The counts as the service sent them.
    pub usage: Json,
}

/// `frame_rejected`: a message, or a part of one, could not be parsed. The conversation continues.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameRejected {
    /// The connection that received it.
    pub epoch: Seq,
    /// The problem.
    pub problem: String,
}

/// `session_closed`: open calls are cancelled, and nothing more is accepted.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionClosed {
    /// The reason.
    pub reason: String,
    /// The actor that closed the session.
    pub by: Actor,
}
