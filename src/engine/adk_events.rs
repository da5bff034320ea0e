//! A session's facts as the events that a client of ADK reads.

use std::collections::VecDeque;

use super::effects::response_in;
use super::{Engine, Error, LiveHandle, Updates};
use crate::adk::{self, Translation};
use crate::ledger::Ledger;
use crate::session::{Fact, Seq, SessionId};

/// How many facts are read at a time.
const PAGE: usize = 256;

/// The facts of one session as the events that ADK would write: first those on record, then those to come.
///
/// | fact | event |
/// |---|---|
/// | the user's words, a transcript, a turn of the model | its text; `turnComplete`, `interrupted` |
/// | `function_call_received` | the FunctionCall, with `longRunningToolIds` |
/// | `confirmation_requested`, `confirmation_reopened` | the `adk_request_confirmation` call, and `requestedToolConfirmations` |
/// | `confirmation_answered` | its FunctionResponse, by `user` |
/// | `response_issued` | the FunctionResponse; of one call there may be several, and the last one counts |
/// | `response_supplied` | the FunctionResponse, by `user` |
/// | `state_changed` | `stateDelta` |
///
/// A call has the id that the model gave it. Where it gave none, or one that an earlier call of the session had, it has its
/// [`CallId`](crate::session::CallId). Each call and each request has an event of its own, also where a model made several
/// calls at once: the session decides one by one, and a request is shown as soon as it is asked. What ADK tells a model
/// while a person decides is no event unless the model was told something.
pub struct AdkEvents {
    session: SessionId,
    ledger: Ledger,
    /// Only says that there is more; the ledger has it without a gap.
    updates: Option<Updates>,
    translation: Translation,
    next: Seq,
    facts: VecDeque<Fact>,
    events: VecDeque<adk::Event>,
}

impl LiveHandle {
    /// This session's facts as the events that a client of ADK reads: first those on record, then those to come, until
    /// nobody serves the session any more.
    ///
    /// ```no_run
    /// # async fn example(live: recount::LiveHandle, mut send: impl AsyncFnMut(String)) -> Result<(), recount::engine::Error> {
    /// let mut events = live.adk_events();
    /// while let Some(event) = events.next().await? {
    ///     send(event.to_json()).await;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn adk_events(&self) -> AdkEvents {
        let updates = self.subscribe();
        AdkEvents::new(self.engine(), self.session_id(), Some(updates))
    }
}

impl Engine {
    /// A session's facts so far as the events that a client of ADK reads, as one that reloads its page asks for them.
    ///
    /// ```no_run
    /// # async fn example(engine: recount::Engine, session: recount::session::SessionId) -> Result<(), recount::engine::Error> {
    /// for event in engine.adk_events(session).await? {
    ///     println!("{}", event.to_json());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Where the journal cannot be read.
    pub async fn adk_events(&self, session: SessionId) -> Result<Vec<adk::Event>, Error> {
        let mut events = AdkEvents::new(self, session, None);
        let mut all = Vec::new();
        while let Some(event) = events.next().await? {
            all.push(event);
        }
        Ok(all)
    }
}

impl AdkEvents {
    fn new(engine: &Engine, session: SessionId, updates: Option<Updates>) -> AdkEvents {
        AdkEvents {
            session,
            ledger: engine.ledger().clone(),
            updates,
            translation: Translation::new(session),
            next: Seq(1),
            facts: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// The next event; `None` once there will be none.
    ///
    /// # Errors
    /// Where the journal cannot be read.
    pub async fn next(&mut self) -> Result<Option<adk::Event>, Error> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(Some(event));
            }
            if let Some(fact) = self.facts.pop_front() {
                self.translate(&fact).await?;
                continue;
            }
            let facts = self.ledger.facts(self.session, self.next, PAGE).await?;
            if let Some(last) = facts.last() {
                self.next = last.seq.next();
                self.facts = facts.into();
            } else if !self.is_more_to_come().await {
                return Ok(None);
            }
        }
    }

    async fn translate(&mut self, fact: &Fact) -> Result<(), Error> {
        let referred = match Translation::refers_to(fact) {
            Some(seq) => self.ledger.fact(self.session, seq).await?,
            None => None,
        };
        let referred = referred.as_ref().and_then(response_in);
        let session = self.translation.session_mut();
        self.ledger.provide(session, fact).await?;
        self.events = self.translation.translate(fact, referred).into();
        Ok(())
    }

    /// Waits for a fact that was not read yet.
    async fn is_more_to_come(&mut self) -> bool {
        let Some(updates) = &mut self.updates else {
            return false;
        };
        while let Some(recorded) = updates.next().await {
            if recorded.fact.seq >= self.next {
                return true;
            }
        }
        // What was recorded last may have come between the last look and the end.
        self.updates = None;
        true
    }
}
