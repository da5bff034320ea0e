//! The queued pieces of live input, on the way to the writer of the connection.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::input_lines::Place;
use super::media::Media;
use super::piece::Piece;
use super::withholding::Passage;
use crate::session::Seq;

/// The queued pieces for the writer of a connection.
pub(in crate::engine) struct Pieces {
    epoch: Seq,
    line: u64,
    queue: mpsc::Receiver<Piece>,
    media: Arc<Media>,
    /// The number of pieces sent or dropped.
    gone: u64,
    /// True if no more pieces can come.
    is_over: bool,
    /// The piece that follows a delayed activity start.
    next: Option<Piece>,
    /// The piece taken from the queue that must still be passed.
    again: Option<Piece>,
}

/// The outcome of the next piece.
pub(in crate::engine) enum Passed {
    /// A message for the model.
    Message(String),
    /// The piece was dropped.
    Dropped,
}

impl Pieces {
    pub(in crate::engine) fn new(
        epoch: Seq,
        (line, queue): (u64, mpsc::Receiver<Piece>),
        media: Arc<Media>,
    ) -> Pieces {
        Pieces {
            epoch,
            line,
            queue,
            media,
            gone: 0,
            is_over: false,
            next: None,
            again: None,
        }
    }

    /// Returns the place that the line has reached.
    pub(in crate::engine) fn place(&self) -> Place {
        if self.is_over {
            Place::behind(self.line)
        } else {
            Place::of(self.line, self.gone)
        }
    }

    /// Returns the outcome of the next piece; None once the connection has ended. Cancel-safe: a
    /// dropped future takes no piece.
    pub(in crate::engine) async fn next(&mut self) -> Option<Passed> {
        if let Some(piece) = self.next.take() {
            return Some(self.goes(&piece));
        }
        if self.again.is_none() {
            self.again = self.queue.recv().await;
            self.is_over = self.again.is_none();
        }
        if self.again.is_some() {
            self.media.may_go(self.line, self.gone).await;
        }
        let piece = self.again.take()?;
        Some(match self.media.pass(self.epoch, &piece) {
            Passage::Goes => self.goes(&piece),
            Passage::AfterStart => {
                self.next = Some(piece);
                Passed::Message(Piece::ActivityStart.encode())
            }
            Passage::AfterEnd => {
                self.again = Some(piece);
                Passed::Message(Piece::AudioStreamEnd.encode())
            }
            Passage::Withheld => {
                self.gone += 1;
                Passed::Dropped
            }
        })
    }

    fn goes(&mut self, piece: &Piece) -> Passed {
        self.gone += 1;
        Passed::Message(piece.encode())
    }
}
