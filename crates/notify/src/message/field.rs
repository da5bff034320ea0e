//! The fields of a template.

use super::content::Content;
use crate::values::{Detail, Occasion, Zone};

/// A field of a template: its name, the least detail that shows it, and its occasions.
pub(super) struct Known {
    pub(super) name: &'static str,
    pub(super) detail: Detail,
    /// Empty: every occasion.
    pub(super) occasions: &'static [Occasion],
}

/// A field in a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Named(&'static str),
    /// `label.tenant`: the value of a label.
    Label(String),
}

/// The occasions that are about a call.
const CALL: &[Occasion] = &[
    Occasion::Asked,
    Occasion::Reminder,
    Occasion::Escalated,
    Occasion::Decided,
    Occasion::InDoubt,
    Occasion::Settled,
];

/// The occasions that are about a request.
const REQUEST: &[Occasion] = &[
    Occasion::Asked,
    Occasion::Reminder,
    Occasion::Escalated,
    Occasion::Decided,
    Occasion::InDoubt,
];

/// The beginning of a field with a label.
pub(super) const LABEL: &str = "label.";

const DECIDED: &[Occasion] = &[Occasion::Decided];
const ENDED: &[Occasion] = &[Occasion::Settled, Occasion::InDoubt];
const DIGEST: &[Occasion] = &[Occasion::Digest];

/// All fields but labels.
pub(super) const KNOWN: &[Known] = &[
    known("occasion", Detail::None, &[]),
    known("time", Detail::None, &[]),
    known("link", Detail::None, &[]),
    known("session", Detail::None, CALL),
    known("call", Detail::None, CALL),
    known("since", Detail::None, REQUEST),
    known("expires", Detail::None, REQUEST),
    known("decision", Detail::None, DECIDED),
    known("outcome", Detail::None, ENDED),
    known("tool", Detail::Names, CALL),
    known("agent", Detail::Names, CALL),
    known("external_id", Detail::Names, CALL),
    known("on_behalf_of", Detail::Names, CALL),
    known("by", Detail::Names, DECIDED),
    known("arguments", Detail::Arguments, CALL),
    known("hint", Detail::Arguments, REQUEST),
    known("reason", Detail::Arguments, DECIDED),
    known("date", Detail::None, DIGEST),
    known("asked", Detail::None, DIGEST),
    known("approved", Detail::None, DIGEST),
    known("denied", Detail::None, DIGEST),
    known("expired", Detail::None, DIGEST),
    known("in_doubt", Detail::None, DIGEST),
    known("open", Detail::None, DIGEST),
];

/// The field for labels, which has any name behind its beginning.
pub(super) const LABELS: Known = known(LABEL, Detail::Names, CALL);

const fn known(name: &'static str, detail: Detail, occasions: &'static [Occasion]) -> Known {
    Known {
        name,
        detail,
        occasions,
    }
}

impl Known {
    /// True if a message of this occasion may have the field.
    pub(super) fn is_of(&self, occasion: Occasion) -> bool {
        self.occasions.is_empty() || self.occasions.contains(&occasion)
    }
}

impl Field {
    /// True if the value is a link of this service.
    pub(super) fn is_link(&self) -> bool {
        *self == Field::Named("link")
    }

    /// The value in a message; empty if the message has none.
    pub(super) fn value(&self, content: &Content, zone: &Zone) -> String {
        let time = |at: Option<_>| at.map(|it| zone.text(it)).unwrap_or_default();
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let digest = content.digest.clone().unwrap_or_default();
        let name = match self {
            Field::Label(name) => return content.labels.get(name).cloned().unwrap_or_default(),
            Field::Named(name) => *name,
        };
        match name {
            "occasion" => content.occasion.to_string(),
            "time" => time(Some(content.at)),
            "link" => text(&content.link),
            "session" => content
                .session
                .map(|it| it.0.to_string())
                .unwrap_or_default(),
            "call" => content.call.map(|it| it.0.to_string()).unwrap_or_default(),
            "since" => time(content.since),
            "expires" => time(content.expires),
            "decision" => content.decision.unwrap_or_default().to_owned(),
            "outcome" => content.outcome.unwrap_or_default().to_owned(),
            "tool" => text(&content.tool),
            "agent" => text(&content.agent),
            "external_id" => text(&content.external_id),
            "on_behalf_of" => text(&content.on_behalf_of),
            "by" => text(&content.by),
            "arguments" => content.arguments_text(),
            "hint" => text(&content.hint),
            "reason" => text(&content.reason),
            "date" => digest.date,
            "asked" => digest.asked.to_string(),
            "approved" => digest.approved.to_string(),
            "denied" => digest.denied.to_string(),
            "expired" => digest.expired.to_string(),
            "in_doubt" => digest.in_doubt.to_string(),
            "open" => digest.open.to_string(),
            // A template has only names of the list.
            _ => String::new(),
        }
    }
}
