//! The result of a paused call, from outside: through the session's task, or at the desk where
//! nobody here serves it.

use crate::engine::error::Error;
use crate::engine::serving::engine::Engine;
use crate::ledger::Ledger;
use crate::session::{Actor, Command, Json, RequestId, Seq, SessionId, UnfitAnswer};
use crate::tool::{FunctionResponse, Ticket};

impl Engine {
    /// Gives the result of a paused call. Returns the record of the response.
    ///
    /// Where the agent of the session is not registered here, the response goes on record all the
    /// same, and the model is told once the agent is registered, here or in the next process.
    ///
    /// # Errors
    /// [`Error::Refused`] where the call does not wait for a response, or is another tool's; where
    /// it has its result, with what is on record
    /// ([`Rejection::AlreadySupplied`](crate::session::Rejection::AlreadySupplied)): one that came
    /// twice is told so, and one that says something else changes nothing. [`Error::WrongId`];
    /// [`Error::HookMissing`].
    pub async fn respond(
        &self,
        ticket: &Ticket,
        response: FunctionResponse,
        by: Actor,
    ) -> Result<Seq, Error> {
        let supply = self.supplies(ticket, response, false, by).await?;
        self.supply(supply).await
    }

    /// Gives news of a paused call, which stays paused. Returns the record of it.
    ///
    /// News is told to the model in its order, as a response after which more follows; where the
    /// model takes one response to a call and has had it, as a word of the conversation.
    /// [`respond`](Engine::respond) has the last word.
    ///
    /// ```
    /// # async fn example(engine: recount::engine::Engine, ticket: recount::prelude::Ticket) -> Result<(), recount::engine::Error> {
    /// use recount::prelude::*;
    /// let packed = FunctionResponse::new(&ticket.tool, json!({"packed": 3, "of": 4}));
    /// engine.update(&ticket, packed, Actor::embedder("warehouse")).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As of [`respond`](Engine::respond).
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
            // Whatever keeps it from the record, it is refused.
            tracing::warn!(session = %ticket.session, %error, "a result by the id of another call is not on record");
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

    /// Gives the result of a paused call, or news of it, number for number as it was written.
    pub(in crate::engine) async fn supply(&self, (session, supply): Supply) -> Result<Seq, Error> {
        self.command(session, supply).await
    }
}

/// What is given for a call, and in which session.
pub(crate) type Supply = (SessionId, Command);

/// A response to the call that a ticket names, and that its own id names, where it has one.
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

/// The request that is open about the call of a ticket, or about the one that has the id beside it,
/// if a person is being asked about either.
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

/// As [`request_about`], of another session than the one in which the ticket was shown: what
/// becomes of that is nothing that whoever tried it should hear of.
pub(in crate::engine) async fn foreign_request_about(
    ledger: &Ledger,
    ticket: &Ticket,
) -> Option<RequestId> {
    match request_about(ledger, ticket, None).await {
        Ok(about) => about,
        Err(error) => {
            tracing::warn!(session = %ticket.session, %error, "a foreign result is not on record");
            None
        }
    }
}

/// An id is the model's for the call, or ours.
pub(super) async fn check_id(ledger: &Ledger, ticket: &Ticket, found: String) -> Result<(), Error> {
    let call = ticket.session.call_id(ticket.call);
    if found == call.to_string() {
        return Ok(());
    }
    // Of what is no call the session says so.
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

/// As `supplies`, number for number as it was written.
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
