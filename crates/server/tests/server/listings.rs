//! Listings: filters, pages, and the shapes of items.

use recount_server::{Grant, Role};
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::world::{World, engine};

/// The external ids of the sessions of a listing.
async fn external_ids(bench: &Bench, token: &str, query: &str) -> Vec<String> {
    let reply = bench.get(token, &format!("/v1/sessions?{query}")).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    let items = reply.json()["items"].as_array().unwrap().clone();
    let ids = items
        .iter()
        .map(|it| it["external_id"].as_str().unwrap().to_owned());
    ids.collect()
}

#[tokio::test]
async fn sessions_are_filtered_and_newest_come_first() {
    let bench = Bench::over(engine().await);
    let token = bench.admin();
    for (number, (agent, tenant)) in [
        ("support", "acme"),
        ("support", "globex"),
        ("billing", "acme"),
    ]
    .iter()
    .enumerate()
    {
        let session = bench.engine.session(*agent).label("tenant", *tenant);
        let session = session
            .external_id(format!("ticket-{number}"))
            .on_behalf_of("Grace");
        let handle = session.open().await.unwrap();
        if number == 1 {
            let by = recount::session::Actor::embedder("ada");
            handle.close("done", by).await.unwrap();
        }
    }
    for (query, expected) in [
        ("", &["ticket-2", "ticket-1", "ticket-0"] as &[&str]),
        ("agent=support", &["ticket-1", "ticket-0"]),
        ("label=tenant:acme", &["ticket-2", "ticket-0"]),
        ("label=tenant:acme&agent=billing", &["ticket-2"]),
        ("label=tenant:acme&label=a:b", &[]),
        ("state=closed", &["ticket-1"]),
        ("state=open", &["ticket-2", "ticket-0"]),
        ("text=GLOBEX", &["ticket-1"]),
        ("text=ticket-0", &["ticket-0"]),
        ("text=grace", &["ticket-2", "ticket-1", "ticket-0"]),
        (
            "since=2000-01-01T00:00:00Z",
            &["ticket-2", "ticket-1", "ticket-0"],
        ),
        ("until=2000-01-01T00:00:00Z", &[]),
        ("since=9000000000000000", &[]),
    ] {
        assert_eq!(
            external_ids(&bench, &token, query).await,
            expected,
            "{query}"
        );
    }
}

#[tokio::test]
async fn pages_hold_every_session_once() {
    let bench = Bench::over(engine().await);
    for number in 0..7 {
        let tenant = if number % 2 == 0 { "acme" } else { "globex" };
        let session = bench.engine.session("support").label("tenant", tenant);
        session
            .external_id(format!("t-{number}"))
            .open()
            .await
            .unwrap();
    }
    let grant = Grant::everywhere(Role::Viewer).with_label("tenant", "acme");
    let token = bench.token("ada", &[grant]);
    let (mut seen, mut cursor) = (Vec::new(), None);
    loop {
        let more = cursor
            .map(|it: String| format!("&cursor={it}"))
            .unwrap_or_default();
        let page = bench
            .get(&token, &format!("/v1/sessions?limit=2{more}"))
            .await
            .json();
        let items = page["items"].as_array().unwrap();
        assert!(items.len() <= 2, "{page}");
        seen.extend(
            items
                .iter()
                .map(|it| it["external_id"].as_str().unwrap().to_owned()),
        );
        cursor = page["next"].as_str().map(str::to_owned);
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(seen, ["t-6", "t-4", "t-2", "t-0"]);
}

#[tokio::test]
async fn pending_has_pages_and_filters() {
    let world = World::new().await;
    let (bench, token) = (&world.bench, world.bench.admin());
    let all = bench.get(&token, "/v1/pending").await.json();
    let all = all["items"].as_array().unwrap();
    // A request and a paused call in each of three sessions.
    assert_eq!(all.len(), 6, "{all:?}");
    let (mut seen, mut query) = (Vec::new(), "/v1/pending?limit=4".to_owned());
    loop {
        let page = bench.get(&token, &query).await.json();
        let length = page["items"].as_array().unwrap().len();
        assert_eq!(length, 4.min(all.len() - seen.len()), "{page}");
        seen.extend(page["items"].as_array().unwrap().clone());
        let Some(next) = page["next"].as_str() else {
            break;
        };
        query = format!("/v1/pending?limit=4&cursor={next}");
    }
    assert_eq!(&seen, all);
    for (query, expected) in [
        (format!("session={}", world.own.session), 2),
        ("agent=support".to_owned(), 4),
        ("label=tenant:acme".to_owned(), 4),
        ("label=tenant:acme&agent=support".to_owned(), 2),
        ("agent=nothing".to_owned(), 0),
    ] {
        let page = bench
            .get(&token, &format!("/v1/pending?{query}"))
            .await
            .json();
        assert_eq!(page["items"].as_array().unwrap().len(), expected, "{query}");
    }
}

#[tokio::test]
async fn page_of_large_records_ends_early() {
    const NOTE_BYTES: usize = 1 << 20;
    let bench = Bench::over(engine().await);
    let handle = bench.engine.session("support").open().await.unwrap();
    for _ in 0..8 {
        let by = recount::session::Actor::embedder("shop");
        let args = json!({"note": "x".repeat(NOTE_BYTES)});
        handle.call_function("look", args, by).await.unwrap();
    }
    let (session, token) = (handle.session_id(), bench.admin());
    let head = bench
        .engine
        .ledger()
        .journal()
        .head(session.0)
        .await
        .unwrap()
        .unwrap();
    let (mut seqs, mut from) = (Vec::new(), json!(1));
    while let Some(next) = from.as_u64() {
        let path = format!("/v1/sessions/{session}/records?from={next}&limit=1000");
        let page = bench.get(&token, &path).await;
        // The size of a page and one more record.
        assert!(
            page.text.len() < (8 << 20) + 2 * NOTE_BYTES,
            "{}",
            page.text.len()
        );
        let page = page.json();
        let items = page["items"].as_array().unwrap().iter();
        seqs.extend(items.map(|it| it["record"]["seq"].as_u64().unwrap()));
        from = page["next"].clone();
    }
    assert_eq!(seqs, (1..=head.seq).collect::<Vec<_>>());
}

#[tokio::test]
async fn records_come_as_they_are_stored() {
    let world = World::new().await;
    let (bench, token, session) = (&world.bench, world.bench.admin(), world.own.session);
    let (mut records, mut from) = (Vec::new(), json!(1));
    while let Some(next) = from.as_u64() {
        let path = format!("/v1/sessions/{session}/records?from={next}&limit=3");
        let page = bench.get(&token, &path).await.json();
        let length = page["items"].as_array().unwrap().len();
        assert!((1..=3).contains(&length), "{page}");
        records.extend(page["items"].as_array().unwrap().clone());
        from = page["next"].clone();
    }
    let stored = bench
        .engine
        .ledger()
        .entries(session, recount::session::Seq(1), 1000)
        .await;
    let stored: Vec<Value> = stored
        .unwrap()
        .iter()
        .map(|it| serde_json::from_slice(it.line.bytes()).unwrap())
        .collect();
    let records: Vec<Value> = records
        .into_iter()
        .map(|mut it| it["record"].take())
        .collect();
    assert_eq!(records, stored);
    let path = format!("/v1/sessions/{session}/records?limit={}", stored.len());
    let whole = bench.get(&token, &path).await.json();
    assert_eq!(whole["next"], Value::Null, "no record is left");
}

#[tokio::test]
async fn session_state_and_calls_have_their_keys() {
    let world = World::new().await;
    let (bench, token, own) = (&world.bench, world.bench.admin(), &world.own);
    let path = format!("/v1/sessions/{}", own.session);
    let session = bench.get(&token, &path).await.json();
    assert_eq!(
        (&session["agent"], &session["closed"]),
        (&json!("support"), &json!(false))
    );
    let state = bench
        .get(&token, &format!("{path}/state?at=1"))
        .await
        .json();
    assert_eq!(
        (&state["seq"], &state["kind"]),
        (&json!(1), &json!("session_opened"))
    );
    let empty = bench
        .get(&token, &format!("{path}/state?at=0"))
        .await
        .json();
    assert_eq!((&empty["seq"], &empty["kind"]), (&json!(0), &Value::Null));
    let calls = bench
        .get(&token, &format!("{path}/calls?limit=2"))
        .await
        .json();
    let tools: Vec<&Value> = calls["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["tool"])
        .collect();
    assert_eq!(tools, ["mail", "ship"]);
    let next = calls["next"].as_str().unwrap();
    let more = bench
        .get(&token, &format!("{path}/calls?limit=9&cursor={next}"))
        .await
        .json();
    assert_eq!(more["items"][0]["tool"], "refund");
    assert_eq!(more["next"], Value::Null);
    let other = world.other_agent.session;
    let misplaced = format!("/v1/sessions/{other}/calls?cursor={next}");
    assert_eq!(bench.get(&token, &misplaced).await.status, 422);
    let pause = json!({"target": {"session": own.session}, "reason": "wrong prices"});
    bench.post(&token, "/v1/pause", &pause).await;
    let paused = bench.get(&token, &path).await.json();
    assert_eq!(paused["paused"][0]["reason"], "wrong prices");
}
