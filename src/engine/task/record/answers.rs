//! An approver's answer: checked against its request, recorded, and passed to the run.

use crate::engine::admission::answering::examine;
use crate::engine::effects::given::{Given, given};
use crate::engine::error::Error;
use crate::engine::task::parts::Stream;
use crate::engine::task::session_task::SessionTask;
use crate::session::catalog::contract_hash;
use crate::session::{
    Actor, Call, Command, Event, Json, Observation, RequestId, RequestState, Seq, UnfitAnswer,
};
use crate::tool::ToolConfirmation;

impl SessionTask {
    /// Answers a request by its public id.
    pub(in crate::engine) async fn answer_named(
        &mut self,
        request: RequestId,
        given: Result<ToolConfirmation, UnfitAnswer>,
        by: Actor,
    ) -> Result<Seq, Error> {
        let named = |seq: &&Seq| self.id.request_id(**seq) == request;
        match self.stream.session.requests.keys().find(named).copied() {
            Some(request) => self.answer_confirmation(request, given, by).await,
            None => Err(Error::UnknownRequest { request }),
        }
    }

    /// Records the provider's answer. If it came late or does not fit, the refusal is recorded and
    /// no caller waits for it.
    pub(in crate::engine) async fn provider_answered(
        &mut self,
        request: Seq,
        confirmation: ToolConfirmation,
        by: Actor,
    ) -> Result<(), Error> {
        match self
            .answer_confirmation(request, Ok(confirmation), by)
            .await
        {
            Ok(_) | Err(Error::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Answers a request. An answer that does not count is recorded as refused.
    pub(in crate::engine) async fn answer_confirmation(
        &mut self,
        request: Seq,
        given: Result<ToolConfirmation, UnfitAnswer>,
        by: Actor,
    ) -> Result<Seq, Error> {
        if given.as_ref().is_ok_and(|it| it.confirmed) {
            self.attach_where_tool_changed(request).await?;
        }
        let answer = examine(
            &self.stream.ledger,
            &self.stream.session,
            &self.stream.seal,
            || self.shared.clock.now(),
            request,
            given,
        )
        .await?;
        self.command(Command::AnswerConfirmation {
            request,
            answer,
            by,
        })
        .await
    }

    /// Attaches if the current tool differs from the approved one or is gone.
    ///
    /// The approver then gets an error instead of approving a call that cannot run. A process that
    /// is attached already continues with the current tool.
    async fn attach_where_tool_changed(&mut self, request: Seq) -> Result<(), Error> {
        let asked = self.stream.session.requests.get(&request);
        let asked = asked.filter(|it| it.state == RequestState::Open);
        let call = asked.and_then(|it| self.stream.session.calls.get(&it.call));
        let Some(call) = call else {
            return Ok(());
        };
        if self.running.attached.is_some() {
            let call = asked.map_or(request, |it| it.call);
            return Box::pin(self.renew_for(call)).await;
        }
        let declared = self.stream.session.terms.catalog.tools.get(&call.name);
        let is_at_client = declared.is_some_and(|it| it.kind.runs_at_client());
        if is_at_client && self.agent.awaits_from_client(&call.name) {
            // Its client declares the tool again with its next connection.
            return Ok(());
        }
        let catalog = &self.agent.catalog;
        let refreshed = self.refreshed_catalog(&self.agent, catalog, |name| name == call.name);
        let refreshed = refreshed.await;
        let declared = refreshed.as_ref().unwrap_or(catalog).tools.get(&call.name);
        let policy = self.agent.policies.of(&call.name);
        let changed = declared.map(|it| contract_hash(it, policy)) != call.contract;
        if changed && !self.shared.slots.is_shut() {
            self.attach(Vec::new()).await?;
        }
        Ok(())
    }
}

impl Stream {
    /// Returns the records of the approval with which a call starts, and of its tool's question.
    pub(in crate::engine) fn leave_given(&self, call: &Call) -> Option<Given> {
        given(&self.session, call)
    }

    /// Returns the arguments of an open or settled call: those that an approver edited, or else the
    /// model's.
    pub(in crate::engine) async fn args_that_ran(&self, call: Seq) -> Result<Json, Error> {
        if let Some(open) = self.session.calls.get(&call) {
            return Ok(open.args.clone());
        }
        let after = self.session.requests.range(call..).rev();
        for (_, request) in after.filter(|(_, request)| request.call == call) {
            let RequestState::Answered(answered) = &request.state else {
                continue;
            };
            let said = self.ledger.fact(self.session.id, answered.at).await?;
            if let Some(Event::Observed(Observation::ConfirmationAnswered(it))) =
                said.map(|fact| fact.event)
                && let Some(edited) = it.edited_args.filter(|_| it.confirmed)
            {
                return Ok(edited);
            }
        }
        let received = self.ledger.call_received(self.session.id, call).await?;
        let args = received.and_then(|it| it.args);
        Ok(args.unwrap_or_else(Json::empty_object))
    }
}
