//! A piece of the user's live input.

use std::sync::Arc;

use crate::live::wire::{Blob, ClientMessage, RawJson, RealtimeInput};
use crate::tool::InputEvent;

/// A piece of media, or a mark for the start or end of the user's activity.
pub(in crate::engine) enum Piece {
    Audio(String, Arc<[u8]>),
    Video(String, Arc<[u8]>),
    ActivityStart,
    ActivityEnd,
    /// The microphone is off.
    AudioStreamEnd,
    /// Not user input: a signal that live input resumes, so that a waiting end of the audio is
    /// sent.
    InputResumes,
}

impl Piece {
    pub(super) fn encode(&self) -> String {
        let empty = || RawJson::parse("{}").ok();
        let mut input = RealtimeInput::default();
        match self {
            Piece::Audio(mime_type, data) => input.audio = Some(Blob::of(mime_type, data)),
            Piece::Video(mime_type, data) => input.video = Some(Blob::of(mime_type, data)),
            Piece::ActivityStart => input.activity_start = empty(),
            Piece::ActivityEnd => input.activity_end = empty(),
            Piece::AudioStreamEnd | Piece::InputResumes => input.audio_stream_end = Some(true),
        }
        ClientMessage {
            realtime_input: Some(input),
            ..ClientMessage::default()
        }
        .encode()
    }

    /// Returns the event for tools that listen.
    pub(super) fn as_input(&self) -> Option<InputEvent> {
        match self {
            Piece::Audio(mime_type, data) => Some(InputEvent::Audio {
                mime_type: mime_type.clone(),
                data: data.clone(),
            }),
            Piece::Video(mime_type, data) => Some(InputEvent::Video {
                mime_type: mime_type.clone(),
                data: data.clone(),
            }),
            Piece::ActivityStart => Some(InputEvent::ActivityStart),
            Piece::ActivityEnd => Some(InputEvent::ActivityEnd),
            Piece::AudioStreamEnd | Piece::InputResumes => None,
        }
    }
}
