//! Operations and their outcomes as JSON, between processes of one journal.

use serde::{Deserialize, Serialize};

use super::super::claims::claiming::ClientAction;
use super::super::operation::{Operated, Operation};
use crate::control::{OnRecord, Refusal};
use crate::ledger::{ClaimKey, HoldTarget, PauseTarget};
use crate::session::{
    Actor, ConfirmationAnswered, Finding, Json, Lease, ObjectHash, RequestId, Seq, SessionId,
    ToolConfirmation, UnfitAnswer,
};
use crate::tool::Ticket;

/// An operation and who asks for it.
///
/// ```json
/// {"operation":{"cancel":{"session":"0199…","call":5,"reason":"ordered twice"}},
///  "by":{"name":"ada","authenticated_by":"token"}}
/// ```
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Sent {
    pub(super) operation: Sendable,
    pub(super) by: Actor,
}

/// An [`Operation`] that can be sent.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Sendable {
    Answer {
        request: RequestId,
        given: Given,
    },
    Respond {
        ticket: Ticket,
        response: Json,
        interim: bool,
    },
    Reconcile {
        session: SessionId,
        call: Seq,
        found: Finding,
    },
    Cancel {
        session: SessionId,
        call: Seq,
        reason: Option<String>,
    },
    RevokeLeave {
        session: SessionId,
        leave: Seq,
        reason: Option<String>,
    },
    Pause {
        target: PauseTarget,
        reason: Option<String>,
        cancel_running: bool,
    },
    Unpause {
        target: PauseTarget,
        reason: Option<String>,
    },
    PlaceHold {
        target: HoldTarget,
        reason: String,
    },
    ReleaseHold {
        hold: Seq,
        reason: String,
    },
    Client {
        key: ClaimKey,
        action: Action,
    },
    Close {
        session: SessionId,
        reason: String,
    },
}

/// An answer, as its record would have it, or why the input is none.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Given {
    Answer {
        record: Box<ConfirmationAnswered>,
        request_hash: Option<ObjectHash>,
    },
    Unfit(UnfitAnswer),
}

/// A [`ClientAction`] that can be sent.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Action {
    Renew {
        lease_ms: u64,
    },
    End {
        reason: Option<String>,
        not_begun: bool,
    },
    Return(Json),
    Fail(String),
    Yield(Json),
    Report {
        name: String,
        data: Json,
    },
}

/// The outcome of an operation.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    OnRecord(OnRecord),
    /// It is recorded, but what the receipt says beside it could not be read.
    OnRecordBut(OnRecord, String),
    Refused(Refusal),
    /// It may be recorded.
    Failed(String),
}

impl Sendable {
    pub(super) fn of(operation: Operation, by: &Actor) -> Sendable {
        match operation {
            Operation::Answer { request, given } => Sendable::Answer {
                request,
                given: Given::of(given, by),
            },
            Operation::Respond {
                ticket,
                response,
                interim,
            } => Sendable::Respond {
                ticket,
                response,
                interim,
            },
            Operation::Reconcile {
                session,
                call,
                found,
            } => Sendable::Reconcile {
                session,
                call,
                found,
            },
            Operation::Cancel {
                session,
                call,
                reason,
            } => Sendable::Cancel {
                session,
                call,
                reason,
            },
            Operation::RevokeLeave {
                session,
                leave,
                reason,
            } => Sendable::RevokeLeave {
                session,
                leave,
                reason,
            },
            Operation::Pause {
                target,
                reason,
                cancel_running,
            } => Sendable::Pause {
                target,
                reason,
                cancel_running,
            },
            Operation::Unpause { target, reason } => Sendable::Unpause { target, reason },
            Operation::PlaceHold { target, reason } => Sendable::PlaceHold { target, reason },
            Operation::ReleaseHold { hold, reason } => Sendable::ReleaseHold { hold, reason },
            Operation::Client { key, action } => Sendable::Client {
                key,
                action: Action::of(action),
            },
            Operation::Close { session, reason } => Sendable::Close { session, reason },
        }
    }

    /// The operation. Fails for a lease of an impossible length.
    pub(super) fn operation(self) -> Result<Operation, String> {
        Ok(match self {
            Sendable::Answer { request, given } => Operation::Answer {
                request,
                given: given.given(),
            },
            Sendable::Respond {
                ticket,
                response,
                interim,
            } => Operation::Respond {
                ticket,
                response,
                interim,
            },
            Sendable::Reconcile {
                session,
                call,
                found,
            } => Operation::Reconcile {
                session,
                call,
                found,
            },
            Sendable::Cancel {
                session,
                call,
                reason,
            } => Operation::Cancel {
                session,
                call,
                reason,
            },
            Sendable::RevokeLeave {
                session,
                leave,
                reason,
            } => Operation::RevokeLeave {
                session,
                leave,
                reason,
            },
            Sendable::Pause {
                target,
                reason,
                cancel_running,
            } => Operation::Pause {
                target,
                reason,
                cancel_running,
            },
            Sendable::Unpause { target, reason } => Operation::Unpause { target, reason },
            Sendable::PlaceHold { target, reason } => Operation::PlaceHold { target, reason },
            Sendable::ReleaseHold { hold, reason } => Operation::ReleaseHold { hold, reason },
            Sendable::Client { key, action } => Operation::Client {
                key,
                action: action.action()?,
            },
            Sendable::Close { session, reason } => Operation::Close { session, reason },
        })
    }
}

impl Given {
    fn of(given: Result<ToolConfirmation, UnfitAnswer>, by: &Actor) -> Given {
        match given {
            Ok(answer) => Given::Answer {
                request_hash: answer.request_hash,
                record: Box::new(answer.into_record(Seq(0), by.clone())),
            },
            Err(unfit) => Given::Unfit(unfit),
        }
    }

    fn given(self) -> Result<ToolConfirmation, UnfitAnswer> {
        match self {
            Given::Answer {
                record,
                request_hash,
            } => {
                let answer = ToolConfirmation::recorded(*record, None);
                Ok(match request_hash {
                    Some(hash) => answer.to_request(hash),
                    None => answer,
                })
            }
            Given::Unfit(unfit) => Err(unfit),
        }
    }
}

impl Action {
    fn of(action: ClientAction) -> Action {
        match action {
            ClientAction::Renew(lease) => Action::Renew {
                lease_ms: lease.millis(),
            },
            ClientAction::End { reason, not_begun } => Action::End { reason, not_begun },
            ClientAction::Return(Ok(result)) => Action::Return(result),
            ClientAction::Return(Err(cause)) => Action::Fail(cause),
            ClientAction::Yield(result) => Action::Yield(result),
            ClientAction::Report { name, data } => Action::Report { name, data },
        }
    }

    fn action(self) -> Result<ClientAction, String> {
        Ok(match self {
            Action::Renew { lease_ms } => {
                let lease = Lease::from_millis(lease_ms);
                ClientAction::Renew(lease.map_err(|error| error.to_string())?)
            }
            Action::End { reason, not_begun } => ClientAction::End { reason, not_begun },
            Action::Return(result) => ClientAction::Return(Ok(result)),
            Action::Fail(cause) => ClientAction::Return(Err(cause)),
            Action::Yield(result) => ClientAction::Yield(result),
            Action::Report { name, data } => ClientAction::Report { name, data },
        })
    }
}

impl Outcome {
    pub(super) fn of(operated: Operated) -> Outcome {
        match operated {
            Operated::OnRecord(it) => Outcome::OnRecord(it),
            Operated::OnRecordBut(it, error) => Outcome::OnRecordBut(it, error.to_string()),
            Operated::Refused(refusal) => Outcome::Refused(refusal),
        }
    }
}

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test may stop at the first surprise"
)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::session::AllowFor;

    #[test]
    fn answer_survives_the_way_to_the_owner() {
        let by = Actor::embedder("ada");
        let payload = Json::parse(r#"{"cents":1.10}"#).unwrap();
        let answer = ToolConfirmation::confirmed()
            .with_written_payload(payload.to_value(), payload)
            .with_args(json!({"to": "bob"}))
            .and_allow_for(AllowFor::Count(3))
            .with_reason("fine")
            .to_request(ObjectHash::of(b"question"));
        let operation = Operation::Answer {
            request: RequestId(uuid::Uuid::from_u128(7)),
            given: Ok(answer.clone()),
        };
        let sent = Sent {
            operation: Sendable::of(operation, &by),
            by: by.clone(),
        };
        let text = serde_json::to_string(&sent).unwrap();
        let read: Sent = serde_json::from_str(&text).unwrap();
        let Operation::Answer {
            given: Ok(read), ..
        } = read.operation.operation().unwrap()
        else {
            panic!("{text}");
        };
        assert_eq!(read.request_hash, answer.request_hash);
        let record = |it: ToolConfirmation| it.into_record(Seq(3), by.clone());
        assert_eq!(record(read), record(answer));
    }
}
