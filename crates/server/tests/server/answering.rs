//! Answers over HTTP: the first one counts, and each outcome has its status.

use recount_server::{Grant, Role};
use serde_json::json;

use crate::world::World;

#[tokio::test]
async fn first_answer_counts_and_the_second_learns_it() {
    let world = World::new().await;
    let (bench, path) = (
        &world.bench,
        format!("/v1/requests/{}/answer", world.own.request),
    );
    let ada = world.tenant(Role::Approver);
    let yes = bench.post(&ada, &path, &json!({"confirmed": true})).await;
    assert_eq!(yes.status, 200, "{}", yes.text);
    let by = &yes.json()["by"];
    assert_eq!(
        (&by["name"], &by["issuer"]),
        (&json!("ada"), &json!("recount"))
    );
    let eve = bench.token("eve", &[Grant::everywhere(Role::Approver)]);
    let no = bench.post(&eve, &path, &json!({"confirmed": false})).await;
    let problem = no.json();
    assert_eq!(
        (no.status.as_u16(), no.code().as_str()),
        (409, "already-answered")
    );
    assert_eq!(
        (&problem["by"]["name"], &problem["confirmed"]),
        (&json!("ada"), &json!(true))
    );
    assert_eq!(problem["at"], yes.json()["seq"]);
    assert!(problem["at_us"].is_i64());
    assert_eq!(no.headers["content-type"], "application/problem+json");
}

#[tokio::test]
async fn refused_answers_have_their_statuses() {
    let world = World::new().await;
    let (bench, path) = (
        &world.bench,
        format!("/v1/requests/{}/answer", world.own.request),
    );
    let token = world.tenant(Role::Approver);
    let other_hash = "0".repeat(64);
    for (answer, status, code) in [
        (
            json!({"confirmed": true, "request_hash": other_hash}),
            412,
            "other-request",
        ),
        (json!({"confirmed": "yes"}), 422, "malformed-answer"),
        (
            json!({"confirmed": true, "as": "root"}),
            422,
            "malformed-answer",
        ),
        (
            json!({"confirmed": true, "by": {"name": "root"}}),
            422,
            "malformed-answer",
        ),
        (
            json!({"confirmed": true, "args": {"note": 1}}),
            422,
            "edits-not-allowed",
        ),
        (
            json!({"confirmed": true, "allow_for": {"count": 2}}),
            422,
            "leave-not-permitted",
        ),
        (json!({"found": {"failed": "x"}}), 409, "nothing-to-settle"),
    ] {
        let refused = bench.post(&token, &path, &answer).await;
        assert_eq!(
            (refused.status.as_u16(), refused.code().as_str()),
            (status, code),
            "{answer}"
        );
        assert_eq!(refused.json()["leaves_open"], true, "{answer}");
    }
    let gone = format!("/v1/sessions/{}/close", world.own.session);
    let operator = world.tenant(Role::Operator);
    let closed = bench
        .post(&operator, &gone, &json!({"reason": "done"}))
        .await;
    assert_eq!(closed.status, 200, "{}", closed.text);
    let late = bench.post(&token, &path, &json!({"confirmed": true})).await;
    assert_eq!(
        (late.status.as_u16(), late.code().as_str()),
        (410, "request-withdrawn")
    );
}

#[tokio::test]
async fn several_answers_have_an_outcome_each() {
    let world = World::new().await;
    let token = world.tenant(Role::Approver);
    let (own, foreign) = (world.own.request, world.other_tenant.request);
    let body = json!({"requests": [foreign, own, own], "answer": {"confirmed": false}});
    let reply = world.bench.post(&token, "/v1/answers", &body).await;
    let items = reply.json()["items"].clone();
    assert_eq!(items.as_array().unwrap().len(), 2, "{items}");
    assert_eq!(
        (&items[0]["request"], &items[0]["status"]),
        (&json!(foreign), &json!(404))
    );
    assert_eq!(items[0]["error"]["code"], "unknown-request");
    assert_eq!(
        (&items[1]["request"], &items[1]["status"]),
        (&json!(own), &json!(200))
    );
    assert_eq!(items[1]["done"]["tool"], "refund");
    let again = world.bench.post(&token, "/v1/answers", &body).await.json();
    assert_eq!(again["items"][1]["refused"]["code"], "already-answered");
    let none = json!({"requests": [], "answer": {"confirmed": false}});
    let none = world.bench.post(&token, "/v1/answers", &none).await;
    assert_eq!(none.code(), "bad-request");
}

#[tokio::test]
async fn draining_service_refuses_changes_and_still_reads() {
    let world = World::new().await;
    let bench = &world.bench;
    let (token, path) = (
        bench.admin(),
        format!("/v1/requests/{}/answer", world.own.request),
    );
    assert_eq!(bench.get("", "/readyz").await.status, 200);
    bench.service.drain();
    let refused = bench.post(&token, &path, &json!({"confirmed": true})).await;
    assert_eq!(
        (refused.status.as_u16(), refused.code().as_str()),
        (503, "draining")
    );
    assert!(refused.headers.contains_key("retry-after"));
    let ready = bench.get("", "/readyz").await;
    assert_eq!(
        (ready.status.as_u16(), ready.code().as_str()),
        (503, "draining")
    );
    assert_eq!(bench.get("", "/healthz").await.status, 200);
    assert_eq!(bench.get(&token, "/v1/pending").await.status, 200);
}

#[tokio::test]
async fn engine_that_is_shut_down_is_not_ready() {
    let world = World::new().await;
    let bench = &world.bench;
    let (token, path) = (
        bench.admin(),
        format!("/v1/requests/{}/answer", world.own.request),
    );
    bench
        .engine
        .shutdown(std::time::Duration::ZERO)
        .await
        .unwrap();
    assert_eq!(bench.get("", "/readyz").await.code(), "draining");
    let refused = bench.post(&token, &path, &json!({"confirmed": true})).await;
    assert_eq!(refused.status, 503, "{}", refused.text);
}

#[tokio::test]
async fn wide_pauses_need_a_wide_role() {
    let world = World::new().await;
    let bench = &world.bench;
    let tenant = world.tenant(Role::Admin);
    let pause = async |token: &str, target: serde_json::Value| {
        let reply = bench
            .post(token, "/v1/pause", &json!({"target": target}))
            .await;
        (reply.status.as_u16(), reply.code())
    };
    let role_missing = (403, "role-missing".to_owned());
    assert_eq!(pause(&tenant, json!("everything")).await, role_missing);
    assert_eq!(
        pause(&tenant, json!({"agent": "support"})).await,
        role_missing
    );
    let foreign = pause(&tenant, json!({"agent": "billing"})).await;
    let unknown = pause(&tenant, json!({"agent": "nothing"})).await;
    assert_eq!(foreign, (404, "unknown-agent".to_owned()));
    assert_eq!(foreign, unknown);
    let of_agent = Grant::everywhere(Role::Operator).of_agent("support");
    let of_agent = bench.token("eve", &[of_agent]);
    let approver = bench.token("bob", &[Grant::everywhere(Role::Approver)]);
    for target in [json!("everything"), json!({"agent": "support"})] {
        assert_eq!(pause(&approver, target).await, role_missing);
    }
    assert_eq!(pause(&of_agent, json!({"agent": "support"})).await.0, 200);
    assert_eq!(pause(&of_agent, json!("everything")).await, role_missing);
    assert_eq!(pause(&bench.admin(), json!("everything")).await.0, 200);
}

#[tokio::test]
async fn call_is_named_by_its_id_too() {
    let world = World::new().await;
    let own = &world.own;
    let token = world.tenant(Role::Operator);
    let id = own.session.call_id(own.paused);
    let path = format!("/v1/sessions/{}/calls/{id}/respond", own.session);
    let wrong = json!({"response": {"shipped": true}, "tool": "mail"});
    let wrong = world.bench.post(&token, &path, &wrong).await;
    assert_eq!(
        (wrong.status.as_u16(), wrong.code().as_str()),
        (422, "wrong-name")
    );
    let call = format!("/v1/sessions/{}/calls/{id}", own.session);
    let interim = json!({"response": {"shipped": "soon"}, "interim": true});
    let interim = world.bench.post(&token, &path, &interim).await;
    assert_eq!(interim.status, 200, "{}", interim.text);
    let open = world.bench.get(&token, &call).await.json();
    assert_eq!(open["ended"], json!(null), "{open}");
    let body = json!({"response": {"shipped": true}});
    let done = world.bench.post(&token, &path, &body).await;
    assert_eq!(done.status, 200, "{}", done.text);
    assert_eq!(done.json()["tool"], "ship");
    let again = world.bench.post(&token, &path, &body).await;
    assert_eq!(again.code(), "already-on-record");
    let request = own.request;
    let path = format!("/v1/sessions/{}/calls/{request}/cancel", own.session);
    let unknown = world.bench.post(&token, &path, &json!({})).await;
    assert_eq!(
        (unknown.status.as_u16(), unknown.code().as_str()),
        (404, "unknown-call")
    );
}

#[tokio::test]
async fn reason_of_a_cancellation_is_on_record() {
    let world = World::new().await;
    let (bench, own) = (&world.bench, &world.own);
    let token = world.tenant(Role::Operator);
    let session = format!("/v1/sessions/{}", own.session);
    let cancel = format!("{session}/calls/{}/cancel", own.paused);
    let cancelled = bench
        .post(&token, &cancel, &json!({"reason": "sold out"}))
        .await;
    assert_eq!(cancelled.status, 200, "{}", cancelled.text);
    let records = format!("{session}/records?limit=1000");
    let records = bench.get(&token, &records).await.text;
    assert!(records.contains(r#""reason":"sold out""#), "{records}");
}

#[tokio::test]
async fn number_of_answers_is_bounded() {
    let world = World::new().await;
    let token = world.tenant(Role::Approver);
    let several = async |number: usize| {
        let ids = vec![world.own.request; number];
        let body = json!({"requests": ids, "answer": {"confirmed": true}});
        world.bench.post(&token, "/v1/answers", &body).await
    };
    for number in [0, 1001] {
        let refused = several(number).await;
        assert_eq!(refused.code(), "bad-request", "{number}: {}", refused.text);
    }
    // The same request again is one answer.
    let answered = several(1000).await.json();
    assert_eq!(answered["items"].as_array().unwrap().len(), 1);
}
