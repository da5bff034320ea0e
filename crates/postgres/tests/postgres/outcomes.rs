//! An append whose connection was lost is found out: its own bytes in the database are success, and
//! no append is stored twice.

use std::sync::Arc;

use recount_journal::testing::Stream;
use recount_journal::testing::suite::following::whole_log;
use recount_journal::{Append, Error, Head, Journal, Line};
use recount_postgres::PostgresJournal;
use tokio::task::JoinHandle;
use uuid::Uuid;

use crate::place::Place;
use crate::proxy::{Fault, Proxy};

/// A text in the append that meets a fault.
const MARK: &str = "the lost one";

/// A node behind a proxy, with a stream of one record.
struct Behind {
    place: Place,
    proxy: Proxy,
    node: Arc<PostgresJournal>,
    stream: Stream,
}

impl Behind {
    async fn new() -> Behind {
        let place = Place::new();
        let proxy = Proxy::start(place.server()).await;
        let options = place.options(place.address_at(proxy.port()), "a");
        let node = Arc::new(options.open().unwrap());
        let mut stream = Stream::new(1);
        stream.append(&*node, &["{}"]);
        Behind {
            place,
            proxy,
            node,
            stream,
        }
    }

    /// Begins an append that meets a fault, and waits for the fault.
    async fn append(&mut self, fault: Fault) -> JoinHandle<Result<Head, Error>> {
        self.proxy.fail_at(MARK, fault);
        let body = format!(r#"{{"text":"{MARK}"}}"#);
        let append = self.stream.next(&[&body, "{}"]);
        let pending = begun(&self.node, append);
        self.proxy.failed().await;
        pending
    }

    /// Asserts that the stream is stored once, also for followers, and can be continued.
    async fn assert_once(&mut self) {
        self.stream.append(&*self.node, &["{}"]);
        let reader = self.place.reader();
        self.stream.assert_in(&reader);
        assert_eq!(
            of(&whole_log(&reader), self.stream.session),
            self.stream.lines
        );
    }
}

fn begun(node: &Arc<PostgresJournal>, append: Append) -> JoinHandle<Result<Head, Error>> {
    let node = Arc::clone(node);
    tokio::spawn(async move { node.append(append).await })
}

fn of(log: &[(Uuid, Line)], session: Uuid) -> Vec<Line> {
    let ours = log.iter().filter(|(owner, _)| *owner == session);
    ours.map(|(_, line)| line.clone()).collect()
}

#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn committed_append_without_reply_is_success() {
    let mut behind = Behind::new().await;
    let pending = behind.append(Fault::Unanswered).await;
    let reader = behind.place.reader();
    let session = behind.stream.session;
    while reader.head(session).await.unwrap() != behind.stream.head() {}
    assert!(!pending.is_finished());
    behind.proxy.cut();
    assert_eq!(pending.await.unwrap().ok(), behind.stream.head());
    behind.assert_once().await;
}

#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn append_that_never_arrived_is_repeated() {
    let mut behind = Behind::new().await;
    let pending = behind.append(Fault::Lost).await;
    assert_eq!(pending.await.unwrap().ok(), behind.stream.head());
    behind.assert_once().await;
}

/// A session's task would end with its read, and the session with it.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn read_whose_connection_is_lost_is_tried_again() {
    let behind = Behind::new().await;
    let session = behind.stream.session;
    for fault in [Fault::Lost, Fault::Unanswered] {
        // A connection sends the text of a statement once.
        behind.proxy.cut();
        behind
            .proxy
            .fail_at("SELECT first, last, lines FROM", fault);
        let node = Arc::clone(&behind.node);
        let reading = tokio::spawn(async move { node.read(session, 1, 10).await });
        behind.proxy.failed().await;
        behind.proxy.cut();
        let lines = reading.await.unwrap().unwrap();
        assert_eq!(lines, behind.stream.lines, "{fault:?}");
    }
}

/// The old transaction still runs when the node looks for its outcome.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn append_still_under_way_is_waited_for() {
    let mut behind = Behind::new().await;
    let holder = behind.place.client().await;
    let lock = "BEGIN; SELECT FROM head FOR NO KEY UPDATE";
    holder.batch_execute(lock).await.unwrap();
    let pending = behind.append(Fault::Unanswered).await;
    behind.place.blocked(1).await;
    behind.proxy.cut();
    // The server does not notice the cut: the lost statement and the look for it both wait.
    behind.place.blocked(2).await;
    holder.batch_execute("COMMIT").await.unwrap();
    assert_eq!(pending.await.unwrap().ok(), behind.stream.head());
    behind.assert_once().await;
}

/// The owner changes while the outcome is unknown.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn lost_append_fails_after_a_takeover() {
    let mut behind = Behind::new().await;
    let mut stream = behind.stream.clone();
    behind.proxy.refuse();
    let pending = behind.append(Fault::Lost).await;
    let end = "UPDATE node SET until = clock_timestamp() WHERE name = 'a'";
    behind.place.execute(end).await;
    let b = behind.place.node("b");
    stream.append(&*b, &[r#"{"by":"b"}"#]);
    behind.proxy.admit();
    let error = pending.await.unwrap().unwrap_err();
    assert!(
        matches!(error, Error::Conflict { .. } | Error::Fenced { .. }),
        "{error}"
    );
    stream.append(&*b, &["{}"]);
    stream.assert_in(&behind.place.reader());
}

/// The connections of a node that appends to many sessions are cut again and again.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn cut_connections_lose_and_repeat_nothing() {
    const STREAMS: u128 = 12;
    const APPENDS: usize = 60;
    let behind = Behind::new().await;
    let writers = (2..2 + STREAMS).map(|number| {
        let (node, mut stream) = (Arc::clone(&behind.node), Stream::new(number));
        tokio::spawn(async move {
            for round in 0..APPENDS {
                let append = stream.next(&[&format!(r#"{{"round":{round}}}"#), "{}"]);
                let head = node.append(append).await.unwrap();
                assert_eq!(Some(head), stream.head());
            }
            stream
        })
    });
    let writers: Vec<_> = writers.collect();
    let follower = behind.place.node("follower");
    let (mut seen, mut position) = (Vec::new(), 0);
    // A cut after every few commits that a follower sees.
    while seen.len() < 1 + STREAMS as usize * APPENDS * 2 {
        let commit = follower.follow(position).await.unwrap();
        position = commit.position;
        for (session, lines) in commit.appends {
            seen.extend(lines.into_iter().map(|line| (session, line)));
        }
        if position % 10 == 0 {
            behind.proxy.cut();
        }
    }
    for writer in writers {
        let stream = writer.await.unwrap();
        stream.assert_in(&*follower);
        assert_eq!(of(&seen, stream.session), stream.lines);
    }
    assert_eq!(whole_log(&*follower), seen);
}
