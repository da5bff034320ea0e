//! The behavior of the service apart from the rules of the script.

use recount_wire::{DecodeError, Fields, RawJson};

use super::reading::nothing_left;

/// The strictness of the service. By default it accepts everything that can be understood.
///
/// ```
/// use recount_simulator::Script;
/// Script::parse(r#"{"service": {"strict": true, "models": ["gemini-live-test"]}}"#)?;
/// # Ok::<(), recount_simulator::ScriptError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Service {
    /// Rejects a setup with an unknown field, with code 1007.
    pub(super) strict: bool,
    /// Rejects other models, with code 1008. An empty list accepts all models.
    pub(super) models: Vec<String>,
    /// Rejects a response without an id, with code 1007, as Google AI does.
    pub(super) requires_ids: bool,
    /// Rejects a response to a call that this connection did not issue, with code 1008, instead of
    /// ignoring it.
    pub(super) refuses_unknown_calls: bool,
    /// Rejects realtime input while a blocking call waits, with code 1008.
    pub(super) refuses_input_during_calls: bool,
    /// Accepts unknown and expired handles instead of rejecting them with code 1007.
    pub(super) accepts_any_handle: bool,
    /// Rejects resumption while an older connection is open, with code 1011.
    pub(super) refuses_overlap: bool,
    /// Rejects a client without a key or token, with code 1008.
    pub(super) requires_key: bool,
    /// Issues handles without a step, and withholds them while calls wait.
    pub(super) issues_handles: bool,
    /// The session's id in `setupComplete`, as on Vertex.
    pub(super) session_id: Option<String>,
    /// Sends text frames. The real service sends binary ones.
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

    /// True if the last segment of the model's path is that of an accepted model.
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
