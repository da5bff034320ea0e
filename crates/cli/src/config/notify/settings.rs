//! The settings of a sink, with the places of its secrets.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::super::mistake::Mistake;
use super::super::section::Given;
use recount_notify::{Detail, Occasion, SinkName, Template, TimeOfDay, Zone};

/// The settings of a sink. Its secrets are read when it is made.
#[derive(Clone, Debug)]
pub(crate) struct SinkSettings {
    pub(crate) name: Given<SinkName>,
    pub(crate) kind: Given<SinkKind>,
    pub(crate) url: Option<Hidden>,
    /// The secret of a webhook's signatures.
    pub(crate) secret: Option<Hidden>,
    /// The token of a topic of ntfy.
    pub(crate) token: Option<Hidden>,
    /// The program and its arguments.
    pub(crate) command: Option<Given<Vec<String>>>,
    /// True if messages may leave this machine in clear text.
    pub(crate) allow_http: bool,
    /// True if the target of a Slack webhook reads Markdown.
    pub(crate) markdown: Option<Given<bool>>,
    pub(crate) detail: Detail,
    pub(crate) templates: BTreeMap<Occasion, Template>,
    pub(crate) zone: Zone,
    pub(crate) digest: Option<TimeOfDay>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) attempts: Option<u32>,
    pub(crate) retry_first: Option<Duration>,
    pub(crate) retry_longest: Option<Duration>,
}

/// The kind of a sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SinkKind {
    Webhook,
    Slack,
    Ntfy,
    Command,
}

/// A value that may be a secret: in the file, or better in a variable or a file of its own.
#[derive(Clone, Debug)]
pub(crate) enum Hidden {
    Here(Given<String>),
    Variable(Given<String>),
    File(Given<PathBuf>),
}

impl Hidden {
    /// A mistake in this value. The message must not quote it.
    pub(crate) fn mistake(&self, what: impl Into<String>) -> Mistake {
        match self {
            Hidden::Here(it) | Hidden::Variable(it) => it.mistake(what),
            Hidden::File(it) => it.mistake(what),
        }
    }
}

impl SinkKind {
    /// All kinds.
    pub(crate) const ALL: [SinkKind; 4] = [
        SinkKind::Webhook,
        SinkKind::Slack,
        SinkKind::Ntfy,
        SinkKind::Command,
    ];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            SinkKind::Webhook => "webhook",
            SinkKind::Slack => "slack",
            SinkKind::Ntfy => "ntfy",
            SinkKind::Command => "command",
        }
    }
}
