//! The result of a paused call, supplied from outside through the session's task or the desk.

use crate::engine::error::Error;
use crate::engine::serving::engine::Engine;
use crate::ledger::Ledger;
use crate::session::{Actor, Command, Json, RequestId, Seq, SessionId, UnfitAnswer};
use crate::tool::{FunctionResponse, Ticket};
use recount_journal::causes;

impl Engine {
    /// Supplies the result of a paused call, and returns the record of the response.
    ///
    /// If the session's agent is not registered here, the response is still recorded. It is
    /// delivered once the agent is registered, here or in the next process.
    ///
    /// # Errors
    /// [`Error::Refused`] if the call does not wait for a response, or is another tool's. Also if
    /// the call has its result already, with the recorded one
    /// ([`Rejection::AlreadySupplied`](crate::session::Rejection::AlreadySupplied)): the rejection
    /// tells an equal result from a different one, and neither changes anything.
    /// [`Error::WrongId`]; [`Error::HookMissing`].
    pub async fn respond(
        &self,
        ticket: &Ticket,
        response: FunctionResponse,
        by: Actor,
    ) -> Result<Seq, Error> {
        let supply = self.supplies(ticket, response, false, by).await?;
        self.supply(supply).await
    }

    /// Supplies an interim result of a paused call, which stays paused. Returns the record of it.
    ///
    /// The model gets interim results in order, each as a response that another one follows. If the
    /// model takes one response per call and has had it, it gets them as conversation.
    /// [`respond`](Engine::respond) supplies the final one.
    ///
    /// ```
    /// # async fn example(
    /// #     engine: recount::engine::Engine,
    /// #     ticket: recount::prelude::Ticket,
    /// # ) -> Result<(), recount::engine::Error> {
    /// use recount::prelude::*;
    /// let packed = FunctionResponse::new(&ticket.tool, json!({"packed": 3, "of": 4}));
    /// engine.update(&ticket, packed, Actor::embedder("warehouse")).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Those of [`respond`](Engine::respond).
    pub async fn update(
        &self,
        ticket: &Ticket,
        news: FunctionResponse,
        by: Actor,
    ) -> Result<Seq, Error> {
        let supply = self.supplies(ticket, news, true, by).await?;
        self.supply(supply).await
    }

    async fn supplies(
        &self,
        ticket: &Ticket,
        response: FunctionResponse,
        will_continue: bool,
        by: Actor,
    ) -> Result<Supply, Error> {
        let ledger = self.ledger();
        let supply = supplies(ledger, ticket, response, will_continue, by.clone()).await;
        if let Err(Error::WrongId { found, .. }) = &supply
            && let Err(error) = self.record_wrong_id(ticket, found, &by).await
        {
            // The result is refused even if recording that fails.
            tracing::warn!(
                session = %ticket.session, error = %causes(&error),
                "a result by the id of another call is not on record"
            );
        }
        supply
    }

    async fn record_wrong_id(&self, ticket: &Ticket, id: &str, by: &Actor) -> Result<(), Error> {
        if let Some(request) = request_about(self.ledger(), ticket, Some(id)).await? {
            let unfit = UnfitAnswer::AnswersTheCall { id: id.to_owned() };
            self.refused_answer(request, unfit, by).await?;
        }
        Ok(())
    }

    /// Records a final or interim result of a paused call. Its numbers keep their digits.
    pub(in crate::engine) async fn supply(&self, (session, supply): Supply) -> Result<Seq, Error> {
        self.command(session, supply).await
    }
}

/// The command that supplies a result, and its session.
pub(crate) type Supply = (SessionId, Command);

/// Returns the command for a response, if the ticket and the response's own id name the same call.
pub(in crate::engine) async fn supplies(
    ledger: &Ledger,
    ticket: &Ticket,
    response: FunctionResponse,
    will_continue: bool,
    by: Actor,
) -> Result<Supply, Error> {
    let FunctionResponse { name, response, id } = response;
    if let Some(found) = id.filter(|id| !id.is_empty()) {
        check_id(ledger, ticket, found).await?;
    }
    let result = Json::of(&response);
    Ok(supplies_json(ticket, name, result, will_continue, by))
}

/// Returns the open request about the ticket's call, or about the call with the given id.
pub(super) async fn request_about(
    ledger: &Ledger,
    ticket: &Ticket,
    id: Option<&str>,
) -> Result<Option<RequestId>, Error> {
    let session = ticket.session;
    let asked = ledger.pending_in(session).await?;
    if let Some(about) = asked.iter().find(|it| it.call == ticket.call) {
        return Ok(Some(about.id));
    }
    let Some(id) = id else {
        return Ok(None);
    };
    for it in asked {
        let received = ledger.call_received(session, it.call).await?;
        let by_model = received.and_then(|received| received.id);
        if by_model.as_deref() == Some(id) || session.call_id(it.call).to_string() == id {
            return Ok(Some(it.id));
        }
    }
    Ok(None)
}

/// Does the same as [`request_about`] for a ticket of another session. An error is only logged,
/// because the client must not learn the state of that session.
pub(in crate::engine) async fn foreign_request_about(
    ledger: &Ledger,
    ticket: &Ticket,
) -> Option<RequestId> {
    match request_about(ledger, ticket, None).await {
        Ok(about) => about,
        Err(error) => {
            tracing::warn!(
                session = %ticket.session, error = %causes(&error),
                "a foreign result is not on record"
            );
            None
        }
    }
}

/// Checks that an id is the model's or the public id of the ticket's call.
pub(super) async fn check_id(ledger: &Ledger, ticket: &Ticket, found: String) -> Result<(), Error> {
    let call = ticket.session.call_id(ticket.call);
    if found == call.to_string() {
        return Ok(());
    }
    // The session reports an unknown call.
    let Some(received) = ledger.call_received(ticket.session, ticket.call).await? else {
        return Ok(());
    };
    match received.id {
        Some(expected) if expected == found => Ok(()),
        expected => Err(Error::WrongId {
            call,
            expected,
            found,
        }),
    }
}

/// Returns the same command as `supplies`. The result's numbers keep their digits.
pub(super) fn supplies_json(
    ticket: &Ticket,
    name: String,
    response: Json,
    will_continue: bool,
    by: Actor,
) -> Supply {
    let supply = Command::SupplyResponse {
        call: ticket.call,
        name,
        response,
        will_continue,
        by,
    };
    (ticket.session, supply)
}
