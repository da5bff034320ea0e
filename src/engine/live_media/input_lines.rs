//! The order of a client's input: live input is queued per connection, and text has a place in that
//! queue.
//!
//! ```text
//! current ── the connection ends ──▶ closed: its queue is drained, or dropped with the loss
//! next ───── the connection is open ──▶ current
//! ```
//!
//! A line is the input queue of one connection. While the next connection is awaited, its line
//! exists already and accepts input. The place of a text is the number of pieces sent before it. So
//! the text is sent after those pieces and before all others.

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, mpsc};

use super::piece::Piece;

/// The maximum number of queued pieces in a line, before a sender waits.
pub(super) const LINE_PIECES_MAX: usize = 32;

/// A place in the order: after this many pieces of a line, and after all earlier lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::engine) struct Place {
    line: u64,
    pieces: u64,
}

impl Place {
    /// Returns the place after every piece of this line.
    pub(in crate::engine) fn behind(line: u64) -> Place {
        let pieces = u64::MAX;
        Place { line, pieces }
    }

    pub(in crate::engine) fn of(line: u64, pieces: u64) -> Place {
        Place { line, pieces }
    }
}

/// The line of the live connection, and that of the next one.
#[derive(Default)]
pub(super) struct InputLines {
    lines: Mutex<Lines>,
    /// Fires when a line is replaced, or more pieces of one may be sent.
    changed: Notify,
}

#[derive(Default)]
struct Lines {
    /// The id of the newest line.
    last: u64,
    current: Option<Line>,
    next: Option<(Line, mpsc::Receiver<Piece>)>,
    /// True while the session awaits another connection.
    expected: bool,
    /// True while the live connection is about to be left. Text waits for the next one.
    leaves: bool,
}

struct Line {
    id: u64,
    out: mpsc::Sender<Piece>,
    /// The number of pieces accepted.
    taken: u64,
    /// The number of pieces after which the others wait for a text, if set.
    held_from: Option<u64>,
}

/// A guard: another connection is awaited while it exists.
pub(in crate::engine) struct Expected(Arc<InputLines>);

impl Drop for Expected {
    fn drop(&mut self) {
        let mut lines = self.0.lock();
        lines.expected = false;
        if !lines.leaves {
            lines.next = None;
        }
        drop(lines);
        self.0.changed.notify_waiters();
    }
}

impl InputLines {
    /// Queues input for the next connection once there is no current one.
    pub(in crate::engine) fn expect(self: &Arc<InputLines>) -> Expected {
        let mut lines = self.lock();
        lines.expected = true;
        if lines.current.is_none() {
            lines.prepare();
        }
        Expected(self.clone())
    }

    /// Opens the line of a new connection.
    ///
    /// It accepts input at once and releases none before the first
    /// [`release`](InputLines::release), because the session's own messages go first.
    pub(in crate::engine) fn open(&self) -> (u64, mpsc::Receiver<Piece>) {
        let mut lines = self.lock();
        lines.prepare();
        lines.leaves = false;
        let (line, queue) = match lines.next.take() {
            Some((line, queue)) => (Some(line), queue),
            // Unreachable: it was just prepared.
            None => (None, mpsc::channel(1).1),
        };
        let id = line.as_ref().map_or(0, |it| it.id);
        lines.current = line;
        drop(lines);
        self.changed.notify_waiters();
        (id, queue)
    }

    /// Closes the line of the live connection.
    pub(in crate::engine) fn shut(&self) {
        let mut lines = self.lock();
        lines.current = None;
        lines.leaves = false;
        if lines.expected {
            lines.prepare();
        } else {
            lines.next = None;
        }
        drop(lines);
        self.changed.notify_waiters();
    }

    /// Notes that the live connection is about to be left.
    pub(in crate::engine) fn leave(&self) {
        let mut lines = self.lock();
        lines.leaves = lines.current.is_some();
    }

    /// Returns the place of a text sent now. If the text waits for the next connection, later input
    /// waits, too.
    pub(in crate::engine) fn place_of_text(&self) -> Place {
        let mut lines = self.lock();
        if lines.leaves {
            lines.prepare();
        }
        let line = lines.input().map(|it| Place::of(it.id, it.taken));
        line.unwrap_or_default()
    }

    /// Sends a piece on the current line, waiting while it is full. False if there is no line.
    pub(in crate::engine) async fn send(&self, piece: Piece, sent: impl FnOnce(&Piece)) -> bool {
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            let line = self.lock().input().map(|it| (it.id, it.out.clone()));
            let Some((id, out)) = line else {
                return false;
            };
            let Ok(place) = out.reserve().await else {
                // Its connection is lost, and the session has not handled the loss yet.
                if self.lock().input().is_some_and(|it| it.id == id) {
                    changed.await;
                }
                continue;
            };
            let mut lines = self.lock();
            if let Some(line) = lines.input_mut().filter(|it| it.id == id) {
                line.taken += 1;
                sent(&piece);
                place.send(piece);
                return true;
            }
        }
    }

    /// Queues a piece for the live connection, if there is room.
    pub(super) fn try_send(&self, piece: Piece) {
        if let Some(line) = &mut self.lock().current
            && line.out.try_send(piece).is_ok()
        {
            line.taken += 1;
        }
    }

    /// Holds the pieces after a place until the text before them is being written.
    pub(in crate::engine) fn hold(&self, place: Place) {
        if let Some(line) = &mut self.lock().current {
            let is_within = place.line == line.id;
            line.held_from = Some(if is_within { place.pieces } else { 0 });
        }
        self.changed.notify_waiters();
    }

    /// Releases all pieces.
    pub(in crate::engine) fn release(&self) {
        if let Some(line) = &mut self.lock().current {
            line.held_from = None;
        }
        self.changed.notify_waiters();
    }

    /// Waits until a piece may be sent after `gone` others, or until `goes` is true.
    pub(super) async fn may_go(&self, id: u64, gone: u64, goes: impl Fn() -> bool) {
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            if goes() || !self.is_held(id, gone) {
                return;
            }
            changed.await;
        }
    }

    /// Wakes waiting pieces after another change.
    pub(super) fn look_again(&self) {
        self.changed.notify_waiters();
    }

    fn is_held(&self, id: u64, gone: u64) -> bool {
        let lines = self.lock();
        let line = lines.current.as_ref().filter(|it| it.id == id);
        let held_from = line.and_then(|it| it.held_from);
        held_from.is_some_and(|from| gone >= from)
    }

    fn lock(&self) -> MutexGuard<'_, Lines> {
        // The value is consistent between any two statements.
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lines {
    /// Creates the line of the next connection, if there is none.
    fn prepare(&mut self) {
        if self.next.is_some() {
            return;
        }
        self.last += 1;
        let (out, queue) = mpsc::channel(LINE_PIECES_MAX);
        let line = Line {
            id: self.last,
            out,
            taken: 0,
            held_from: Some(0),
        };
        self.next = Some((line, queue));
    }

    /// Returns the line that accepts input: the next one if it exists.
    fn input(&self) -> Option<&Line> {
        let next = self.next.as_ref().map(|(line, _)| line);
        next.or(self.current.as_ref())
    }

    fn input_mut(&mut self) -> Option<&mut Line> {
        let next = self.next.as_mut().map(|(line, _)| line);
        next.or(self.current.as_mut())
    }
}
