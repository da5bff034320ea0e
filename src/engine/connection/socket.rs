//! The task of a connection: it reads and writes, and decides nothing.
//!
//! It is one task, and the session gets writes and received messages in their order through one
//! channel. So a report that a message was written comes before its answer, and after everything
//! received earlier. Only the write itself may also be done by a [sender](super::writer).

use std::collections::VecDeque;
use std::future::{pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, yield_now};
use tokio::time::{sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::incoming::Incoming;
use super::writer::{Carried, Outgoing, Writer, Writing, writer};
use crate::engine::agents::fixture::recorded::SessionRecorder;
use crate::engine::live_media::input_lines::Place;
use crate::engine::live_media::media::Media;
use crate::live::streamed::Streamed;
use crate::live::wire::PartsRead;
use crate::live::{ConnectError, Connection, ConnectionLost, Connector, FrameReceiver, Told};
use crate::session::Seq;

/// The time for which the peer is still read after a failed write. Its last messages and its close
/// code may be in transit.
const READ_AFTER_FAILURE: Duration = Duration::from_secs(1);

/// A connection whose setup is complete.
pub(in crate::engine) struct Socket {
    pub(in crate::engine) id: u64,
    pub(in crate::engine) epoch: Seq,
    /// Cancels reading when dropped. Dropped before `writer`, because dropping the writer closes
    /// the connection.
    _listens: DropGuard,
    writer: Writer,
    /// The task, taken by `close`.
    task: Option<JoinHandle<()>>,
    media: Arc<Media>,
    recorder: Option<SessionRecorder>,
    /// The calls whose arguments are streaming. They end with the connection.
    pub(in crate::engine) streamed: Streamed,
}

impl Socket {
    /// Starts reading and writing.
    pub(in crate::engine) fn start(
        id: u64,
        epoch: Seq,
        connection: Connection,
        incoming: mpsc::Sender<Incoming>,
        (media, depth_max): (Arc<Media>, usize),
    ) -> Socket {
        let Connection { sender, receiver } = connection;
        let (failed, failure) = oneshot::channel();
        let (writer, writing) = writer(sender, media.open(epoch, depth_max), failed);
        let listens = CancellationToken::new();
        let is_listening = listens.clone();
        let serving = serve(
            id,
            receiver,
            (writing, failure),
            incoming,
            listens,
            (epoch, media.clone()),
        );
        let task = tokio::spawn(serving);
        Socket {
            id,
            epoch,
            _listens: is_listening.drop_guard(),
            writer,
            task: Some(task),
            media,
            recorder: None,
            streamed: Streamed::default(),
        }
    }

    /// Records sent messages in a fixture.
    pub(in crate::engine) fn recorded(mut self, recorder: Option<SessionRecorder>) -> Socket {
        self.recorder = recorder;
        self
    }

    /// Writes a message, or leaves it to the connection's task. If it cannot be written, the reader
    /// reports the loss.
    pub(in crate::engine) fn send(&self, text: String, carries: Option<Carried>) {
        self.write(Outgoing {
            text,
            carries,
            told: None,
            after: None,
        });
    }

    /// Writes the response to a call as [`send`](Socket::send) does.
    pub(in crate::engine) fn respond(&self, text: String, carries: Carried, told: Told) {
        self.write(Outgoing {
            text,
            carries: Some(carries),
            told: Some(told),
            after: None,
        });
    }

    /// Works as [`send`](Socket::send), for text that follows the live input before its place.
    /// `recorded` replaces the message in a fixture.
    pub(in crate::engine) fn say(&self, text: String, recorded: Option<String>, place: Place) {
        if let Some(recorder) = &self.recorder {
            recorder.sent(recorded.as_ref().unwrap_or(&text));
        }
        self.writer.send(Outgoing {
            text,
            carries: None,
            told: None,
            after: Some(place),
        });
    }

    /// Writes a message that waited, as [`send`](Socket::send) does.
    pub(in crate::engine) fn write(&self, message: Outgoing) {
        if let Some(recorder) = &self.recorder {
            recorder.sent(&message.text);
        }
        self.writer.send(message);
    }

    /// Ends the connection after the queued messages are written. Returns the task that does so.
    pub(in crate::engine) fn close(mut self) -> Option<JoinHandle<()>> {
        self.task.take()
    }
}

#[cfg(test)]
impl Socket {
    /// As if the runtime shut down.
    pub(in crate::engine) fn abort(&self) {
        self.task.iter().for_each(JoinHandle::abort);
    }
}

impl Drop for Socket {
    /// The task writes what is queued and closes the connection, and reads no more.
    fn drop(&mut self) {
        self.media.shut(self.epoch);
    }
}

/// Connects and completes the setup, within a time limit. Some services refuse an option by sending
/// nothing.
pub(in crate::engine) async fn open(
    connector: &dyn Connector,
    setup: String,
    limit: Duration,
) -> Result<Connection, ConnectError> {
    let endpoint = connector.endpoint();
    let handshake = async {
        let mut connection = connector.connect().await?;
        let refused = |lost| ConnectError::SetupRefused {
            endpoint: endpoint.clone(),
            lost,
        };
        connection.sender.send(setup).await.map_err(refused)?;
        let first = connection.receiver.receive().await.map_err(refused)?;
        match PartsRead::decode(&first) {
            Ok(parts) if parts.message.setup_complete.is_some() => Ok(connection),
            Ok(_) | Err(_) => {
                let found = first.chars().take(120).collect();
                Err(ConnectError::SetupUnexpected {
                    endpoint: endpoint.clone(),
                    found,
                })
            }
        }
    };
    let timed_out = ConnectError::SetupTimedOut {
        endpoint: endpoint.clone(),
        seconds: limit.as_secs(),
    };
    timeout(limit, handshake).await.unwrap_or(Err(timed_out))
}

/// The maximum memory of messages that wait for a busy session, in bytes, beyond its channel. Then
/// the reader waits.
const BACKLOG_BYTES: usize = 4 << 20;

/// Writes and reads until the peer is gone, or the session has closed the socket and all is
/// written.
async fn serve(
    socket: u64,
    receiver: Box<dyn FrameReceiver>,
    (writing, failure): (Writing, oneshot::Receiver<ConnectionLost>),
    incoming: mpsc::Sender<Incoming>,
    listens: CancellationToken,
    hears: (Seq, Arc<Media>),
) {
    let reading = read(socket, receiver, &incoming, failure, &writing, &hears);
    let reading = async {
        tokio::select! {
            biased;
            () = listens.cancelled() => {}
            () = reading => {}
        }
    };
    // The writer is polled first, so ready messages are written first. `reported` relies on this
    // order.
    let both = AssertUnwindSafe(join(writing.run(), reading)).catch_unwind();
    let has_panicked = both.await.is_err();
    // Later writes could no longer be reported, so none are made.
    drop(writing);
    if has_panicked && !listens.is_cancelled() {
        let lost = panicked();
        hears.1.lost(&lost);
        // The session may be gone.
        let _ = incoming.send(Incoming::Lost { socket, lost }).await;
    }
}

/// The events that wait for a busy session.
#[derive(Default)]
struct Backlog {
    waiting: VecDeque<Incoming>,
    bytes: usize,
}

impl Backlog {
    fn push(&mut self, incoming: Incoming) {
        self.bytes += incoming.bytes();
        self.waiting.push_back(incoming);
    }

    fn pop(&mut self) -> Option<Incoming> {
        let next = self.waiting.pop_front()?;
        self.bytes -= next.bytes();
        Some(next)
    }
}

/// Reads on while the session is busy, because audio bypasses the session. It alone reports the
/// end, after everything received before.
async fn read(
    socket: u64,
    mut receiver: Box<dyn FrameReceiver>,
    incoming: &mpsc::Sender<Incoming>,
    failure: oneshot::Receiver<ConnectionLost>,
    writing: &Writing,
    (epoch, media): &(Seq, Arc<Media>),
) {
    let epoch = *epoch;
    let mut backlog = Backlog::default();
    let mut failure_after_last_reads = pin!(failure_after_last_reads(failure));
    let report = |carried| Incoming::Written { socket, carried };
    let mut number = 0;
    let lost = loop {
        tokio::select! {
            biased;
            lost = &mut failure_after_last_reads => break lost,
            carried = reported(writing) => backlog.push(report(carried)),
            place = incoming.reserve(), if !backlog.waiting.is_empty() => {
                let (Ok(place), Some(next)) = (place, backlog.pop()) else {
                    return;
                };
                place.send(next);
            }
            received = AssertUnwindSafe(async { receiver.receive().await }).catch_unwind(),
                if backlog.bytes < BACKLOG_BYTES =>
            match received {
                Ok(Ok(text)) => {
                    number += 1;
                    // First, so that earlier writes are reported before this message, and later
                    // ones after it.
                    let is_under_way = writing.take_reports(|it| backlog.push(report(it)));
                    if media.hear(epoch, &text) {
                        media.handed_on(epoch, &text);
                        if is_under_way {
                            // The peer usually has a message before its writer returns, so this
                            // message may be the answer to it.
                            yield_now().await;
                            let written = writing.report();
                            written.into_iter().for_each(|it| backlog.push(report(it)));
                        }
                        backlog.push(Incoming::Frame {
                            socket,
                            text,
                            number,
                        });
                    }
                }
                Ok(Err(lost)) => break lost,
                Err(_) => break panicked(),
            },
        }
    };
    // If dropping the receiver panics, that is the loss. The messages received before are still
    // delivered.
    let gone = catch_unwind(AssertUnwindSafe(|| drop(receiver)));
    let lost = gone.map_or_else(|_| panicked(), |()| lost);
    media.lost(&lost);
    while let Some(carried) = writing.report() {
        backlog.push(report(carried));
    }
    for last in backlog
        .waiting
        .into_iter()
        .chain([Incoming::Lost { socket, lost }])
    {
        if incoming.send(last).await.is_err() {
            return;
        }
    }
}

/// Returns the next report. It registers no waker: the task that polls it has just polled the
/// writer, and any other poller of the writer wakes the task.
fn reported(writing: &Writing) -> impl Future<Output = Carried> {
    poll_fn(|_| writing.report().map_or(Poll::Pending, Poll::Ready))
}

/// Returns the failure of the writer, once the peer had time for its last messages.
async fn failure_after_last_reads(failure: oneshot::Receiver<ConnectionLost>) -> ConnectionLost {
    let Ok(lost) = failure.await else {
        // The writer ended without a failure.
        return pending().await;
    };
    sleep(READ_AFTER_FAILURE).await;
    lost
}

pub(in crate::engine) fn panicked() -> ConnectionLost {
    ConnectionLost {
        code: None,
        reason: "the connection panicked".to_owned(),
    }
}

#[cfg(test)]
#[expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]
#[path = "socket_tests.rs"]
mod tests;
