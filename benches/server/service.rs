//! The service under load: a journal with sessions and open requests, and sessions that step.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use recount::engine::{Clock, SystemClock};
use recount::journal::seal::{FileKeyStore, MasterKey};
use recount::prelude::*;
use recount::session::{Json, SessionId};
use recount_server::{Access, Grant, NewToken, Rates, Role, Service, TokenStore};
use tokio::task::JoinHandle;

/// The sizes of a run.
pub(crate) struct Figures {
    /// The sessions of the journal.
    pub(crate) sessions: usize,
    /// Those of them with a request that waits.
    pub(crate) open: usize,
    /// The length of the load, in seconds.
    pub(crate) seconds: u64,
    /// The calls that a client runs.
    pub(crate) calls: usize,
}

/// A service that listens on loopback.
pub(crate) struct Served {
    engine: Engine,
    service: Service,
    serving: JoinHandle<()>,
    pub(crate) address: String,
    pub(crate) viewer: String,
    pub(crate) client: String,
}

/// Sessions that step without a rest.
pub(crate) struct Stepping {
    stop: Arc<AtomicBool>,
    made: Arc<AtomicU64>,
    tasks: Vec<JoinHandle<()>>,
}

impl Served {
    /// Opens the sessions, sealed or in clear, and listens.
    pub(crate) async fn start(journal: &Path, figures: &Figures, sealed: bool) -> Served {
        let look_up = T::simple("look_up", "Looks an order up", |args| async move {
            Ok(json!({"order": args.get("order"), "status": "shipped"}))
        });
        let refund = T::simple("refund", "Refunds", |_| async { Ok(json!({})) });
        let refund = T::confirm(refund, "Refund this order?");
        let pack = T::client("pack", "Packs an order", json!({"type": "object"}));
        let mut agent = Agent::new().tools(look_up).tools(refund).tools(pack);
        let mut engine = Engine::builder(journal);
        if sealed {
            agent = agent.sealed();
            let master = MasterKey::from_text(&"0f".repeat(32)).expect("a master key");
            let keys = FileKeyStore::create(journal.with_extension("keys"), master);
            engine = engine.keys(Arc::new(keys.expect("a key store")));
        }
        let engine = engine.agent("shop", agent).open().await;
        let engine = engine.expect("an engine");
        let numbers: Vec<usize> = (0..figures.sessions).collect();
        for some in numbers.chunks(64) {
            let some = some.iter().map(|&number| {
                let engine = engine.clone();
                async move {
                    let live = engine.session("shop").open().await.expect("a session");
                    if number < figures.open {
                        asked(&live).await;
                    }
                    drop(live.releasing());
                }
            });
            join_all(some).await;
        }
        let tokens = journal.with_extension("tokens");
        let tokens = TokenStore::open(tokens).expect("tokens");
        let now = SystemClock.now();
        let token = |role: Role| {
            let new = NewToken::new(role.to_string()).grant(Grant::everywhere(role));
            let (token, _) = tokens.create(new, now).expect("a token");
            token.expose().to_owned()
        };
        let (viewer, client) = (token(Role::Viewer), token(Role::Client));
        let access = Access::none().with_tokens(tokens).with_rates(Rates {
            requests_per_second: 100_000,
            ..Rates::default()
        });
        let service = Service::new(engine.clone(), access).streams_of_each(256);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let router = service.clone().router();
        let serving = tokio::spawn(async move {
            axum::serve(listener, router).await.expect("a service");
        });
        Served {
            engine,
            service,
            serving,
            address,
            viewer,
            client,
        }
    }

    /// Has so many further sessions step, each one call after another.
    pub(crate) async fn step(&self, sessions: usize) -> Stepping {
        let (stop, made) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let mut tasks = Vec::new();
        for _ in 0..sessions {
            let live = self.engine.session("shop").open().await.expect("a session");
            let (stop, made) = (stop.clone(), made.clone());
            tasks.push(tokio::spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    let by = Actor::embedder("bench");
                    let told = live.call_function("look_up", json!({"order": 7}), by).await;
                    assert!(told.is_ok(), "a bench of failures: {told:?}");
                    made.fetch_add(1, Ordering::Relaxed);
                }
            }));
        }
        Stepping { stop, made, tasks }
    }

    /// A further session with at least so many records, and their number.
    pub(crate) async fn long_session(&self, records: u64) -> (SessionId, u64) {
        let live = self.engine.session("shop").open().await.expect("a session");
        let (id, journal) = (live.session_id(), self.engine.ledger().journal());
        loop {
            let head = journal.head(id.0).await.expect("a journal");
            let seq = head.map_or(0, |it| it.seq);
            if seq >= records {
                return (id, seq);
            }
            let by = Actor::embedder("bench");
            let told = live
                .call_function("look_up", json!({"order": seq}), by)
                .await;
            assert!(told.is_ok(), "a bench of failures: {told:?}");
        }
    }

    pub(crate) async fn end(self) {
        self.service.drain();
        self.serving.abort();
        self.engine.shutdown(Duration::ZERO).await.expect("an end");
    }
}

impl Stepping {
    /// The number of steps so far.
    pub(crate) fn made(&self) -> u64 {
        self.made.load(Ordering::Relaxed)
    }

    /// Ends the sessions, and returns the number of their steps.
    pub(crate) async fn end(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        for task in self.tasks {
            task.await.expect("a session that steps");
        }
        self.made.load(Ordering::Relaxed)
    }
}

/// Makes a call that waits for an approver.
async fn asked(live: &LiveHandle) {
    let (args, by) = (Json::of(&json!({"order": 7})), Actor::embedder("bench"));
    let begun = live
        .begin_call("refund", args, "refund-of-order-7", by)
        .await;
    begun.expect("a call that waits");
}
