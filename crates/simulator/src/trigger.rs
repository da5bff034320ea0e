//! Triggers: the events that fire a rule.

use recount_wire::{DecodeError, Fields, RawJson};

use super::reading::{exactly, nothing_left, number, unknown};

/// The event that fires a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trigger {
    /// A client connects, before any message.
    Connect,
    Setup(SetupKind),
    /// The user's text contains this text, in lower case.
    Text(String),
    AnyText,
    /// User text that no other rule handles.
    Otherwise,
    ResponsesTo(Vec<String>),
    /// The number of audio frames received on the connection.
    Audio(u32),
    Signal(Signal),
}

/// The kinds of setups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SetupKind {
    Any,
    /// A setup without a handle.
    Fresh,
    /// A setup with any handle.
    Resumed,
    /// A setup with this handle.
    Handle(String),
}

/// A client's signal about the user's activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    ActivityStart,
    ActivityEnd,
    AudioStreamEnd,
}

impl Trigger {
    pub(super) fn of(on: &RawJson) -> Result<Self, DecodeError> {
        if on.as_str().starts_with('"') {
            return Self::by_name(&on.to::<String>()?);
        }
        let mut fields = Fields::of(on)?;
        let trigger = if let Some(text) = fields.string("text")? {
            Self::Text(text.to_lowercase())
        } else if fields.boolean("anyText")? == Some(true) {
            Self::AnyText
        } else if let Some(frames) = number(&mut fields, "audio")? {
            Self::Audio(frames.max(1))
        } else if let Some(setup) = fields.raw("setup")? {
            Self::Setup(SetupKind::of(&setup).map_err(|error| error.under("setup"))?)
        } else if let ids = fields.strings("responsesTo")?
            && ids.is_present()
        {
            if ids.is_empty() {
                return Err(DecodeError::new("ids of calls", "none of them").under("responses_to"));
            }
            Self::ResponsesTo(ids.into_vec())
        } else {
            let left = fields.rest(&[])?;
            let found = left.iter().next().map(|(name, _)| name);
            return Err(unknown("a trigger:", OBJECTS, found));
        };
        nothing_left(&mut fields, &[])?;
        Ok(trigger)
    }

    fn by_name(name: &str) -> Result<Self, DecodeError> {
        match name {
            "connect" => Ok(Self::Connect),
            "setup" => Ok(Self::Setup(SetupKind::Any)),
            "any_text" => Ok(Self::AnyText),
            "otherwise" => Ok(Self::Otherwise),
            "activity_start" => Ok(Self::Signal(Signal::ActivityStart)),
            "activity_end" => Ok(Self::Signal(Signal::ActivityEnd)),
            "audio_stream_end" => Ok(Self::Signal(Signal::AudioStreamEnd)),
            other => Err(unknown("one of", NAMES, Some(other))),
        }
    }
}

impl SetupKind {
    fn of(setup: &RawJson) -> Result<Self, DecodeError> {
        if let Ok(name) = setup.to::<String>() {
            return match name.as_str() {
                "fresh" => Ok(Self::Fresh),
                "resumed" => Ok(Self::Resumed),
                other => Err(DecodeError::new(SETUPS, exactly(other))),
            };
        }
        let mut fields = Fields::of(setup)?;
        let handle = fields.string("handle")?;
        nothing_left(&mut fields, &["handle"])?;
        handle
            .map(Self::Handle)
            .ok_or_else(|| DecodeError::new(SETUPS, "neither"))
    }

    /// True if a setup with this handle is of this kind.
    pub(super) fn fits(&self, handle: Option<&str>) -> bool {
        match self {
            Self::Any => true,
            Self::Fresh => handle.is_none(),
            Self::Resumed => handle.is_some(),
            Self::Handle(wanted) => handle == Some(wanted),
        }
    }
}

const NAMES: &[&str] = &[
    "connect",
    "setup",
    "any_text",
    "otherwise",
    "activity_start",
    "activity_end",
    "audio_stream_end",
];

const OBJECTS: &[&str] = &["text", "any_text", "responses_to", "audio", "setup"];

const SETUPS: &str = r#""fresh", "resumed" or {"handle": …}"#;
