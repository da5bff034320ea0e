//! The desk: the writer for sessions without a task.
//!
//! It answers requests and paused calls where no process could run the calls.

use std::sync::Arc;

use recount_journal::{CarriedOut, Durability, causes};
use uuid::Uuid;

use super::responding::{Supply, request_about, supplies};
use crate::engine::admission::answering::examine;
use crate::engine::admission::attempted_answer::AttemptedAnswer;
use crate::engine::admission::{client_results, takeover};
use crate::engine::clock::Clock;
use crate::engine::error::Error;
use crate::engine::inputs::inbox::CancelRunning;
use crate::ledger::{self, Ledger, Loaded, Objects, Owned};
use crate::session::{
    Actor, Command, Fact, Hook, Observation, Rejection, RequestId, Seq, Session, SessionId,
    Timestamp, UnfitAnswer, admit_at, open_work, overdue, refusal_on_record, step,
};
use crate::tool::{FunctionResponse, Ticket, ToolConfirmation};

/// The writer for sessions without a task: it answers requests and paused calls, and starts
/// nothing.
///
/// It attaches no runner. An approved call becomes ready and starts in the next process that has
/// its tool. Use a desk for a journal that no engine serves: an [`Engine`](crate::engine::Engine)
/// answers for the sessions it serves.
///
/// ```
/// # async fn example(
/// #     ledger: recount::ledger::Ledger,
/// #     request: recount::session::RequestId,
/// # ) -> Result<(), recount::engine::Error> {
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
    /// The request of another process that it carries out.
    pub(super) request: Option<Uuid>,
}

impl Desk {
    /// Creates a desk over the sessions of `ledger`.
    pub fn new(ledger: Ledger, clock: Arc<dyn Clock>) -> Desk {
        Desk {
            ledger,
            clock,
            request: None,
        }
    }

    /// Answers a request and returns the record of the answer. The first recorded answer counts.
    ///
    /// The end of a dead process and overdue deadlines are recorded before the answer, in the same
    /// batch. So an answer after the expiry does not count because the clock was read late.
    ///
    /// # Errors
    /// [`Error::Refused`] with the earlier decision, which is recorded, too;
    /// [`Error::UnknownRequest`]; any error of the journal.
    pub async fn answer(
        &self,
        request: RequestId,
        confirmation: ToolConfirmation,
        by: Actor,
    ) -> Result<Seq, Error> {
        self.answer_as(request, Ok(confirmation), by).await
    }

    /// Answers with a confirmation, or with the reason why it does not fit.
    pub(super) async fn answer_as(
        &self,
        request: RequestId,
        given: Result<ToolConfirmation, UnfitAnswer>,
        by: Actor,
    ) -> Result<Seq, Error> {
        let session = self.session_of(request).await?;
        let proof = self.ledger.own(session).await?;
        self.ledger.read_pauses().await?;
        let mut batch = Batch::new(self.ledger.load(session).await?, self.clock.now(), proof);
        let named = |seq: &&Seq| session.request_id(**seq) == request;
        let Some(seq) = batch.session.requests.keys().find(named).copied() else {
            return Err(Error::UnknownRequest { request });
        };
        batch.take_over()?;
        let paused = batch.record_pauses(&self.ledger)?;
        let expired = batch.record_overdue()?;
        let command = Command::AnswerConfirmation {
            request: seq,
            answer: examine(
                &self.ledger,
                &batch.session,
                &batch.before.seal,
                || batch.now,
                seq,
                given,
            )
            .await?,
            by: by.clone(),
        };
        match admit_at(&batch.session, batch.now, command) {
            Ok(observation) => {
                let seq = batch.record(observation)?;
                batch.append_outcome(self, seq).await?;
                Ok(seq)
            }
            Err(rejection) => {
                let refused = batch.record_refusal(seq, &by, &rejection)?;
                if paused || expired || refused {
                    batch.append(&self.ledger).await?;
                }
                Err(Error::Refused(rejection))
            }
        }
    }

    /// Supplies the result of a paused call, and returns the record of the response.
    ///
    /// The response is delivered when the session is next served. A desk does not have an agent's
    /// redactor. The result is recorded as given, and compared as given with a recorded result.
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
    /// [`Error::Refused`] if the call does not wait for a response, or is another tool's;
    /// [`Error::WrongId`]; [`Error::HookMissing`] if the agent's `before_tool_response` must see it
    /// first; any error of the journal.
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

    /// Supplies an interim result of a paused call, as
    /// [`Engine::update`](crate::engine::Engine::update) does. The call stays paused.
    ///
    /// # Errors
    /// Those of [`respond`](Desk::respond).
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
            // The result is refused even if recording that fails.
            tracing::warn!(
                session = %ticket.session, error = %causes(&error),
                "a result by the id of another call is not on record"
            );
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

    /// Records the observation of a command, if it is admitted.
    pub(super) async fn take(
        &self,
        session: SessionId,
        mut command: Command,
    ) -> Result<Seq, Error> {
        let mut batch = self.begin(session).await?;
        client_results::shape(&mut command, batch.session.terms.policies.response);
        let attempt = AttemptedAnswer::of(&batch.session, &command);
        let is_response = client_results::response_of(&mut command).is_some();
        match admit_at(&batch.session, batch.now, command) {
            // A desk cannot call the hook, so it must not record what the hook would remove.
            Ok(_) if is_response && batch.session.terms.policies.hooks.before_tool_response => {
                Err(Error::HookMissing {
                    session,
                    hook: Hook::BeforeToolResponse,
                })
            }
            Ok(observation) => {
                let seq = batch.record(observation)?;
                batch.append_outcome(self, seq).await?;
                Ok(seq)
            }
            Err(rejection) => {
                let refused = attempt.and_then(|it| it.refused(&batch.session, &rejection));
                // Record what the rejection refers to, such as an expiry that the dead process did
                // not record.
                if let Some(refused) = refused {
                    batch.record(refused)?;
                }
                batch.append(&self.ledger).await?;
                Err(Error::Refused(rejection))
            }
        }
    }

    /// Records the pauses of more than one session that this one has not observed, and cancels what
    /// clients run if that is asked. Returns the session's last record.
    pub(super) async fn observe_pauses(
        &self,
        session: SessionId,
        cancel: Option<&CancelRunning>,
    ) -> Result<Seq, Error> {
        let proof = self.ledger.own(session).await?;
        self.ledger.read_pauses().await?;
        let mut batch = Batch::new(self.ledger.load(session).await?, self.clock.now(), proof);
        if cancel.is_none() && batch.unobserved_pauses(&self.ledger).is_empty() {
            return Ok(batch.session.head);
        }
        batch.take_over()?;
        batch.record_pauses(&self.ledger)?;
        batch.record_overdue()?;
        if let Some(cancel) = cancel {
            batch.cancel_running(cancel)?;
        }
        let last = batch.session.head;
        batch.append(&self.ledger).await?;
        Ok(last)
    }

    /// Records only what a dead process left and what is overdue.
    #[cfg(feature = "play")]
    pub(crate) async fn look(&self, session: SessionId) -> Result<(), Error> {
        self.begin(session).await?.append(&self.ledger).await
    }

    /// Begins a batch with everything that a record of the session must come after: the end of a
    /// dead process, the pauses of more than one session, and overdue deadlines.
    async fn begin(&self, session: SessionId) -> Result<Batch, Error> {
        let proof = self.ledger.own(session).await?;
        self.ledger.read_pauses().await?;
        let mut batch = Batch::new(self.ledger.load(session).await?, self.clock.now(), proof);
        batch.take_over()?;
        batch.record_pauses(&self.ledger)?;
        batch.record_overdue()?;
        Ok(batch)
    }

    async fn session_of(&self, request: RequestId) -> Result<SessionId, Error> {
        let named = self.ledger.journal().request(request.0).await?;
        let (session, _) = named.ok_or(Error::UnknownRequest { request })?;
        Ok(SessionId(session))
    }
}

/// The records of one atomic append to a session.
struct Batch {
    before: Loaded,
    session: Session,
    facts: Vec<Fact>,
    now: Timestamp,
    /// The process that served the session is gone.
    proof: Owned,
}

impl Batch {
    fn new(before: Loaded, now: Timestamp, proof: Owned) -> Batch {
        let session = before.session.clone();
        Batch {
            before,
            session,
            facts: Vec::new(),
            now,
            proof,
        }
    }

    /// Records the end of the process that served the session.
    fn take_over(&mut self) -> Result<(), Error> {
        for observation in takeover::observations(&self.session, &self.proof) {
            self.record(observation)?;
        }
        Ok(())
    }

    fn unobserved_pauses(&self, ledger: &Ledger) -> Vec<Observation> {
        let agent = self.session.agent.clone().unwrap_or_default();
        ledger.unobserved_pauses(&self.session, &agent)
    }

    /// Records the pauses of more than one session that this one has not observed. A claim of a
    /// client would start its call otherwise.
    fn record_pauses(&mut self, ledger: &Ledger) -> Result<bool, Error> {
        let owed = self.unobserved_pauses(ledger);
        let any = !owed.is_empty();
        for observation in owed {
            self.record(observation)?;
        }
        Ok(any)
    }

    /// Cancels the calls of the scope that run. Without a process, only clients run calls.
    fn cancel_running(&mut self, cancel: &CancelRunning) -> Result<(), Error> {
        for call in cancel.calls_of(&self.session) {
            let (reason, by) = (cancel.reason.clone(), cancel.by.clone());
            let command = Command::CancelCall { call, reason, by };
            // A call may have been cancelled with the agent that made it.
            if let Ok(observation) = admit_at(&self.session, self.now, command) {
                self.record(observation)?;
            }
        }
        Ok(())
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

    /// Steps the session over an observation, and returns its record number.
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

    /// Appends the records. One of them is the outcome of what the desk carries out.
    async fn append_outcome(self, desk: &Desk, at: Seq) -> Result<(), Error> {
        let at = at.0;
        let carries_out = desk.request.map(|request| CarriedOut { request, at });
        self.append_as(&desk.ledger, carries_out).await
    }

    async fn append(self, ledger: &Ledger) -> Result<(), Error> {
        self.append_as(ledger, None).await
    }

    async fn append_as(
        self,
        ledger: &Ledger,
        carries_out: Option<CarriedOut>,
    ) -> Result<(), Error> {
        if self.facts.is_empty() {
            return Ok(());
        }
        let batch = ledger::Batch {
            session: &self.session,
            facts: &self.facts,
            open_before: &open_work(&self.before.session),
            objects: Objects::default(),
            durability: Durability::Durable,
            carries_out,
        };
        let (tail, seal) = (self.before.tail, &self.before.seal);
        ledger.append_batch(tail, seal, batch).await?;
        Ok(())
    }
}
