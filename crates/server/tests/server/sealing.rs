//! Sealed sessions: their agent and labels are unknown without the key, and so is their scope.

use std::sync::Arc;

use recount::journal::seal::MemoryKeyStore;
use recount::prelude::{Actor, Agent, Engine, json};
use recount::session::Timestamp;
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
