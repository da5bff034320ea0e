//! The sinks of notifications: their status, their dead letters and their metrics.

use std::time::Duration;

use recount::engine::SystemClock;
use recount::prelude::{Actor, Engine, json};
use recount_notify::{Notifier, Occasion, Route, Settings, Sink, Target};
use recount_server::{Grant, Role};
use serde_json::Value;
use tempfile::TempDir;

use crate::bench::Bench;
use crate::world::engine;

/// A service whose only sink has one dead letter.
pub(crate) async fn bench() -> (Bench, Notifier, TempDir) {
    let (engine, directory) = (engine().await, tempfile::tempdir().unwrap());
    let command = Target::Command {
        program: "/nowhere/program".to_owned(),
        arguments: Vec::new(),
    };
    let mut sink = Sink::new("ops".parse().unwrap(), command);
    sink.patience.attempts = 1;
    let route = Route {
        sinks: vec!["ops".parse().unwrap()],
        occasions: [Occasion::Asked].into(),
        ..Route::default()
    };
    let settings = Settings {
        sinks: vec![sink],
        routes: vec![route],
        links: None,
        directory: directory.path().join("sinks"),
    };
    let ledger = engine.ledger().clone();
    let notifier = Notifier::start(ledger, SystemClock::shared(), settings);
    let notifier = notifier.await.unwrap();
    ask(&engine).await;
    let polling = async {
        while notifier.sinks().await.unwrap()[0].dead_letters.is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(120), polling)
        .await
        .unwrap();
    let bench = Bench::over(engine);
    let service = bench.service.clone().notifications(notifier.clone());
    (bench.over_service(service), notifier, directory)
}

/// Makes a call that waits for an approval.
async fn ask(engine: &Engine) {
    let handle = engine.session("support").open().await.unwrap();
    let mut updates = handle.subscribe();
    tokio::spawn(async move {
        let by = Actor::embedder("pipeline");
        // It waits for the approval.
        let _ = handle
            .call_function("refund", json!({"note": "x"}), by)
            .await;
    });
    let asked = updates.wait_for(|event| event.kind() == "confirmation_requested");
    assert!(asked.await.is_some());
}

async fn sink(bench: &Bench) -> Value {
    let reply = bench.get(&bench.admin(), "/v1/sinks").await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply.json()["items"][0].clone()
}

#[tokio::test]
async fn operator_sees_sinks_and_dead_letters() {
    let (bench, _notifier, _directory) = bench().await;
    let sink = sink(&bench).await;
    assert_eq!(
        (&sink["name"], &sink["kind"]),
        (&json!("ops"), &json!("command"))
    );
    assert_eq!((&sink["failures"], &sink["queued"]), (&json!(1), &json!(0)));
    let letter = &sink["dead_letters"][0];
    assert_eq!(
        (&letter["occasion"], &letter["attempts"]),
        (&json!("asked"), &json!(1))
    );
    for (role, status) in [
        (Role::Operator, 200),
        (Role::Approver, 403),
        (Role::Client, 403),
    ] {
        let token = bench.token("ada", &[Grant::everywhere(role)]);
        assert_eq!(
            bench.get(&token, "/v1/sinks").await.status,
            status,
            "{role}"
        );
    }
}

#[tokio::test]
async fn operator_retries_and_discards_a_dead_letter() {
    let (bench, _notifier, _directory) = bench().await;
    let letter = sink(&bench).await["dead_letters"][0]["id"].clone();
    let letter = letter.as_str().unwrap().to_owned();
    let doing = async |role: Role, sink: &str, doing: &str| {
        let token = bench.token("ada", &[Grant::everywhere(role)]);
        let path = format!("/v1/sinks/{sink}/dead-letters/{letter}/{doing}");
        let reply = bench.post(&token, &path, &Value::Null).await;
        (reply.status.as_u16(), reply.code())
    };
    let (operator, none) = (Role::Operator, String::new());
    assert_eq!(doing(Role::Approver, "ops", "retry").await.0, 403);
    assert_eq!(
        doing(operator, "none", "retry").await,
        (404, "unknown-sink".to_owned())
    );
    assert_eq!(doing(operator, "ops", "retry").await, (204, none.clone()));
    // It fails again, with its last attempt.
    let again = async {
        while sink(&bench).await["dead_letters"][0]["id"] != letter.as_str() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(120), again)
        .await
        .unwrap();
    assert_eq!(doing(operator, "ops", "discard").await, (204, none));
    let gone = (404, "unknown-letter".to_owned());
    assert_eq!(doing(operator, "ops", "discard").await, gone);
    assert_eq!(sink(&bench).await["dead_letters"], json!([]));
}

#[tokio::test]
async fn operator_retries_all_dead_letters() {
    let (bench, notifier, _directory) = bench().await;
    let path = "/v1/sinks/ops/dead-letters/retry";
    for (role, status) in [(Role::Approver, 403), (Role::Operator, 204)] {
        let token = bench.token("ada", &[Grant::everywhere(role)]);
        let reply = bench.post(&token, path, &Value::Null).await;
        assert_eq!(reply.status, status, "{role}");
    }
    // It fails again, with its last attempt.
    let again = async {
        while notifier.sinks().await.unwrap()[0].failures < 2 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(120), again)
        .await
        .unwrap();
    let path = "/v1/sinks/none/dead-letters/retry";
    let reply = bench.post(&bench.admin(), path, &Value::Null).await;
    assert_eq!(reply.code(), "unknown-sink");
}

#[tokio::test]
async fn metrics_show_a_failing_sink() {
    let (bench, _notifier, _directory) = bench().await;
    let text = bench.get(&bench.admin(), "/metrics").await.text;
    for line in [
        "recount_sink_delivered_total{sink=\"ops\"} 0",
        "recount_sink_failures_total{sink=\"ops\"} 1",
        "recount_sink_queued{sink=\"ops\"} 0",
        "recount_sink_lag_commits{sink=\"ops\"} 0",
        "recount_sink_dead_letters{sink=\"ops\"} 1",
        "recount_sink_dead_letters_dropped_total{sink=\"ops\"} 0",
    ] {
        assert!(text.contains(&format!("{line}\n")), "{line}: {text}");
    }
    let tenant = Grant::everywhere(Role::Viewer).of_agent("support");
    let token = bench.token("eve", &[tenant]);
    let text = bench.get(&token, "/metrics").await.text;
    assert!(!text.contains("recount_sink"), "{text}");
}

#[tokio::test]
async fn dead_letter_wakes_the_operations_page() {
    let (bench, notifier, _directory) = bench().await;
    let operator = bench.token("ada", &[Grant::everywhere(Role::Operator)]);
    let page = bench.get(&operator, "/operations").await.text;
    let (_, live) = page.split_once("data-live=\"./").unwrap();
    let live = format!("/{}", live.split('"').next().unwrap().replace("&amp;", "&"));
    let mut stream = bench.stream(&operator, &live).await;
    let narrow = Grant::everywhere(Role::Operator).of_agent("billing");
    let narrow = bench.token("bob", &[narrow]);
    let mut foreign = bench.stream(&narrow, &live).await;
    let unaware = tokio::spawn(async move { foreign.next().await });
    // No record of the journal tells of it.
    let letter = notifier.sinks().await.unwrap()[0].dead_letters[0].id;
    notifier.discard("ops", letter).await.unwrap();
    let changed = tokio::time::timeout(Duration::from_secs(60), stream.next());
    assert_eq!(changed.await.unwrap().unwrap().name, "changed");
    assert!(!unaware.is_finished(), "a foreign sink has woken the page");
    // A page that was read before is behind at once.
    let mut late = bench.stream(&operator, &live).await;
    let behind = tokio::time::timeout(Duration::from_secs(60), late.next());
    assert_eq!(behind.await.unwrap().unwrap().name, "changed");
}
