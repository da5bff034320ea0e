//! The task of a connection: it reads and it writes, and decides nothing.
//!
//! It is one task and not two, so that what is written is reported before an answer to it is read.

use std::collections::VecDeque;
use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::inbox::{Inbox, Incoming, Input};
use super::media::Media;
use super::piece::Pieces;
use super::recorded::OfSession;
use crate::live::wire::ServerMessage;
use crate::live::{
    ConnectError, Connection, ConnectionLost, Connector, FrameReceiver, FrameSender,
};
use crate::session::{Route, Seq};

/// How long the peer may leave a message untaken before the connection counts as lost.
const SEND_SECONDS: u64 = 30;

/// How long the peer is still heard once nothing can be written any more: what it said, and why it closed, may be on its way.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A message on its way out.
pub(super) struct Outgoing {
    pub(super) text: String,
    /// What it carries that is to be reported when it is written.
    pub(super) carries: Option<Carried>,
}

/// A debt that a message settles.
#[derive(Clone, Copy, Debug)]
pub(super) enum Carried {
    /// The response of this `response_issued`, by this way.
    Response(Seq, Route),
    /// The instruction of this `phase_entered`.
    Instruction(Seq),
}

/// A connection whose setup is complete.
pub(super) struct Socket {
    pub(super) id: u64,
    pub(super) epoch: Seq,
    outgoing: mpsc::UnboundedSender<Outgoing>,
    /// Nothing is read any more once it is gone.
    _listens: DropGuard,
    /// Taken by whoever waits for its end.
    task: Option<JoinHandle<()>>,
    media: Arc<Media>,
    recorder: Option<OfSession>,
}

impl Socket {
    /// Starts reading and writing.
    pub(super) fn start(
        id: u64,
        epoch: Seq,
        connection: Connection,
        incoming: mpsc::Sender<Incoming>,
        inbox: Inbox,
        (media, depth_max): (Arc<Media>, usize),
    ) -> Socket {
        let (outgoing, queue) = mpsc::unbounded_channel();
        let pieces = media.open(epoch, depth_max);
        let hears = (epoch, media.clone());
        let (failed, failure) = oneshot::channel();
        let listens = CancellationToken::new();
        let reading = read(id, connection.receiver, incoming, failure, hears);
        let reading = listens.clone().run_until_cancelled_owned(reading);
        let writing = write(epoch, connection.sender, (queue, pieces), failed, inbox);
        // Whatever is ready at once is written first.
        let task = tokio::spawn(async { _ = join(writing, reading).await });
        Socket {
            id,
            epoch,
            outgoing,
            _listens: listens.drop_guard(),
            task: Some(task),
            media,
            recorder: None,
        }
    }

    /// Has what it sends written down.
    pub(super) fn recorded(mut self, recorder: Option<OfSession>) -> Socket {
        self.recorder = recorder;
        self
    }

    /// Queues a message; where it cannot be written, the reader reports the loss.
    pub(super) fn send(&self, text: String, carries: Option<Carried>) {
        if let Some(recorder) = &self.recorder {
            recorder.sent(&text);
        }
        let _ = self.outgoing.send(Outgoing { text, carries });
    }

    /// Ends the connection: what is queued is still written. Returns the end of that, to be waited for.
    pub(super) fn close(mut self) -> Option<JoinHandle<()>> {
        self.task.take()
    }
}

impl Drop for Socket {
    /// The task closes the connection once the queue has no sender and nothing is read any more.
    fn drop(&mut self) {
        self.media.shut(self.epoch);
    }
}

/// Connects and completes the setup. Some services refuse an option by saying nothing at all, so the time is limited.
pub(super) async fn open(
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
        match ServerMessage::decode(&first) {
            Ok(message) if message.setup_complete.is_some() => Ok(connection),
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

/// How many bytes of messages wait for a session that is busy, beyond what its queue takes, before its reader waits, too.
const BACKLOG_BYTES: usize = 4 << 20;

/// Reads on while the session is busy, because what is audio does not concern it. It alone reports the end, behind
/// everything that came before it.
async fn read(
    socket: u64,
    mut receiver: Box<dyn FrameReceiver>,
    incoming: mpsc::Sender<Incoming>,
    failure: oneshot::Receiver<ConnectionLost>,
    (epoch, media): (Seq, Arc<Media>),
) {
    let mut backlog: VecDeque<String> = VecDeque::new();
    let mut bytes = 0;
    let mut heard_out = pin!(heard_out(failure));
    let lost = loop {
        tokio::select! {
            biased;
            lost = &mut heard_out => break lost,
            place = incoming.reserve(), if !backlog.is_empty() => {
                let (Ok(place), Some(text)) = (place, backlog.pop_front()) else {
                    return;
                };
                bytes -= text.len();
                place.send(Incoming::Frame { socket, text });
            }
            received = receiver.receive(), if bytes < BACKLOG_BYTES => match received {
                Ok(text) if media.hear(epoch, &text) => {
                    media.handed_on(epoch, &text);
                    bytes += text.len();
                    backlog.push_back(text);
                }
                Ok(_) => {}
                Err(lost) => break lost,
            },
        }
    };
    media.lost(&lost);
    let left = backlog.into_iter();
    let left = left.map(|text| Incoming::Frame { socket, text });
    for last in left.chain([Incoming::Lost { socket, lost }]) {
        if incoming.send(last).await.is_err() {
            return;
        }
    }
}

/// Why nothing can be written any more, once the peer had its time to say the last of what it has to say.
async fn heard_out(failure: oneshot::Receiver<ConnectionLost>) -> ConnectionLost {
    let Ok(lost) = failure.await else {
        // The writer ended in good order.
        return pending().await;
    };
    sleep(LAST_WORDS).await;
    lost
}

async fn write(
    epoch: Seq,
    mut sender: Box<dyn FrameSender>,
    (mut queue, mut pieces): (mpsc::UnboundedReceiver<Outgoing>, Pieces),
    failed: oneshot::Sender<ConnectionLost>,
    inbox: Inbox,
) {
    loop {
        let (text, carries) = tokio::select! {
            biased;
            message = queue.recv() => match message {
                Some(Outgoing { text, carries }) => (text, carries),
                None => break,
            },
            Some(text) = pieces.next() => (text, None),
        };
        // A peer that takes nothing would hold the writer, and whatever waits behind the message, for ever.
        let sent = timeout(Duration::from_secs(SEND_SECONDS), sender.send(text)).await;
        if let Err(lost) = sent.unwrap_or_else(|_| Err(untaken())) {
            // A reader that is gone has reported the end.
            let _ = failed.send(lost);
            return;
        }
        if let Some(carried) = carries {
            let _ = inbox.send(Input::Written { epoch, carried });
        }
    }
    // Whoever waits for a place in them waits in vain.
    drop((queue, pieces));
    // Whether the peer takes the farewell is its own affair.
    let _ = timeout(Duration::from_secs(SEND_SECONDS), sender.close()).await;
}

fn untaken() -> ConnectionLost {
    ConnectionLost {
        code: None,
        reason: format!("the peer took nothing for {SEND_SECONDS} s"),
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
