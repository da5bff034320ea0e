//! The faults for which the service closes a connection.

use recount_wire::{Blob, ClientMessage, Setup};

use super::connection::{Connection, Phase};
use super::expectation::handle_of;
use super::service::Service;
use super::step::{CLOSE_REASON_BYTES_MAX, Step};
use super::strict::unknown_name;

/// The close code and reason of a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    code: u16,
    reason: String,
}

impl Fault {
    pub(super) fn new(code: u16, reason: impl Into<String>) -> Self {
        Self {
            code,
            reason: reason.into(),
        }
    }

    /// Creates the close step. The reason is truncated to fit a close frame, as the real service
    /// does.
    pub(super) fn close(mut self) -> Step {
        let end = (0..=CLOSE_REASON_BYTES_MAX.min(self.reason.len()))
            .rev()
            .find(|&end| self.reason.is_char_boundary(end));
        self.reason.truncate(end.unwrap_or(0));
        Step::Close {
            code: self.code,
            reason: self.reason,
        }
    }
}

/// Returns the fault of a message, if there is one.
pub(super) fn fault(
    service: &Service,
    connection: &Connection,
    message: &ClientMessage,
) -> Option<Fault> {
    payload(message)
        .or_else(|| order(connection.phase, message))
        .or_else(|| setup(service, connection, message.setup.as_ref()?))
        .or_else(|| realtime_input(service, connection, message))
        .or_else(|| answers(service, connection, message))
}

fn payload(message: &ClientMessage) -> Option<Fault> {
    match message.payloads().as_slice() {
        [_] => None,
        [] => {
            let reason = message.other.iter().next().map_or_else(
                || "Request contains no payload.".to_owned(),
                |(name, _)| format!("Invalid JSON payload received. Unknown name \"{name}\"."),
            );
            Some(Fault::new(1007, reason))
        }
        several => Some(Fault::new(
            1007,
            format!(
                "Request contains an invalid argument: expected one payload, found {}.",
                several.join(" and ")
            ),
        )),
    }
}

fn order(phase: Phase, message: &ClientMessage) -> Option<Fault> {
    match (phase, message.setup.is_some()) {
        (Phase::AwaitingSetup, false) => Some(Fault::new(1007, "The first message must be setup.")),
        (Phase::Open | Phase::Silent, true) => Some(Fault::new(
            1007,
            "setup must be the first message and only that.",
        )),
        (Phase::AwaitingSetup, true) | (Phase::Open | Phase::Silent, false) => None,
    }
}

fn setup(service: &Service, connection: &Connection, setup: &Setup) -> Option<Fault> {
    if service.requires_key && !connection.has_key {
        let reason =
            "Method doesn't allow unregistered callers (callers without established identity).";
        return Some(Fault::new(1008, reason));
    }
    if !service.takes(&setup.model) {
        let reason = format!(
            "{} is not found for API version v1beta, or is not supported for bidiGenerateContent.",
            setup.model
        );
        return Some(Fault::new(1008, reason));
    }
    if !service.strict {
        return None;
    }
    unknown_name(setup).map(|(name, place)| {
        let reason = format!(
            "Invalid JSON payload received. Unknown name \"{name}\" at '{place}': Cannot find field."
        );
        Fault::new(1007, reason)
    })
}

fn realtime_input(
    service: &Service,
    connection: &Connection,
    message: &ClientMessage,
) -> Option<Fault> {
    let input = message.realtime_input.as_ref()?;
    let mut blobs = input
        .audio
        .iter()
        .chain(&input.video)
        .chain(&input.media_chunks);
    if blobs.any(|blob: &Blob| blob.bytes().is_none()) {
        let reason = "Request contains an invalid argument: data is not base64.";
        return Some(Fault::new(1007, reason));
    }
    // `activity_end` is not counted, because it only ends earlier input.
    let is_input = input.text.is_some()
        || input.audio.is_some()
        || input.video.is_some()
        || input.media_chunks.is_present()
        || input.activity_start.is_some();
    (service.refuses_input_during_calls && is_input && connection.is_blocked()).then(|| {
        Fault::new(
            1008,
            "Operation is not implemented, or supported, or enabled.",
        )
    })
}

fn answers(service: &Service, connection: &Connection, message: &ClientMessage) -> Option<Fault> {
    let responses = &message.tool_response.as_ref()?.function_responses;
    for (index, response) in responses.iter().enumerate() {
        let Some(id) = response.id.as_deref().filter(|id| !id.is_empty()) else {
            if service.requires_ids {
                let place = format!("tool_response.function_responses[{index}].id");
                let reason =
                    format!("Request contains an invalid argument: {place} must be present.");
                return Some(Fault::new(1007, reason));
            }
            continue;
        };
        if service.refuses_unknown_calls && !connection.knows_call(id) {
            return Some(Fault::new(1008, "Requested entity was not found."));
        }
    }
    None
}

/// Returns the fault of a setup that resumes a session, if there is one.
pub(super) fn resumption(
    service: &Service,
    message: &ClientMessage,
    is_valid: impl Fn(&str) -> bool,
    another_is_open: bool,
) -> Option<Fault> {
    let handle = handle_of(message)?;
    if !service.accepts_any_handle && !is_valid(handle) {
        return Some(Fault::new(1007, "Request contains an invalid argument."));
    }
    (service.refuses_overlap && another_is_open)
        .then(|| Fault::new(1011, "The service is currently unavailable."))
}
