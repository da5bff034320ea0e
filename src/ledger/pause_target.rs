//! The target of a pause, as an operator names it.

use serde::{Deserialize, Serialize};

use crate::session::{PauseScope, SessionId};

/// The sessions and tools that an operator pauses.
///
/// ```json
/// {"session":"0199…"}
/// {"tool":{"session":"0199…","tool":"refund"}}
/// {"agent":"support"}
/// "everything"
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum PauseTarget {
    /// One session.
    Session(SessionId),
    /// One tool in one session.
    Tool {
        /// The session.
        session: SessionId,
        /// The tool's name.
        tool: String,
    },
    /// All sessions of an agent.
    Agent(String),
    /// All sessions of the journal.
    Everything,
}

impl PauseTarget {
    /// The one session that the target is in. `None` for several sessions.
    ///
    /// ```
    /// use recount::ledger::PauseTarget;
    /// assert_eq!(PauseTarget::Everything.session(), None);
    /// ```
    #[must_use]
    pub fn session(&self) -> Option<SessionId> {
        match self {
            PauseTarget::Session(session) | PauseTarget::Tool { session, .. } => Some(*session),
            PauseTarget::Agent(_) | PauseTarget::Everything => None,
        }
    }

    /// The scope of the pause, as its record has it.
    #[must_use]
    pub fn scope(&self) -> PauseScope {
        match self {
            PauseTarget::Session(_) => PauseScope::Session,
            PauseTarget::Tool { tool, .. } => PauseScope::Tool(tool.clone()),
            PauseTarget::Agent(agent) => PauseScope::Agent(agent.clone()),
            PauseTarget::Everything => PauseScope::Everything,
        }
    }

    /// The tool, if the target is one.
    #[must_use]
    pub fn tool(&self) -> Option<&str> {
        match self {
            PauseTarget::Tool { tool, .. } => Some(tool),
            PauseTarget::Session(_) | PauseTarget::Agent(_) | PauseTarget::Everything => None,
        }
    }
}
