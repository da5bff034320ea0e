//! What a tool tells the embedding program while it runs.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use recount_session::{
    Event, Json, Observation, Seq, Session, Speaker, Timestamp, ToolAsked, ToolEventEmitted,
    WaitsFor, unfit,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::run::error::ToolError;
use crate::run::outcome::Ask;
use recount_session::ToolConfirmation;

/// An event of a tool, of a type of yours. It goes on record; the model does not hear of it.
///
/// A tool tells it by [`ToolContext::emit`](crate::ToolContext::emit). The embedding program hears
/// it once it is on record: by a closure (`Engine::on`, `LiveHandle::on`,
/// [`ToolDispatcher::on`](crate::ToolDispatcher::on)) or by waiting for it (`Updates::next_event`).
/// Emitting waits for nothing. What no record carries is an error; what comes after the session has
/// stopped is dropped.
///
/// ```
/// use recount_tool::ToolEvent;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Shipped { by: String }
///
/// impl ToolEvent for Shipped {
///     const NAME: &'static str = "shipped";
/// }
/// ```
///
/// What is no event type is not emitted, whatever its name would be:
///
/// ```compile_fail,E0277
/// fn tell(context: &recount_tool::ToolContext) {
///     let _ = context.emit(&"invalidEvent");
/// }
/// ```
pub trait ToolEvent: Serialize + DeserializeOwned {
    /// The event's name on record.
    const NAME: &'static str;

    /// The event of this type that is on record here, if there is one.
    ///
    /// # Errors
    /// Where one of this name is on record in another form, such as that of an earlier version.
    ///
    /// ```
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize, Debug, PartialEq)]
    /// # struct Escalated { to: String }
    /// # impl recount_tool::ToolEvent for Escalated { const NAME: &'static str = "escalated"; }
    /// use recount_session::{Event, Json, Seq, ToolEventEmitted};
    /// use recount_tool::ToolEvent;
    ///
    /// let data = Json::of(&serde_json::json!({"to": "desk"}));
    /// let event = Event::Observed(ToolEventEmitted { call: Seq(5), attempt: 1, name: "escalated".into(), data }.into());
    /// assert_eq!(Escalated::read(&event).transpose()?, Some(Escalated { to: "desk".into() }));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    fn read(event: &Event) -> Option<Result<Self, serde_json::Error>> {
        match event {
            Event::Observed(Observation::ToolEventEmitted(it)) if it.name == Self::NAME => {
                Some(serde_json::from_str(it.data.as_str()))
            }
            Event::Observed(_) | Event::Decided(_) => None,
        }
    }
}

/// How many events of one run may wait for the journal.
#[doc(hidden)]
pub const EVENTS_WAITING_MAX: usize = 1024;

/// What a run has of its session: where its events and its questions go, the end and the past of
/// the conversation.
#[doc(hidden)]
#[async_trait]
pub trait ToolEvents: Send + Sync {
    /// Takes an event, unless too many wait already.
    fn take(&self, emitted: ToolEventEmitted) -> bool;

    /// Asks a person, and waits for what is said.
    async fn ask(&self, asked: ToolAsked) -> Result<ToolConfirmation, ToolError>;

    /// Ends the session once the run has returned; the first reason counts.
    fn end_session(&self, _reason: String) -> Result<(), ToolError> {
        let told = "there is no session to end here: that takes an engine";
        Err(ToolError::NotAvailable(told.to_owned()))
    }

    /// How the conversation stands, and its last turns.
    async fn look_back(&self, turns: usize) -> Result<LookBack, ToolError>;

    /// The time of now, as it goes on record.
    fn now(&self) -> Timestamp;

    /// Notes that the run has come further; without an engine that changes nothing.
    async fn progress(&self, _said: Value) {}
}

/// How a conversation stands, as a tool may know it.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct LookBack {
    /// The phase that it is in.
    pub phase: Option<String>,
    /// The calls of the conversation that have not ended: which, of which tool, and where each
    /// stands. What an agent calls is its own.
    pub open_calls: Vec<(Seq, String, &'static str)>,
    /// The tools of all calls about which a person is asked.
    pub asked_about: Vec<String>,
    /// What was said last, oldest first.
    pub turns: Vec<(Speaker, String)>,
}

impl LookBack {
    /// Without what was said.
    #[doc(hidden)]
    pub fn of(session: &Session) -> LookBack {
        let calls = session.calls.iter();
        let of_conversation = calls.clone().filter(|(_, call)| call.parent.is_none());
        let asked_about = calls.filter(|(_, call)| call.phase.waits_for() == WaitsFor::Person);
        LookBack {
            phase: session.phase.as_ref().map(|stay| stay.phase.clone()),
            open_calls: of_conversation
                .map(|(seq, call)| (*seq, call.name.clone(), call.phase.name()))
                .collect(),
            asked_about: asked_about.map(|(_, call)| call.name.clone()).collect(),
            turns: Vec::new(),
        }
    }
}

/// Why a question is not asked that nobody could answer.
pub(crate) fn nobody_to_ask() -> ToolError {
    ToolError::NotAvailable(
        "nobody can be asked here: that takes an engine, or a dispatcher with a confirmation provider"
            .to_owned(),
    )
}

fn nobody_serves() -> ToolError {
    ToolError::NotAvailable("the call belongs to no session".to_owned())
}

/// Where the events of a run go, and whose they are.
#[doc(hidden)]
#[derive(Clone, Default)]
pub struct Emitter(Option<(Arc<dyn ToolEvents>, Seq, u32)>);

impl Emitter {
    #[doc(hidden)]
    pub fn new(events: Arc<dyn ToolEvents>, call: Seq, attempt: u32) -> Emitter {
        Emitter(Some((events, call, attempt)))
    }

    pub(crate) async fn ask(&self, ask: Ask) -> Result<ToolConfirmation, ToolError> {
        let (events, call, attempt) = self.0.as_ref().ok_or_else(nobody_to_ask)?;
        let asked = ToolAsked {
            state: Json::of(&serde_json::Value::Null),
            in_place: true,
            ..ask.recorded(*call, *attempt)
        };
        events.ask(asked).await
    }

    pub(crate) fn end_session(&self, reason: String) -> Result<(), ToolError> {
        let (session, ..) = self.0.as_ref().ok_or_else(nobody_serves)?;
        session.end_session(reason)
    }

    /// How the conversation stands beside the run itself.
    pub(crate) async fn look_back(&self, turns: usize) -> Result<LookBack, ToolError> {
        let (session, own, _) = self.0.as_ref().ok_or_else(nobody_serves)?;
        let mut found = session.look_back(turns).await?;
        found.open_calls.retain(|(call, ..)| call != own);
        Ok(found)
    }

    /// The time of now, where the run belongs to a session.
    pub(crate) fn now(&self) -> Option<Timestamp> {
        Some(self.0.as_ref()?.0.now())
    }

    pub(crate) fn emit<E: ToolEvent>(&self, event: &E) -> Result<(), ToolError> {
        let unwritable = |problem: &dyn fmt::Display| {
            ToolError::ExecutionFailed(format!("event {:?}: {problem}", E::NAME))
        };
        // Through the text, because a value rounds what it cannot hold.
        let text = serde_json::to_string(event).map_err(|error| unwritable(&error))?;
        let data = Json::parse(&text).map_err(|problem| unwritable(&problem))?;
        self.emit_json(E::NAME, data)
    }

    /// Notes that the run has come further.
    pub(crate) async fn progress(&self, said: Value) {
        if let Some((events, ..)) = &self.0 {
            events.progress(said).await;
        }
    }

    /// Emits an event whose name is known only now, such as one on record.
    pub(crate) fn emit_json(&self, name: &str, data: Json) -> Result<(), ToolError> {
        let Some((events, call, attempt)) = &self.0 else {
            return Ok(());
        };
        let emitted = ToolEventEmitted {
            call: *call,
            attempt: *attempt,
            name: name.to_owned(),
            data,
        };
        let emitted = Observation::from(emitted);
        if let Some(rejection) = unfit(&emitted) {
            let told = format!("event {name:?} cannot be on record: {rejection}");
            return Err(ToolError::ExecutionFailed(told));
        }
        let Observation::ToolEventEmitted(emitted) = emitted else {
            return Ok(());
        };
        let full = || {
            ToolError::LimitReached(format!(
                "event {name:?}: {EVENTS_WAITING_MAX} events of this run wait for the journal already"
            ))
        };
        if events.take(emitted) {
            Ok(())
        } else {
            Err(full())
        }
    }
}

impl fmt::Debug for Emitter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Emitter").field(&self.0.is_some()).finish()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use recount_session::testing::{history, toolbox};

    #[test]
    fn the_calls_of_an_agent_are_its_own_and_its_questions_everybodys() {
        let tools = toolbox().agent("clerk", ["look", "pay"]);
        let tools = tools.plain("look").gated("pay");
        let support = history().opened("support").attached(&tools).connected();
        let asks = support.call("c1", "clerk", json!({})).asks_model();
        let called = asks.model_calls(&["look", "pay"]);
        let found = LookBack::of(called.session());
        let open: Vec<_> = found.open_calls.iter().map(|it| it.1.as_str()).collect();
        assert_eq!(open, ["clerk"]);
        assert_eq!(found.asked_about, ["pay"]);
    }
}
