//! Attacks with ids, cursors, keys and links of others. None shows or changes anything.

use axum::body::Body;
use axum::http::Request;
use recount_server::{Grant, Role};
use serde_json::json;

use crate::attacks::commits;
use crate::bench::{Reply, posting};
use crate::world::{FOREIGN, World};

#[tokio::test]
async fn guessed_ids_and_cursors_show_nothing() {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    let world = World::new().await;
    let bench = &world.bench;
    let token = world.tenant(Role::Operator);
    let before = commits(bench).await;
    let own = world.own.session.to_string();
    let (foreign, request) = (world.other_tenant.session, world.other_tenant.request);
    let nil = "00000000-0000-0000-0000-000000000000".to_owned();
    for id in [foreign.to_string(), nil] {
        let unknown = bench.get(&token, &format!("/v1/sessions/{id}")).await;
        assert_eq!(unknown.code(), "unknown-session", "{id}");
        for (path, body) in [
            (format!("/v1/sessions/{id}/close"), json!({"reason": "x"})),
            (format!("/v1/sessions/{id}/deny-all"), json!({})),
            ("/v1/pause".to_owned(), json!({"target": {"session": id}})),
            (
                "/v1/claims".to_owned(),
                json!({"claim": "w", "session": id, "call": 3}),
            ),
        ] {
            let refused = bench.post(&token, &path, &body).await;
            assert_eq!(
                refused.code(),
                "unknown-session",
                "{path}: {}",
                refused.text
            );
        }
    }
    let yes = json!({"confirmed": true});
    let answer = format!("/v1/requests/{request}/answer");
    let answered = bench.post(&token, &answer, &yes).await;
    assert_eq!(answered.code(), "unknown-request");
    for cursor in [
        format!("s:{foreign}"),
        "s:ffffffff-ffff-ffff-ffff-ffffffffffff".to_owned(),
        format!("i:{foreign}:0"),
        format!("i:{foreign}:18446744073709551615"),
    ] {
        let cursor = URL_SAFE_NO_PAD.encode(cursor);
        for path in [
            "/v1/sessions".to_owned(),
            "/v1/pending".to_owned(),
            format!("/v1/sessions/{own}/calls"),
        ] {
            let page = bench.get(&token, &format!("{path}?cursor={cursor}")).await;
            assert!(
                matches!(page.status.as_u16(), 200 | 422),
                "{path}: {}",
                page.text
            );
            for secret in [FOREIGN, &foreign.to_string(), "globex"] {
                assert!(!page.text.contains(secret), "{path}: {}", page.text);
            }
        }
    }
    assert_eq!(commits(bench).await, before);
}

#[tokio::test]
async fn replayed_answer_counts_once() {
    let world = World::new().await;
    let bench = &world.bench;
    let path = format!("/v1/requests/{}/answer", world.own.request);
    let answer = async |token: &str, key: Option<&str>, confirmed: bool| -> Reply {
        let mut request = posting(token, &path);
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        let body = json!({"confirmed": confirmed}).to_string();
        bench.send(request, Body::from(body)).await
    };
    let (ada, eve) = (world.tenant(Role::Approver), bench.admin());
    let first = answer(&ada, Some("k1"), true).await;
    assert_eq!(first.status, 200, "{}", first.text);
    // The tool runs after the answer; its records are not those of a replay.
    let answers = async || {
        let records = format!("/v1/sessions/{}/records?limit=1000", world.own.session);
        let records = bench.get(&eve, &records).await.text;
        records.matches(r#""kind":"confirmation_answered""#).count()
    };
    let recorded = answers().await;
    let again = answer(&ada, Some("k1"), true).await;
    assert_eq!(again.text, first.text);
    for (token, key, confirmed, code) in [
        (&ada, Some("k1"), false, "idempotency-key-reused"),
        (&ada, Some("k2"), true, "already-answered"),
        (&ada, None, false, "already-answered"),
        (&eve, Some("k1"), true, "already-answered"),
        (&eve, None, false, "already-answered"),
    ] {
        assert_eq!(answer(token, key, confirmed).await.code(), code);
    }
    assert_eq!(answers().await, recorded);
}

#[tokio::test]
async fn look_at_a_login_link_does_not_use_it_up() {
    let world = World::new().await;
    let bench = &world.bench;
    let token = bench.access.login_token().unwrap().unwrap();
    let link = format!("/login?token={}", token.expose());
    let looked = bench.send(Request::head(&link), Body::empty()).await;
    assert_eq!(looked.status, 405);
    assert_eq!(looked.headers["allow"], "GET");
    assert!(!looked.headers.contains_key("set-cookie"));
    let opened = bench.send(Request::get(&link), Body::empty()).await;
    assert_eq!(opened.status, 303, "{}", opened.text);
}

#[tokio::test]
async fn texts_of_a_session_are_bounded() {
    let world = World::new().await;
    let bench = &world.bench;
    let token = world.tenant(Role::Client);
    let before = commits(bench).await;
    let session = |more: serde_json::Value| {
        let mut session = json!({"agent": "support", "labels": {"tenant": "acme"}});
        let fields = more.as_object().unwrap().clone();
        session.as_object_mut().unwrap().extend(fields);
        session
    };
    let many: serde_json::Map<String, serde_json::Value> = (0..1000)
        .map(|number| (format!("label-{number}"), json!("x")))
        .chain([("tenant".to_owned(), json!("acme"))])
        .collect();
    for more in [
        json!({"external_id": "x".repeat(5000)}),
        json!({"on_behalf_of": "x".repeat(5000)}),
        json!({"labels": {"tenant": "acme", "note": "x".repeat(5000)}}),
        json!({ "labels": many }),
    ] {
        let refused = bench.post(&token, "/v1/sessions", &session(more)).await;
        assert_eq!(refused.code(), "too-large", "{}", refused.text);
    }
    assert_eq!(commits(bench).await, before);
    let short = session(json!({"external_id": "x".repeat(4000)}));
    assert_eq!(bench.post(&token, "/v1/sessions", &short).await.status, 201);
}

#[tokio::test]
async fn client_reads_no_pauses_and_no_leaves() {
    let world = World::new().await;
    let bench = &world.bench;
    let admin = bench.admin();
    for target in [json!("everything"), json!({"agent": "support"})] {
        let pause = json!({"target": target, "reason": "an incident"});
        assert_eq!(bench.post(&admin, "/v1/pause", &pause).await.status, 200);
    }
    let number = async |token: &str| {
        let listed = bench.get(token, "/v1/pauses").await;
        listed.json()["items"].as_array().unwrap().len()
    };
    assert_eq!(number(&world.tenant(Role::Client)).await, 0);
    assert_eq!(number(&world.tenant(Role::Viewer)).await, 2);
    let leaves = async |role| {
        let listed = bench.get(&world.tenant(role), "/v1/leaves").await;
        listed.json()["items"].as_array().unwrap().len()
    };
    assert_eq!(leaves(Role::Client).await, 0);
    assert_eq!(leaves(Role::Viewer).await, 1);
    // A client of this agent who reads another one knows the pause of everything alone.
    let both = [
        Grant::everywhere(Role::Client).of_agent("support"),
        Grant::everywhere(Role::Viewer).of_agent("billing"),
    ];
    assert_eq!(number(&bench.token("both", &both)).await, 1);
}
