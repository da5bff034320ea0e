//! The desk: where an approval, or a call that waits for its result, is answered without anybody
//! who could run the call.

use std::sync::Arc;

use recount_journal::Durability;

use super::responding::{Supply, request_about, supplies};
use crate::engine::admission::answering::examine;
use crate::engine::admission::attempted_answer::AttemptedAnswer;
use crate::engine::admission::takeover;
use crate::engine::clock::Clock;
use crate::engine::error::Error;
use crate::ledger::{self, Ledger, Loaded, Objects};
use crate::session::{
    Actor, Command, Fact, Hook, Observation, Rejection, RequestId, Seq, Session, SessionId,
    Timestamp, UnfitAnswer, admit, open_work, overdue, refusal_on_record, step,
};
use crate::tool::{FunctionResponse, Ticket, ToolConfirmation};

/// Answers confirmation requests and paused calls on record, and starts nothing.
///
/// It attaches no runner, so an approved call is ready from here on and starts with the next
/// process that has its tool. It is for a journal that nobody serves: an
/// [`Engine`](crate::engine::Engine) answers for the sessions it serves.
///
/// ```
/// # async fn example(ledger: recount::ledger::Ledger, request: recount::session::RequestId) -> Result<(), recount::engine::Error> {
/// use recount::engine::{Desk, SystemClock};
/// use recount::prelude::*;
/// let desk = Desk::new(ledger, SystemClock::shared());
/// let seq = desk.answer(request, ToolConfirmation::confirmed(), Actor::os_user("ada")).await?;
/// println!("approved at seq {seq}");
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Desk {
    pub(in crate::engine) ledger: Ledger,
    pub(super) clock: Arc<dyn Clock>,
}

impl Desk {
    /// A desk over the sessions of `ledger`.
    pub fn new(ledger: Ledger, clock: Arc<dyn Clock>) -> Desk {
        Desk { ledger, clock }
    }

    /// Answers a request; the first answer on record counts. Returns the record of the answer.
    ///
    /// What a dead process left behind and what is overdue go on record before the answer, in the
    /// same batch, so that an answer after the expiry does not count just because nobody looked at
    /// the clock before.
    ///
    /// # Errors
    /// [`Error::Refused`] with what was decided before, which is put on record, too;
    /// [`Error::UnknownRequest`]; whatever the journal says.
    pub async fn answer(
        &self,
        request: RequestId,
        confirmation: ToolConfirmation,
        by: Actor,
    ) -> Result<Seq, Error> {
        self.answer_as(request, Ok(confirmation), by).await
    }

    /// Answers with what a door was given, or found wrong with it.
    pub(super) async fn answer_as(
        &self,
        request: RequestId,
        given: Result<ToolConfirmation, UnfitAnswer>,
        by: Actor,
    ) -> Result<Seq, Error> {
        let session = self.session_of(request).await?;
        let mut batch = Batch::new(self.ledger.load(session).await?, self.clock.now());
        let named = |seq: &&Seq| session.request_id(**seq) == request;
        let Some(seq) = batch.session.requests.keys().find(named).copied() else {
            return Err(Error::UnknownRequest { request });
        };
        batch.take_over()?;
        let expired = batch.record_overdue()?;
        let command = Command::AnswerConfirmation {
            request: seq,
            answer: examine(&self.ledger, &batch.session, &batch.before.seal, seq, given).await?,
            by: by.clone(),
        };
        match admit(&batch.session, command) {
            Ok(observation) => {
                let seq = batch.record(observation)?;
                batch.append(&self.ledger).await?;
                Ok(seq)
            }
            Err(rejection) => {
                let refused = batch.record_refusal(seq, &by, &rejection)?;
                if expired || refused {
                    batch.append(&self.ledger).await?;
                }
                Err(Error::Refused(rejection))
            }
        }
    }

    /// Gives the result of a paused call. Returns the record of the response; the model is told
    /// when the session is next served.
    ///
    /// An agent's redactor is code that a desk does not have; what it gives goes on record as it
    /// is, and as it is it is compared with a result that is on record already.
    ///
    /// ```
    /// # async fn example(ledger: recount::ledger::Ledger) -> Result<(), recount::engine::Error> {
    /// use recount::engine::{Desk, SystemClock};
    /// use recount::prelude::*;
    /// for call in ledger.paused().await? {
    ///     let desk = Desk::new(ledger.clone(), SystemClock::shared());
    ///     let response = FunctionResponse::new(&call.tool, json!({"receipt": 17}));
    ///     desk.respond(&Ticket::from(&call), response, Actor::os_user("ada")).await?;
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Refused`] where the call does not wait for a response, or is another tool's;
    /// [`Error::WrongId`]; [`Error::HookMissing`] where the agent's `before_tool_response` must see
    /// it first; whatever the journal says.
    pub async fn respond(
        &self,
        ticket: &Ticket,
        response: FunctionResponse,
        by: Actor,
    ) -> Result<Seq, Error> {
        let supply = self.supplies(ticket, response, false, by);
        let (session, supply) = supply.await?;
        self.take(session, supply).await
    }

    /// Gives news of a paused call, which stays paused, as
    /// [`Engine::update`](crate::engine::Engine::update) does.
    ///
    /// # Errors
    /// As of [`respond`](Desk::respond).
    pub async fn update(
        &self,
        ticket: &Ticket,
        news: FunctionResponse,
        by: Actor,
    ) -> Result<Seq, Error> {
        let supply = self.supplies(ticket, news, true, by);
        let (session, supply) = supply.await?;
        self.take(session, supply).await
    }

    async fn supplies(
        &self,
        ticket: &Ticket,
        response: FunctionResponse,
        will_continue: bool,
        by: Actor,
    ) -> Result<Supply, Error> {
        let supply = supplies(&self.ledger, ticket, response, will_continue, by.clone()).await;
        if let Err(Error::WrongId { found, .. }) = &supply
            && let Err(error) = self.record_wrong_id(ticket, found, by).await
        {
            // Whatever keeps it from the record, it is refused.
            tracing::warn!(session = %ticket.session, %error, "a result by the id of another call is not on record");
        }
        supply
    }

    async fn record_wrong_id(&self, ticket: &Ticket, id: &str, by: Actor) -> Result<(), Error> {
        let Some(request) = request_about(&self.ledger, ticket, Some(id)).await? else {
            return Ok(());
        };
        let unfit = UnfitAnswer::AnswersTheCall { id: id.to_owned() };
        match self.answer_as(request, Err(unfit), by).await {
            Ok(_) | Err(Error::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Records what a command becomes, if it is taken.
    pub(super) async fn take(&self, session: SessionId, command: Command) -> Result<Seq, Error> {
        let loaded = self.ledger.load(session).await?;
        let mut batch = Batch::new(loaded, self.clock.now());
        let left = batch.take_over()?;
        let overdue = batch.record_overdue()?;
        let attempt = AttemptedAnswer::of(&batch.session, &command);
        match admit(&batch.session, command) {
            // What the hook would take out must not go on record because of the way it came.
            Ok(Observation::ResponseSupplied(_))
                if batch.session.terms.policies.hooks.before_tool_response =>
            {
                Err(Error::HookMissing {
                    session,
                    hook: Hook::BeforeToolResponse,
                })
            }
            Ok(observation) => {
                let seq = batch.record(observation)?;
                batch.append(&self.ledger).await?;
                Ok(seq)
            }
            Err(rejection) => {
                let refused = attempt.and_then(|it| it.refused(&batch.session, &rejection));
                // What the refusal speaks of is on record, also where the process that was there
                // before it has not said so.
                let any = left || overdue || refused.is_some();
                if let Some(refused) = refused {
                    batch.record(refused)?;
                }
                if any {
                    batch.append(&self.ledger).await?;
                }
                Err(Error::Refused(rejection))
            }
        }
    }

    /// Records what a dead process left behind and what is overdue, and nothing else.
    #[cfg(feature = "play")]
    pub(crate) async fn look(&self, session: SessionId) -> Result<(), Error> {
        let loaded = self.ledger.load(session).await?;
        let mut batch = Batch::new(loaded, self.clock.now());
        let left = batch.take_over()?;
        let overdue = batch.record_overdue()?;
        if left || overdue {
            batch.append(&self.ledger).await?;
        }
        Ok(())
    }

    async fn session_of(&self, request: RequestId) -> Result<SessionId, Error> {
        let named = self.ledger.journal().request(request.0).await?;
        let (session, _) = named.ok_or(Error::UnknownRequest { request })?;
        Ok(SessionId(session))
    }
}

/// What becomes one atomic append to a session.
struct Batch {
    before: Loaded,
    session: Session,
    facts: Vec<Fact>,
    now: Timestamp,
}

impl Batch {
    fn new(before: Loaded, now: Timestamp) -> Batch {
        let session = before.session.clone();
        Batch {
            before,
            session,
            facts: Vec::new(),
            now,
        }
    }

    /// Whoever can open the journal knows that the process that served the session is gone.
    fn take_over(&mut self) -> Result<bool, Error> {
        let left = takeover::observations(&self.session);
        let any = !left.is_empty();
        for observation in left {
            self.record(observation)?;
        }
        Ok(any)
    }

    fn record_overdue(&mut self) -> Result<bool, Error> {
        let overdue = overdue(&self.session, self.now);
        let any = !overdue.is_empty();
        for observation in overdue {
            self.record(observation)?;
        }
        Ok(any)
    }

    fn record_refusal(
        &mut self,
        request: Seq,
        by: &Actor,
        rejection: &Rejection,
    ) -> Result<bool, Error> {
        match refusal_on_record(&self.session, request, by, rejection) {
            Some(observation) => self.record(observation).map(|_| true),
            None => Ok(false),
        }
    }

    /// Steps over an observation and returns its place.
    fn record(&mut self, observation: Observation) -> Result<Seq, Error> {
        let id: SessionId = self.session.id;
        let seq = self.session.head.next();
        let session = std::mem::replace(&mut self.session, Session::new(id));
        let stepped =
            step(session, self.now, observation).map_err(|source| ledger::Error::Endless {
                session: id,
                source,
            })?;
        self.session = stepped.session;
        self.facts.extend(stepped.facts);
        Ok(seq)
    }

    async fn append(self, ledger: &Ledger) -> Result<(), Error> {
        let open_before = open_work(&self.before.session);
        ledger
            .append(
                self.before.tail,
                &self.before.seal,
                &self.session,
                &self.facts,
                &open_before,
                Objects::default(),
                Durability::Durable,
            )
            .await?;
        Ok(())
    }
}
