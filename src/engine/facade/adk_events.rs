//! A session's facts as the events of an ADK client.

use std::collections::VecDeque;

use crate::adk::{self, Translation};
use crate::engine::error::Error;
use crate::engine::facade::adk_position::AdkPosition;
use crate::engine::facade::handle::LiveHandle;
use crate::engine::notify::updates::Updates;
use crate::engine::serving::engine::Engine;
use crate::engine::telling::recorded_response::response_in;
use crate::ledger::Ledger;
use crate::session::{Fact, Seq, SessionId};

/// The number of facts read at a time.
const PAGE: usize = 256;

/// The facts of one session as the events that ADK would write: first the recorded ones, then new
/// ones.
///
/// | fact | event |
/// |---|---|
/// | the user's text, a transcript, a turn of the model | its text; `turnComplete`, `interrupted` |
/// | `function_call_received` | the FunctionCall, with `longRunningToolIds` |
/// | `confirmation_requested`, `confirmation_reopened` | the `adk_request_confirmation` call, and `requestedToolConfirmations` |
/// | `confirmation_answered` | its FunctionResponse, by `user` |
/// | `response_issued` | the FunctionResponse; a call may have several, and the last one counts |
/// | `confirmation_expired`, `confirmation_withdrawn`, a request that was asked again | a FunctionResponse to the `adk_request_confirmation` call, by the agent: `confirmed` is false, and `status` and `reason` say why the card ends |
/// | `call_cancelled` | a FunctionResponse with an `error`, by the agent; the model gets nothing |
/// | `response_supplied` | the FunctionResponse, by `user` |
/// | `state_changed` | `stateDelta` |
///
/// A call has the id from the model. If the model gave none, or one that an earlier call of the
/// session had, it has its [`CallId`](crate::session::CallId). Each call and each request has its
/// own event, even if a model made several calls at once. The session decides them one by one, and
/// a request is shown as soon as it is asked. ADK tells a model that a call waits for an approver;
/// that is an event here only if the model was told something.
pub struct AdkEvents {
    session: SessionId,
    ledger: Ledger,
    /// Only signals that there are new facts; the ledger has them without a gap.
    updates: Option<Updates>,
    translation: Translation,
    next: Seq,
    facts: VecDeque<Fact>,
    events: VecDeque<adk::Event>,
    /// The position of the first event to return.
    from: AdkPosition,
    /// The position of the first of `events`.
    at: AdkPosition,
    /// The position after the last returned event.
    position: AdkPosition,
}

/// Some events of a session, and the position where to continue.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct AdkPage {
    /// The events, in order.
    pub events: Vec<adk::Event>,
    /// The position after them.
    pub next: AdkPosition,
}

impl LiveHandle {
    /// Returns this session's facts as events of an ADK client: first the recorded ones, then new
    /// ones.
    ///
    /// It ends when the session's task ends.
    ///
    /// ```no_run
    /// # async fn example(
    /// #     live: recount::LiveHandle,
    /// #     mut send: impl AsyncFnMut(String),
    /// # ) -> Result<(), recount::engine::Error> {
    /// let mut events = live.adk_events();
    /// while let Some(event) = events.next().await? {
    ///     send(event.to_json()).await;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn adk_events(&self) -> AdkEvents {
        self.adk_events_from(AdkPosition::START)
    }

    /// Returns the events as [`adk_events`](LiveHandle::adk_events) does, from a
    /// [position](AdkEvents::position) on.
    ///
    /// A client that reconnects has the events before it.
    ///
    /// ```no_run
    /// # use std::error::Error;
    /// # async fn example(
    /// #     live: recount::LiveHandle,
    /// #     mut send: impl AsyncFnMut(String, String),
    /// # ) -> Result<(), Box<dyn Error>> {
    /// // What the client says that it has, such as the `Last-Event-ID` of server-sent events.
    /// let last_event_id = "17.0";
    /// let mut events = live.adk_events_from(last_event_id.parse()?);
    /// while let Some(event) = events.next().await? {
    ///     send(events.position().to_string(), event.to_json()).await;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn adk_events_from(&self, position: AdkPosition) -> AdkEvents {
        let updates = self.subscribe();
        AdkEvents::new(self.engine(), self.session_id(), Some(updates), position)
    }
}

impl Engine {
    /// Returns a session's recorded facts as events of an ADK client, for example for a page that
    /// is reloaded.
    ///
    /// ```no_run
    /// # async fn example(
    /// #     engine: recount::Engine,
    /// #     session: recount::session::SessionId,
    /// # ) -> Result<(), recount::engine::Error> {
    /// for event in engine.adk_events(session).await? {
    ///     println!("{}", event.to_json());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// An error of the journal if it cannot be read.
    pub async fn adk_events(&self, session: SessionId) -> Result<Vec<adk::Event>, Error> {
        let page = self.adk_events_from(session, AdkPosition::START).await?;
        Ok(page.events)
    }

    /// Returns the events from a position on, and the position after them.
    ///
    /// The records before the position are read, too, because later events depend on them.
    ///
    /// ```
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    /// # runtime.unwrap().block_on(async {
    /// use recount::engine::AdkPosition;
    /// use recount::prelude::*;
    /// let hello = T::simple("hello", "Greets", |_| async { Ok(json!({"said": "hello"})) });
    /// let agent = Agent::new().model("none").tools(hello);
    /// let engine = Engine::in_memory().agent("a", agent).open().await?;
    /// let session = engine.session("a").open().await?;
    /// let id = session.session_id();
    /// let _ = session.call_function("hello", json!({}), Actor::embedder("test")).await;
    /// let first = engine.adk_events_from(id, AdkPosition::START).await?;
    /// assert_eq!(first.events.len(), 2);
    /// let _ = session.call_function("hello", json!({}), Actor::embedder("test")).await;
    /// let more = engine.adk_events_from(id, first.next).await?;
    /// assert_eq!(more.events.len(), 2);
    /// assert!(engine.adk_events_from(id, more.next).await?.events.is_empty());
    /// # Ok::<(), recount::engine::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// An error of the journal if it cannot be read.
    pub async fn adk_events_from(
        &self,
        session: SessionId,
        position: AdkPosition,
    ) -> Result<AdkPage, Error> {
        let mut reader = AdkEvents::new(self, session, None, position);
        let mut events = Vec::new();
        while let Some(event) = reader.next().await? {
            events.push(event);
        }
        let next = reader.position();
        Ok(AdkPage { events, next })
    }
}

impl AdkEvents {
    fn new(
        engine: &Engine,
        session: SessionId,
        updates: Option<Updates>,
        from: AdkPosition,
    ) -> AdkEvents {
        AdkEvents {
            session,
            ledger: engine.ledger().clone(),
            updates,
            translation: Translation::new(session),
            next: Seq(1),
            facts: VecDeque::new(),
            events: VecDeque::new(),
            from,
            at: AdkPosition::START,
            position: from,
        }
    }

    /// Returns the position after the last event that [`next`](AdkEvents::next) returned. A reader
    /// that starts there gets the following event.
    pub fn position(&self) -> AdkPosition {
        self.position
    }

    /// Returns the next event; `None` once there are no more.
    ///
    /// # Errors
    /// An error of the journal if it cannot be read.
    pub async fn next(&mut self) -> Result<Option<adk::Event>, Error> {
        loop {
            if let Some(event) = self.events.pop_front() {
                let is_read = self.at < self.from;
                self.at = self.at.next(!self.events.is_empty());
                if is_read {
                    continue;
                }
                self.position = self.at;
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
        self.at = AdkPosition::of(fact.seq);
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
        // A fact may have been recorded between the last read and the end of the subscription.
        self.updates = None;
        true
    }
}
