//! A message of the service as events for listeners: its media, and the rest.

use std::sync::Arc;

use super::live_event::LiveEvent;
use crate::live::wire::{Part, PartsRead, ServerContent, ServerMessage, Transcription};
use crate::session::{MediaCount, Speaker};

/// Takes the media out of a message. True if there was any.
pub(super) fn take_media(
    content: &mut ServerContent,
    heard: &mut MediaCount,
    events: &mut Vec<LiveEvent>,
) -> bool {
    let Some(turn) = &mut content.model_turn else {
        return false;
    };
    let mut parts = std::mem::take(&mut turn.parts).into_vec();
    for part in &mut parts {
        let Some((blob, data)) = part.inline_data.take().and_then(|it| {
            let data = it.bytes()?;
            Some((it, data))
        }) else {
            continue;
        };
        let mime_type = blob.mime_type.unwrap_or_default();
        events.push(event_of(mime_type, data, heard));
    }
    turn.parts = parts.into();
    !events.is_empty()
}

/// Counts a piece of media, and returns its event.
pub(super) fn event_of(mime_type: String, data: Vec<u8>, heard: &mut MediaCount) -> LiveEvent {
    let (mime_type, data): (Arc<str>, Arc<[u8]>) = (mime_type.into(), data.into());
    if mime_type.starts_with("audio/") {
        heard.audio.count(data.len());
        LiveEvent::Audio { mime_type, data }
    } else {
        heard.video.count(data.len());
        LiveEvent::Video { mime_type, data }
    }
}

/// Adds counts of media.
pub(super) fn add(all: &mut MediaCount, more: MediaCount) {
    let kinds = [(&mut all.audio, more.audio), (&mut all.video, more.video)];
    for (all, more) in kinds {
        all.frames = all.frames.saturating_add(more.frames);
        all.bytes = all.bytes.saturating_add(more.bytes);
    }
}

/// Appends the other events of a message, in their order.
pub(in crate::engine) fn tell(content: &ServerContent, events: &mut Vec<LiveEvent>) {
    let text = |it: &Option<Transcription>| {
        let text = it.as_ref().and_then(|it| it.text.clone());
        text.filter(|text| !text.is_empty())
    };
    let transcript = |speaker, text| LiveEvent::Transcript { speaker, text };
    events.extend(text(&content.input_transcription).map(|it| transcript(Speaker::User, it)));
    let spoken = content.model_turn.as_ref().map(|turn| turn.spoken());
    events.extend(spoken.filter(|it| !it.is_empty()).map(LiveEvent::Text));
    events.extend(text(&content.output_transcription).map(|it| transcript(Speaker::Model, it)));
    events.extend((content.interrupted == Some(true)).then_some(LiveEvent::Interrupted));
    events.extend((content.turn_complete == Some(true)).then_some(LiveEvent::TurnComplete));
}

/// Returns the readable parts of a message, and the problem with the others.
///
/// One message makes one problem at most, so it cannot push other events out of the buffer.
pub(super) fn readable_parts(
    frame: &str,
    depth_max: usize,
) -> (Option<ServerMessage>, Option<String>) {
    match PartsRead::decode_within(frame, depth_max) {
        Ok(parts) => {
            let mut problems = parts.problems();
            let first = problems.next().map(ToString::to_string);
            let problem = match (first, problems.count()) {
                (Some(first), more @ 1..) => Some(format!("{first}, and {more} more")),
                (first, _) => first,
            };
            (Some(parts.into()), problem)
        }
        Err(error) => (None, Some(error.to_string())),
    }
}

/// True if a message has content other than the media taken out.
pub(super) fn says_more(mut message: ServerMessage) -> bool {
    let Some(mut content) = message.server_content.take() else {
        return true;
    };
    let parts = content.model_turn.take().map(|turn| turn.parts.into_vec());
    let empty = |part: &Part| {
        part.text.is_none() && part.function_call.is_none() && part.function_response.is_none()
    };
    let only_media = parts.is_none_or(|parts| parts.iter().all(empty));
    !only_media || content != ServerContent::default() || message != ServerMessage::default()
}
