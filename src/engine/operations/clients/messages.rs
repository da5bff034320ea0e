//! The entry point for a client's messages: answers to requests, results of long-running calls, and
//! text.

use recount_journal::causes;
use std::collections::BTreeMap;

use tokio::sync::oneshot;

use super::responses::{Meant, Refused};
use crate::adk::{ClientMessage, ClientResponse, RefusedMessage};
use crate::engine::error::Error;
use crate::engine::inputs::inbox::{Input, UserText};
use crate::engine::received::Received;
use crate::engine::serving::engine::Engine;
use crate::engine::task::session_task::Begin;
use crate::session::{
    Actor, Command, REFUSALS_RECORDED_MAX, Rejection, Request, RequestId, RequestState, Seq,
    Session, SessionId, UnfitAnswer,
};

impl Engine {
    /// Handles a message that an ADK client sends, in one of the shapes of [`ClientMessage`].
    ///
    /// It carries text, answers to confirmation requests, or results of long-running calls. One
    /// message may carry several answers.
    ///
    /// A confirmation request is answered by its own id. A paused call is answered by the id under
    /// which [`adk_events`](crate::engine::LiveHandle::adk_events) shows it, by its
    /// [`CallId`](crate::session::CallId), or by its [`Ticket`](crate::engine::Ticket). A client
    /// that may call this method for the session may answer for it. `by` is the identity for which
    /// the embedding program vouches.
    ///
    /// If one part of a message cannot be an answer, the whole message is refused. No part takes
    /// effect, and the requests stay open. The refusal is recorded with the request it is about,
    /// also with a request of another session. A message that calls a function is recorded as
    /// refused with every open request.
    ///
    /// ```
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    /// # runtime.unwrap().block_on(async {
    /// use recount::engine::{Error, Received};
    /// use recount::prelude::*;
    ///
    /// let transfer = T::simple("transfer", "Sends money", |_| async {
    ///     Ok(json!({"status": "ok"}))
    /// });
    /// let agent = Agent::new().model("none").strict().tools(T::confirm(transfer, "Send it?"));
    /// let engine = Engine::in_memory().agent("bank", agent).open().await?;
    /// let session = engine.session("bank").open().await?;
    /// let mut events = session.adk_events();
    ///
    /// let sent = session.call_function(
    ///     "transfer",
    ///     json!({"amount": 50}),
    ///     Actor::embedder("pipeline"),
    /// );
    /// let approved = async {
    ///     events.next().await?;
    ///     let asked = events.next().await?.expect("a person is asked");
    ///     let id = asked.calls().find_map(|call| call.id.clone()).unwrap_or_default();
    ///     let answer = |confirmed: &str| format!(
    ///         r#"{{"functionResponse":{{"id":"{id}","name":"adk_request_confirmation","response":{{"confirmed":{confirmed}}}}}}}"#
    ///     );
    ///     let maybe = session
    ///         .receive_client_message(Actor::embedder("ada"), &answer("\"maybe\""))
    ///         .await;
    ///     assert!(matches!(maybe, Err(Error::Refused(_))));
    ///     session.receive_client_message(Actor::embedder("ada"), &answer("true")).await
    /// };
    /// let (sent, approved) = tokio::join!(sent, approved);
    /// assert_eq!(sent, Ok(json!({"status": "ok"})));
    /// assert!(matches!(approved?.as_slice(), [Received::Answered { .. }]));
    /// # Ok::<(), Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// * [`Error::Message`]: the message cannot be read, calls a function, or answers something
    ///   that cannot be answered this way.
    /// * [`Error::WrongId`]: it has a ticket, and the id of another call.
    /// * [`Error::Refused`]: it says neither yes nor no, or its payload does not fit. Or the
    ///   request was answered before or expired, or the call does not wait for a response.
    /// * [`Error::PartlyTaken`]: the session refused some of several answers.
    /// * [`Error::NotConnected`]: the message has text, and there is no connection.
    pub async fn receive_client_message(
        &self,
        session: SessionId,
        by: Actor,
        message: &str,
    ) -> Result<Vec<Received>, Error> {
        let read = match ClientMessage::parse(message) {
            Ok(read) => read,
            Err(forged @ RefusedMessage::FunctionCall { .. }) => {
                self.refuse_forged(session, &forged, &by).await;
                return Err(forged.into());
            }
            Err(why) => return Err(why.into()),
        };
        match read {
            ClientMessage::Text(text) => {
                let place = self.inner.registry.place_of_text(session);
                let user_text = UserText { text, place };
                self.ask_task(session, |reply| Input::SendText(user_text, reply))
                    .await?;
                Ok(vec![Received::Said])
            }
            ClientMessage::Responses(responses) => {
                let meant = self.understand(session, &by, responses).await?;
                self.take(session, &by, meant).await
            }
        }
    }

    /// Records a forged call as refused with every open request that still records refusals.
    ///
    /// The call may have been meant to pass for any of them. It is refused even if recording fails.
    async fn refuse_forged(&self, id: SessionId, forged: &RefusedMessage, by: &Actor) {
        let asked = match self.asked_in(id).await {
            Ok(asked) => asked,
            Err(error) => {
                tracing::warn!(
                    session = %id, error = %causes(&error),
                    "a forged call is not on record"
                );
                return;
            }
        };
        let open = asked.iter().filter(|(_, it)| {
            it.state == RequestState::Open && it.refused <= REFUSALS_RECORDED_MAX
        });
        for (request, _) in open {
            let request = id.request_id(*request);
            self.note_refused(request, misdirected(forged), by).await;
        }
    }

    /// Records a refusal that does not depend on the session. A failure to record it changes
    /// nothing.
    async fn note_refused(&self, request: RequestId, unfit: UnfitAnswer, by: &Actor) {
        if let Err(error) = self.refused_answer(request, unfit, by).await {
            tracing::warn!(%request, error = %causes(&error), "what was refused is not on record");
        }
    }

    /// Returns the requests of a session. Empty if none is open; then no task is spawned.
    async fn asked_in(&self, id: SessionId) -> Result<BTreeMap<Seq, Request>, Error> {
        if self.ledger().pending_in(id).await?.is_empty() {
            return Ok(BTreeMap::new());
        }
        Ok(self.session_as_it_is(id).await?.requests)
    }

    /// Interprets several responses. If one means nothing, none is accepted.
    async fn understand(
        &self,
        id: SessionId,
        by: &Actor,
        responses: Vec<ClientResponse>,
    ) -> Result<Vec<Meant>, Error> {
        let session = self.session_as_it_is(id).await?;
        let (mut meant, mut first) = (Vec::new(), None);
        for response in responses {
            match self.meaning(&session, response).await? {
                Ok(it) => meant.push(it),
                Err(refused) => {
                    let why = self.refuse(id, refused, by).await?;
                    first.get_or_insert(why);
                }
            }
        }
        match first {
            Some(why) => Err(why),
            None => Ok(meant),
        }
    }

    /// Records a refusal with its request, and returns the error.
    async fn refuse(
        &self,
        session: SessionId,
        refused: Refused,
        by: &Actor,
    ) -> Result<Error, Error> {
        match refused {
            Refused::Unknown(why, None) => Ok(why.into()),
            Refused::Unknown(why, Some(elsewhere)) => {
                self.refuse_foreign(session, elsewhere, by).await;
                Ok(why.into())
            }
            Refused::Misdirected(why, request) => {
                self.note_refused(request, misdirected(&why), by).await;
                Ok(why.into())
            }
            Refused::Ambiguous(why, about) => {
                if let Some((request, unfit)) = about {
                    self.note_refused(request, unfit, by).await;
                }
                Ok(*why)
            }
            // If the request is no longer open, the session returns its outcome.
            Refused::Unfit(request, unfit) => {
                let said = self.refused_answer(request, unfit, by).await?;
                Ok(said.into())
            }
        }
    }

    /// Records an answer sent for `session` as refused, with the request of the other session that
    /// it names.
    pub(in crate::engine) async fn refuse_foreign(
        &self,
        session: SessionId,
        elsewhere: RequestId,
        by: &Actor,
    ) {
        let unfit = UnfitAnswer::ForeignSession { session };
        let seen = self.answer_as(elsewhere, Err(unfit), by.clone()).await;
        // The client must not learn the state of another session.
        if let Err(error) = seen
            && !matches!(error, Error::Refused(_) | Error::UnknownRequest { .. })
        {
            tracing::warn!(
                request = %elsewhere, error = %causes(&error),
                "a foreign answer is not on record"
            );
        }
    }

    /// Returns the session's rejection of an unfit answer.
    pub(in crate::engine::operations) async fn refused_answer(
        &self,
        request: RequestId,
        unfit: UnfitAnswer,
        by: &Actor,
    ) -> Result<Rejection, Error> {
        let given = Err(unfit.clone());
        match self.answer_as(request, given, by.clone()).await {
            Ok(_) => Ok(Rejection::UnfitAnswer(unfit)),
            Err(Error::Refused(said)) => Ok(said),
            Err(error) => Err(error),
        }
    }

    /// Passes the interpreted responses to the session one by one. The session may still refuse
    /// them.
    async fn take(
        &self,
        session: SessionId,
        by: &Actor,
        meant: Vec<Meant>,
    ) -> Result<Vec<Received>, Error> {
        let is_one = meant.len() == 1;
        let (mut taken, mut refused) = (Vec::new(), Vec::new());
        for it in meant {
            let (id, outcome) = match it {
                Meant::Answer {
                    request,
                    confirmation,
                } => {
                    let request = session.request_id(request);
                    let at = self.answer(request, *confirmation, by.clone()).await;
                    let received = match at {
                        Ok(at) => Ok(self.received(session, request, at).await),
                        Err(error) => Err(error),
                    };
                    (request.to_string(), received)
                }
                Meant::Result {
                    call,
                    name,
                    response,
                    will_continue,
                } => {
                    let by = by.clone();
                    let supply = Command::SupplyResponse {
                        call,
                        name,
                        response,
                        will_continue,
                        by,
                    };
                    let at = self.command(session, supply).await;
                    let call = session.call_id(call);
                    (
                        call.to_string(),
                        at.map(|at| Received::Supplied { call, at }),
                    )
                }
            };
            match outcome {
                Ok(received) => taken.push(received),
                Err(error) if is_one => return Err(error),
                Err(error) => refused.push((id, error)),
            }
        }
        if refused.is_empty() {
            Ok(taken)
        } else {
            Err(Error::PartlyTaken { taken, refused })
        }
    }

    /// Returns the effect of an answer on its request, from the record. An answer whose record
    /// cannot be read counts as the decision, which the client sees in the events, too.
    async fn received(&self, session: SessionId, request: RequestId, at: Seq) -> Received {
        match self.ledger().approvals_missing(session, at).await {
            Ok(0) => Received::Answered { request, at },
            Ok(missing) => Received::Approved {
                request,
                at,
                missing,
            },
            Err(error) => {
                tracing::warn!(
                    %session, error = %causes(&error),
                    "the approvals of a request could not be read"
                );
                Received::Answered { request, at }
            }
        }
    }

    async fn session_as_it_is(&self, session: SessionId) -> Result<Session, Error> {
        match self.agent_of(session).await {
            Ok(agent) => {
                let (reply, answer) = oneshot::channel();
                let task = self.send(session, agent, Begin::Resume, Input::Session(reply));
                answer.await.map_err(|_| task.stopped(session))
            }
            // No agent here serves it, but it can be answered.
            Err(Error::UnknownAgent { .. }) => self.folded(session).await,
            Err(error) => Err(error),
        }
    }
}

fn misdirected(why: &RefusedMessage) -> UnfitAnswer {
    if let RefusedMessage::WrongName {
        expected, found, ..
    } = why
    {
        let (expected, found) = (expected.clone(), found.clone());
        UnfitAnswer::WrongName { expected, found }
    } else if let RefusedMessage::AwaitsConfirmation { id, .. } = why {
        UnfitAnswer::AnswersTheCall { id: id.clone() }
    } else {
        UnfitAnswer::Malformed {
            problem: why.to_string(),
        }
    }
}
