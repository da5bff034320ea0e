//! An answer at the engine's door: held against the question on record, so that what does not fit is refused on record, too.

use super::error::Error;
use super::secrets;
use super::task::SessionTask;
use crate::ledger::{Ledger, Seal};
use crate::session::{
    Actor, Answer, Call, Command, Event, Leave, ObjectHash, Observation, Phase, RequestState, Seq,
    Session, SessionId, UnfitAnswer,
};
use crate::tool::{Asked, ToolConfirmation};

impl SessionTask {
    /// Answers a request; what does not count is refused on record.
    pub(super) async fn answer_confirmation(
        &mut self,
        request: Seq,
        given: Result<ToolConfirmation, UnfitAnswer>,
        by: Actor,
    ) -> Result<Seq, Error> {
        let answer = examine(&self.ledger, &self.session, &self.seal, request, given).await?;
        self.command(Command::AnswerConfirmation {
            request,
            answer,
            by,
        })
        .await
    }

    /// What the person said by whose leave a call starts, as it is on record.
    pub(super) fn leave_given(&self, call: &Call) -> Option<(Seq, Seq)> {
        let Phase::Running {
            leave: Leave::Approved(request),
            ..
        } = call.phase
        else {
            return None;
        };
        match &self.session.requests.get(&request)?.state {
            RequestState::Answered(answered) => Some((request, answered.at)),
            RequestState::Open
            | RequestState::Expired { .. }
            | RequestState::Withdrawn { .. }
            | RequestState::Superseded { .. } => None,
        }
    }
}

/// Reads the answer on record to a request.
pub(super) async fn confirmation_of(
    ledger: &Ledger,
    session: SessionId,
    (request, answer): (Seq, Seq),
) -> Result<Option<ToolConfirmation>, Error> {
    let (asked, said) = (
        ledger.fact(session, request).await?,
        ledger.fact(session, answer).await?,
    );
    let hint = asked.and_then(|fact| match fact.event {
        Event::Decided(decision) => decision.question().and_then(|it| it.hint.clone()),
        Event::Observed(_) => None,
    });
    Ok(said.and_then(|fact| {
        if let Event::Observed(Observation::ConfirmationAnswered(it)) = fact.event {
            Some(ToolConfirmation::recorded(it, hint))
        } else {
            None
        }
    }))
}

/// The answer, or what is wrong with it. Of a request that is not open nothing is looked at: the session says what became of it.
pub(super) async fn examine(
    ledger: &Ledger,
    session: &Session,
    seal: &Seal,
    request: Seq,
    given: Result<ToolConfirmation, UnfitAnswer>,
) -> Result<Result<Answer, UnfitAnswer>, Error> {
    let confirmation = match given {
        Ok(confirmation) => confirmation,
        Err(unfit) => return Ok(Err(unfit)),
    };
    let asked = session.requests.get(&request);
    let call = asked.and_then(|asked| session.calls.get(&asked.call));
    let entry = ledger.entries(session.id, request, 1).await?.pop();
    let (Some(call), Some(entry)) = (call, entry) else {
        return Ok(Ok(confirmation.into_answer()));
    };
    let Event::Decided(decision) = entry.fact()?.event else {
        return Ok(Ok(confirmation.into_answer()));
    };
    let Some(question) = decision.question() else {
        return Ok(Ok(confirmation.into_answer()));
    };
    let declared = session.terms.catalog.tools.get(&call.name);
    let asked = Asked {
        question,
        hash: Some(ObjectHash::from_bytes(*entry.hash().as_bytes())),
        args: &call.args,
        sealed: &call.sealed_args,
        parameters: declared.and_then(|it| it.parameters.as_ref()),
    };
    Ok(asked.fit(confirmation, |edited| {
        secrets::opened(session.id, seal, call, edited).ok()
    }))
}
