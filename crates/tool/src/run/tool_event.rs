//! Events that a tool emits for the embedding program while it runs.

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

/// An event of a tool, of your own type. It is recorded; the model does not receive it.
///
/// A tool emits it with [`ToolContext::emit`](crate::ToolContext::emit). The embedding program
/// receives it once it is recorded: in a callback (`Engine::on`, `LiveHandle::on`,
/// [`ToolDispatcher::on`](crate::ToolDispatcher::on)) or from `Updates::next_event`. Emitting never
/// waits. An event that cannot be recorded is an error; an event after the end of the session is
/// dropped.
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
/// A type without this trait cannot be emitted:
///
/// ```compile_fail,E0277
/// fn tell(context: &recount_tool::ToolContext) {
///     let _ = context.emit(&"invalidEvent");
/// }
/// ```
pub trait ToolEvent: Serialize + DeserializeOwned {
    /// The event's name in the record.
    const NAME: &'static str;

    /// Reads an event of this type from a recorded event, if it is one.
    ///
    /// # Errors
    /// The recorded event has this name but another form, such as that of an earlier version.
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
    /// let event = Event::Observed(
    ///     ToolEventEmitted {
    ///         call: Seq(5),
    ///         attempt: 1,
    ///         name: "escalated".into(),
    ///         data,
    ///     }
    ///     .into(),
    /// );
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

/// The maximum number of events of one run that wait for the journal.
#[doc(hidden)]
pub const EVENTS_WAITING_MAX: usize = 1024;

/// The connection of a run to its session: for its events, questions, progress and end of session.
#[doc(hidden)]
#[async_trait]
pub trait ToolEvents: Send + Sync {
    /// Accepts an event, unless too many wait already.
    fn take(&self, emitted: ToolEventEmitted) -> bool;

    /// Asks an approver and waits for the answer.
    async fn ask(&self, asked: ToolAsked) -> Result<ToolConfirmation, ToolError>;

    /// Ends the session once the run has returned; the first reason counts.
    fn end_session(&self, _reason: String) -> Result<(), ToolError> {
        let reason = "there is no session to end here: that takes an engine";
        Err(ToolError::NotAvailable(reason.to_owned()))
    }

    /// Returns the status of the conversation and its last turns.
    async fn look_back(&self, turns: usize) -> Result<LookBack, ToolError>;

    /// Returns an error if this process may begin nothing more for the session.
    fn check_start(&self) -> Result<(), ToolError> {
        Ok(())
    }

    /// Returns the current time for records.
    fn now(&self) -> Timestamp;

    /// Reports progress of the run; without an engine this does nothing.
    async fn progress(&self, _said: Value) {}
}

/// The status of a conversation, as far as a tool may know it.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct LookBack {
    /// The current phase.
    pub phase: Option<String>,
    /// The calls of the conversation that have not ended: number, tool and phase. Calls of an agent
    /// are not included.
    pub open_calls: Vec<(Seq, String, &'static str)>,
    /// The tools of all calls that wait for an approver.
    pub asked_about: Vec<String>,
    /// The last turns, oldest first.
    pub turns: Vec<(Speaker, String)>,
}

impl LookBack {
    /// Returns the status without turns.
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

/// Returns the error of a question that no one could answer.
pub(crate) fn cannot_ask() -> ToolError {
    ToolError::NotAvailable(
        "nobody can be asked here: that takes an engine, or a dispatcher with a confirmation provider"
            .to_owned(),
    )
}

fn without_engine() -> ToolError {
    ToolError::NotAvailable("the call belongs to no session".to_owned())
}

/// A handle with which one run emits events to its session.
#[doc(hidden)]
#[derive(Clone, Default)]
pub struct Emitter(Option<(Arc<dyn ToolEvents>, Seq, u32)>);

impl Emitter {
    #[doc(hidden)]
    pub fn new(events: Arc<dyn ToolEvents>, call: Seq, attempt: u32) -> Emitter {
        Emitter(Some((events, call, attempt)))
    }

    pub(crate) async fn ask(&self, ask: Ask) -> Result<ToolConfirmation, ToolError> {
        let (events, call, attempt) = self.0.as_ref().ok_or_else(cannot_ask)?;
        let asked = ToolAsked {
            state: Json::of(&serde_json::Value::Null),
            in_place: true,
            ..ask.recorded(*call, *attempt)
        };
        events.ask(asked).await
    }

    pub(crate) fn end_session(&self, reason: String) -> Result<(), ToolError> {
        let (session, ..) = self.0.as_ref().ok_or_else(without_engine)?;
        session.end_session(reason)
    }

    /// Returns the status of the conversation without the run's own call.
    pub(crate) async fn look_back(&self, turns: usize) -> Result<LookBack, ToolError> {
        let (session, own, _) = self.0.as_ref().ok_or_else(without_engine)?;
        let mut found = session.look_back(turns).await?;
        found.open_calls.retain(|(call, ..)| call != own);
        Ok(found)
    }

    /// Returns an error if this process may begin nothing more for the session.
    pub(crate) fn check_start(&self) -> Result<(), ToolError> {
        match &self.0 {
            Some((session, ..)) => session.check_start(),
            None => Ok(()),
        }
    }

    /// Returns the current time if the run belongs to a session.
    pub(crate) fn now(&self) -> Option<Timestamp> {
        Some(self.0.as_ref()?.0.now())
    }

    pub(crate) fn emit<E: ToolEvent>(&self, event: &E) -> Result<(), ToolError> {
        let unwritable = |problem: &dyn fmt::Display| {
            ToolError::ExecutionFailed(format!("event {:?}: {problem}", E::NAME))
        };
        // Through the text, because a `Value` rounds numbers that it cannot hold.
        let text = serde_json::to_string(event).map_err(|error| unwritable(&error))?;
        let data = Json::parse(&text).map_err(|problem| unwritable(&problem))?;
        self.emit_json(E::NAME, data)
    }

    /// Reports progress of the run.
    pub(crate) async fn progress(&self, said: Value) {
        if let Some((events, ..)) = &self.0 {
            events.progress(said).await;
        }
    }

    /// Emits an event whose name is known at run time only, such as a recorded one.
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
            let reason = format!("event {name:?} cannot be on record: {rejection}");
            return Err(ToolError::ExecutionFailed(reason));
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
    fn look_back_hides_agent_calls_but_not_their_questions() {
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
