//! Audio and video: from the socket to whoever listens and back, past the session and its journal.
//!
//! The reader of a connection hands media on before the session has seen the message, and the
//! writer takes it from a queue of its own, so no tool and no disk can delay it. Only how much it
//! was goes on record, at the end of each turn.

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

/// How many events a listener may fall behind: some seconds of audio in pieces of 20 ms.
const LISTENING: usize = 256;

/// How much live input a tool may fall behind before it loses some, and is told.
const INPUT: usize = 256;

/// The names, in both spellings, by which a message is known that the fast path must look into.
const ENDS_OR_MEDIA: &[&str] = &[
    "inlineData",
    "inline_data",
    "turnComplete",
    "turn_complete",
    "interrupted",
];

/// The fast path of one session. What nobody uses costs nothing.
pub(in crate::engine) struct Media {
    clock: Arc<dyn Clock>,
    listeners: OnceLock<broadcast::Sender<LiveEvent>>,
    input: OnceLock<broadcast::Sender<InputEvent>>,
    link: Mutex<Option<Link>>,
    lines: Arc<InputLines>,
    /// Where input is withheld while the model waits for a response: the functions for which it
    /// does not.
    non_blocking: Option<Arc<[String]>>,
}

/// The connection of now, or the last one, whose counts are not all on record.
struct Link {
    epoch: Seq,
    /// How deep the protocol's own objects may nest in what it brings.
    depth_max: usize,
    /// True if the model speaks, or the user says that it is their turn.
    turn_open: bool,
    /// When media passed last, either way.
    passed_at: Option<Timestamp>,
    /// False once the connection has ended.
    stands: bool,
    withholding: Withholding,
    /// Set where it ended while input was withheld: what is still in its line is dropped.
    is_mute: bool,
    counts: Counts,
    /// Input of the user has gone to the model.
    was_sent: bool,
    /// The counts of turns that have ended and that the session has not come to yet.
    turns: VecDeque<Counts>,
}

/// What passed the journal by, or was kept from passing.
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
    /// A fast path; where input is withheld while the model waits, with the functions for which it
    /// does not wait.
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

    /// What is heard from here on.
    pub(in crate::engine) fn listen(&self) -> broadcast::Receiver<LiveEvent> {
        let listeners = self
            .listeners
            .get_or_init(|| broadcast::channel(LISTENING).0);
        listeners.subscribe()
    }

    /// The live input of the session, for tools that hear it.
    pub(in crate::engine) fn input(&self) -> &broadcast::Sender<InputEvent> {
        self.input.get_or_init(|| broadcast::channel(INPUT).0)
    }

    /// Tells the tools that listen, if any do, what the user does.
    pub(in crate::engine) fn tell_tools(&self, event: impl FnOnce() -> InputEvent) {
        if let Some(input) = self.input.get().filter(|it| it.receiver_count() > 0) {
            let _ = input.send(event());
        }
    }

    /// A connection is there; the queue is for its writer, which takes none of it before the first
    /// [`go_on`](Media::go_on).
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

    /// The connection has ended.
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

    /// Has input wait for the next connection, as long as the session awaits one.
    pub(in crate::engine) fn expect(&self) -> Expected {
        self.lines.expect()
    }

    /// The connection is to be left: words wait for the next one.
    pub(in crate::engine) fn leave(&self) {
        self.lines.leave();
    }

    /// The place of words that are sent now, behind the input that was sent before.
    pub(in crate::engine) fn place_of_words(&self) -> Place {
        self.lines.place_of_words()
    }

    /// Has the input that was sent after words wait for them.
    pub(in crate::engine) fn wait_for_words(&self, place: Place) {
        self.lines.hold(place);
    }

    /// Lets all input go.
    pub(in crate::engine) fn go_on(&self) {
        self.lines.release();
    }

    /// Waits until a piece of a line may leave, or is to be dropped at once.
    pub(super) async fn may_go(&self, line: u64, gone: u64) {
        self.lines
            .may_go(line, gone, || self.is_withholding())
            .await;
    }

    /// Sends a piece, as far as it is not withheld, or has it wait for a connection that is
    /// awaited; false where none is.
    pub(in crate::engine) async fn send(&self, piece: Piece) -> bool {
        let tell = |piece: &Piece| {
            let listens = self.input.get().is_some_and(|it| it.receiver_count() > 0);
            if let Some(event) = listens.then(|| piece.as_input()).flatten() {
                self.tell_tools(|| event);
            }
        };
        self.lines.send(piece, tell).await
    }

    /// What becomes of a piece that is about to leave on the connection `epoch`.
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
            // It is asked about again.
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
            Piece::AudioStreamEnd | Piece::HeardAgain => {}
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

    /// The reader hands a message to the session, which may come to it late.
    pub(in crate::engine) fn handed_on(&self, epoch: Seq, frame: &str) {
        if let Some(non_blocking) = &self.non_blocking {
            let brings_call = brings_call(frame, self.depth_max(epoch), non_blocking);
            self.change(epoch, |it| it.withholding.handed_on(brings_call));
        }
    }

    /// The session has come to the next message of the reader.
    pub(in crate::engine) fn reached(&self, epoch: Seq) {
        if self.non_blocking.is_some() {
            self.change(epoch, |it| it.withholding.reached());
        }
    }

    /// The session says whether a call keeps the model waiting.
    pub(in crate::engine) fn note(&self, epoch: Seq, waits: bool) {
        self.change(epoch, |it| it.withholding.note(waits));
    }

    /// Changes a connection that stands. Its reader may still be in the middle of a message when it
    /// has ended.
    fn change(&self, epoch: Seq, change: impl FnOnce(&mut Link)) {
        let mut link = self.lock();
        let stands = |link: &&mut Link| link.epoch == epoch && link.stands;
        let Some(link) = link.as_mut().filter(stands) else {
            return;
        };
        let before = link.withholding.is_on();
        change(link);
        // Under the lock, so that nobody hears of the end before the beginning.
        match (before, link.withholding.is_on()) {
            (false, true) => {
                self.tell(|| LiveEvent::InputWithheld);
                // What waits for words is dropped instead.
                self.lines.look_again();
            }
            (true, false) => {
                self.tell(|| LiveEvent::InputResumed);
                if link.stands && link.withholding.has_end_waiting() {
                    // Where the queue is full, the first piece of it takes the end along.
                    self.lines.try_send(Piece::HeardAgain);
                }
            }
            (true, true) | (false, false) => {}
        }
    }

    /// Hands on what a message of the connection `epoch` brings; whether the session needs to see
    /// it, too.
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
        // The session puts on record that a part cannot be read.
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

    /// How deep what the connection brings may nest; of one that has ended nothing is read any
    /// more.
    fn depth_max(&self, epoch: Seq) -> usize {
        let link = self.lock();
        let link = link.as_ref().filter(|link| link.epoch == epoch);
        link.map_or(0, |link| link.depth_max)
    }

    /// True if a turn is under way of which the session sees nothing, because it is only audio.
    pub(in crate::engine) fn is_turn_open(&self, epoch: Seq) -> bool {
        let link = self.lock();
        link.as_ref()
            .is_some_and(|it| it.epoch == epoch && it.turn_open)
    }

    /// True once input of the user has gone to the model.
    pub(in crate::engine) fn was_sent(&self, epoch: Seq) -> bool {
        let link = self.lock();
        let link = link.as_ref().filter(|link| link.epoch == epoch);
        link.is_some_and(|link| link.was_sent)
    }

    /// True if media of the model came in a turn whose end is not on record.
    pub(in crate::engine) fn was_heard(&self, epoch: Seq) -> bool {
        let link = self.lock();
        let link = link.as_ref().filter(|link| link.epoch == epoch);
        link.is_some_and(|link| link.turns.iter().any(|turn| !turn.heard.is_none()))
    }

    /// True if no media passed in a turn that has ended, behind so many others whose end is not on
    /// record.
    pub(in crate::engine) fn is_turn_empty(&self, epoch: Seq, behind: usize) -> bool {
        let link = self.lock();
        let link = link.as_ref().filter(|link| link.epoch == epoch);
        let turn = link.and_then(|link| link.turns.get(behind));
        turn.is_none_or(Counts::is_none)
    }

    /// Forgets the counts of a turn whose end does not go on record.
    pub(in crate::engine) fn drop_turn(&self, epoch: Seq, behind: usize) {
        let mut link = self.lock();
        if let Some(link) = link.as_mut().filter(|link| link.epoch == epoch) {
            link.turns.remove(behind);
        }
    }

    /// When media passed last on the connection of now, either way: the session sees none of it.
    pub(in crate::engine) fn passed_at(&self) -> Option<Timestamp> {
        self.lock().as_ref().and_then(|link| link.passed_at)
    }

    /// The connection was lost.
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
        // As many as the session will put on record of this message.
        for ended in [content.interrupted, content.turn_complete] {
            if ended == Some(true) {
                link.turn_open = false;
                let counts = std::mem::take(&mut link.counts);
                link.turns.push_back(counts);
            }
        }
    }

    /// Puts the counts beside what ends a turn or the connection.
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
            // Before it: nothing follows from a count, and what ends the turn may lead to
            // decisions.
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
        let mut rest = std::mem::take(&mut link.counts);
        for turn in link.turns.drain(..) {
            add(&mut rest.heard, turn.heard);
            add(&mut rest.sent, turn.sent);
            add(&mut rest.withheld, turn.withheld);
        }
        counted(epoch, rest)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Link>> {
        // Numbers only: a panic elsewhere spoils none of them.
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
