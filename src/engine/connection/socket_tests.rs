use std::sync::atomic::Ordering;

use async_trait::async_trait;
use tokio::time::interval;

use super::*;
use crate::engine::live_media::live_event::LiveEvent;
use crate::live::FrameSender;

/// A peer that sends these messages and may end with a loss; then it is silent.
struct Says(VecDeque<Result<String, ConnectionLost>>);

#[async_trait]
impl FrameReceiver for Says {
    async fn receive(&mut self) -> Result<String, ConnectionLost> {
        match self.0.pop_front() {
            Some(said) => said,
            None => pending().await,
        }
    }
}

/// A peer to which every write fails.
struct Gone;

#[async_trait]
impl FrameSender for Gone {
    async fn send(&mut self, _: String) -> Result<(), ConnectionLost> {
        Err(because(None, "broken pipe"))
    }

    async fn close(&mut self) {}
}

fn because(code: Option<u16>, reason: &str) -> ConnectionLost {
    let reason = reason.to_owned();
    ConnectionLost { code, reason }
}

/// A connection to a scripted peer, whose session takes one message at a time.
struct Stage {
    socket: Socket,
    media: Arc<Media>,
    session: mpsc::Receiver<Incoming>,
}

fn stage(said: Vec<Result<String, ConnectionLost>>) -> Stage {
    stage_with(Gone, said)
}

fn stage_with(
    sender: impl FrameSender + 'static,
    said: Vec<Result<String, ConnectionLost>>,
) -> Stage {
    stage_of(sender, Says(said.into()))
}

fn stage_of(sender: impl FrameSender + 'static, receiver: impl FrameReceiver + 'static) -> Stage {
    let (incoming, session) = mpsc::channel(1);
    let media: Arc<Media> = Arc::default();
    let connection = Connection {
        sender: Box::new(sender),
        receiver: Box::new(receiver),
    };
    let socket = Socket::start(1, Seq(7), connection, incoming, (media.clone(), 64));
    Stage {
        socket,
        media,
        session,
    }
}

impl Stage {
    /// Returns what the session receives up to the end of the connection. Checks that nothing
    /// follows.
    async fn heard(mut self) -> (Vec<String>, Option<ConnectionLost>) {
        let mut frames = Vec::new();
        let mut ends = Vec::new();
        while let Some(incoming) = self.session.recv().await {
            match incoming {
                Incoming::Frame { text, .. } if ends.is_empty() => frames.push(text),
                Incoming::Frame { text, .. } => panic!("{text} comes after the end"),
                Incoming::Written { carried, .. } => panic!("{carried:?} was not written"),
                Incoming::Lost { lost, .. } => ends.push(lost),
            }
        }
        assert!(ends.len() < 2, "{ends:?}");
        (frames, ends.pop())
    }
}

fn frames(count: usize) -> Vec<String> {
    (0..count).map(|at| format!(r#"{{"at":{at}}}"#)).collect()
}

#[tokio::test(start_paused = true)]
async fn failed_write_keeps_received_messages_and_close_code() {
    let said = frames(20).into_iter().map(Ok);
    let closed = because(Some(1011), "internal error");
    let stage = stage(said.chain([Err(closed.clone())]).collect());
    let mut listener = stage.media.listen();
    stage.socket.send("a response".to_owned(), None);
    // The session is busy until all other tasks are idle.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(stage.heard().await, (frames(20), Some(closed)));
    let told = listener.try_recv();
    assert!(
        matches!(
            told,
            Ok(LiveEvent::Lost {
                code: Some(1011),
                ..
            })
        ),
        "{told:?}"
    );
    assert!(listener.try_recv().is_err(), "the loss is told once");
}

#[tokio::test(start_paused = true)]
async fn silent_peer_with_failing_writes_is_lost_in_bounded_time() {
    let stage = stage(frames(3).into_iter().map(Ok).collect());
    let mut listener = stage.media.listen();
    stage.socket.send("a response".to_owned(), None);
    let begun = tokio::time::Instant::now();
    let (heard, lost) = stage.heard().await;
    assert_eq!(heard, frames(3));
    assert_eq!(lost, Some(because(None, "broken pipe")));
    assert_eq!(begun.elapsed().as_secs(), READ_AFTER_FAILURE.as_secs());
    let told = listener.try_recv();
    assert!(
        matches!(told, Ok(LiveEvent::Lost { code: None, .. })),
        "{told:?}"
    );
    assert!(listener.try_recv().is_err(), "the loss is told once");
}

#[tokio::test(start_paused = true)]
async fn talking_peer_with_failing_writes_is_lost_too() {
    struct Endless(tokio::time::Interval);
    #[async_trait]
    impl FrameReceiver for Endless {
        async fn receive(&mut self) -> Result<String, ConnectionLost> {
            self.0.tick().await;
            Ok("{}".to_owned())
        }
    }
    let (incoming, session) = mpsc::channel(1);
    let connection = Connection {
        sender: Box::new(Gone),
        receiver: Box::new(Endless(interval(Duration::from_millis(20)))),
    };
    let media: Arc<Media> = Arc::default();
    let socket = Socket::start(1, Seq(7), connection, incoming, (media.clone(), 64));
    socket.send("a response".to_owned(), None);
    let stage = Stage {
        socket,
        media,
        session,
    };
    assert_eq!(stage.heard().await.1, Some(because(None, "broken pipe")));
}

/// A peer that answers at once, before its writer returns.
struct Quick(mpsc::UnboundedSender<String>);

#[async_trait]
impl FrameSender for Quick {
    async fn send(&mut self, frame: String) -> Result<(), ConnectionLost> {
        let answer = self.0.clone();
        // On another thread, as from a network; a task woken here would stay on this thread.
        let peer = std::thread::spawn(move || answer.send(frame).unwrap());
        peer.join().unwrap();
        // Gives the other thread time to take it.
        for _ in 0..100_000 {
            std::thread::yield_now();
        }
        Ok(())
    }

    async fn close(&mut self) {}
}

struct Answers(mpsc::UnboundedReceiver<String>);

#[async_trait]
impl FrameReceiver for Answers {
    async fn receive(&mut self) -> Result<String, ConnectionLost> {
        match self.0.recv().await {
            Some(answer) => Ok(answer),
            None => pending().await,
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn write_is_reported_before_its_answer() {
    let (incoming, mut session) = mpsc::channel(1);
    let (answer, answers) = mpsc::unbounded_channel();
    let connection = Connection {
        sender: Box::new(Quick(answer)),
        receiver: Box::new(Answers(answers)),
    };
    let socket = Socket::start(1, Seq(7), connection, incoming, (Arc::default(), 64));
    let instruction = Carried::Instruction(Seq(9));
    for _ in 0..20 {
        socket.send("{}".to_owned(), Some(instruction));
        let reported = session.recv().await;
        assert!(matches!(reported, Some(Incoming::Written { .. })));
        let answer = session.recv().await;
        assert!(matches!(answer, Some(Incoming::Frame { .. })));
    }
}

/// A peer that has the message before its writer returns, which yields to another task first.
struct Late(mpsc::UnboundedSender<String>);

#[async_trait]
impl FrameSender for Late {
    async fn send(&mut self, frame: String) -> Result<(), ConnectionLost> {
        self.0.send(frame).unwrap();
        yield_now().await;
        Ok(())
    }

    async fn close(&mut self) {}
}

#[tokio::test]
async fn write_is_reported_before_answer_even_if_writer_is_late() {
    let (incoming, mut session) = mpsc::channel(1);
    let (answer, answers) = mpsc::unbounded_channel();
    let connection = Connection {
        sender: Box::new(Late(answer)),
        receiver: Box::new(Answers(answers)),
    };
    let socket = Socket::start(1, Seq(7), connection, incoming, (Arc::default(), 64));
    socket.send("{}".to_owned(), Some(Carried::Instruction(Seq(9))));
    let reported = session.recv().await;
    assert!(matches!(reported, Some(Incoming::Written { .. })));
    let answer = session.recv().await;
    assert!(matches!(answer, Some(Incoming::Frame { .. })));
}

/// A peer that accepts and counts every message.
#[derive(Clone, Default)]
struct Takes(Arc<std::sync::atomic::AtomicUsize>);

#[async_trait]
impl FrameSender for Takes {
    async fn send(&mut self, _: String) -> Result<(), ConnectionLost> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    async fn close(&mut self) {}
}

#[tokio::test]
async fn messages_received_before_write_precede_its_report() {
    let (incoming, mut session) = mpsc::channel(1);
    let connection = Connection {
        sender: Box::new(Takes::default()),
        receiver: Box::new(Says(frames(3).into_iter().map(Ok).collect())),
    };
    let socket = Socket::start(1, Seq(7), connection, incoming, (Arc::default(), 64));
    // The session is busy until everything has been received.
    for _ in 0..100 {
        yield_now().await;
    }
    socket.send("{}".to_owned(), Some(Carried::Instruction(Seq(9))));
    for _ in 0..100 {
        yield_now().await;
    }
    for frame in frames(3) {
        let received = session.recv().await;
        assert!(matches!(received, Some(Incoming::Frame { text, .. }) if text == frame));
    }
    let reported = session.recv().await;
    assert!(matches!(reported, Some(Incoming::Written { .. })));
}

/// A peer that sends a million empty messages, and counts them.
struct SaysNothing(Arc<std::sync::atomic::AtomicUsize>);

#[async_trait]
impl FrameReceiver for SaysNothing {
    async fn receive(&mut self) -> Result<String, ConnectionLost> {
        if self.0.fetch_add(1, Ordering::Relaxed) < 1_000_000 {
            return Ok(String::new());
        }
        pending().await
    }
}

#[tokio::test]
async fn empty_messages_do_not_fill_memory() {
    let (incoming, _busy) = mpsc::channel(1);
    let received: Arc<std::sync::atomic::AtomicUsize> = Arc::default();
    let connection = Connection {
        sender: Box::new(Takes::default()),
        receiver: Box::new(SaysNothing(received.clone())),
    };
    let socket = Socket::start(1, Seq(7), connection, incoming, (Arc::default(), 64));
    for _ in 0..100 {
        yield_now().await;
    }
    let most = BACKLOG_BYTES / size_of::<Incoming>() + 3;
    let received = received.load(Ordering::Relaxed);
    assert!((2..=most).contains(&received), "{received} of {most}");
    drop(socket);
}

#[test]
fn backlog_counts_bytes_until_taken() {
    let mut backlog = Backlog::default();
    let text = "12345".to_owned();
    let number = 1;
    backlog.push(Incoming::Frame {
        socket: 1,
        text,
        number,
    });
    let carried = Carried::Instruction(Seq(9));
    backlog.push(Incoming::Written { socket: 1, carried });
    assert_eq!(backlog.bytes, 2 * size_of::<Incoming>() + 5);
    while backlog.pop().is_some() {}
    assert_eq!(backlog.bytes, 0);
}

/// A peer that panics on a write.
struct Panics;

#[async_trait]
impl FrameSender for Panics {
    async fn send(&mut self, _: String) -> Result<(), ConnectionLost> {
        panic!("on purpose")
    }

    async fn close(&mut self) {}
}

#[tokio::test(start_paused = true)]
async fn panicking_writer_loses_no_queued_message() {
    let stage = stage_with(Panics, frames(20).into_iter().map(Ok).collect());
    let mut listener = stage.media.listen();
    for _ in 0..100 {
        yield_now().await;
    }
    stage.socket.send("{}".to_owned(), None);
    for _ in 0..100 {
        yield_now().await;
    }
    let panicked = because(None, "the connection panicked");
    assert_eq!(stage.heard().await, (frames(20), Some(panicked)));
    let told = listener.try_recv();
    assert!(matches!(told, Ok(LiveEvent::Lost { .. })), "{told:?}");
    assert!(listener.try_recv().is_err(), "the loss is told once");
}

/// A peer that fails after its last message.
struct FailsBehind {
    said: Says,
    /// True if it panics only when it is dropped.
    as_it_goes: bool,
}

#[async_trait]
impl FrameReceiver for FailsBehind {
    async fn receive(&mut self) -> Result<String, ConnectionLost> {
        if self.said.0.is_empty() {
            assert!(self.as_it_goes, "on purpose");
            return Err(because(Some(1011), "internal error"));
        }
        self.said.receive().await
    }
}

impl Drop for FailsBehind {
    fn drop(&mut self) {
        assert!(!self.as_it_goes, "on purpose");
    }
}

#[tokio::test(start_paused = true)]
async fn panicking_reader_loses_no_queued_message() {
    for as_it_goes in [false, true] {
        let said = Says(frames(20).into_iter().map(Ok).collect());
        let mut stage = stage_of(Takes::default(), FailsBehind { said, as_it_goes });
        let mut listener = stage.media.listen();
        let mut heard = Vec::new();
        let lost = loop {
            match stage.session.recv().await {
                Some(Incoming::Frame { text, .. }) => heard.push(text),
                Some(Incoming::Lost { lost, .. }) => break Some(lost),
                Some(Incoming::Written { carried, .. }) => panic!("{carried:?} was not written"),
                None => break None,
            }
        };
        let panicked = because(None, "the connection panicked");
        assert_eq!((heard, lost), (frames(20), Some(panicked)));
        let told = listener.try_recv();
        assert!(matches!(told, Ok(LiveEvent::Lost { .. })), "{told:?}");
        assert!(listener.try_recv().is_err(), "the loss is told once");
    }
}

#[tokio::test(start_paused = true)]
async fn loss_is_reported_once_if_writer_panics_after_it() {
    let closed = because(Some(1011), "internal error");
    let stage = stage_with(Panics, vec![Err(closed.clone())]);
    let mut listener = stage.media.listen();
    for _ in 0..100 {
        yield_now().await;
    }
    stage.socket.send("{}".to_owned(), None);
    for _ in 0..100 {
        yield_now().await;
    }
    assert_eq!(stage.heard().await, (Vec::new(), Some(closed)));
    assert!(listener.try_recv().is_ok());
    assert!(listener.try_recv().is_err(), "the loss is told once");
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_panics_is_lost() {
    let (incoming, mut session) = mpsc::channel(1);
    let media: Arc<Media> = Arc::default();
    let mut listener = media.listen();
    let connection = Connection {
        sender: Box::new(Panics),
        receiver: Box::new(Says(VecDeque::new())),
    };
    let socket = Socket::start(1, Seq(7), connection, incoming, (media, 64));
    socket.send("{}".to_owned(), None);
    let lost = session.recv().await;
    assert!(
        matches!(&lost, Some(Incoming::Lost { lost, .. }) if lost.reason.contains("panicked")),
        "{:?}",
        lost.is_some()
    );
    let told = listener.try_recv();
    assert!(matches!(told, Ok(LiveEvent::Lost { .. })), "{told:?}");
}

/// A peer that ends when the sender of the connection is dropped.
struct Ends(mpsc::UnboundedSender<()>);

#[async_trait]
impl FrameSender for Ends {
    async fn send(&mut self, _: String) -> Result<(), ConnectionLost> {
        self.0.send(()).map_err(|_| because(None, "gone"))
    }

    async fn close(&mut self) {}
}

struct EndsWithIt(mpsc::UnboundedReceiver<()>);

#[async_trait]
impl FrameReceiver for EndsWithIt {
    async fn receive(&mut self) -> Result<String, ConnectionLost> {
        match self.0.recv().await {
            Some(()) => pending().await,
            None => Err(because(None, "the peer is gone")),
        }
    }
}

#[tokio::test]
async fn closing_socket_reports_no_loss() {
    let (incoming, mut session) = mpsc::channel(1);
    let media: Arc<Media> = Arc::default();
    let mut listener = media.listen();
    let (sender, receiver) = mpsc::unbounded_channel();
    let connection = Connection {
        sender: Box::new(Ends(sender)),
        receiver: Box::new(EndsWithIt(receiver)),
    };
    let socket = Socket::start(1, Seq(7), connection, incoming, (media, 64));
    yield_now().await;
    socket.close().unwrap().await.unwrap();
    let told = listener.try_recv();
    assert!(told.is_err(), "{told:?}");
    assert!(session.recv().await.is_none());
}
