//! Calls that clients run: the claim, the reports, and who may do which.

use std::sync::Arc;

use recount::prelude::{Actor, Engine};
use recount::session::SessionId;
use recount_server::{Grant, Role};
use serde_json::{Value, json};

use crate::bench::{Bench, Reply};
use crate::clock::HandClock;
use crate::world::{World, agents};

/// A service with a session of `support`, and a clock that the test sets.
struct Shop {
    bench: Bench,
    clock: Arc<HandClock>,
    session: SessionId,
    worker: String,
}

impl Shop {
    async fn new() -> Shop {
        let clock = HandClock::new();
        let engine = agents(Engine::in_memory()).clock(clock.clone());
        let engine = engine.open().await.unwrap();
        let opening = engine.session("support").label("tenant", "acme");
        let session = opening.open().await.unwrap().releasing().session_id();
        let bench = Bench::over(engine);
        let worker = bench.token("worker", &[Grant::everywhere(Role::Client)]);
        Shop {
            bench,
            clock,
            session,
            worker,
        }
    }

    /// Makes a call that a client runs. Returns its path.
    async fn call(&self, key: &str) -> String {
        let handle = self
            .bench
            .engine
            .reopen(self.session)
            .await
            .unwrap()
            .releasing();
        let args = recount::session::Json::of(&json!({"note": key}));
        let by = Actor::embedder("shop");
        let begun = handle.begin_call("pack", args, key, by).await.unwrap();
        format!("/v1/sessions/{}/calls/{}", self.session, begun.call)
    }

    async fn claim(&self, body: Value) -> Reply {
        self.bench.post(&self.worker, "/v1/claims", &body).await
    }

    /// Reports about a claim, in the name of the worker.
    async fn report(&self, call: &str, report: &str, body: Value) -> Reply {
        let path = format!("{call}/claim/{report}");
        self.bench.post(&self.worker, &path, &body).await
    }

    async fn state(&self, call: &str) -> Value {
        self.bench.get(&self.worker, call).await.json()
    }
}

fn told(reply: &Reply) -> (u16, String) {
    (reply.status.as_u16(), reply.code())
}

fn refusal(status: u16, code: &str) -> (u16, String) {
    (status, code.to_owned())
}

#[tokio::test]
async fn claimed_call_is_run_and_finished() {
    let shop = Shop::new().await;
    let call = shop.call("k1").await;
    let claimed = shop
        .claim(json!({"claim": "w1", "tools": ["pack"], "lease_ms": 60_000}))
        .await;
    assert_eq!(claimed.status, 200, "{}", claimed.text);
    let claimed = claimed.json();
    assert_eq!(
        (&claimed["args"], &claimed["attempt"]),
        (&json!({"note": "k1"}), &json!(1))
    );
    assert!(claimed["idempotency_key"].is_string());
    assert_eq!(shop.state(&call).await["phase"]["name"], "running");
    shop.clock.forward_ms(30_000);
    let renewed = shop
        .report(&call, "renew", json!({"claim": "w1", "attempt": 1}))
        .await;
    let (before, after) = (&claimed["until_us"], &renewed.json()["until_us"]);
    assert_eq!(
        before.as_i64().unwrap() + 30_000_000,
        after.as_i64().unwrap()
    );
    let progress = json!({"claim": "w1", "name": "progress", "data": {"percent": 50}});
    assert_eq!(shop.report(&call, "report", progress).await.status, 200);
    let finished = shop
        .report(
            &call,
            "finish",
            json!({"claim": "w1", "result": {"boxes": 2}}),
        )
        .await;
    assert_eq!(finished.status, 200, "{}", finished.text);
    assert_eq!(finished.json()["late"], Value::Null);
    assert_eq!(finished.json()["by"]["name"], "worker");
    let ended = &shop.state(&call).await["ended"];
    assert_eq!(
        (&ended["outcome"], &ended["response"]),
        (&json!("returned"), &json!({"boxes": 2}))
    );
}

#[tokio::test]
async fn result_that_is_no_object_is_recorded_as_output() {
    let shop = Shop::new().await;
    for (key, result, recorded) in [
        ("k1", json!([1]), json!({"output": [1]})),
        ("k2", json!(null), json!({"output": null})),
        ("k3", json!({"output": 1}), json!({"output": 1})),
    ] {
        let call = shop.call(key).await;
        shop.claim(json!({"claim": key})).await;
        let finish = json!({"claim": key, "result": result});
        let finished = shop.report(&call, "finish", finish).await;
        assert_eq!(finished.status, 200, "{}", finished.text);
        assert_eq!(shop.state(&call).await["ended"]["response"], recorded);
    }
    // The document says what is accepted.
    let document = shop.bench.get("", "/v1/openapi.json").await.json();
    let schemas = &document["components"]["schemas"];
    for (body, key) in [("Finished", "result"), ("Yielded", "response")] {
        let schema = &schemas[body]["properties"][key];
        assert!(schema.is_object() && schema["type"].is_null(), "{schema}");
    }
}

#[tokio::test]
async fn failure_of_a_client_fails_the_call() {
    let shop = Shop::new().await;
    let call = shop.call("k1").await;
    shop.claim(json!({"claim": "w1"})).await;
    let failed = shop
        .report(
            &call,
            "fail",
            json!({"claim": "w1", "failed": "out of boxes"}),
        )
        .await;
    assert_eq!(failed.status, 200, "{}", failed.text);
    let ended = &shop.state(&call).await["ended"];
    assert_eq!(
        (&ended["outcome"], &ended["error"]["text"]),
        (&json!("failed"), &json!("out of boxes"))
    );
}

#[tokio::test]
async fn claim_waits_for_a_call() {
    let shop = Shop::new().await;
    let none = shop.claim(json!({"claim": "w1"})).await;
    assert_eq!((none.status.as_u16(), none.text.as_str()), (204, ""));
    let waiting = shop.claim(json!({"claim": "w2", "tools": ["pack"], "wait": 60}));
    let (claimed, call) = tokio::join!(waiting, shop.call("k1"));
    assert_eq!(claimed.status, 200, "{}", claimed.text);
    assert!(call.ends_with(&claimed.json()["call"].to_string()));
}

#[tokio::test(start_paused = true)]
async fn wait_for_a_call_ends_after_its_time() {
    let shop = Shop::new().await;
    let begun = tokio::time::Instant::now();
    let none = shop.claim(json!({"claim": "w1", "wait": 30})).await;
    assert_eq!((none.status.as_u16(), begun.elapsed().as_secs()), (204, 30));
    let most = shop.claim(json!({"claim": "w2", "wait": 1000})).await;
    assert_eq!((most.status.as_u16(), begun.elapsed().as_secs()), (204, 90));
}

#[tokio::test]
async fn waiting_claim_wakes_after_a_release_and_a_lapse() {
    let shop = Shop::new().await;
    let call = shop.call("k1").await;
    shop.claim(json!({"claim": "w1"})).await;
    let release = json!({"claim": "w1", "not_begun": true, "reason": "jam"});
    let (claimed, released) = tokio::join!(
        shop.claim(json!({"claim": "w2", "wait": 60, "lease_ms": 1000})),
        shop.report(&call, "release", release)
    );
    assert_eq!(
        (claimed.status.as_u16(), released.status.as_u16()),
        (200, 200)
    );
    assert_eq!(claimed.json()["attempt"], 2);
    // The tool is idempotent, so a lapsed claim lets another client start it.
    let (claimed, ()) = tokio::join!(shop.claim(json!({"claim": "w3", "wait": 60})), async {
        shop.clock.forward_ms(1001);
    });
    assert_eq!(claimed.json()["attempt"], 3, "{}", claimed.text);
}

#[tokio::test]
async fn waiting_claim_ends_when_the_service_drains() {
    let shop = Shop::new().await;
    let (claimed, ()) = tokio::join!(shop.claim(json!({"claim": "w1", "wait": 60})), async {
        shop.bench.service.drain();
    });
    assert_eq!(claimed.status, 204, "{}", claimed.text);
}

#[tokio::test]
async fn report_needs_a_grant_for_the_tool() {
    let shop = Shop::new().await;
    let call = shop.call("k1").await;
    shop.claim(json!({"claim": "w1"})).await;
    // The same worker, with a token for another tool.
    let other = Grant::everywhere(Role::Client).of_tool("refund");
    let other = shop.bench.token("worker", &[other]);
    let path = format!("{call}/claim/finish");
    let finish = json!({"claim": "w1", "result": {"boxes": 2}});
    let refused = shop.bench.post(&other, &path, &finish).await;
    assert_eq!(told(&refused), refusal(403, "role-missing"));
    let finished = shop.report(&call, "finish", finish).await;
    assert_eq!(finished.status, 200, "{}", finished.text);
}

#[tokio::test]
async fn late_result_settles_the_doubt() {
    let shop = Shop::new().await;
    let call = shop.call("k1").await;
    shop.claim(json!({"claim": "w1", "lease_ms": 1000})).await;
    shop.clock.forward_ms(1001);
    let late = shop.report(&call, "renew", json!({"claim": "w1"})).await;
    assert_eq!(told(&late), refusal(409, "claim-ended"));
    let late = shop
        .report(
            &call,
            "finish",
            json!({"claim": "w1", "result": {"boxes": 2}}),
        )
        .await;
    assert_eq!(
        (late.status.as_u16(), &late.json()["late"]),
        (200, &json!(true)),
        "{}",
        late.text
    );
    assert_eq!(
        shop.state(&call).await["ended"]["response"],
        json!({"boxes": 2})
    );
}

#[tokio::test]
async fn reports_of_another_holder_or_start_are_refused() {
    let shop = Shop::new().await;
    let call = shop.call("k1").await;
    let session = shop.session;
    let seq: u64 = call.rsplit('/').next().unwrap().parse().unwrap();
    shop.claim(json!({"claim": "w1"})).await;
    let again = shop
        .claim(json!({"claim": "w2", "session": session, "call": seq}))
        .await;
    assert_eq!(told(&again), refusal(409, "already-claimed"));
    assert_eq!(again.json()["by"]["name"], "worker");
    assert!(again.json()["until_us"].is_i64());
    let result = json!({"claim": "w1", "result": {"boxes": 2}});
    let other = shop
        .bench
        .token("other", &[Grant::everywhere(Role::Client)]);
    let by_other = shop
        .bench
        .post(&other, &format!("{call}/claim/finish"), &result)
        .await;
    assert_eq!(told(&by_other), refusal(403, "not-the-holder"));
    let other_id = shop.report(&call, "renew", json!({"claim": "w9"})).await;
    assert_eq!(told(&other_id), refusal(403, "not-the-holder"));
    let release = json!({"claim": "w1", "not_begun": true});
    assert_eq!(shop.report(&call, "release", release).await.status, 200);
    assert_eq!(
        shop.claim(json!({"claim": "w3"})).await.json()["attempt"],
        2
    );
    let stale = json!({"claim": "w1", "attempt": 1, "result": {"boxes": 2}});
    let stale = shop.report(&call, "finish", stale).await;
    assert_eq!(told(&stale), refusal(409, "stale-attempt"));
    let cancelled = shop
        .bench
        .post(&shop.bench.admin(), &format!("{call}/cancel"), &json!({}))
        .await;
    assert_eq!(cancelled.status, 200, "{}", cancelled.text);
    let ended = shop.report(&call, "renew", json!({"claim": "w3"})).await;
    assert_eq!(told(&ended), refusal(409, "call-settled"));
}

#[tokio::test]
async fn malformed_claim_is_refused() {
    let shop = Shop::new().await;
    for (body, code) in [
        (json!({"claim": "w1", "lease_ms": 1}), "bad-request"),
        (
            json!({"claim": "w1", "session": shop.session}),
            "bad-request",
        ),
        (json!({"claim": "w1", "as": "root"}), "bad-request"),
        (json!({"tools": ["pack"]}), "bad-request"),
    ] {
        assert_eq!(
            told(&shop.claim(body.clone()).await),
            refusal(422, code),
            "{body}"
        );
    }
    shop.call("k1").await;
    let unfit = shop.claim(json!({"claim": ""})).await;
    assert_eq!(told(&unfit), refusal(422, "unfit-claim"));
}

#[tokio::test]
async fn client_claims_only_within_its_grant() {
    let world = World::new().await;
    let bench = &world.bench;
    let grant = || {
        Grant::everywhere(Role::Client)
            .of_agent("support")
            .with_label("tenant", "acme")
    };
    let packer = bench.token("packer", &[grant().of_tool("pack")]);
    let claim = async |token: &str, body: Value| bench.post(token, "/v1/claims", &body).await;
    for outside in [
        json!({"claim": "w1", "agents": ["billing"]}),
        json!({"claim": "w1", "labels": {"tenant": "globex"}}),
    ] {
        assert_eq!(
            claim(&packer, outside.clone()).await.status,
            204,
            "{outside}"
        );
    }
    for foreign in [&world.other_tenant, &world.other_agent] {
        let one = json!({"claim": "w1", "session": foreign.session, "call": foreign.claimable});
        assert_eq!(
            told(&claim(&packer, one).await),
            refusal(404, "unknown-session")
        );
    }
    let mailer = bench.token("mailer", &[grant().of_tool("mail")]);
    let own = json!({"claim": "w1", "session": world.own.session, "call": world.own.claimable});
    let foreign_tool = claim(&mailer, own).await;
    assert_eq!(told(&foreign_tool), refusal(403, "role-missing"));
    assert!(!foreign_tool.text.contains("pack"), "{}", foreign_tool.text);
    assert_eq!(claim(&mailer, json!({"claim": "w1"})).await.status, 204);
    let viewer = world.tenant(Role::Viewer);
    assert_eq!(
        told(&claim(&viewer, json!({"claim": "w1"})).await),
        refusal(403, "role-missing")
    );
    // Three sessions have a ready call, and the grant covers one of them.
    let first = claim(&packer, json!({"claim": "w1"})).await;
    assert_eq!(
        first.json()["session"],
        json!(world.own.session),
        "{}",
        first.text
    );
    assert_eq!(claim(&packer, json!({"claim": "w2"})).await.status, 204);
    let everywhere = bench.token("all", &[Grant::everywhere(Role::Client)]);
    assert_eq!(claim(&everywhere, json!({"claim": "w3"})).await.status, 200);
}

#[tokio::test]
async fn tool_that_no_agent_in_scope_has_is_refused() {
    let world = World::new().await;
    let bench = &world.bench;
    let everywhere = bench.token("all", &[Grant::everywhere(Role::Client)]);
    let claim = async |token: &str, body: Value| bench.post(token, "/v1/claims", &body).await;
    for unknown in [
        json!({"claim": "w1", "tools": ["pakc"]}),
        json!({"claim": "w1", "tools": ["pakc"], "wait": 60}),
        // The service runs this tool itself.
        json!({"claim": "w1", "tools": ["refund"]}),
        json!({"claim": "w1", "tools": ["pack"], "agents": ["voice"]}),
    ] {
        let refused = claim(&everywhere, unknown.clone()).await;
        assert_eq!(told(&refused), refusal(404, "unknown-tool"), "{unknown}");
    }
    let mailer = Grant::everywhere(Role::Client).of_tool("mail");
    let mailer = bench.token("mailer", &[mailer]);
    let outside = claim(&mailer, json!({"claim": "w1", "tools": ["pack"]})).await;
    assert_eq!(told(&outside), refusal(404, "unknown-tool"));
    let one_of_two = json!({"claim": "w1", "tools": ["pack", "pakc"]});
    assert_eq!(claim(&everywhere, one_of_two).await.status, 200);
}
