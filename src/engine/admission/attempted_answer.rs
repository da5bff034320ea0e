//! Which request remembers that something was refused: the one to which an answer came, or about
//! whose call a result did.

use crate::session::{
    Actor, Command, Observation, Rejection, Seq, Session, UnfitAnswer, open_request,
    refusal_on_record,
};

/// An answer, or a result that would take the place of one.
pub(in crate::engine) struct AttemptedAnswer {
    request: Seq,
    by: Actor,
    /// What is wrong with it whatever the session says.
    unfit: Option<UnfitAnswer>,
}

impl AttemptedAnswer {
    /// What a command tries, where that is about a request. Of a call about which nobody is asked,
    /// no leave is at stake.
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
            | Command::ChangeState { .. }
            | Command::CloseSession { .. } => None,
        }
    }

    /// What is put on record of its refusal, if anything.
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
