//! Sessions that wait for a person: the list of their questions, and the start of a node.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use recount::engine::EngineBuilder;
use recount::live::wire::ServerMessage;
use recount::prelude::*;
use tokio::runtime::Runtime;

use crate::machine;
use crate::median::median;
use crate::node;
use crate::peer::{Peer, Reply};
use crate::rows::Row;
use crate::server::{Schema, Server};
use crate::table::thousands;

/// The number of sessions that are begun at the same time.
const AT_ONCE: usize = 64;
/// The maximum time of a list, in milliseconds.
const LISTED_TARGET: f64 = 100.0;
/// The maximum time of a start, in milliseconds.
const STARTED_TARGET: f64 = 2_000.0;

/// The times of a node that starts, in milliseconds.
struct Start {
    started: f64,
    listed: f64,
    again: f64,
}

/// The row of the list of the questions of so many sessions.
pub(crate) fn listed(
    (server, runtime): (&Server, &Runtime),
    sessions: usize,
    rounds: usize,
) -> Vec<Row> {
    let scratch = machine::scratch();
    let path = scratch.path().join("journal");
    let directory = || Engine::builder(&path);
    runtime.block_on(fill(directory(), sessions));
    let beside: Vec<Start> = (0..rounds)
        .map(|_| runtime.block_on(start(directory, sessions)))
        .collect();
    let found = starts((server, runtime), sessions, rounds);
    let over = |starts: &[Start], of: fn(&Start) -> f64| median(starts.iter().map(of));
    let row = |figure: &str, of: fn(&Start) -> f64| {
        let measured = over(&found, of);
        Row {
            what: format!("{} sessions that wait", thousands(sessions as f64)),
            figure: format!("{figure}, ms; over a directory"),
            measured: format!("{measured:.1}"),
            baseline: format!("{:.1}", over(&beside, of)),
            target: Some((format!("under {LISTED_TARGET}"), measured < LISTED_TARGET)),
        }
    };
    vec![
        row("listed by a node that has just started", |it| it.listed),
        row("listed again", |it| it.again),
    ]
}

/// The rows of the start of a node in a database with so many sessions that wait.
pub(crate) fn started(
    (server, runtime): (&Server, &Runtime),
    sessions: usize,
    rounds: usize,
) -> Vec<Row> {
    let empty = starts((server, runtime), 0, rounds);
    let found = starts((server, runtime), sessions, rounds);
    let over = |starts: &[Start], of: fn(&Start) -> f64| median(starts.iter().map(of));
    let row = |figure: &str, of: fn(&Start) -> f64, target: Option<f64>| {
        let measured = over(&found, of);
        Row {
            what: format!("{} open sessions", thousands(sessions as f64)),
            figure: format!("{figure}, ms; without sessions"),
            measured: format!("{measured:.0}"),
            baseline: format!("{:.0}", over(&empty, of)),
            target: target.map(|target| (format!("under {target}"), measured < target)),
        }
    };
    vec![
        row("a node starts", |it| it.started, Some(STARTED_TARGET)),
        row("their questions listed", |it| it.listed, None),
    ]
}

/// Starts so many nodes, one after another, in a database with so many sessions that wait.
fn starts((server, runtime): (&Server, &Runtime), sessions: usize, rounds: usize) -> Vec<Start> {
    let schema = Schema::new(server);
    let journal = || Engine::builder("none").journal(node::open(&schema));
    runtime.block_on(fill(journal(), sessions));
    let starts = (0..rounds).map(|_| runtime.block_on(start(journal, sessions)));
    starts.collect()
}

/// Makes so many sessions with one question each.
async fn fill(builder: EngineBuilder, sessions: usize) {
    let engine = open(builder).await;
    let mut asked = 0;
    while asked < sessions {
        let some = (sessions - asked).min(AT_ONCE);
        asked += some;
        join_all((0..some).map(|_| ask(&engine))).await;
    }
    let end = engine.shutdown(Duration::from_secs(60));
    end.await.expect("a clean end");
}

async fn ask(engine: &Engine) {
    let session = engine.session("desk").label("tenant", "acme");
    let live = session.connect().await.expect("a connection");
    let mut updates = live.subscribe();
    let sent = live.send_text("Please refund order 1001.");
    sent.await.expect("a connection");
    let asked = updates.wait_for(|event| event.kind() == "confirmation_requested");
    asked.await.expect("a question");
}

/// Opens the journal and an engine over it, lists the questions, and closes both.
async fn start(builder: impl Fn() -> EngineBuilder, sessions: usize) -> Start {
    let starting = Instant::now();
    let engine = open(builder()).await;
    let started = since(starting);
    let list = async || {
        let listing = Instant::now();
        let pending = engine.pending().await.expect("a list");
        let listed = since(listing);
        assert_eq!(pending.len(), sessions);
        listed
    };
    let (listed, again) = (list().await, list().await);
    engine.shutdown(Duration::ZERO).await.expect("a clean end");
    Start {
        started,
        listed,
        again,
    }
}

async fn open(builder: EngineBuilder) -> Engine {
    let refund = T::simple("refund", "Refunds an order", |_| async {
        Ok(json!({"refunded": true}))
    });
    let agent = Agent::new()
        .model("peer")
        .instruction("You are the support desk of a shop.")
        .tools(T::policy(refund, ToolPolicy::gate("Refund this order?")))
        .connect_to(Peer::new(model));
    builder
        .agent("desk", agent)
        .open()
        .await
        .expect("an engine")
}

/// A model that calls `refund` for each refund request of the user.
fn model() -> Reply {
    Box::new(|frame, _| {
        if frame.contains("\"setup\"") {
            return Some(ServerMessage::setup_complete().encode());
        }
        let call = concat!(
            r#"{"toolCall":{"functionCalls":[{"id":"function-call-1","#,
            r#""name":"refund","args":{"order":1001,"cents":4200}}]}}"#
        );
        frame.contains("Please refund").then(|| call.to_owned())
    })
}

fn since(then: Instant) -> f64 {
    then.elapsed().as_secs_f64() * 1e3
}
