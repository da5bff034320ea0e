//! The pauses in force.

use serde::{Deserialize, Serialize};

use super::session::Session;
use crate::calls::call::Call;
use crate::record::pause::PauseScope;
use crate::values::actor::Actor;
use crate::values::id::Seq;
use crate::values::time::Timestamp;

/// A pause in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    /// The calls that it holds.
    pub scope: PauseScope,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The actor that paused.
    pub by: Actor,
    /// The `paused` record. For a pause that is listed for the whole journal, its record in the
    /// journal's own stream.
    pub at: Seq,
    /// The time of that record.
    #[serde(rename = "since_us")]
    pub since: Timestamp,
    /// The record of the pause in the journal's own stream, if it holds more than one session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal_record: Option<Seq>,
}

/// The pauses in force in a session, at most one of each scope, in the order of their records.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pauses(Vec<Pause>);

impl Pauses {
    /// True if no pause is in force.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The pauses, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Pause> {
        self.0.iter()
    }

    /// The pause of a scope.
    #[must_use]
    pub fn of(&self, scope: &PauseScope) -> Option<&Pause> {
        self.0.iter().find(|it| it.scope == *scope)
    }

    /// Adds a pause. It replaces the pause of the same scope.
    pub(crate) fn add(&mut self, pause: Pause) {
        self.remove(&pause.scope);
        self.0.push(pause);
    }

    pub(crate) fn remove(&mut self, scope: &PauseScope) {
        self.0.retain(|it| it.scope != *scope);
    }
}

impl Session {
    /// True if a pause of this scope holds the call.
    ///
    /// A pause of an agent's tool also holds the calls that the agent made.
    ///
    /// ```
    /// use recount_session::PauseScope;
    /// use recount_session::testing::{history, toolbox};
    /// use serde_json::json;
    ///
    /// let tools = toolbox().plain("pay");
    /// let called = history().opened("support").attached(&tools).connected()
    ///     .call("c1", "pay", json!({}));
    /// let covers = |scope| called.session().is_covered(&scope, called.current());
    /// assert!(covers(PauseScope::Tool("pay".to_owned())));
    /// assert!(!covers(PauseScope::Tool("refund".to_owned())));
    /// ```
    #[must_use]
    pub fn is_covered(&self, scope: &PauseScope, call: &Call) -> bool {
        let tool = match scope {
            PauseScope::Session | PauseScope::Agent(_) | PauseScope::Everything => return true,
            PauseScope::Tool(tool) => tool,
        };
        // A call is younger than the agent that made it, so the chain ends.
        let made_by = |call: &&Call| call.parent.and_then(|parent| self.calls.get(&parent));
        let mut makers = std::iter::successors(Some(call), made_by);
        makers.any(|it| it.name == *tool)
    }
}
