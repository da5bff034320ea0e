//! A call as JSON: its phase while it is open, its outcome once it has ended.

use recount::engine::{CallEnd, Engine, call_end};
use recount::replay::call_json;
use recount::session::{
    CallId, FoundAs, Json, Outcome, Phase, RequestId, Seq, Session, SessionId, Timestamp,
};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::problems::{Code, Problem};

/// A call, with its phase or its end.
#[derive(Serialize)]
pub(crate) struct CallState {
    session: SessionId,
    call: Seq,
    call_id: CallId,
    tool: String,
    /// True if an earlier request made the call. Present in the answer to a call alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    repeated: Option<bool>,
    /// The number of starts of the tool.
    attempts: u32,
    /// The phase of an open call, as in the state of its session.
    phase: Option<Box<RawValue>>,
    /// The confirmation request that the call waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<RequestId>,
    ended: Option<Ended>,
}

/// The end of a call.
#[derive(Serialize)]
struct Ended {
    seq: Seq,
    at_us: Timestamp,
    outcome: Outcome,
    /// The finding about an unknown outcome.
    #[serde(skip_serializing_if = "Option::is_none")]
    found: Option<FoundAs>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response: Option<Json>,
    /// The results of a streaming tool.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    results: Vec<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Failure>,
}

/// The reason why a call failed.
#[derive(Serialize)]
struct Failure {
    kind: &'static str,
    text: String,
}

impl CallState {
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.is_some()
    }

    pub(crate) fn tool(&self) -> &str {
        &self.tool
    }

    pub(crate) fn repeated(mut self, repeated: bool) -> CallState {
        self.repeated = Some(repeated);
        self
    }
}

/// Returns a call as it is now, or as it ended.
pub(crate) async fn state_of(
    engine: &Engine,
    id: SessionId,
    call: Seq,
) -> Result<CallState, Problem> {
    let (session, ledger) = (engine.folded(id).await?, engine.ledger());
    let state = CallState {
        session: id,
        call,
        call_id: id.call_id(call),
        tool: String::new(),
        repeated: None,
        attempts: 0,
        phase: None,
        request: None,
        ended: None,
    };
    if let Some(open) = session.calls.get(&call) {
        let request = match open.phase {
            Phase::AwaitingConfirmation { request, .. } => Some(id.request_id(request)),
            Phase::Received
            | Phase::AwaitingHook
            | Phase::Refused { .. }
            | Phase::AwaitingVerdict
            | Phase::Gated
            | Phase::Asking { .. }
            | Phase::Withdrawn
            | Phase::Approved { .. }
            | Phase::Unanswered { .. }
            | Phase::Denied { .. }
            | Phase::Permitted { .. }
            | Phase::Ready { .. }
            | Phase::Running { .. }
            | Phase::AwaitingCalls { .. }
            | Phase::InDoubt { .. }
            | Phase::Paused { .. }
            | Phase::Returned { .. }
            | Phase::Retrying { .. }
            | Phase::Supplied { .. }
            | Phase::Found { .. }
            | Phase::TimedOut { .. } => None,
        };
        return Ok(CallState {
            tool: open.name.clone(),
            attempts: open.attempts,
            phase: phase_of(&session, call),
            request,
            ..state
        });
    }
    let Some(end) = call_end(ledger, &session, call).await? else {
        let detail = format!("the session has no call {call}");
        return Err(Problem::new(Code::UnknownCall, detail));
    };
    Ok(CallState {
        tool: ledger.tool_of(id, call).await?.unwrap_or_default(),
        attempts: end.attempts,
        ended: Some(ended(end)),
        ..state
    })
}

fn phase_of(session: &Session, call: Seq) -> Option<Box<RawValue>> {
    let open = call_json(session, call)?;
    let phase = open.text_at("/phase")?;
    RawValue::from_string(phase.to_owned()).ok()
}

fn ended(end: CallEnd) -> Ended {
    let (response, error) = match end.result {
        Ok(response) => (Some(response), None),
        Err(error) => {
            let (kind, text) = (error.kind(), error.to_string());
            (None, Some(Failure { kind, text }))
        }
    };
    Ended {
        seq: end.at,
        at_us: end.time,
        outcome: end.outcome,
        found: end.found,
        response,
        results: end.results,
        error,
    }
}
