//! Operations and their outcomes as JSON, between processes of one journal.

use serde::{Deserialize, Serialize};

use super::super::operation::{Operated, Operation};
use crate::control::{OnRecord, Refusal};
use crate::session::Actor;

/// An operation and who asks for it.
///
/// ```json
/// {"operation":{"cancel":{"session":"0199…","call":5,"reason":"ordered twice"}},
///  "by":{"name":"ada","authenticated_by":"token"}}
/// ```
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Sent {
    pub(super) operation: Operation,
    pub(super) by: Actor,
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
    /// It may be recorded. The journal could not be written.
    Unwritable(String),
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
    use crate::engine::ClientAction;
    use crate::ledger::ClaimKey;
    use crate::session::{
        AllowFor, Json, Lease, ObjectHash, RequestId, Seq, SessionId, ToolConfirmation,
    };

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
            operation,
            by: by.clone(),
        };
        let text = serde_json::to_string(&sent).unwrap();
        let read: Sent = serde_json::from_str(&text).unwrap();
        let Operation::Answer {
            given: Ok(read), ..
        } = read.operation
        else {
            panic!("{text}");
        };
        assert_eq!(read.request_hash, answer.request_hash);
        let record = |it: ToolConfirmation| it.into_record(Seq(3), by.clone());
        assert_eq!(record(read), record(answer));
    }

    #[test]
    fn operation_of_a_client_survives_the_way_to_the_owner() {
        let key = ClaimKey {
            session: SessionId(uuid::Uuid::from_u128(7)),
            call: Seq(5),
            attempt: Some(1),
            claim: "w7-1".to_owned(),
        };
        let returned = Json::parse(r#"{"cents":1.10}"#).unwrap();
        for action in [
            ClientAction::Renew(Lease::DEFAULT),
            ClientAction::Return(Ok(returned)),
            ClientAction::Return(Err("the bank refused it".to_owned())),
        ] {
            let key = key.clone();
            let operation = Operation::Client { key, action };
            let text = serde_json::to_string(&operation).unwrap();
            assert_eq!(serde_json::from_str::<Operation>(&text).unwrap(), operation);
        }
        let short = r#"{"client":{"key":{"session":"0199a000-0000-7000-8000-000000000000","call":5,
            "attempt":1,"claim":"w"},"action":{"renew":10}}}"#;
        let refused = serde_json::from_str::<Operation>(short).unwrap_err();
        assert!(refused.to_string().contains("1 s to 24 h"), "{refused}");
    }
}
