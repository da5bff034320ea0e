//! A refusal as the operator sees it: the conflicting record, its time and its author.

use serde::{Deserialize, Serialize};

use crate::ledger::{HoldRefusal, Ledger};
use crate::session::{
    Actor, ClaimRejection, FoundAs, LeaveEnd, Rejection, RequestId, Seq, SessionId, Timestamp,
};

/// The reason why a rule rejected a request.
///
/// ```json
/// {"code":"already_answered","text":"it was approved by ada before, at seq 21","session":"0199…",
///  "at":21,
///  "at_us":1763980000000000,"confirmed":true,"by":{"name":"ada","authenticated_by":"token"}}
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// A short stable name, as in `answer_refused`.
    pub code: String,
    /// The reason, in one line.
    pub text: String,
    /// The session.
    pub session: SessionId,
    /// The record that conflicts with the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Seq>,
    /// The time of that record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_us: Option<Timestamp>,
    /// The earlier answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed: Option<bool>,
    /// The earlier finding about the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<FoundAs>,
    /// The actor of that record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Actor>,
    /// The end of the lease of the client that holds the call.
    #[serde(rename = "until_us", default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// True if the matter is still undecided, so another answer may count.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub leaves_open: bool,
    /// True if the request expired, and its call runs without an answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub goes_on: bool,
    /// The request to answer instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead: Option<RequestId>,
}

impl Refusal {
    /// Returns the refusal of a hold, whose records are in the stream of `session`.
    pub(crate) fn of_hold(session: SessionId, refused: &HoldRefusal) -> Refusal {
        let conflict = refused.conflict();
        Refusal {
            at: conflict.map(|(at, _, _)| at),
            at_us: conflict.map(|(_, at, _)| at),
            by: conflict.map(|(_, _, by)| by.clone()),
            ..Refusal::new(refused.code(), refused.to_string(), session)
        }
    }

    fn new(code: &str, text: String, session: SessionId) -> Refusal {
        Refusal {
            code: code.to_owned(),
            text,
            session,
            at: None,
            at_us: None,
            confirmed: None,
            found: None,
            by: None,
            until: None,
            leaves_open: false,
            goes_on: false,
            instead: None,
        }
    }

    /// Looks up the record that conflicts with a request in `session`.
    pub async fn of(ledger: &Ledger, session: SessionId, rejection: &Rejection) -> Refusal {
        let mut refusal = Refusal::new(rejection.code(), rejection.to_string(), session);
        refusal.leaves_open = rejection.leaves_open();
        match rejection {
            Rejection::AlreadyAnswered(answered) => {
                refusal.at = Some(answered.at);
                refusal.confirmed = Some(answered.confirmed);
                refusal.found = answered.found;
                refusal.by = Some(answered.by.clone());
            }
            Rejection::AlreadySupplied { supplied, .. } => {
                refusal.at = Some(supplied.at);
                refusal.by = Some(supplied.by.clone());
            }
            Rejection::AlreadyReconciled(reconciled) => {
                refusal.at = Some(reconciled.at);
                refusal.found = Some(reconciled.found);
                refusal.by = Some(reconciled.by.clone());
            }
            Rejection::AlreadyPaused(pause) => {
                refusal.at = Some(pause.at);
                // For more than one session, the record is in the journal's own stream.
                refusal.at_us = Some(pause.since);
                refusal.by = Some(pause.by.clone());
            }
            Rejection::RequestExpired { at, goes_on } => {
                refusal.at = Some(*at);
                refusal.goes_on = *goes_on;
            }
            Rejection::RequestWithdrawn { at, .. }
            | Rejection::CallSettled { at, .. }
            | Rejection::AlreadyApproved { at }
            | Rejection::OtherContent { at } => {
                refusal.at = Some(*at);
            }
            Rejection::KeyReused { call } => refusal.at = Some(*call),
            Rejection::Claim(ClaimRejection::AlreadyClaimed { by, until, .. }) => {
                refusal.by = Some(by.clone());
                refusal.until = Some(*until);
            }
            Rejection::LeaveEnded { end, .. } => match end.as_ref() {
                LeaveEnd::Revoked { at, by } => {
                    refusal.at = Some(*at);
                    refusal.by = Some(by.clone());
                }
                LeaveEnd::Changed { at } => refusal.at = Some(*at),
            },
            Rejection::RequestSuperseded { by } => {
                refusal.at = Some(*by);
                refusal.instead = Some(session.request_id(*by));
            }
            Rejection::UnknownRequest { .. }
            | Rejection::Claim(_)
            | Rejection::UnfitAnswer(_)
            | Rejection::ToolGone { .. }
            | Rejection::TooManyAnswers { .. }
            | Rejection::EditsNotAllowed
            | Rejection::NothingToSettle
            | Rejection::Barred(_)
            | Rejection::LeaveNotPermitted
            | Rejection::UnknownLeave { .. }
            | Rejection::LeaveBarred(_)
            | Rejection::UnknownCall { .. }
            | Rejection::CallOpen { .. }
            | Rejection::OutcomeKnown { .. }
            | Rejection::CallNotPaused { .. }
            | Rejection::WrongName { .. }
            | Rejection::ResponseNotAnObject
            | Rejection::UnfitState { .. }
            | Rejection::UnfitKey { .. }
            | Rejection::SessionClosed
            | Rejection::NotPaused { .. }
            | Rejection::UnknownTool { .. }
            | Rejection::TooLarge { .. }
            | Rejection::TooDeep
            | Rejection::UnfitJson { .. } => {}
        }
        if let Some(at) = refusal.at.filter(|_| refusal.at_us.is_none()) {
            // The time is optional: the seq already identifies the record.
            let fact = ledger.fact(session, at).await.ok().flatten();
            refusal.at_us = fact.map(|fact| fact.at);
        }
        refusal
    }
}
