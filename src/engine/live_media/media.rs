//! Audio and video: between the socket and the listeners, bypassing the session and its journal.
//!
//! The reader of a connection passes media on before the session sees the message. The writer takes
//! media from its own queue. So no tool and no disk can delay it. Only the amounts are recorded, at
//! the end of each turn.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::broadcast;

use super::heard_media::{add, event_of, readable_parts, says_more, take_media, tell};
use super::input_lines::{Expected, InputLines, Place};
use super::live_event::LiveEvent;
use super::piece::Piece;
use super::pieces::Pieces;
use super::withholding::{Passage, Withholding, brings_call};
use crate::engine::clock::Clock;
use crate::live::ConnectionLost;
use crate::live::wire::{ServerContent, media_frame};
use crate::session::{MediaCount, MediaCounted, Observation, Seq, Timestamp};
use crate::tool::InputEvent;

/// The number of events that a listener may lag behind: a few seconds of audio in pieces of 20 ms.
const LISTENER_LAG_MAX: usize = 256;

/// The number of live inputs that a tool may lag behind. Beyond it, the oldest are lost and the
/// tool gets a notice.
const INPUT: usize = 256;

/// The names, in both spellings, that mark a message which the fast path must parse.
const ENDS_OR_MEDIA: &[&str] = &[
    "inlineData",
    "inline_data",
    "turnComplete",
    "turn_complete",
    "interrupted",
];

/// The fast path of one session. Unused parts cost nothing.
pub(in crate::engine) struct Media {
    clock: Arc<dyn Clock>,
    listeners: OnceLock<broadcast::Sender<LiveEvent>>,
    input: OnceLock<broadcast::Sender<InputEvent>>,
    link: Mutex<Option<Link>>,
    lines: Arc<InputLines>,
    /// The functions for which the model does not wait. Set if input is withheld while the model
    /// waits.
    non_blocking: Option<Arc<[String]>>,
}

/// The current connection, or the last one, whose counts are not all recorded.
struct Link {
    epoch: Seq,
    /// The maximum nesting depth of protocol objects in its messages.
    depth_max: usize,
    /// True if the model speaks, or the user has marked an activity.
    turn_open: bool,
    /// The time when media last passed in either direction.
    passed_at: Option<Timestamp>,
    /// False once the connection has ended.
    stands: bool,
    withholding: Withholding,
    /// True if it ended while input was withheld: the rest of its line is dropped.
    is_mute: bool,
    counts: Counts,
    /// True once user input was sent to the model.
    was_sent: bool,
    /// The counts of ended turns that the session has not handled yet.
    turns: VecDeque<Counts>,
}

/// The amounts of media received, sent and withheld.
#[derive(Default)]
struct Counts {
    heard: MediaCount,
    sent: MediaCount,
    withheld: MediaCount,
}

impl Counts {
    fn is_none(&self) -> bool {
        self.heard.is_none() && self.sent.is_none() && self.withheld.is_none()
    }
}

impl Media {
    /// Creates a fast path. `non_blocking` are the functions for which the model does not wait, if
    /// input is withheld.
    pub(in crate::engine) fn new(
        clock: Arc<dyn Clock>,
        non_blocking: Option<Arc<[String]>>,
    ) -> Media {
        Media {
            clock,
            listeners: OnceLock::new(),
            input: OnceLock::new(),
            link: Mutex::default(),
            lines: Arc::default(),
            non_blocking,
        }
    }

    /// Returns a receiver of events from now on.
    pub(in crate::engine) fn listen(&self) -> broadcast::Receiver<LiveEvent> {
        let listeners = self
            .listeners
            .get_or_init(|| broadcast::channel(LISTENER_LAG_MAX).0);
        listeners.subscribe()
    }

    /// Returns the sender of the session's live input, to which tools subscribe.
    pub(in crate::engine) fn input(&self) -> &broadcast::Sender<InputEvent> {
        self.input.get_or_init(|| broadcast::channel(INPUT).0)
    }

    /// Sends an input event to the tools that listen, if any do.
    pub(in crate::engine) fn tell_tools(&self, event: impl FnOnce() -> InputEvent) {
        if let Some(input) = self.input.get().filter(|it| it.receiver_count() > 0) {
            let _ = input.send(event());
        }
    }

    /// Starts a connection, and returns the queue for its writer. The queue releases nothing before
    /// the first [`release`](Media::release).
    pub(in crate::engine) fn open(self: &Arc<Media>, epoch: Seq, depth_max: usize) -> Pieces {
        *self.lock() = Some(Link {
            epoch,
            depth_max,
            turn_open: false,
            passed_at: None,
            stands: true,
            withholding: Withholding::default(),
            is_mute: false,
            counts: Counts::default(),
            was_sent: false,
            turns: VecDeque::new(),
        });
        Pieces::new(epoch, self.lines.open(), self.clone())
    }

    /// Ends the connection.
    pub(in crate::engine) fn shut(&self, epoch: Seq) {
        let mut shuts = false;
        self.change(epoch, |link| {
            link.is_mute = link.withholding.is_on();
            link.withholding = Withholding::default();
            link.stands = false;
            shuts = true;
        });
        if shuts {
            self.lines.shut();
        }
    }

    /// Queues input for the next connection, as long as the session awaits one.
    pub(in crate::engine) fn expect(&self) -> Expected {
        self.lines.expect()
    }

    /// Notes that the connection is about to be left, so that text waits for the next one.
    pub(in crate::engine) fn leave(&self) {
        self.lines.leave();
    }

    /// Returns the place of a text sent now, after the input sent before it.
    pub(in crate::engine) fn place_of_text(&self) -> Place {
        self.lines.place_of_text()
    }

    /// Holds the input sent after a text until the text is sent.
    pub(in crate::engine) fn hold_for_text(&self, place: Place) {
        self.lines.hold(place);
    }

    /// Releases all input.
    pub(in crate::engine) fn release(&self) {
        self.lines.release();
    }

    /// Waits until a piece of a line may be sent, or must be dropped.
    pub(super) async fn may_go(&self, line: u64, gone: u64) {
        self.lines
            .may_go(line, gone, || self.is_withholding())
            .await;
    }

    /// Sends a piece unless it is withheld, or queues it for the next connection. False if none is
    /// awaited.
    pub(in crate::engine) async fn send(&self, piece: Piece) -> bool {
        let tell = |piece: &Piece| {
            let listens = self.input.get().is_some_and(|it| it.receiver_count() > 0);
            if let Some(event) = listens.then(|| piece.as_input()).flatten() {
                self.tell_tools(|| event);
            }
        };
        self.lines.send(piece, tell).await
    }

    /// Decides what happens to the next piece of the connection `epoch`, and counts it.
    pub(in crate::engine) fn pass(&self, epoch: Seq, piece: &Piece) -> Passage {
        let mut link = self.lock();
        let Some(link) = link.as_mut().filter(|link| link.epoch == epoch) else {
            return Passage::Withheld;
        };
        let passage = if link.is_mute {
            Passage::Withheld
        } else {
            link.withholding.pass(piece)
        };
        let count = match passage {
            Passage::Goes | Passage::AfterStart => &mut link.counts.sent,
            Passage::Withheld => &mut link.counts.withheld,
            // This piece is passed again.
            Passage::AfterEnd => return passage,
        };
        if passage != Passage::Withheld {
            link.passed_at = Some(self.clock.now());
            link.was_sent = true;
        }
        match piece {
            Piece::Audio(_, data) => count.audio.count(data.len()),
            Piece::Video(_, data) => count.video.count(data.len()),
            Piece::ActivityStart | Piece::ActivityEnd => {
                link.turn_open |= passage != Passage::Withheld;
            }
            Piece::AudioStreamEnd | Piece::InputResumes => {}
        }
        link.turn_open |= passage == Passage::AfterStart;
        passage
    }

    /// True if live input is withheld now.
    pub(in crate::engine) fn is_withholding(&self) -> bool {
        self.lock()
            .as_ref()
            .is_some_and(|it| it.withholding.is_on())
    }

    /// Notes that the reader queued a message for the session, which may handle it late.
    pub(in crate::engine) fn handed_on(&self, epoch: Seq, frame: &str) {
        if let Some(non_blocking) = &self.non_blocking {
            let brings_call = brings_call(frame, self.depth_max(epoch), non_blocking);
            self.change(epoch, |it| it.withholding.handed_on(brings_call));
        }
    }

    /// Notes that the session has handled the reader's next message.
    pub(in crate::engine) fn reached(&self, epoch: Seq) {
        if self.non_blocking.is_some() {
            self.change(epoch, |it| it.withholding.reached());
        }
    }

    /// Notes whether a call makes the model wait.
    pub(in crate::engine) fn note(&self, epoch: Seq, waits: bool) {
        self.change(epoch, |it| it.withholding.note(waits));
    }

    /// Changes the live connection. Ignored for one that has ended, whose reader may still be
    /// handling a message.
    fn change(&self, epoch: Seq, change: impl FnOnce(&mut Link)) {
        let mut link = self.lock();
        let stands = |link: &&mut Link| link.epoch == epoch && link.stands;
        let Some(link) = link.as_mut().filter(stands) else {
            return;
        };
        let before = link.withholding.is_on();
        change(link);
        // Under the lock, so that listeners get the start before the end.
        match (before, link.withholding.is_on()) {
            (false, true) => {
                self.tell(|| LiveEvent::InputWithheld);
                // Pieces that wait for a text are dropped instead.
                self.lines.look_again();
            }
            (true, false) => {
                self.tell(|| LiveEvent::InputResumed);
                if link.stands && link.withholding.has_end_waiting() {
                    // If the queue is full, its first piece causes the end to be sent.
                    self.lines.try_send(Piece::InputResumes);
                }
            }
            (true, true) | (false, false) => {}
        }
    }

    /// Passes on the media of a message. True if the session must handle the message, too.
    pub(in crate::engine) fn hear(&self, epoch: Seq, frame: &str) -> bool {
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
        let (message, problem) = readable_parts(frame, self.depth_max(epoch));
        let is_whole = problem.is_none();
        // The session records that a part is unreadable.
        self.tell_all(problem.into_iter().map(LiveEvent::Unreadable).collect());
        let Some(mut message) = message else {
            return true;
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
        !carried || !is_whole || says_more(message)
    }

    /// Returns the maximum nesting depth for the connection. Zero after its end, because nothing is
    /// read any more.
    fn depth_max(&self, epoch: Seq) -> usize {
        let link = self.lock();
        let link = link.as_ref().filter(|link| link.epoch == epoch);
        link.map_or(0, |link| link.depth_max)
    }

    /// True if a turn is open that the session does not see, because it has only audio.
    pub(in crate::engine) fn is_turn_open(&self, epoch: Seq) -> bool {
        let link = self.lock();
        link.as_ref()
            .is_some_and(|it| it.epoch == epoch && it.turn_open)
    }

    /// True once user input was sent to the model.
    pub(in crate::engine) fn was_sent(&self, epoch: Seq) -> bool {
        let link = self.lock();
        let link = link.as_ref().filter(|link| link.epoch == epoch);
        link.is_some_and(|link| link.was_sent)
    }

    /// True if the model sent media in a turn whose end is not recorded.
    pub(in crate::engine) fn was_heard(&self, epoch: Seq) -> bool {
        let link = self.lock();
        let link = link.as_ref().filter(|link| link.epoch == epoch);
        link.is_some_and(|link| link.turns.iter().any(|turn| !turn.heard.is_none()))
    }

    /// True if no media passed in the ended turn that has `behind` other unrecorded turns before
    /// it.
    pub(in crate::engine) fn is_turn_empty(&self, epoch: Seq, behind: usize) -> bool {
        let link = self.lock();
        let link = link.as_ref().filter(|link| link.epoch == epoch);
        let turn = link.and_then(|link| link.turns.get(behind));
        turn.is_none_or(Counts::is_none)
    }

    /// Drops the counts of a turn whose end is not recorded.
    pub(in crate::engine) fn drop_turn(&self, epoch: Seq, behind: usize) {
        let mut link = self.lock();
        if let Some(link) = link.as_mut().filter(|link| link.epoch == epoch) {
            link.turns.remove(behind);
        }
    }

    /// Returns the time when media last passed. The session does not see media.
    pub(in crate::engine) fn passed_at(&self) -> Option<Timestamp> {
        self.lock().as_ref().and_then(|link| link.passed_at)
    }

    /// Sends the loss of the connection to the listeners.
    pub(in crate::engine) fn lost(&self, lost: &ConnectionLost) {
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

    pub(in crate::engine) fn tell(&self, event: impl FnOnce() -> LiveEvent) {
        if let Some(listeners) = self.listeners.get().filter(|it| it.receiver_count() > 0) {
            let _ = listeners.send(event());
        }
    }

    fn count(&self, epoch: Seq, heard: MediaCount, content: &ServerContent) {
        let mut link = self.lock();
        let Some(link) = link.as_mut().filter(|link| link.epoch == epoch) else {
            return;
        };
        if !heard.is_none() {
            link.turn_open = true;
            link.passed_at = Some(self.clock.now());
        }
        add(&mut link.counts.heard, heard);
        // As many turn ends as the session will record for this message.
        for ended in [content.interrupted, content.turn_complete] {
            if ended == Some(true) {
                link.turn_open = false;
                let counts = std::mem::take(&mut link.counts);
                link.turns.push_back(counts);
            }
        }
    }

    /// Adds the media counts to a batch that ends a turn or the connection.
    pub(in crate::engine) fn with_counts(&self, batch: Vec<Observation>) -> Vec<Observation> {
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
            // Before it: a count has no effects, but the end of a turn may lead to decisions.
            counted.extend(counts.map(Observation::from));
            counted.push(observation);
        }
        counted
    }

    /// Returns the counts of the first unrecorded turn.
    fn turn(&self, epoch: Seq) -> Option<MediaCounted> {
        let mut link = self.lock();
        let link = link.as_mut().filter(|link| link.epoch == epoch)?;
        counted(epoch, link.turns.pop_front()?)
    }

    /// Returns the counts that no turn end has recorded.
    fn rest(&self, epoch: Seq) -> Option<MediaCounted> {
        let mut link = self.lock();
        let link = link.as_mut().filter(|link| link.epoch == epoch)?;
        let mut rest = std::mem::take(&mut link.counts);
        for turn in link.turns.drain(..) {
            add(&mut rest.heard, turn.heard);
            add(&mut rest.sent, turn.sent);
            add(&mut rest.withheld, turn.withheld);
        }
        counted(epoch, rest)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Link>> {
        // The fields are plain values, so a panic elsewhere does not corrupt them.
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn counted(epoch: Seq, counts: Counts) -> Option<MediaCounted> {
    let nothing = counts.is_none();
    let Counts {
        heard,
        sent,
        withheld,
    } = counts;
    (!nothing).then_some(MediaCounted {
        epoch,
        heard,
        sent,
        withheld,
    })
}

#[cfg(test)]
#[expect(clippy::panic, reason = "a test that meets the impossible must stop")]
#[path = "media_link_tests.rs"]
mod link_tests;
