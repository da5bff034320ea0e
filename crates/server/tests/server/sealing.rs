//! Sealed sessions: their agent and labels are unknown without the key, and so is their scope.

use std::sync::Arc;

use recount::journal::seal::{KeyStore, MemoryKeyStore};
use recount::prelude::{Actor, Agent, Engine, LiveHandle, T, json};
use recount::session::{Json, Timestamp};
use recount_server::{Grant, Role};

use crate::bench::Bench;

#[tokio::test]
async fn erased_session_is_seen_by_wide_grants_alone() {
    let keys = Arc::new(MemoryKeyStore::default());
    let engine = Engine::in_memory().keys(keys);
    let engine = engine.agent("support", Agent::new().sealed());
    let engine = engine.open().await.unwrap();
    let opening = engine.session("support").label("tenant", "acme");
    let handle = opening.external_id("ticket-1").open().await.unwrap();
    let session = handle.session_id();
    let path = format!("/v1/sessions/{session}");
    let bench = Bench::over(engine);
    let scoped = |role| {
        let grant = Grant::everywhere(role).of_agent("support");
        [grant.with_label("tenant", "acme")]
    };
    let narrow = Role::ALL.map(|role| bench.token("ada", &scoped(role)));
    let viewer = bench.token("eve", &[Grant::everywhere(Role::Viewer)]);
    for token in narrow.iter().chain([&viewer]) {
        let seen = bench.get(token, &path).await;
        assert_eq!(seen.json()["external_id"], "ticket-1", "{}", seen.text);
    }
    let close = json!({"reason": "done"});
    let admin = bench.admin();
    let closed = bench.post(&admin, &format!("{path}/close"), &close).await;
    assert_eq!(closed.status, 200, "{}", closed.text);
    let (ledger, by) = (bench.engine.ledger(), Actor::os_user("ada"));
    let erased = ledger.erase(session, by, "a request", Timestamp(1)).await;
    erased.unwrap();
    for token in &narrow {
        assert_eq!(bench.get(token, &path).await.status, 404);
        let list = bench.get(token, "/v1/sessions").await.json();
        assert_eq!(list["items"], json!([]));
    }
    let seen = bench.get(&viewer, &path).await;
    assert_eq!(seen.json()["sealed"], true, "{}", seen.text);
    assert!(!seen.text.contains("ticket-1") && !seen.text.contains("acme"));
    let calls = format!("{path}/calls");
    let wide = bench.token("bob", &[Grant::everywhere(Role::Client)]);
    assert_eq!(bench.get(&wide, &path).await.status, 200);
    assert_eq!(bench.get(&wide, &calls).await.code(), "role-missing");
}

/// Every listing, as one text. `text` finds the session by its external id.
async fn listed(bench: &Bench, token: &str) -> String {
    let mut listed = String::new();
    for path in [
        "/v1/sessions",
        "/v1/sessions?label=tenant:acme",
        "/v1/sessions?agent=support",
        "/v1/sessions?text=ticket",
        "/v1/pending",
        "/v1/pending?label=tenant:acme",
        "/metrics",
    ] {
        let reply = bench.get(token, path).await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        // The counters of requests have no text of a session.
        let lines = reply.text.lines().filter(|it| !it.contains("_http_"));
        lines.for_each(|line| listed.push_str(line));
    }
    listed
}

/// A sealed session with a request that waits.
async fn asked(engine: &Engine) -> LiveHandle {
    let opening = engine.session("support").label("tenant", "acme");
    let session = opening.external_id("ticket-1").open().await.unwrap();
    let mut updates = session.subscribe();
    let (args, by) = (
        Json::of(&json!({"order": "order-7"})),
        Actor::embedder("pipeline"),
    );
    session
        .begin_call("refund", args, "once", by)
        .await
        .unwrap();
    let asked = updates.wait_for(|event| event.kind() == "confirmation_requested");
    assert!(asked.await.is_some());
    session
}

/// The texts of that session in the listings.
const TEXTS: [&str; 6] = [
    "support",
    "ticket-1",
    "acme",
    "refund",
    "order-7",
    "Refund it?",
];

#[tokio::test]
async fn nothing_of_an_erased_session_is_listed() {
    for by_hand in [false, true] {
        let keys = Arc::new(MemoryKeyStore::default());
        let refund = T::simple("refund", "Refunds", |_| async { Ok(json!({})) });
        let agent = Agent::new().sealed().model("none").strict();
        let agent = agent.tools(T::confirm(refund, "Refund it?"));
        let engine = Engine::in_memory().keys(keys.clone());
        let engine = engine.agent("support", agent).open().await.unwrap();
        let session = asked(&engine).await;
        let bench = Bench::over(engine);
        let scoped = Grant::everywhere(Role::Viewer).with_label("tenant", "acme");
        let tokens = [bench.admin(), bench.token("ada", &[scoped])];
        for token in &tokens {
            // The second time from memory.
            for _ in 0..2 {
                let listed = listed(&bench, token).await;
                assert!(TEXTS.iter().all(|it| listed.contains(it)), "{listed}");
            }
        }
        let id = session.session_id();
        if by_hand {
            keys.erase(id.0).await.unwrap();
        } else {
            let by = Actor::os_user("ada");
            session.close("done", by.clone()).await.unwrap();
            let erased = bench
                .engine
                .ledger()
                .erase(id, by, "a request", Timestamp(1));
            erased.await.unwrap();
        }
        for token in &tokens {
            let listed = listed(&bench, token).await;
            let found: Vec<_> = TEXTS.iter().filter(|it| listed.contains(**it)).collect();
            assert!(
                found.is_empty(),
                "by hand: {by_hand}; {found:?} in {listed}"
            );
        }
        let listed = bench.get(&tokens[0], "/v1/sessions").await.json();
        assert_eq!(listed["items"][0]["sealed"], true);
        let listed = bench.get(&tokens[1], "/v1/sessions").await.json();
        assert_eq!(listed["items"], json!([]));
    }
}
