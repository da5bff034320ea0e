//! The JSON shapes of the library's values, for the OpenAPI document alone.
//!
//! The library's types know no OpenAPI. A test compares the keys of real responses with these
//! shapes.

#![expect(dead_code, reason = "the document reads the fields, no value has them")]

use std::collections::BTreeMap;

use utoipa::ToSchema;

use super::holds::HoldShape;
use super::sinks::SinkShape;

/// Declares listings: the shape of a page of items.
macro_rules! listings {
    ($($(#[$doc:meta])* $name:ident of $item:ty;)+) => {$(
        $(#[$doc])*
        #[derive(ToSchema)]
        pub(crate) struct $name {
            /// The items.
            items: Vec<$item>,
            /// The cursor of the next page, or null after the last one.
            next: Option<String>,
        }
    )+};
}

listings! {
    /// A page of sessions.
    SessionsShape of SessionShape;
    /// A page of calls.
    CallsShape of CallShape;
    /// A page of what waits for an answer from outside.
    PendingShape of WaitingShape;
    /// The standing leaves in force.
    LeavesShape of LeaveShape;
    /// The pauses in force.
    PausesShape of PauseShape;
    /// The legal holds in force.
    HoldsShape of HoldShape;
    /// The sinks of notifications.
    SinksShape of SinkShape;
}

/// A person or a program, and how its name was verified.
#[derive(ToSchema)]
pub(crate) struct ActorShape {
    /// The name.
    name: String,
    /// `embedder`, `token`, `os_user` or `none`.
    authenticated_by: String,
    /// The party that vouches for the name.
    #[schema(required = false)]
    issuer: Option<String>,
    /// The roles that came with the name.
    #[schema(required = false)]
    roles: Vec<String>,
    /// The groups that came with the name.
    #[schema(required = false)]
    groups: Vec<String>,
}

/// A recorded operation.
#[derive(ToSchema)]
pub(crate) struct OnRecordShape {
    /// The session. The nil id for a pause of more than one.
    session: String,
    /// The seq of the record.
    seq: u64,
    /// The tool. Empty if there is none.
    tool: String,
    /// The recorded actor.
    by: ActorShape,
    /// The number of starts of a cancelled call's tool.
    #[schema(required = false)]
    attempts: u32,
    /// True if a client's result came after its lease.
    #[schema(required = false)]
    late: bool,
    /// The end of a renewed lease, in microseconds since 1970.
    #[schema(required = false, nullable = false)]
    until_us: Option<i64>,
    /// The number of approvals that are still needed.
    #[schema(required = false)]
    missing: u32,
}

/// The outcomes of several answers.
#[derive(ToSchema)]
pub(crate) struct OutcomesShape {
    /// The outcome of each request, in the order given.
    items: Vec<OutcomeShape>,
}

/// The outcome of one answer. It has exactly one of `done`, `refused` and `error`.
#[derive(ToSchema)]
pub(crate) struct OutcomeShape {
    /// The request.
    request: String,
    /// The status that the answer alone would have had.
    status: u16,
    /// The record of the answer.
    #[schema(required = false, nullable = false)]
    done: Option<OnRecordShape>,
    /// The refusal of a rule.
    #[schema(required = false, nullable = false)]
    refused: Option<crate::problems::Problem>,
    /// Another failure.
    #[schema(required = false, nullable = false)]
    error: Option<crate::problems::Problem>,
}

/// An answer: `confirmed`, or `found` alone for a call in doubt.
#[derive(ToSchema)]
pub(crate) struct AnswerShape {
    /// True to approve, false to deny.
    #[schema(required = false)]
    confirmed: bool,
    /// The reason; the model is told that of a denial.
    #[schema(required = false)]
    reason: String,
    /// The payload for the tool.
    #[schema(required = false)]
    payload: serde_json::Value,
    /// The arguments to run with in place of the model's.
    #[schema(required = false)]
    args: BTreeMap<String, serde_json::Value>,
    /// The hash of the request that the approver saw.
    #[schema(required = false)]
    request_hash: String,
    /// The text that the approver saw.
    #[schema(required = false)]
    hint: String,
    /// The bound of a standing leave: `count` or `until_us`.
    #[schema(required = false, value_type = Object)]
    allow_for: (),
    /// The outcome of a call in doubt.
    #[schema(required = false)]
    found: FindingShape,
}

/// The outcome that was found for a call: `done` with the result, or `failed` with the reason.
#[derive(ToSchema)]
pub(crate) struct FindingShape {
    /// The result.
    #[schema(required = false)]
    done: serde_json::Value,
    /// The reason of the failure.
    #[schema(required = false)]
    failed: String,
}

/// The target of a pause: `everything`, or an object with `session`, `tool` or `agent`.
#[derive(ToSchema)]
#[schema(value_type = serde_json::Value)]
pub(crate) struct TargetShape(serde_json::Value);

/// A session.
#[derive(ToSchema)]
pub(crate) struct SessionShape {
    /// The id.
    session: String,
    /// The agent.
    agent: String,
    /// The id that the embedding program chose.
    external_id: Option<String>,
    /// The person or account for whom the agent acts.
    on_behalf_of: Option<String>,
    /// The labels.
    labels: BTreeMap<String, String>,
    /// The time of the first record, in microseconds since 1970.
    opened_at_us: i64,
    /// The time of the last record.
    last_at_us: i64,
    /// The number of records.
    records: u64,
    /// The number of open items by kind.
    open: BTreeMap<String, u64>,
    /// True if the session is sealed and its key is not here.
    sealed: bool,
    /// True if the session is closed.
    closed: bool,
    /// The pauses that hold the session.
    paused: Vec<PauseShape>,
}

/// A pause in force.
#[derive(ToSchema)]
pub(crate) struct PauseShape {
    /// The session. Absent for a pause of more than one.
    #[schema(required = false)]
    session: String,
    /// `session`, `everything`, or an object with `tool` or `agent`.
    scope: serde_json::Value,
    /// The reason.
    #[schema(required = false)]
    reason: String,
    /// The actor.
    by: ActorShape,
    /// The seq of the record.
    at: u64,
    /// The time of the record, in microseconds since 1970.
    since_us: i64,
    /// The record in the journal's own stream.
    #[schema(required = false)]
    journal_record: u64,
}

/// A call, as a row of `recount audit decisions`. It has further keys.
#[derive(ToSchema)]
pub(crate) struct CallShape {
    /// The session.
    session: String,
    /// The seq of the call's record.
    call: u64,
    /// The id of the call.
    call_id: String,
    /// The tool.
    tool: String,
    /// The arguments. Sealed ones are objects with `$sealed`.
    args: Option<BTreeMap<String, serde_json::Value>>,
    /// The decision that allowed or prevented the run.
    verdict: String,
    /// The confirmation requests, in order.
    questions: Vec<serde_json::Value>,
    /// The starts of the tool.
    runs: Vec<serde_json::Value>,
    /// The end of the call, or null for an open one.
    ended: Option<BTreeMap<String, serde_json::Value>>,
    /// The state of an open call, or null.
    waits_as: Option<String>,
}

/// An item that waits for an answer: `confirmation` or `paused`.
#[derive(ToSchema)]
pub(crate) struct WaitingShape {
    /// A confirmation request.
    #[schema(required = false)]
    confirmation: ConfirmationShape,
    /// A call that waits for its result.
    #[schema(required = false)]
    paused: PausedShape,
}

/// A confirmation request. It has further keys.
#[derive(ToSchema)]
pub(crate) struct ConfirmationShape {
    /// The id, for the answer.
    request: String,
    /// The session.
    session: String,
    /// The agent.
    agent: String,
    /// The id that the embedding program chose.
    external_id: Option<String>,
    /// The labels of the session.
    labels: BTreeMap<String, String>,
    /// The person or account for whom the agent acts.
    on_behalf_of: Option<String>,
    /// The seq of the request's record.
    seq: u64,
    /// The hash of the request, for an answer that counts for this request alone.
    request_hash: String,
    /// The seq of the call's record.
    call: u64,
    /// The tool.
    tool: String,
    /// The arguments that an answer binds.
    args: serde_json::Value,
    /// The text for the approver.
    hint: Option<String>,
    /// The time of the request, in microseconds since 1970.
    requested_at_us: i64,
    /// The time at which the request expires.
    expires_at_us: Option<i64>,
}

/// A call that waits for its result.
#[derive(ToSchema)]
pub(crate) struct PausedShape {
    /// The id of the call.
    call_id: String,
    /// The session.
    session: String,
    /// The agent.
    agent: String,
    /// The id that the embedding program chose.
    external_id: Option<String>,
    /// The labels of the session.
    labels: BTreeMap<String, String>,
    /// The seq of the call's record.
    call: u64,
    /// The tool.
    tool: String,
    /// The arguments with which the tool runs.
    args: serde_json::Value,
    /// The time of the pause, in microseconds since 1970.
    since_us: i64,
}

/// A standing leave in force.
#[derive(ToSchema)]
pub(crate) struct LeaveShape {
    /// The session.
    session: String,
    /// The seq of the answer that gave the leave.
    leave: u64,
    /// The request that was answered.
    request: String,
    /// The agent.
    agent: String,
    /// The id that the embedding program chose.
    external_id: Option<String>,
    /// The labels of the session.
    labels: BTreeMap<String, String>,
    /// The tool.
    tool: String,
    /// The hash of the approved contract.
    contract: String,
    /// The bound: `count` or `until_us`.
    allow_for: serde_json::Value,
    /// The number of calls that it has allowed.
    used: u32,
    /// The approvers that gave it.
    by: Vec<ActorShape>,
    /// The time of the answer, in microseconds since 1970.
    since_us: i64,
}

/// A session as of one of its records.
#[derive(ToSchema)]
pub(crate) struct StateShape {
    /// The session.
    session: String,
    /// The seq of the record.
    seq: u64,
    /// The kind of the record, or null before the first one.
    kind: Option<String>,
    /// The length of the session.
    records: u64,
    /// The members of the state, as `recount state` has them.
    state: BTreeMap<String, serde_json::Value>,
}

/// A page of records.
#[derive(ToSchema)]
pub(crate) struct RecordsShape {
    /// The records.
    items: Vec<RecordShape>,
    /// The first record of the next page, or null at the end of the session.
    next: Option<u64>,
}

/// One record.
#[derive(ToSchema)]
pub(crate) struct RecordShape {
    /// The record as it is stored.
    record: BTreeMap<String, serde_json::Value>,
    /// The body in clear, if the record is sealed and the service has the key.
    #[schema(required = false)]
    body: serde_json::Value,
}

/// A call that a program made: its phase, or its end.
#[derive(ToSchema)]
pub(crate) struct CallStateShape {
    /// The session.
    session: String,
    /// The seq of the call's record.
    call: u64,
    /// The id of the call.
    call_id: String,
    /// The tool.
    tool: String,
    /// True if an earlier request made the call, with the same key and the same text.
    #[schema(required = false)]
    repeated: bool,
    /// The number of starts of the tool.
    attempts: u32,
    /// The phase of an open call: an object with `name`, `waits_for` and the phase's own keys. Null
    /// after the end.
    phase: Option<BTreeMap<String, serde_json::Value>>,
    /// The confirmation request that the call waits for.
    #[schema(required = false)]
    request: String,
    /// The end of the call, or null for an open one.
    ended: Option<CallEndShape>,
}

/// The end of a call. It has exactly one of `response` and `error`.
#[derive(ToSchema)]
pub(crate) struct CallEndShape {
    /// The seq of the record.
    seq: u64,
    /// The time of the record, in microseconds since 1970.
    at_us: i64,
    /// The outcome: `returned`, `supplied`, `failed`, `refused`, `denied`, `expired`, `timed_out`,
    /// `cancelled`, `unknown` or `withdrawn`.
    outcome: String,
    /// The finding about an outcome that was unknown: `done` or `failed`.
    #[schema(required = false)]
    found: String,
    /// The result.
    #[schema(required = false)]
    response: BTreeMap<String, serde_json::Value>,
    /// The results of a streaming tool.
    #[schema(required = false)]
    results: Vec<serde_json::Value>,
    /// The reason of the failure.
    #[schema(required = false)]
    error: FailureShape,
}

/// The reason why a call failed.
#[derive(ToSchema)]
pub(crate) struct FailureShape {
    /// The kind, such as `execution_failed`, `timeout` or `cancelled`.
    kind: String,
    /// The reason.
    text: String,
}

/// A call that a client claimed and may run now.
#[derive(ToSchema)]
pub(crate) struct ClaimedShape {
    /// The session.
    session: String,
    /// The seq of the call's record.
    call: u64,
    /// The number of the start.
    attempt: u32,
    /// The id of the claim.
    claim: String,
    /// The id of the call.
    call_id: String,
    /// The agent.
    agent: String,
    /// The id that the embedding program chose.
    external_id: Option<String>,
    /// The labels of the session.
    labels: BTreeMap<String, String>,
    /// The tool.
    tool: String,
    /// The arguments with which to run it.
    args: serde_json::Value,
    /// The key that all starts of the call share.
    idempotency_key: String,
    /// The end of the lease, in microseconds since 1970.
    until_us: i64,
    /// The approver's answer, if the tool is gated.
    #[schema(required = false)]
    confirmation: serde_json::Value,
}
