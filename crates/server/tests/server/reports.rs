//! Reports: the audit, exports, checks and metrics, each within the grants of the caller.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use recount::Engine;
use recount::testing::UnreachableJournal;
use recount_journal::testing::MemoryDisk;
use recount_journal::{DiskJournal, MemoryJournal};
use recount_server::{Grant, Role};
use serde_json::{Value, json};

use crate::bench::{Bench, Event};
use crate::world::{FOREIGN, World};

/// The rows of an audit in JSON lines.
async fn rows(bench: &Bench, token: &str, query: &str) -> Vec<Value> {
    let reply = bench
        .get(token, &format!("/v1/audit/decisions?{query}"))
        .await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert_eq!(reply.headers["content-type"], "application/x-ndjson");
    let lines = reply.text.lines();
    lines.map(|it| serde_json::from_str(it).unwrap()).collect()
}

fn of_kind<'r>(rows: &'r [Value], kind: &str) -> Vec<&'r Value> {
    rows.iter().filter(|it| it["row"] == kind).collect()
}

#[tokio::test]
async fn audit_has_the_calls_of_own_sessions_and_totals() {
    let world = World::new().await;
    let token = world.tenant(Role::Viewer);
    let audit = rows(&world.bench, &token, "").await;
    let calls = of_kind(&audit, "call");
    assert_eq!(calls.len(), 5);
    assert!(
        calls
            .iter()
            .all(|it| it["session"] == json!(world.own.session))
    );
    let last = audit.last().unwrap();
    assert_eq!(
        (&last["row"], &last["calls"]),
        (&json!("totals"), &json!(5))
    );
    let all = rows(&world.bench, &world.bench.admin(), "").await;
    assert_eq!(of_kind(&all, "call").len(), 15);
    let listed = format!("/v1/sessions/{}/calls", world.own.session);
    let listed = world.bench.get(&token, &listed).await.json();
    let mut first = calls[0].clone();
    first.as_object_mut().unwrap().remove("row");
    assert_eq!(first, listed["items"][0]);
}

#[tokio::test]
async fn audit_is_filtered() {
    let world = World::new().await;
    let token = world.tenant(Role::Viewer);
    for (query, expected) in [
        ("tool=mail", 1),
        ("tool=mail&tool=ship", 2),
        ("verdict=approved", 1),
        ("outcome=returned", 1),
        ("actor=nothing", 0),
        ("label=tenant:acme", 5),
        ("label=tenant:globex", 0),
        ("until=1", 0),
        ("from=2000-01-01T00:00:00Z", 5),
    ] {
        let audit = rows(&world.bench, &token, query).await;
        assert_eq!(of_kind(&audit, "call").len(), expected, "{query}");
    }
    for unfit in [
        "verdict=maybe",
        "outcome=maybe",
        "outcome=interim",
        "format=xml",
        "tol=mail",
    ] {
        let refused = world
            .bench
            .get(&token, &format!("/v1/audit/decisions?{unfit}"))
            .await;
        assert_eq!(refused.code(), "bad-request", "{unfit}");
    }
}

#[tokio::test]
async fn audit_is_csv_on_request() {
    let world = World::new().await;
    let token = world.tenant(Role::Viewer);
    let by_parameter = world
        .bench
        .get(&token, "/v1/audit/decisions?format=csv")
        .await;
    let accepting = Request::get("/v1/audit/decisions")
        .header("authorization", format!("Bearer {token}"))
        .header("accept", "text/csv");
    let by_header = world.bench.send(accepting, Body::empty()).await;
    assert_eq!(by_parameter.text, by_header.text);
    assert!(
        by_header.headers["content-type"]
            .to_str()
            .unwrap()
            .starts_with("text/csv")
    );
    let lines: Vec<&str> = by_header.text.split_terminator("\r\n").collect();
    assert_eq!(lines.len(), 6);
    assert!(lines[0].starts_with("session_id,agent,external_id,labels,"));
    assert!(lines[1].starts_with(&format!("{},support,own-text,", world.own.session)));
    assert!(!by_header.text.contains(FOREIGN));
}

#[tokio::test]
async fn export_verifies_and_has_its_trailer() {
    let world = World::new().await;
    let token = world.tenant(Role::Viewer);
    let path = format!("/v1/sessions/{}/export", world.own.session);
    let export = world.bench.get(&token, &path).await;
    assert_eq!(export.status, 200);
    let verified = recount::journal::verify::export(export.text.as_bytes()).unwrap();
    let head = world
        .bench
        .engine
        .ledger()
        .journal()
        .head(world.own.session.0)
        .await;
    assert_eq!(verified.records, head.unwrap().unwrap().seq);
    let trailer: Value = serde_json::from_str(export.text.lines().last().unwrap()).unwrap();
    assert_eq!(trailer["trailer"]["records"], json!(verified.records));
}

/// The messages of a check.
async fn check(world: &World, what: &str) -> Vec<Event> {
    let token = world.tenant(Role::Viewer);
    let path = format!("/v1/sessions/{}/{what}", world.own.session);
    let request = Request::post(path).header("authorization", format!("Bearer {token}"));
    let stream = world.bench.events(request).await;
    assert_eq!(stream.status, 200);
    stream.rest().await
}

#[tokio::test]
async fn replay_and_verify_report_at_the_end() {
    let world = World::new().await;
    let session = world.own.session;
    let head = world.bench.engine.ledger().journal().head(session.0).await;
    let head = head.unwrap().unwrap();
    for (what, expected) in [
        ("replay", json!({"session": session, "diverged": null})),
        (
            "verify",
            json!({"session": session, "records": head.seq, "head": head.hash,
                "verdict": "consistent", "problem": null}),
        ),
    ] {
        let mut events = check(&world, what).await;
        let end = events.pop().unwrap();
        assert_eq!(
            (end.name.as_str(), &end.data),
            ("end", &json!({"reason": "done"}))
        );
        let report = events.pop().unwrap();
        assert_eq!(report.name, "report");
        for (key, value) in expected.as_object().unwrap() {
            assert_eq!(&report.data[key], value, "{what} {key}");
        }
        for progress in events {
            assert_eq!(
                (progress.name.as_str(), &progress.data["of"]),
                ("progress", &json!(head.seq))
            );
        }
    }
}

#[tokio::test]
async fn metrics_count_what_the_caller_sees() {
    let world = World::new().await;
    let bench = &world.bench;
    let own = bench
        .get(&world.tenant(Role::Viewer), "/metrics")
        .await
        .text;
    for line in [
        "recount_sessions_open 1",
        "recount_pending{tool=\"refund\"} 1",
        "recount_pending{tool=\"ship\"} 1",
        "recount_claimable{tool=\"pack\"} 1",
        "recount_claims{tool=\"pack\"} 1",
        "recount_in_doubt 0",
    ] {
        assert!(own.lines().any(|it| it == line), "{line}: {own}");
    }
    assert!(!own.contains("http_requests"), "{own}");
    let answer = format!("/v1/requests/{}/answer", world.own.request);
    let yes = json!({"confirmed": true});
    // The second answer is refused, and a pause is none.
    for _ in 0..2 {
        let approver = world.tenant(Role::Approver);
        bench.post(&approver, &answer, &yes).await;
    }
    let target = json!({"target": {"agent": "support"}});
    let paused = bench.post(&bench.admin(), "/v1/pause", &target).await;
    assert_eq!(paused.status, 200, "{}", paused.text);
    let all = bench.get(&bench.admin(), "/metrics").await;
    assert!(
        all.headers["content-type"]
            .to_str()
            .unwrap()
            .starts_with("text/plain; version=0.0.4")
    );
    for line in [
        "recount_sessions_open 3",
        "recount_pending{tool=\"refund\"} 2",
        "recount_answers_total 1",
        "recount_streams 0",
        "recount_http_requests_total{method=\"GET\",route=\"/metrics\",status=\"200\"} 1",
        "recount_http_requests_total{method=\"POST\",route=\"/v1/requests/{id}/answer\",\
         status=\"200\"} 1",
    ] {
        assert!(
            all.text.lines().any(|it| it == line),
            "{line}: {}",
            all.text
        );
    }
    let client = bench
        .get(&world.tenant(Role::Client), "/metrics")
        .await
        .text;
    assert!(client.contains("recount_sessions_open 0"), "{client}");
    assert_eq!(bench.get("", "/metrics").await.status, 401);
}

#[tokio::test]
async fn metrics_show_if_the_journal_takes_records() {
    let directory = tempfile::tempdir().unwrap();
    let disk = MemoryDisk::new();
    let options = DiskJournal::options(directory.path().join("journal"));
    let journal = options.disk(Arc::new(disk.clone())).floor_bytes(1_000);
    let journal = Arc::new(journal.create(true).open().unwrap());
    let engine = Engine::builder(directory.path().join("journal")).journal(journal);
    let bench = Bench::over(engine.open().await.unwrap());
    let admin = bench.admin();
    let has = async |line: &str| {
        let text = bench.get(&admin, "/metrics").await.text;
        assert!(text.lines().any(|it| it == line), "{line}: {text}");
    };
    has("recount_journal_writable 1").await;
    has("recount_journal_floor_bytes 1000").await;
    disk.set_free_space(999);
    has("recount_journal_writable 0").await;
    has("recount_journal_free_bytes 999").await;
    disk.set_free_space(5_000);
    has("recount_journal_writable 1").await;
    has("recount_journal_free_bytes 5000").await;
    let one_agent = Grant::everywhere(Role::Viewer).of_agent("support");
    let one_agent = bench.token("ada", &[one_agent]);
    let scoped = bench.get(&one_agent, "/metrics").await;
    assert!(!scoped.text.contains("_journal_"), "{}", scoped.text);
}

#[tokio::test]
async fn metrics_of_a_closed_journal_say_so() {
    let world = World::new().await;
    let bench = &world.bench;
    bench.engine.shutdown(Duration::ZERO).await.unwrap();
    let all = bench.get(&bench.admin(), "/metrics").await;
    assert_eq!(all.status, 200);
    let line = "recount_journal_writable 0";
    assert!(all.text.lines().any(|it| it == line), "{}", all.text);
    assert!(!all.text.contains("recount_pending"), "{}", all.text);
    let own = bench.get(&world.tenant(Role::Viewer), "/metrics").await;
    assert_eq!(own.status, 503, "{}", own.text);
}

/// A scrape would otherwise end without the metrics that tell of the outage.
#[tokio::test(start_paused = true)]
async fn metrics_do_not_wait_for_a_silent_journal() {
    let journal = UnreachableJournal::new(Arc::new(MemoryJournal::new()));
    let engine = Engine::in_memory().journal(journal.clone()).open().await;
    let bench = Bench::over(engine.unwrap());
    journal.silence();
    let all = bench.get(&bench.admin(), "/metrics").await;
    assert_eq!(all.status, 200);
    assert!(
        all.text.contains("recount_journal_writable"),
        "{}",
        all.text
    );
    assert!(!all.text.contains("recount_pending"), "{}", all.text);
    let one_agent = Grant::everywhere(Role::Viewer).of_agent("support");
    let one_agent = bench.token("ada", &[one_agent]);
    let scoped = bench.get(&one_agent, "/metrics").await;
    assert_eq!(scoped.status, 503);
    assert_eq!(scoped.code(), "journal-unavailable");
}
