//! The work of a child process: to make sessions that wait for a person, or to open their journal.
//!
//! The results go to standard output, one name and figure a line.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use recount::live::wire::ServerMessage;
use recount::prelude::*;
use recount::session::{Decision, Event, Outcome};

use crate::peer::{Peer, Reply};

/// The number of sessions that are opened at the same time.
const AT_ONCE: usize = 64;

/// The end of the process that made the sessions.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Left {
    /// The process shut down.
    Closed,
    /// The process was killed, with all connections open.
    Killed,
}

/// Makes so many waiting sessions, each with one question, which may have an expiry.
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
            // Sessions that are closed later need no open connection.
            if left == Left::Killed {
                live.extend(some);
            }
        }
        if left == Left::Killed {
            println!("asked {asked}");
            // Waits until the process is killed.
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

/// Opens the journal, lists the pending requests, and prints the times and the memory.
pub(crate) fn look(path: &Path, expire: bool) {
    runtime().block_on(async {
        let opening = Instant::now();
        let engine = open(path, expire).await;
        println!("open_ms {}", since(opening));
        // Lets the engine begin its own work at the start.
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

/// Opens the journal, lists the pending requests, and approves them. Prints the time until all
/// responses were on disk.
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
                // Published records are on disk.
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

/// A model that calls `refund` for each refund request of the user.
fn model() -> Reply {
    Box::new(|frame, _| {
        if frame.contains("\"setup\"") {
            return Some(ServerMessage::setup_complete().encode());
        }
        let asks = frame.contains("Please refund");
        asks.then(|| {
            concat!(
                r#"{"toolCall":{"functionCalls":[{"id":"function-call-1","#,
                r#""name":"refund","args":{"order":1001,"cents":4200}}]}}"#
            )
            .to_owned()
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

/// The anonymous memory of this process, in KiB.
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
