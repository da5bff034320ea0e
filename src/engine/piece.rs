//! A piece of the user's live input, on its way from whoever sends it to the writer of the connection.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::media::Media;
use super::withholding::Passage;
use crate::live::wire::{Blob, ClientMessage, RawJson, RealtimeInput};
use crate::session::Seq;
use crate::tool::InputEvent;

/// A piece of media, or a mark of where the user's activity begins and ends.
pub(super) enum Piece {
    Audio(String, Arc<[u8]>),
    Video(String, Arc<[u8]>),
    ActivityStart,
    ActivityEnd,
    /// The microphone is off.
    AudioStreamEnd,
    /// None of the user's: live input is heard again, so that an end of the audio that waited is told.
    HeardAgain,
}

impl Piece {
    fn encode(&self) -> String {
        let empty = || RawJson::parse("{}").ok();
        let mut input = RealtimeInput::default();
        match self {
            Piece::Audio(mime_type, data) => input.audio = Some(Blob::of(mime_type, data)),
            Piece::Video(mime_type, data) => input.video = Some(Blob::of(mime_type, data)),
            Piece::ActivityStart => input.activity_start = empty(),
            Piece::ActivityEnd => input.activity_end = empty(),
            Piece::AudioStreamEnd | Piece::HeardAgain => input.audio_stream_end = Some(true),
        }
        ClientMessage {
            realtime_input: Some(input),
            ..ClientMessage::default()
        }
        .encode()
    }

    /// What a tool hears of it.
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
            Piece::AudioStreamEnd | Piece::HeardAgain => None,
        }
    }
}

/// The pieces that wait for the writer of a connection.
pub(super) struct Pieces {
    epoch: Seq,
    queue: mpsc::Receiver<Piece>,
    media: Arc<Media>,
    /// The piece that follows the start of an activity of which the model was not told in time.
    next: Option<Piece>,
    /// The piece before which the end of the audio went that had waited.
    again: Option<Piece>,
}

impl Pieces {
    pub(super) fn new(epoch: Seq, queue: mpsc::Receiver<Piece>, media: Arc<Media>) -> Pieces {
        Pieces {
            epoch,
            queue,
            media,
            next: None,
            again: None,
        }
    }

    /// The next message for the model; none once the connection is ended. A wait that is dropped has taken none.
    pub(super) async fn next(&mut self) -> Option<String> {
        loop {
            if let Some(piece) = self.next.take() {
                return Some(piece.encode());
            }
            let piece = match self.again.take() {
                Some(piece) => piece,
                None => self.queue.recv().await?,
            };
            match self.media.pass(self.epoch, &piece) {
                Passage::Goes => return Some(piece.encode()),
                Passage::AfterStart => {
                    self.next = Some(piece);
                    return Some(Piece::ActivityStart.encode());
                }
                Passage::AfterEnd => {
                    self.again = Some(piece);
                    return Some(Piece::AudioStreamEnd.encode());
                }
                Passage::Withheld => {}
            }
        }
    }
}
