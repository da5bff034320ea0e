//! The target of a client's response, found by its id before any part of the message takes effect.

use super::super::responding::{check_id, foreign_request_about, request_about};
use crate::adk::{Card, ClientResponse, REQUEST_CONFIRMATION, RefusedMessage, confirmation_from};
use crate::engine::error::Error;
use crate::engine::serving::engine::Engine;
use crate::session::{
    CallId, ConfirmationRequested, Event, Json, RequestId, Seq, Session, UnfitAnswer, open_request,
};
use crate::tool::ToolConfirmation;

/// A response with its target.
pub(super) enum Meant {
    Answer {
        request: Seq,
        confirmation: Box<ToolConfirmation>,
    },
    Result {
        call: Seq,
        name: String,
        response: Json,
        will_continue: bool,
    },
}

/// The reason why a response is refused.
pub(in crate::engine) enum Refused {
    /// No call or request of the session has this id. If one of another session has, the refusal is
    /// recorded there.
    Unknown(RefusedMessage, Option<RequestId>),
    /// It cannot be answered this way. The refusal is recorded with the request it is about.
    Misdirected(RefusedMessage, RequestId),
    /// Its id and its ticket name different calls. The refusal is recorded with the request that
    /// one of them is about.
    Ambiguous(Box<Error>, Option<(RequestId, UnfitAnswer)>),
    /// It answers a request, but is not a valid answer.
    Unfit(RequestId, UnfitAnswer),
}

impl Engine {
    /// Returns the target of a response by its id. Nothing takes effect yet.
    pub(super) async fn meaning(
        &self,
        session: &Session,
        response: ClientResponse,
    ) -> Result<Result<Meant, Refused>, Error> {
        let ClientResponse {
            id,
            ticket,
            name,
            response,
            will_continue,
        } = response;
        let unknown = |id, about| Refused::Unknown(RefusedMessage::UnknownId { id }, about);
        let (id, call) = match (id, ticket) {
            (given, Some(ticket)) => {
                let id = ticket.session.call_id(ticket.call).to_string();
                let is_here = ticket.session == session.id && is_call(session, ticket.call);
                if !is_here {
                    let about = foreign_request_about(self.ledger(), &ticket).await;
                    return Ok(Err(unknown(id, about)));
                }
                if let Some(given) = given {
                    match check_id(self.ledger(), &ticket, given.clone()).await {
                        Ok(()) => {}
                        Err(wrong @ Error::WrongId { .. }) => {
                            let about = match request_named(session, &given) {
                                Some(request) => Some(session.id.request_id(request)),
                                None => request_about(self.ledger(), &ticket, Some(&given)).await?,
                            };
                            let about = about.map(|request| {
                                (request, UnfitAnswer::AnswersTheCall { id: given })
                            });
                            return Ok(Err(Refused::Ambiguous(Box::new(wrong), about)));
                        }
                        Err(error) => return Err(error),
                    }
                }
                (id, ticket.call)
            }
            (Some(id), None) => {
                if let Some(request) = request_named(session, &id) {
                    if let Some(wrong) = wrong_name(session, &id, request, name.as_deref()) {
                        return Ok(Err(wrong));
                    }
                    let read = self.answer_to_card(session, request, &response).await?;
                    let about = session.id.request_id(request);
                    return Ok(match read {
                        Ok(confirmation) => Ok(Meant::Answer {
                            request,
                            confirmation: Box::new(confirmation),
                        }),
                        Err(unfit) => Err(Refused::Unfit(about, unfit)),
                    });
                }
                match self.call_named(session, &id).await? {
                    Some(call) => (id, call),
                    None => {
                        let about = self.request_elsewhere(&id).await?;
                        return Ok(Err(unknown(id, about)));
                    }
                }
            }
            (None, None) => {
                let name = name.unwrap_or_default();
                let why = RefusedMessage::MissingId { name };
                return Ok(Err(Refused::Unknown(why, None)));
            }
        };
        let result = result(session, id, call, name);
        Ok(result.map(|name| Meant::Result {
            call,
            name,
            response,
            will_continue,
        }))
    }

    /// Parses the answer to a request, using the card that the client was shown.
    async fn answer_to_card(
        &self,
        session: &Session,
        request: Seq,
        response: &Json,
    ) -> Result<Result<ToolConfirmation, UnfitAnswer>, Error> {
        let call = session.requests.get(&request).map(|it| it.call);
        let call = call.and_then(|call| session.calls.get(&call));
        let question = self.question(session, request).await?;
        Ok(match (call, &question) {
            (Some(call), Some(question)) => Card {
                question,
                args: &call.args,
            }
            .answer(response),
            // The session reports the outcome of the request.
            (Some(_) | None, _) => confirmation_from(response),
        })
    }

    async fn question(
        &self,
        session: &Session,
        request: Seq,
    ) -> Result<Option<ConfirmationRequested>, Error> {
        let asked = self.ledger().fact(session.id, request).await?;
        Ok(asked.and_then(|fact| match fact.event {
            Event::Decided(decision) => decision.question().cloned(),
            Event::Observed(_) => None,
        }))
    }

    /// Returns the call that a client knows by `id`: its public id, or else the model's id.
    ///
    /// If the model used the id several times, the first call of the session has it. Later ones are
    /// shown by their public id, so that a late answer cannot reach the wrong call.
    async fn call_named(&self, session: &Session, id: &str) -> Result<Option<Seq>, Error> {
        let open = session.calls.keys().copied();
        let mut calls: Vec<Seq> = session.settled.keys().copied().chain(open).collect();
        calls.sort_unstable();
        if let Ok(name) = id.parse::<CallId>()
            && let Some(call) = calls.iter().find(|it| session.id.call_id(**it) == name)
        {
            return Ok(Some(*call));
        }
        for call in calls {
            let is_it = match session.calls.get(&call) {
                Some(open) => open.wire_id.as_deref() == Some(id),
                None => {
                    let received = self.ledger().call_received(session.id, call).await?;
                    received.is_some_and(|it| it.id.as_deref() == Some(id))
                }
            };
            if is_it {
                return Ok(Some(call));
            }
        }
        Ok(None)
    }

    /// Returns the request of another session with this id. The attempt to answer it here is
    /// recorded there.
    async fn request_elsewhere(&self, id: &str) -> Result<Option<RequestId>, Error> {
        let Ok(request) = id.parse::<RequestId>() else {
            return Ok(None);
        };
        let named = self.ledger().journal().request(request.0).await?;
        Ok(named.map(|_| request))
    }
}

/// Refuses a response to a request that names another function than its card.
fn wrong_name(session: &Session, id: &str, request: Seq, name: Option<&str>) -> Option<Refused> {
    let found = name.filter(|name| *name != REQUEST_CONFIRMATION)?;
    let why = RefusedMessage::WrongName {
        id: id.to_owned(),
        expected: REQUEST_CONFIRMATION.to_owned(),
        found: found.to_owned(),
    };
    Some(Refused::Misdirected(why, session.id.request_id(request)))
}

/// Returns the tool that a result names, if the call may have a result from outside. The session
/// decides whether it waits for one.
fn result(
    session: &Session,
    id: String,
    call: Seq,
    name: Option<String>,
) -> Result<String, Refused> {
    let open = session.calls.get(&call);
    if let Some(request) = open_request(session, call) {
        // A client's result must not replace the approver's answer.
        let request = session.id.request_id(request);
        let why = RefusedMessage::AwaitsConfirmation { id, request };
        return Err(Refused::Misdirected(why, request));
    }
    Ok(match (name, open) {
        (Some(name), _) => name,
        (None, Some(open)) => open.name.clone(),
        (None, None) => String::new(),
    })
}

fn is_call(session: &Session, call: Seq) -> bool {
    session.calls.contains_key(&call) || session.settled.contains_key(&call)
}

fn request_named(session: &Session, id: &str) -> Option<Seq> {
    let name = id.parse::<RequestId>().ok()?;
    let mut requests = session.requests.keys();
    requests
        .find(|request| session.id.request_id(**request) == name)
        .copied()
}
