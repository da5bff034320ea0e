//! The part of a journal that a bundle is about.

use recount::audit::{AuditedCall, Filter, LabelFilter};
use recount::session::{SessionId, SessionOpened, Timestamp};
use serde::Serialize;

/// The part of a journal that a bundle is about: all of it, or what meets each given condition.
///
/// Any one of several sessions, agents or tools suffices, and all of several labels are required. A
/// session is in scope as a whole. The calls that a report counts are those of the tools and within
/// the time.
///
/// ```
/// use recount_bundle::Scope;
///
/// let everything = Scope::default();
/// assert!(everything.is_everything());
/// let refunds = Scope { tools: vec!["refund".to_owned()], ..Scope::default() };
/// assert_eq!(refunds.in_words(), ["tool refund"]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// The sessions by id.
    pub sessions: Vec<SessionId>,
    /// Sessions with a record at this time or later.
    pub since: Option<Timestamp>,
    /// Sessions with a record before this time. With `since`, the record is between the two.
    pub until: Option<Timestamp>,
    /// Sessions that one of these agents serves.
    pub agents: Vec<String>,
    /// Sessions with a call of one of these tools.
    pub tools: Vec<String>,
    /// Sessions with these labels.
    pub labels: Vec<LabelFilter>,
}

impl Scope {
    /// True if no condition is given, so that the whole journal is in scope.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        *self == Scope::default()
    }

    /// Returns the conditions as short texts. Empty for the whole journal.
    #[must_use]
    pub fn in_words(&self) -> Vec<String> {
        let stamp = recount_telling::age::stamp;
        let sessions = self.sessions.iter().map(|it| format!("session {it}"));
        let since = self.since.iter().map(|it| format!("since {}", stamp(*it)));
        let until = self.until.iter().map(|it| format!("until {}", stamp(*it)));
        let agents = self.agents.iter().map(|it| format!("agent {it}"));
        let tools = self.tools.iter().map(|it| format!("tool {it}"));
        let labels = self.labels.iter().map(|it| format!("label {}", named(it)));
        let rest = since.chain(until).chain(agents).chain(tools).chain(labels);
        sessions.chain(rest).collect()
    }

    /// True if a call of a session in scope is one that a report counts.
    #[must_use]
    pub fn counts(&self, call: &AuditedCall) -> bool {
        let filter = Filter {
            from: self.since,
            until: self.until,
            tools: self.tools.clone(),
            ..Filter::default()
        };
        filter.takes(call)
    }

    /// True if the session is not excluded by its id, agent or labels.
    pub(crate) fn admits(&self, session: SessionId, opened: &SessionOpened) -> bool {
        let label = |it: &LabelFilter| {
            let value = opened.labels.get(&it.name);
            value.is_some_and(|found| it.value.as_ref().is_none_or(|wanted| wanted == found))
        };
        self.names(session)
            && (self.agents.is_empty() || self.agents.contains(&opened.agent))
            && self.labels.iter().all(label)
    }

    /// True if the session is not excluded by its id.
    pub(crate) fn names(&self, session: SessionId) -> bool {
        self.sessions.is_empty() || self.sessions.contains(&session)
    }

    /// True if the time is in the selected range.
    pub(crate) fn covers(&self, at: Timestamp) -> bool {
        self.since.is_none_or(|since| since <= at) && self.until.is_none_or(|until| at < until)
    }

    /// The scope as `bundle.json` has it.
    pub(crate) fn in_json(&self) -> ScopeJson {
        ScopeJson {
            sessions: self.sessions.iter().map(ToString::to_string).collect(),
            since: self.since.map(recount_telling::age::stamp),
            until: self.until.map(recount_telling::age::stamp),
            agents: self.agents.clone(),
            tools: self.tools.clone(),
            labels: self.labels.iter().map(named).collect(),
        }
    }
}

/// The scope in `bundle.json`.
#[derive(Debug, Serialize)]
pub(crate) struct ScopeJson {
    sessions: Vec<String>,
    since: Option<String>,
    until: Option<String>,
    agents: Vec<String>,
    tools: Vec<String>,
    labels: Vec<String>,
}

fn named(label: &LabelFilter) -> String {
    match &label.value {
        Some(value) => format!("{}={value}", label.name),
        None => label.name.clone(),
    }
}
