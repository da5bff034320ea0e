//! Audio and video: from the socket to whoever listens and back, past the session and its journal.
//!
//! The reader of a connection hands media on before the session has seen the message, and the writer takes it from a queue
//! of its own, so no tool and no disk can delay it. Only how much it was goes on record, at the end of each turn.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::{broadcast, mpsc};

use super::live_event::LiveEvent;
use crate::live::ConnectionLost;
use crate::live::wire::{
    Blob, ClientMessage, RawJson, RealtimeInput, ServerContent, ServerMessage, media_frame,
};
use crate::session::{Frames, MediaCount, MediaCounted, Observation, Seq, Speaker};
use crate::tool::InputEvent;

/// How many events a listener may fall behind: some seconds of audio in pieces of 20 ms.
const LISTENING: usize = 256;

/// How much live input a tool may fall behind before it loses some, and is told.
const INPUT: usize = 256;

/// How many pieces of media wait for the writer before whoever sends them waits, too.
const SENDING: usize = 32;

/// The names, in both spellings, by which a message is known that the fast path must look into.
const ENDS_OR_MEDIA: &[&str] = &[
    "inlineData",
    "inline_data",
    "turnComplete",
    "turn_complete",
    "interrupted",
];

/// The fast path of one session. What nobody uses costs nothing.
#[derive(Default)]
pub(super) struct Media {
    listeners: OnceLock<broadcast::Sender<LiveEvent>>,
    input: OnceLock<broadcast::Sender<InputEvent>>,
    link: Mutex<Option<Link>>,
}

/// The connection of now, or the last one, whose counts are not all on record.
struct Link {
    epoch: Seq,
    /// Whether the model speaks, or the user says that it is their turn.
    turn_open: bool,
    /// None once the connection has ended.
    out: Option<mpsc::Sender<String>>,
    heard: MediaCount,
    sent: MediaCount,
    /// The counts of turns that have ended and that the session has not come to yet.
    turns: VecDeque<(MediaCount, MediaCount)>,
}

/// A piece of media on its way to the model.
pub(super) enum Piece {
    Audio(String, Arc<[u8]>),
    Video(String, Arc<[u8]>),
    ActivityStart,
    ActivityEnd,
    /// The microphone is off.
    AudioStreamEnd,
}

impl Media {
    /// What is heard from here on.
    pub(super) fn listen(&self) -> broadcast::Receiver<LiveEvent> {
        let listeners = self
            .listeners
            .get_or_init(|| broadcast::channel(LISTENING).0);
        listeners.subscribe()
    }

    /// The live input of the session, for tools that hear it.
    pub(super) fn input(&self) -> &broadcast::Sender<InputEvent> {
        self.input.get_or_init(|| broadcast::channel(INPUT).0)
    }

    /// Tells the tools that listen, if any do, what the user does.
    pub(super) fn tell_tools(&self, event: impl FnOnce() -> InputEvent) {
        if let Some(input) = self.input.get().filter(|it| it.receiver_count() > 0) {
            let _ = input.send(event());
        }
    }

    /// A connection is there; the queue is for its writer.
    pub(super) fn open(&self, epoch: Seq) -> mpsc::Receiver<String> {
        let (out, queue) = mpsc::channel(SENDING);
        *self.lock() = Some(Link {
            epoch,
            turn_open: false,
            out: Some(out),
            heard: MediaCount::default(),
            sent: MediaCount::default(),
            turns: VecDeque::new(),
        });
        queue
    }

    /// The connection has ended.
    pub(super) fn shut(&self, epoch: Seq) {
        if let Some(link) = self.lock().as_mut().filter(|link| link.epoch == epoch) {
            link.out = None;
        }
    }

    /// Sends a piece; false where there is no connection.
    pub(super) async fn send(&self, piece: Piece) -> bool {
        let out = self.lock().as_ref().and_then(|link| link.out.clone());
        let Some(out) = out else {
            return false;
        };
        let Ok(place) = out.reserve().await else {
            return false;
        };
        let frame = piece.encode();
        // Counted with its place in the queue, so that no end of a turn comes between.
        let mut link = self.lock();
        let same = |link: &&mut Link| link.out.as_ref().is_some_and(|it| it.same_channel(&out));
        let Some(current) = link.as_mut().filter(same) else {
            // The connection for which it waited has ended.
            return false;
        };
        match &piece {
            Piece::Audio(_, data) => current.sent.audio.count(data.len()),
            Piece::Video(_, data) => current.sent.video.count(data.len()),
            Piece::ActivityStart | Piece::ActivityEnd => current.turn_open = true,
            Piece::AudioStreamEnd => {}
        }
        place.send(frame);
        drop(link);
        if let Some(event) = piece.into_input() {
            self.tell_tools(|| event);
        }
        true
    }

    /// Hands on what a message of the connection `epoch` brings; whether the session needs to see it, too.
    pub(super) fn hear(&self, epoch: Seq, frame: &str) -> bool {
        let listeners = self.listeners.get().filter(|it| it.receiver_count() > 0);
        if let Some(pieces) = media_frame(frame) {
            let mut heard = MediaCount::default();
            let pieces = pieces.into_iter();
            let events = pieces.map(|(mime_type, data)| event_of(mime_type, data, &mut heard));
            let events: Vec<LiveEvent> = events.collect();
            self.count(epoch, heard, &ServerContent::default());
            self.tell_all(events);
            return false;
        }
        let marked = |names: &[&str]| names.iter().any(|name| frame.contains(name));
        let matters = listeners.is_some() || marked(ENDS_OR_MEDIA);
        if !matters {
            return true;
        }
        let mut message = match ServerMessage::decode(frame) {
            Ok(message) => message,
            // What cannot be read is for the session to put on record.
            Err(error) => {
                self.tell(|| LiveEvent::Unreadable(error.to_string()));
                return true;
            }
        };
        let Some(content) = &mut message.server_content else {
            return true;
        };
        let mut events = Vec::new();
        let mut heard = MediaCount::default();
        let carried = take_media(content, &mut heard, &mut events);
        if listeners.is_some() {
            tell(content, &mut events);
        }
        self.count(epoch, heard, content);
        self.tell_all(events);
        !carried || says_more(message)
    }

    /// Whether a turn is under way of which the session sees nothing, because it is only audio.
    pub(super) fn is_turn_open(&self, epoch: Seq) -> bool {
        let link = self.lock();
        link.as_ref()
            .is_some_and(|it| it.epoch == epoch && it.turn_open)
    }

    /// The connection was lost.
    pub(super) fn lost(&self, lost: &ConnectionLost) {
        self.tell(|| LiveEvent::Lost {
            code: lost.code,
            reason: lost.reason.clone(),
        });
    }

    fn tell_all(&self, events: Vec<LiveEvent>) {
        let Some(listeners) = self.listeners.get() else {
            return;
        };
        for event in events {
            let _ = listeners.send(event);
        }
    }

    fn tell(&self, event: impl FnOnce() -> LiveEvent) {
        if let Some(listeners) = self.listeners.get().filter(|it| it.receiver_count() > 0) {
            let _ = listeners.send(event());
        }
    }

    fn count(&self, epoch: Seq, heard: MediaCount, content: &ServerContent) {
        let mut link = self.lock();
        let Some(link) = link.as_mut().filter(|link| link.epoch == epoch) else {
            return;
        };
        link.turn_open |= !heard.is_none();
        add(&mut link.heard.audio, heard.audio);
        add(&mut link.heard.video, heard.video);
        // As many as the session will put on record of this message.
        for ended in [content.interrupted, content.turn_complete] {
            if ended == Some(true) {
                link.turn_open = false;
                let counts = (
                    std::mem::take(&mut link.heard),
                    std::mem::take(&mut link.sent),
                );
                link.turns.push_back(counts);
            }
        }
    }

    /// Puts the counts beside what ends a turn or the connection.
    pub(super) fn with_counts(&self, batch: Vec<Observation>) -> Vec<Observation> {
        let ends = |it: &Observation| {
            matches!(
                it,
                Observation::TurnCompleted(_)
                    | Observation::TurnInterrupted(_)
                    | Observation::Disconnected(_)
            )
        };
        if !batch.iter().any(ends) {
            return batch;
        }
        let mut counted = Vec::with_capacity(batch.len() + 1);
        for observation in batch {
            let counts = if let Observation::TurnCompleted(it) = &observation {
                self.turn(it.epoch)
            } else if let Observation::TurnInterrupted(it) = &observation {
                self.turn(it.epoch)
            } else if let Observation::Disconnected(it) = &observation {
                self.rest(it.epoch)
            } else {
                None
            };
            // Before it: nothing follows from a count, and what ends the turn may lead to decisions.
            counted.extend(counts.map(Observation::from));
            counted.push(observation);
        }
        counted
    }

    /// The counts of the first turn that is not on record.
    fn turn(&self, epoch: Seq) -> Option<MediaCounted> {
        let mut link = self.lock();
        let link = link.as_mut().filter(|link| link.epoch == epoch)?;
        counted(epoch, link.turns.pop_front()?)
    }

    /// What no end of a turn has counted.
    fn rest(&self, epoch: Seq) -> Option<MediaCounted> {
        let mut link = self.lock();
        let link = link.as_mut().filter(|link| link.epoch == epoch)?;
        let mut rest = (
            std::mem::take(&mut link.heard),
            std::mem::take(&mut link.sent),
        );
        for (heard, sent) in link.turns.drain(..) {
            for (all, more) in [(&mut rest.0, heard), (&mut rest.1, sent)] {
                add(&mut all.audio, more.audio);
                add(&mut all.video, more.video);
            }
        }
        counted(epoch, rest)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Link>> {
        // Numbers only: a panic elsewhere spoils none of them.
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn counted(epoch: Seq, (heard, sent): (MediaCount, MediaCount)) -> Option<MediaCounted> {
    let nothing = heard.is_none() && sent.is_none();
    (!nothing).then_some(MediaCounted { epoch, heard, sent })
}

fn add(all: &mut Frames, more: Frames) {
    all.frames = all.frames.saturating_add(more.frames);
    all.bytes = all.bytes.saturating_add(more.bytes);
}

/// Takes the media out of a message; whether there was any.
fn take_media(
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

/// Counts a piece of media; what listeners are told of it.
fn event_of(mime_type: String, data: Vec<u8>, heard: &mut MediaCount) -> LiveEvent {
    let (mime_type, data): (Arc<str>, Arc<[u8]>) = (mime_type.into(), data.into());
    if mime_type.starts_with("audio/") {
        heard.audio.count(data.len());
        LiveEvent::Audio { mime_type, data }
    } else {
        heard.video.count(data.len());
        LiveEvent::Video { mime_type, data }
    }
}

/// What else a message says, in the order in which it counts.
fn tell(content: &ServerContent, events: &mut Vec<LiveEvent>) {
    let text = |it: &Option<crate::live::wire::Transcription>| {
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

/// Whether a message whose media was taken out still says something.
fn says_more(mut message: ServerMessage) -> bool {
    let Some(mut content) = message.server_content.take() else {
        return true;
    };
    let parts = content.model_turn.take().map(|turn| turn.parts.into_vec());
    let empty = |part: &crate::live::wire::Part| {
        part.text.is_none() && part.function_call.is_none() && part.function_response.is_none()
    };
    let only_media = parts.is_none_or(|parts| parts.iter().all(empty));
    !only_media || content != ServerContent::default() || message != ServerMessage::default()
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
            Piece::AudioStreamEnd => input.audio_stream_end = Some(true),
        }
        ClientMessage {
            realtime_input: Some(input),
            ..ClientMessage::default()
        }
        .encode()
    }

    fn into_input(self) -> Option<InputEvent> {
        match self {
            Piece::Audio(mime_type, data) => Some(InputEvent::Audio { mime_type, data }),
            Piece::Video(mime_type, data) => Some(InputEvent::Video { mime_type, data }),
            Piece::ActivityStart => Some(InputEvent::ActivityStart),
            Piece::ActivityEnd => Some(InputEvent::ActivityEnd),
            Piece::AudioStreamEnd => None,
        }
    }
}

#[cfg(test)]
#[expect(clippy::panic, reason = "a test that meets the impossible must stop")]
#[path = "media_link_tests.rs"]
mod link_tests;
