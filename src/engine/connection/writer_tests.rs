use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use tokio::sync::{Semaphore, mpsc};

use super::*;
use crate::engine::connection::incoming::Incoming;
use crate::engine::connection::socket::Socket;
use crate::engine::live_media::media::Media;
use crate::live::{Connection, FrameReceiver};

/// A peer that sends what the test gives it, and ends when the test drops its sender.
struct Told(mpsc::UnboundedReceiver<String>);

#[async_trait]
impl FrameReceiver for Told {
    async fn receive(&mut self) -> Result<String, ConnectionLost> {
        self.0.recv().await.ok_or_else(|| ConnectionLost {
            code: None,
            reason: "gone".to_owned(),
        })
    }
}

/// A peer that accepts a message when there is room, and may answer it.
#[derive(Clone)]
struct Takes {
    room: Arc<Semaphore>,
    taken: Arc<AtomicUsize>,
    answers: Option<mpsc::UnboundedSender<String>>,
}

#[async_trait]
impl FrameSender for Takes {
    async fn send(&mut self, frame: String) -> Result<(), ConnectionLost> {
        self.room.acquire().await.unwrap().forget();
        self.taken.fetch_add(1, Ordering::Relaxed);
        let _ = self.answers.as_ref().map(|it| it.send(frame));
        Ok(())
    }

    async fn close(&mut self) {}
}

impl Takes {
    fn with_room(room: usize) -> Takes {
        Takes {
            room: Arc::new(Semaphore::new(room)),
            taken: Arc::default(),
            answers: None,
        }
    }

    fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }
}

/// Connects to such a peer. Returns the sender of its messages, too.
fn connect(
    sender: impl FrameSender + 'static,
) -> (
    Socket,
    mpsc::Receiver<Incoming>,
    mpsc::UnboundedSender<String>,
) {
    let (says, told) = mpsc::unbounded_channel();
    let (incoming, session) = mpsc::channel(4);
    let connection = Connection {
        sender: Box::new(sender),
        receiver: Box::new(Told(told)),
    };
    let media: Arc<Media> = Arc::default();
    let socket = Socket::start(1, Seq(7), connection, incoming, (media, 64));
    (socket, session, says)
}

async fn run_other_tasks() {
    for _ in 0..20 {
        yield_now().await;
    }
}

fn instruction(seq: u64) -> Option<Carried> {
    Some(Carried::Instruction(Seq(seq)))
}

/// Returns the session's next event as text.
async fn next(session: &mut mpsc::Receiver<Incoming>) -> String {
    match session.recv().await {
        Some(Incoming::Written {
            carried: Carried::Instruction(seq),
            ..
        }) => format!("written {seq}"),
        Some(Incoming::Written { carried, .. }) => format!("{carried:?}"),
        Some(Incoming::Frame { text, .. }) => text,
        Some(Incoming::Lost { lost, .. }) => format!("lost: {}", lost.reason),
        None => "nothing".to_owned(),
    }
}

#[tokio::test]
async fn message_is_written_at_once_if_queue_is_empty() {
    let takes = Takes::with_room(9);
    let (socket, mut session, _says) = connect(takes.clone());
    socket.send("early".to_owned(), instruction(1));
    assert_eq!(takes.taken(), 0, "the task does not exist yet");
    assert_eq!(next(&mut session).await, "written 1");
    socket.send("at once".to_owned(), instruction(2));
    assert_eq!(takes.taken(), 2);
    assert_eq!(next(&mut session).await, "written 2");
}

#[tokio::test]
async fn task_finishes_writes_that_peer_delays() {
    let takes = Takes::with_room(0);
    let (socket, mut session, _says) = connect(takes.clone());
    run_other_tasks().await;
    for seq in 1..=3 {
        socket.send("{}".to_owned(), instruction(seq));
    }
    run_other_tasks().await;
    assert_eq!(takes.taken(), 0);
    // No sender polls any more, so only the task itself can be woken for it.
    takes.room.add_permits(3);
    for seq in 1..=3 {
        assert_eq!(next(&mut session).await, format!("written {seq}"));
    }
}

#[tokio::test]
async fn reports_come_in_order_and_before_end() {
    let (socket, mut session, says) = connect(Takes::with_room(9));
    run_other_tasks().await;
    says.send("before".to_owned()).unwrap();
    run_other_tasks().await;
    socket.send("{}".to_owned(), instruction(1));
    socket.send("{}".to_owned(), instruction(2));
    says.send("behind".to_owned()).unwrap();
    drop(says);
    let mut heard = Vec::new();
    for _ in 0..5 {
        heard.push(next(&mut session).await);
    }
    let all = ["before", "written 1", "written 2", "behind", "lost: gone"];
    assert_eq!(heard, all);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answer_follows_report_on_any_thread_schedule() {
    let (answers, told) = mpsc::unbounded_channel();
    let (incoming, mut session) = mpsc::channel(1);
    let takes = Takes {
        answers: Some(answers),
        ..Takes::with_room(usize::MAX >> 4)
    };
    let connection = Connection {
        sender: Box::new(takes),
        receiver: Box::new(Told(told)),
    };
    let media: Arc<Media> = Arc::default();
    let socket = Socket::start(1, Seq(7), connection, incoming, (media, 64));
    for seq in 0..5_000 {
        socket.send(format!("answer {seq}"), instruction(seq));
        assert_eq!(next(&mut session).await, format!("written {seq}"));
        assert_eq!(next(&mut session).await, format!("answer {seq}"));
    }
}

#[tokio::test]
async fn sender_is_dropped_with_connection_task() {
    let takes = Takes::with_room(9);
    let (socket, _session, _says) = connect(takes.clone());
    run_other_tasks().await;
    assert_eq!(Arc::strong_count(&takes.taken), 2);
    socket.abort();
    run_other_tasks().await;
    assert_eq!(Arc::strong_count(&takes.taken), 1);
    socket.send("{}".to_owned(), None);
    assert_eq!(takes.taken(), 0);
}

#[tokio::test]
async fn peer_is_read_between_many_writes() {
    let takes = Takes::with_room(usize::MAX >> 4);
    let (socket, mut session, says) = connect(takes.clone());
    for _ in 0..1_000 {
        socket.send("{}".to_owned(), None);
    }
    says.send("heard".to_owned()).unwrap();
    assert_eq!(next(&mut session).await, "heard");
    let written = takes.taken();
    assert!(written < 100, "{written} were written before");
}

#[tokio::test]
async fn peer_is_read_between_many_immediate_writes() {
    let takes = Takes::with_room(usize::MAX >> 4);
    let (socket, mut session, says) = connect(takes.clone());
    run_other_tasks().await;
    says.send("heard".to_owned()).unwrap();
    for _ in 0..1_000 {
        socket.send("{}".to_owned(), None);
    }
    assert_eq!(takes.taken(), CONSECUTIVE_WRITES);
    assert_eq!(next(&mut session).await, "heard");
    while takes.taken() < 1_000 {
        yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_socket_writes_all_sent_messages() {
    for sent in 0..2_000 {
        let sent = sent % 40;
        let takes = Takes::with_room(usize::MAX >> 4);
        let (socket, _session, _says) = connect(takes.clone());
        for _ in 0..sent {
            socket.send("{}".to_owned(), None);
        }
        if sent % 2 == 0 {
            yield_now().await;
        }
        // A lost wake-up would make this hang.
        socket.close().unwrap().await.unwrap();
        assert_eq!(takes.taken(), sent);
    }
}
