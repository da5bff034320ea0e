//! How the service behaves, whatever the script says the model does.

use recount_wire::{DecodeError, Fields, RawJson};

use super::reading::nothing_left;

/// How strict the service is; by default it takes whatever can be understood.
///
/// ```
/// use recount_simulator::Script;
/// Script::parse(r#"{"service": {"strict": true, "models": ["gemini-live-test"]}}"#)?;
/// # Ok::<(), recount_simulator::ScriptError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Service {
    /// Refuses a setup with a field that the service does not know, with 1007.
    pub(super) strict: bool,
    /// Refuses other models, with 1008; takes all where there is none.
    pub(super) models: Vec<String>,
    /// Refuses an answer without an id, with 1007, as Google AI does.
    pub(super) requires_ids: bool,
    /// Refuses an answer to a call that this connection did not issue, with 1008, instead of
    /// ignoring it.
    pub(super) refuses_unknown_calls: bool,
    /// Refuses realtime input while a blocking call waits, with 1008.
    pub(super) refuses_input_during_calls: bool,
    /// Takes handles it never issued, or that have expired, instead of refusing them with 1007.
    pub(super) accepts_any_handle: bool,
    /// Refuses to resume while an older connection is open, with 1011.
    pub(super) refuses_overlap: bool,
    /// Refuses a client without a key or token, with 1008.
    pub(super) requires_key: bool,
    /// Issues handles by itself, and withholds them while calls wait.
    pub(super) issues_handles: bool,
    /// Names the session in `setupComplete`, as Vertex does.
    pub(super) session_id: Option<String>,
    /// Sends text frames, where the real service sends binary ones.
    pub(super) sends_text: bool,
}

impl Service {
    pub(super) fn read(service: &RawJson) -> Result<Self, DecodeError> {
        let mut fields = Fields::of(service)?;
        let mut flag = |name: &str| -> Result<bool, DecodeError> {
            fields.boolean(name).map(|it| it == Some(true))
        };
        let mut service = Self {
            strict: flag("strict")?,
            requires_ids: flag("requiresIds")?,
            refuses_unknown_calls: flag("refusesUnknownCalls")?,
            refuses_input_during_calls: flag("refusesInputDuringCalls")?,
            accepts_any_handle: flag("acceptsAnyHandle")?,
            refuses_overlap: flag("refusesOverlap")?,
            requires_key: flag("requiresKey")?,
            issues_handles: flag("issuesHandles")?,
            sends_text: flag("sendsText")?,
            models: Vec::new(),
            session_id: None,
        };
        service.models = fields.strings("models")?.into_vec();
        service.session_id = fields.string("sessionId")?;
        nothing_left(&mut fields, NAMES)?;
        Ok(service)
    }

    /// Models are the same where the last segment of their path is.
    pub(super) fn takes(&self, model: &str) -> bool {
        let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        self.models.is_empty() || self.models.iter().any(|known| last(known) == last(model))
    }
}

const NAMES: &[&str] = &[
    "strict",
    "models",
    "requires_ids",
    "refuses_unknown_calls",
    "refuses_input_during_calls",
    "accepts_any_handle",
    "refuses_overlap",
    "requires_key",
    "issues_handles",
    "session_id",
    "sends_text",
];
