//! What a process of its own does: have sessions wait for a person, or open a journal of such
//! sessions.
//!
//! What it found goes to standard output, a name and a figure a line.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use recount::live::wire::ServerMessage;
use recount::prelude::*;
use recount::session::{Decision, Event, Outcome};

use crate::peer::{Peer, Reply};

/// Sessions that begin, or that are answered, at the same time.
const AT_ONCE: usize = 64;

/// How the sessions of a journal were left.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Left {
    /// Their process shut down.
    Closed,
    /// It was killed, with every connection open.
    Killed,
}

/// Has so many sessions wait, each with one question, which may expire.
pub(crate) fn fill(path: &Path, sessions: usize, expire: bool, left: Left) {
    runtime().block_on(async {
        let engine = open(path, expire).await;
        let mut live = Vec::new();
        let mut asked = 0;
        while asked < sessions {
            let some = (sessions - asked).min(AT_ONCE);
            asked += some;
            let some = (0..some).map(|_| ask(&engine));
            let some = join_all(some).await;
            // Of those that were closed nobody has a connection any more.
            if left == Left::Killed {
                live.extend(some);
            }
        }
        if left == Left::Killed {
            println!("asked {asked}");
            // Ends with the process, by a kill.
            let _killed = std::io::stdin().read(&mut [0]);
            drop(live);
            return;
        }
        engine
            .shutdown(Duration::from_secs(60))
            .await
            .expect("a clean end");
        println!("asked {asked}");
    });
}

async fn ask(engine: &Engine) -> LiveHandle {
    let session = engine.session("desk").label("tenant", "acme");
    let live = session.connect().await.expect("a connection");
    let mut updates = live.subscribe();
    live.send_text("Please refund order 1001.")
        .await
        .expect("a connection");
    let asked = updates.wait_for(|event| event.kind() == "confirmation_requested");
    asked.await.expect("a question");
    live
}

/// Opens the journal, lists what waits, and says what that took.
pub(crate) fn look(path: &Path, expire: bool) {
    runtime().block_on(async {
        let opening = Instant::now();
        let engine = open(path, expire).await;
        println!("open_ms {}", since(opening));
        // Whatever an engine does by itself at the start has begun.
        tokio::task::yield_now().await;
        println!("opened_kib {}", resident_kib());
        let listing = Instant::now();
        let pending = engine.pending().await.expect("a list");
        println!("list_ms {}", since(listing));
        println!("pending {}", pending.len());
        drop(pending);
        println!("listed_kib {}", resident_kib());
        engine.shutdown(Duration::ZERO).await.expect("a clean end");
    });
}

/// Opens the journal, lists what waits, approves it, and says when every response was on disk.
pub(crate) fn approve(path: &Path) {
    runtime().block_on(async {
        let opening = Instant::now();
        let engine = open(path, false).await;
        let pending = engine.pending().await.expect("a list");
        println!("listed_ms {}", since(opening));
        println!("pending {}", pending.len());
        let approving = Instant::now();
        let (mut updates, waiting) = (engine.subscribe(), pending.len());
        let responses = tokio::spawn(async move {
            let mut responded = 0;
            while responded < waiting {
                // What is published is on disk.
                let recorded = updates.next().await.expect("an engine that goes on");
                if let Event::Decided(Decision::ResponseIssued(it)) = &recorded.fact.event
                    && it.outcome == Outcome::Returned
                {
                    responded += 1;
                }
            }
        });
        let answers = pending.iter().map(|request| {
            let yes = ToolConfirmation::confirmed();
            engine.answer(request.id, yes, Actor::embedder("ada"))
        });
        for answer in join_all(answers).await {
            answer.expect("an answer that counts");
        }
        println!("answered_ms {}", since(approving));
        responses.await.expect("every response");
        println!("responded_ms {}", since(approving));
        assert!(engine.pending().await.expect("a list").is_empty());
        engine.shutdown(Duration::ZERO).await.expect("a clean end");
    });
}

async fn open(path: &Path, expire: bool) -> Engine {
    let refund = T::simple("refund", "Refunds an order", |_| async {
        Ok(json!({"refunded": true}))
    });
    let mut policy = ToolPolicy::gate("Refund this order?");
    policy.gate_terms.expires_after = expire.then_some(Duration::from_secs(30 * 24 * 60 * 60));
    let agent = Agent::new()
        .model("peer")
        .instruction("You are the support desk of a shop.")
        .tools(T::policy(refund, policy))
        .connect_to(Peer::new(model));
    let engine = Engine::builder(path).agent("desk", agent);
    engine.open().await.expect("an engine")
}

/// A model that calls `refund` for whatever the user says.
fn model() -> Reply {
    Box::new(|frame, _| {
        if frame.contains("\"setup\"") {
            return Some(ServerMessage::setup_complete().encode());
        }
        let asks = frame.contains("Please refund");
        asks.then(|| {
            r#"{"toolCall":{"functionCalls":[{"id":"function-call-1","name":"refund","args":{"order":1001,"cents":4200}}]}}"#.to_owned()
        })
    })
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
}

/// The memory of this process that is no file.
fn resident_kib() -> String {
    let status = fs::read_to_string("/proc/self/status").expect("Linux tells of memory");
    let value = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"));
    let words = value.and_then(|value| value.split_whitespace().next());
    words.expect("a figure of memory").to_owned()
}

fn since(then: Instant) -> f64 {
    then.elapsed().as_secs_f64() * 1e3
}
