//! The request with which a refusal is recorded: that of the answer, or the one about the result's
//! call.

use crate::session::{
    Actor, Command, Observation, Rejection, Seq, Session, UnfitAnswer, open_request,
    refusal_on_record,
};

/// An answer, or a result that would replace one.
pub(in crate::engine) struct AttemptedAnswer {
    request: Seq,
    by: Actor,
    /// The reason for refusing it in any state of the session.
    unfit: Option<UnfitAnswer>,
}

impl AttemptedAnswer {
    /// Returns the attempt that a command makes on a request. A result of a call without an open
    /// request replaces no approval.
    pub(in crate::engine) fn of(session: &Session, command: &Command) -> Option<AttemptedAnswer> {
        match command {
            Command::AnswerConfirmation { request, by, .. } => Some(AttemptedAnswer {
                request: *request,
                by: by.clone(),
                unfit: None,
            }),
            Command::SupplyResponse { call, by, .. } => Some(AttemptedAnswer {
                request: open_request(session, *call)?,
                by: by.clone(),
                unfit: Some(UnfitAnswer::AnswersTheCall {
                    id: session.id.call_id(*call).to_string(),
                }),
            }),
            Command::ReconcileOutcome { .. }
            | Command::CancelCall { .. }
            | Command::Claim(_)
            | Command::RevokeLeave { .. }
            | Command::ChangeState { .. }
            | Command::Pause(_)
            | Command::Unpause(_)
            | Command::CloseSession { .. } => None,
        }
    }

    /// Returns the observation of its refusal, if it is recorded.
    pub(in crate::engine) fn refused(
        self,
        session: &Session,
        rejection: &Rejection,
    ) -> Option<Observation> {
        let unfit = self.unfit.map(Rejection::UnfitAnswer);
        let why = unfit.as_ref().unwrap_or(rejection);
        refusal_on_record(session, self.request, &self.by, why)
    }
}
