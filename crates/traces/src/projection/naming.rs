//! The names of outcomes, errors and people in attributes.

use recount::ledger::actor_reference;
use recount::session::{About, Actor, Authentication, Leave, Outcome, Rule, SessionId, Verdict};

use crate::span::Attributes;

/// The maximum size of a text that a model, a tool or a person wrote, in bytes. Collectors reject
/// bodies of a few megabytes.
const TEXT_BYTES_MAX: usize = 32 << 10;

/// The maximum size of a name that a model wrote, in bytes.
const NAME_BYTES_MAX: usize = 256;

/// The beginning of a name that a model wrote.
pub(super) fn name(text: &str) -> String {
    beginning(text, NAME_BYTES_MAX).to_owned()
}

/// Adds the beginning of a text, and says so if it is not the whole.
pub(super) fn content(attributes: &mut Attributes, key: &str, text: &str) {
    let kept = beginning(text, TEXT_BYTES_MAX);
    attributes.text(key, kept);
    if kept.len() < text.len() {
        attributes.number(format!("{key}.whole_bytes"), text.len() as u64);
    }
}

fn beginning(text: &str, bytes: usize) -> &str {
    let end = text.floor_char_boundary(bytes);
    text.get(..end).unwrap_or(text)
}

/// A span name with the name of the tool, if the model named one.
pub(super) fn about_tool(operation: &str, tool: &str) -> String {
    match tool {
        "" => operation.to_owned(),
        tool => format!("{operation} {tool}"),
    }
}

pub(super) fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Interim => "interim",
        Outcome::Returned => "returned",
        Outcome::Failed => "failed",
        Outcome::Supplied => "supplied",
        Outcome::Refused => "refused",
        Outcome::Denied => "denied",
        Outcome::Expired => "expired",
        Outcome::TimedOut => "timed_out",
        Outcome::Cancelled => "cancelled",
        Outcome::Unknown => "unknown",
        Outcome::Withdrawn => "withdrawn",
    }
}

/// The `error.type` and the status message of a call's outcome. `None` if the model got a result.
pub(super) fn error_of(outcome: Outcome) -> Option<(&'static str, &'static str)> {
    match outcome {
        Outcome::Interim | Outcome::Returned | Outcome::Supplied => None,
        Outcome::Failed => Some(("failed", "the tool failed")),
        Outcome::Refused => Some(("refused", "the policies refused the call")),
        Outcome::Denied => Some(("denied", "the call was denied")),
        Outcome::Expired => Some(("expired", "no answer came in time")),
        Outcome::TimedOut => Some(("timeout", "the run exceeded its time limit")),
        Outcome::Cancelled => Some(("cancelled", "the call was cancelled")),
        Outcome::Unknown => Some(("in_doubt", "the run was cut off, its effect is unknown")),
        Outcome::Withdrawn => Some(("withdrawn", "the call was withdrawn")),
    }
}

pub(super) fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allowed => "allowed",
        Verdict::Ask => "ask",
        Verdict::AskProgram => "ask_program",
        Verdict::Refused => "refused",
    }
}

pub(super) fn rule(rule: Rule) -> &'static str {
    match rule {
        Rule::MissingName => "missing_name",
        Rule::UnknownTool => "unknown_tool",
        Rule::MalformedArgs => "malformed_args",
        Rule::InvalidArgs => "invalid_args",
        Rule::Phase => "phase",
        Rule::Condition => "condition",
        Rule::Cached => "cached",
        Rule::Pending => "pending",
        Rule::Limit => "limit",
        Rule::Confirm => "confirm",
        Rule::Default => "default",
    }
}

pub(super) fn leave(leave: &Leave) -> &'static str {
    match leave {
        Leave::NotGated => "not_gated",
        Leave::Waived => "waived",
        Leave::Approved(_) => "approved",
        Leave::Standing(_) => "standing",
        Leave::Unanswered(_) => "unanswered",
    }
}

pub(super) fn about(about: About) -> &'static str {
    match about {
        About::Gate => "gate",
        About::InDoubt => "in_doubt",
        About::Tool => "tool",
    }
}

/// The people of a session, as spans name them.
#[derive(Clone, Copy, Debug)]
pub(super) struct People {
    pub(super) session: SessionId,
    /// True if the session is sealed. A reference could then be compared with guessed names.
    pub(super) sealed: bool,
    /// True if names are part of the content.
    pub(super) named: bool,
}

impl People {
    /// Adds the approver. The reference is that of the record's envelope, so the journal resolves
    /// it.
    pub(super) fn add(self, attributes: &mut Attributes, by: &Actor) {
        let kind = if by.is_program() { "program" } else { "person" };
        attributes.text("recount.approver.kind", kind);
        let authenticated_by = match by.authenticated_by {
            Authentication::Embedder => "embedder",
            Authentication::Token => "token",
            Authentication::OsUser => "os_user",
            Authentication::None => "none",
        };
        attributes.text("recount.approver.authenticated_by", authenticated_by);
        if !self.sealed {
            let reference = actor_reference(self.session, by);
            attributes.text("recount.approver.ref", reference);
        }
        if self.named {
            attributes.text("recount.approver.name", name(&by.name));
        }
    }
}
