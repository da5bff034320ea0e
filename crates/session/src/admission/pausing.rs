//! Admission of the stop switch in one session.

use super::command::Rejection;
use crate::record::observation::{Observation, PauseScope, Paused, RULES_OF_PAUSES, Unpaused};
use crate::state::pauses::Pause;
use crate::state::session::Session;
use crate::values::actor::Actor;

/// A pause of a session or of a tool in it, or the end of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PauseCommand {
    /// The tool. `None`: the whole session.
    pub tool: Option<String>,
    /// The reason.
    pub reason: Option<String>,
    /// The actor that pauses, or that ends the pause.
    pub by: Actor,
}

/// Returns the observation of a pause, unless it is in force or can hold nothing.
pub(super) fn paused(
    session: &Session,
    PauseCommand { tool, reason, by }: PauseCommand,
) -> Result<Observation, Rejection> {
    if session.closed {
        return Err(Rejection::SessionClosed);
    }
    if let Some(tool) = tool.as_ref().filter(|it| !has_tool(session, it)) {
        return Err(Rejection::UnknownTool { tool: tool.clone() });
    }
    let scope = scope_of(tool);
    if let Some(pause) = session.pauses.of(&scope) {
        return Err(Rejection::AlreadyPaused(Box::new(pause.clone())));
    }
    Ok(Paused {
        scope,
        reason,
        by,
        journal_record: None,
        not_begun: Vec::new(),
        rules: RULES_OF_PAUSES,
    }
    .into())
}

/// Returns the observation that ends a pause, if the pause is in force.
pub(super) fn unpaused(
    session: &Session,
    PauseCommand { tool, reason, by }: PauseCommand,
) -> Result<Observation, Rejection> {
    if session.closed {
        return Err(Rejection::SessionClosed);
    }
    let scope = scope_of(tool);
    if session.pauses.of(&scope).is_none() {
        return Err(Rejection::NotPaused { scope });
    }
    Ok(Unpaused {
        scope,
        reason,
        by,
        journal_record: None,
        rules: RULES_OF_PAUSES,
    }
    .into())
}

fn scope_of(tool: Option<String>) -> PauseScope {
    tool.map_or(PauseScope::Session, PauseScope::Tool)
}

/// True if the tool is declared, or if a call names it. A misspelt name would hold nothing.
fn has_tool(session: &Session, tool: &str) -> bool {
    let declared = session.terms.catalog.tools.contains_key(tool);
    declared || session.calls.values().any(|it| it.name == tool)
}

/// The text of the refusal of a second pause.
pub(super) fn already_paused(pause: &Pause) -> String {
    let Pause { scope, by, at, .. } = pause;
    let why = pause.reason.as_deref();
    let why = why.map(|why| format!(": {why}")).unwrap_or_default();
    let by = by.in_short();
    format!("{scope} was paused by {by} before, at seq {at}{why}")
}

/// The text of the refusal of a pause of a tool that the session does not have.
pub(super) fn unknown_tool(tool: &str) -> String {
    format!(
        "the session has no tool {tool:?} and no open call of it, so the pause would hold nothing"
    )
}
