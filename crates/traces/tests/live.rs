//! The live export against a collector of the tests, over real sockets.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use recount::journal::MemoryJournal;
use recount::ledger::Ledger;
use recount::testing::UnreachableJournal;
use recount_traces::{Content, Exporter, Headers, Settings, Source, spans_of};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

#[path = "support/mod.rs"]
mod support;

use support::Recorded;

/// A request that a collector answered.
type Answered = (StatusCode, HeaderMap, Value);

/// A collector that keeps the requests it answered.
struct Collector {
    url: String,
    answered: mpsc::UnboundedReceiver<Answered>,
}

#[derive(Clone)]
struct Behind {
    /// The statuses of the next requests; 200 after them.
    statuses: Arc<Mutex<VecDeque<u16>>>,
    sender: mpsc::UnboundedSender<Answered>,
}

impl Collector {
    async fn start(statuses: &[u16]) -> Collector {
        let (sender, answered) = mpsc::unbounded_channel();
        let behind = Behind {
            statuses: Arc::new(Mutex::new(statuses.iter().copied().collect())),
            sender,
        };
        let router = Router::new()
            .route("/v1/traces", post(take))
            .with_state(behind);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Collector { url, answered }
    }

    /// Takes requests until there are this many spans.
    async fn spans(&mut self, number: usize) -> Vec<Value> {
        let mut spans = Vec::new();
        while spans.len() < number {
            let (status, _, body) = self.answered.recv().await.unwrap();
            if status.is_success() {
                spans.extend(spans_in(&body));
            }
        }
        spans
    }
}

async fn take(State(behind): State<Behind>, headers: HeaderMap, body: String) -> StatusCode {
    let status = behind.statuses.lock().unwrap().pop_front();
    let status = StatusCode::from_u16(status.unwrap_or(200)).unwrap();
    let body = serde_json::from_str(&body).unwrap();
    let _ = behind.sender.send((status, headers, body));
    status
}

fn spans_in(body: &Value) -> Vec<Value> {
    let spans = &body["resourceSpans"][0]["scopeSpans"][0]["spans"];
    spans.as_array().unwrap().clone()
}

fn settings(collector: &Collector, directory: &Path) -> Settings {
    Settings {
        endpoint: collector.url.parse().unwrap(),
        headers: "authorization=Bearer%20t0ken".parse::<Headers>().unwrap(),
        content: Content::default(),
        source: Source::default(),
        cursor: directory.join("traces.json"),
    }
}

/// The spans of a session as an export after the fact has them.
async fn exported(ledger: &Ledger, recorded: &Recorded) -> Vec<Value> {
    let spans = spans_of(ledger, recorded.session, Content::default());
    let spans = spans.await.unwrap();
    let request = recount_traces::ExportRequest::of(&Source::default(), &spans);
    spans_in(&serde_json::to_value(request).unwrap())
}

const A_MOMENT: Duration = Duration::from_secs(60);

async fn within<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(A_MOMENT, what).await.unwrap()
}

#[tokio::test]
async fn collector_gets_what_an_export_has() {
    let directory = tempfile::tempdir().unwrap();
    let (mut collector, recorded) = (Collector::start(&[]).await, Recorded::named("denied"));
    let journal = Arc::new(MemoryJournal::new());
    let ledger = Ledger::new(journal.clone());
    let started = Exporter::start(ledger.clone(), settings(&collector, directory.path()));
    let exporter = started.await.unwrap();
    recorded.append(journal.as_ref(), 0, recorded.lines.len());
    let expected = exported(&ledger, &recorded).await;
    let (_, headers, first) = collector.answered.recv().await.unwrap();
    assert_eq!(headers["authorization"], "Bearer t0ken");
    assert_eq!(headers["content-type"], "application/json");
    let mut sent = spans_in(&first);
    let missing = expected.len() - sent.len();
    sent.extend(collector.spans(missing).await);
    assert_eq!(sent, expected);
    exporter.stop(A_MOMENT).await;
}

#[tokio::test]
async fn failing_collector_gets_the_spans_later() {
    let directory = tempfile::tempdir().unwrap();
    let collector = Collector::start(&[503, 401, 429]).await;
    let (mut collector, recorded) = (collector, Recorded::named("expired"));
    let journal = Arc::new(MemoryJournal::new());
    let ledger = Ledger::new(journal.clone());
    let started = Exporter::start(ledger.clone(), settings(&collector, directory.path()));
    let exporter = started.await.unwrap();
    // The appends do not wait for the collector.
    recorded.append(journal.as_ref(), 0, recorded.lines.len());
    let expected = exported(&ledger, &recorded).await;
    assert_eq!(collector.spans(expected.len()).await, expected);
    exporter.stop(A_MOMENT).await;
}

#[tokio::test]
async fn next_export_continues_where_the_last_one_ended() {
    let directory = tempfile::tempdir().unwrap();
    let (mut collector, recorded) = (Collector::start(&[]).await, Recorded::named("denied"));
    let journal = Arc::new(MemoryJournal::new());
    let ledger = Ledger::new(journal.clone());
    let settings = settings(&collector, directory.path());
    let exporter = Exporter::start(ledger.clone(), settings.clone())
        .await
        .unwrap();
    // The record before the last ends the connection, and its span.
    let last = recorded.lines.len() - 2;
    recorded.append(journal.as_ref(), 0, last);
    let before = exported(&ledger, &recorded).await;
    exporter.stop(A_MOMENT).await;
    assert_eq!(collector.spans(before.len()).await, before);
    recorded.append(journal.as_ref(), last, last + 2);
    let exporter = Exporter::start(ledger.clone(), settings).await.unwrap();
    let after = exported(&ledger, &recorded).await;
    exporter.stop(A_MOMENT).await;
    let rest = &after[before.len()..];
    assert_eq!(rest.len(), 1);
    assert_eq!(collector.spans(rest.len()).await, rest);
    assert!(
        collector.answered.try_recv().is_err(),
        "a span was sent again"
    );
}

#[tokio::test]
async fn journal_with_another_history_is_sent_whole() {
    let directory = tempfile::tempdir().unwrap();
    let (mut collector, recorded) = (Collector::start(&[]).await, Recorded::named("denied"));
    let other = Recorded::named("approved");
    let settings = settings(&collector, directory.path());
    // The cursor of another journal, at a position that this one has, too.
    let first = Arc::new(MemoryJournal::new());
    other.append(first.as_ref(), 0, 12);
    let exporter = Exporter::start(Ledger::new(first), settings.clone())
        .await
        .unwrap();
    exporter.stop(A_MOMENT).await;
    let ledger = recorded.ledger();
    let expected = exported(&ledger, &recorded).await;
    let exporter = Exporter::start(ledger, settings).await.unwrap();
    assert_eq!(collector.spans(expected.len()).await, expected);
    exporter.stop(A_MOMENT).await;
}

#[tokio::test]
async fn rejected_spans_do_not_block_later_ones() {
    let directory = tempfile::tempdir().unwrap();
    let collector = Collector::start(&[400]).await;
    let (mut collector, recorded) = (collector, Recorded::named("denied"));
    let journal = Arc::new(MemoryJournal::new());
    let ledger = Ledger::new(journal.clone());
    let started = Exporter::start(ledger.clone(), settings(&collector, directory.path()));
    let exporter = started.await.unwrap();
    // The record before the last ends the connection, and its span.
    let last = recorded.lines.len() - 2;
    recorded.append(journal.as_ref(), 0, last);
    let rejected = exported(&ledger, &recorded).await.len();
    let (status, _, body) = collector.answered.recv().await.unwrap();
    assert_eq!((status.as_u16(), spans_in(&body).len()), (400, rejected));
    recorded.append(journal.as_ref(), last, last + 2);
    let expected = exported(&ledger, &recorded).await;
    let rest = &expected[rejected..];
    assert_eq!(rest.len(), 1);
    assert_eq!(collector.spans(rest.len()).await, rest);
    exporter.stop(A_MOMENT).await;
}

#[tokio::test]
async fn export_goes_on_after_an_outage_of_the_journal() {
    let directory = tempfile::tempdir().unwrap();
    let (mut collector, recorded) = (Collector::start(&[]).await, Recorded::named("denied"));
    let (inner, last) = (Arc::new(MemoryJournal::new()), recorded.lines.len());
    let journal = UnreachableJournal::new(inner.clone());
    let ledger = Ledger::new(journal.clone());
    let started = Exporter::start(ledger, settings(&collector, directory.path()));
    let exporter = started.await.unwrap();
    // One that ends a wait for a commit, and those of the reads after it.
    journal.cut();
    within(journal.failed(3)).await;
    recorded.append(inner.as_ref(), 0, last);
    journal.heal();
    let expected = exported(&Ledger::new(inner), &recorded).await;
    assert_eq!(collector.spans(expected.len()).await, expected);
    exporter.stop(A_MOMENT).await;
}

/// The reads of the end fail at once. With a pause, the task would be aborted after the whole time.
#[tokio::test]
async fn outage_of_the_journal_delays_no_stop() {
    const HOURS: Duration = Duration::from_secs(100_000);
    let directory = tempfile::tempdir().unwrap();
    let collector = Collector::start(&[]).await;
    let journal = UnreachableJournal::new(Arc::new(MemoryJournal::new()));
    let ledger = Ledger::new(journal.clone());
    let started = Exporter::start(ledger, settings(&collector, directory.path()));
    let exporter = started.await.unwrap();
    journal.cut();
    within(journal.failed(2)).await;
    within(exporter.stop(HOURS)).await;
}
