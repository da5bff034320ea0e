//! An answer at the engine's door: held against the question on record, so that what does not fit is refused on record, too.

use serde_json::Value;

use super::error::Error;
use super::secrets;
use super::task::SessionTask;
use crate::ledger::{Ledger, Seal};
use crate::session::catalog::contract_hash;
use crate::session::{
    Actor, Answer, Call, Command, Event, Json, Leave, ObjectHash, Observation, Phase, RequestState,
    Seq, Session, SessionId, UnfitAnswer,
};
use crate::tool::{Asked, ToolConfirmation, ToolContext};

impl SessionTask {
    /// Answers a request; what does not count is refused on record.
    pub(super) async fn answer_confirmation(
        &mut self,
        request: Seq,
        given: Result<ToolConfirmation, UnfitAnswer>,
        by: Actor,
    ) -> Result<Seq, Error> {
        if given.as_ref().is_ok_and(|it| it.confirmed) {
            self.attach_where_tool_changed(request).await?;
        }
        let answer = examine(&self.ledger, &self.session, &self.seal, request, given).await?;
        self.command(Command::AnswerConfirmation {
            request,
            answer,
            by,
        })
        .await
    }

    /// Attaches where the tool of now is not the one that was asked about, or is gone: whoever says yes is told so, instead of
    /// agreeing to what cannot run. Where this process is attached it goes on with the tool of now.
    async fn attach_where_tool_changed(&mut self, request: Seq) -> Result<(), Error> {
        let asked = self.session.requests.get(&request);
        let asked = asked.filter(|it| it.state == RequestState::Open);
        let call = asked.and_then(|it| self.session.calls.get(&it.call));
        let Some(call) = call else {
            return Ok(());
        };
        if self.attached.is_some() {
            let call = asked.map_or(request, |it| it.call);
            return Box::pin(self.renew_for(call)).await;
        }
        let catalog = &self.agent.catalog;
        let remade = self.remade(catalog, |name| name == call.name).await;
        let declared = remade.as_ref().unwrap_or(catalog).tools.get(&call.name);
        let policy = self.agent.policies.of(&call.name);
        let changed = declared.map(|it| contract_hash(it, policy)) != call.contract;
        if changed && !self.slots.is_shut() {
            self.attach(Vec::new()).await?;
        }
        Ok(())
    }

    /// What the person said by whose leave a call starts, and what its tool has asked, as they are on record.
    pub(super) fn leave_given(&self, call: &Call) -> Option<Given> {
        let Phase::Running {
            leave: Leave::Approved(leave),
            ..
        } = call.phase
        else {
            return None;
        };
        let own = call.asked.as_ref();
        let (asked, request) = match own.and_then(|own| Some((own.at, own.answered?))) {
            Some((asked, request)) => (Some(asked), request),
            // A yes to a doubt says no more than that it may run again.
            None => (None, call.gate_passed.unwrap_or(leave)),
        };
        match &self.session.requests.get(&request)?.state {
            RequestState::Answered(answered) => Some(Given {
                request,
                answer: answered.at,
                asked,
            }),
            RequestState::Open
            | RequestState::Expired { .. }
            | RequestState::Withdrawn { .. }
            | RequestState::Superseded { .. } => None,
        }
    }
}

impl SessionTask {
    /// The arguments of a call, open or settled: those that a person wrote with a yes, or else the model's.
    pub(super) async fn args_that_ran(&self, call: Seq) -> Result<Json, Error> {
        if let Some(open) = self.session.calls.get(&call) {
            return Ok(open.args.clone());
        }
        let after = self.session.requests.range(call..).rev();
        for (_, request) in after.filter(|(_, request)| request.call == call) {
            let RequestState::Answered(answered) = &request.state else {
                continue;
            };
            let said = self.ledger.fact(self.id, answered.at).await?;
            if let Some(Event::Observed(Observation::ConfirmationAnswered(it))) =
                said.map(|fact| fact.event)
                && let Some(edited) = it.edited_args.filter(|_| it.confirmed)
            {
                return Ok(edited);
            }
        }
        let received = self.ledger.call_received(self.id, call).await?;
        let args = received.and_then(|it| it.args);
        Ok(args.unwrap_or_else(Json::empty_object))
    }
}

/// Where it is on record what a person gave for a call.
pub(super) struct Given {
    request: Seq,
    answer: Seq,
    /// The `tool_asked` from whose state the tool goes on.
    asked: Option<Seq>,
}

/// The context of a run, with what a person gave for it.
pub(super) async fn with_given(
    context: ToolContext,
    ledger: &Ledger,
    session: SessionId,
    given: Given,
) -> Result<ToolContext, Error> {
    let said = confirmation_of(ledger, session, given.request, given.answer).await?;
    let context = said
        .into_iter()
        .fold(context, ToolContext::with_confirmation);
    let Some(asked) = given.asked else {
        return Ok(context);
    };
    let state = match ledger.fact(session, asked).await?.map(|fact| fact.event) {
        Some(Event::Observed(Observation::ToolAsked(it))) => it.state.to_value(),
        Some(Event::Observed(_) | Event::Decided(_)) | None => Value::Null,
    };
    Ok(context.resuming(state))
}

/// Reads the answer on record to a request.
async fn confirmation_of(
    ledger: &Ledger,
    session: SessionId,
    request: Seq,
    answer: Seq,
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
