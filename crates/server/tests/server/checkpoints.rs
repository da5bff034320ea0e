//! The status of checkpoints and their anchors: the route, the page and the metrics.

use std::sync::Arc;
use std::time::Duration;

use recount::engine::SystemClock;
use recount_evidence::{Anchor, Anchoring, Checkpoints, Following, PrivateKey, Signer};
use recount_server::{Grant, Role};
use serde_json::json;

use crate::bench::Bench;
use crate::visitor::Visitor;
use crate::world::engine;

/// A service with a checkpoint that one of two signers signed, and that one of two anchors took.
async fn bench() -> (Bench, tempfile::TempDir) {
    let (engine, directory) = (engine().await, tempfile::tempdir().unwrap());
    engine.session("support").open().await.unwrap();
    let (journal, clock) = (engine.ledger().journal(), SystemClock::shared());
    let key = PrivateKey::generate("example.com/journal").unwrap();
    let settings = Checkpoints {
        origin: "example.com/journal".to_owned(),
        signers: vec![
            Signer::Key(key),
            Signer::Command(vec!["/nowhere/signer".to_owned()]),
        ],
        every_records: 1_000,
        every: Duration::from_secs(60),
    };
    let path = directory.path();
    let following = Following::open(settings, path, Arc::clone(journal), clock.clone());
    let mut following = following.await.unwrap();
    let board = following.status().clone();
    following.finish().await.unwrap().unwrap();
    for (name, place) in [("here", path.to_owned()), ("gone", path.join("gone"))] {
        let named = (name, Anchor::Directory(place));
        let task = Anchoring::open(named, path, Arc::clone(journal), clock.clone(), &board);
        let taken = task.unwrap().hand_over().await.unwrap();
        assert_eq!(taken, name == "here");
    }
    let bench = Bench::over(engine);
    let service = bench.service.clone().checkpoints(board);
    (bench.over_service(service), directory)
}

#[tokio::test]
async fn operator_sees_checkpoints_and_anchors() {
    let (bench, _directory) = bench().await;
    let reply = bench.get(&bench.admin(), "/v1/checkpoints").await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    let status = reply.json();
    assert_eq!(status["origin"], "example.com/journal");
    assert_eq!(status["last"]["signers"], json!(["example.com/journal"]));
    assert!(status["last"]["size"].as_u64().unwrap() > 0, "{status}");
    assert_eq!(status["records_since"], 0);
    assert!(status["failing_since_us"].as_i64().unwrap() > 0);
    let error = status["error"].as_str().unwrap();
    assert!(error.contains("/nowhere/signer"), "{error}");
    let [here, gone] = [0, 1].map(|at| status["anchors"][at].clone());
    assert_eq!(
        (&here["name"], &here["kind"]),
        (&json!("here"), &json!("directory"))
    );
    assert_eq!(
        (&here["behind"], &here["size"]),
        (&json!(0), &status["last"]["size"])
    );
    assert_eq!((&here["error"], &gone["size"]), (&json!(null), &json!(0)));
    assert_eq!(
        (&gone["name"], &gone["behind"]),
        (&json!("gone"), &json!(1))
    );
    assert!(gone["failing_since_us"].as_i64().unwrap() > 0);
    assert!(gone["error"].as_str().unwrap().contains("gone"), "{gone}");
}

#[tokio::test]
async fn metrics_show_a_failing_anchor_and_signer() {
    let (bench, _directory) = bench().await;
    let text = bench.get(&bench.admin(), "/metrics").await.text;
    for line in [
        "recount_checkpoint_records_since 0",
        "recount_anchor_behind_checkpoints{anchor=\"here\"} 0",
        "recount_anchor_behind_checkpoints{anchor=\"gone\"} 1",
        "recount_anchor_failing_seconds{anchor=\"here\"} 0",
    ] {
        assert!(text.contains(&format!("{line}\n")), "{line}: {text}");
    }
    for name in [
        "recount_checkpoint_age_seconds",
        "recount_checkpoint_failing_seconds",
        "recount_anchor_failing_seconds{anchor=\"gone\"}",
    ] {
        let value = text.lines().find_map(|line| line.strip_prefix(name));
        let value: f64 = value.unwrap().trim().parse().unwrap();
        assert!(value > 0.0, "{name} {value}");
    }
    let tenant = Grant::everywhere(Role::Viewer).of_agent("support");
    let token = bench.token("eve", &[tenant]);
    let text = bench.get(&token, "/metrics").await.text;
    assert!(!text.contains("recount_checkpoint"), "{text}");
}

#[tokio::test]
async fn operations_page_shows_checkpoints_to_operators_of_all() {
    let (bench, _directory) = bench().await;
    let operator = bench.token("ada", &[Grant::everywhere(Role::Operator)]);
    let page = Visitor::with(&bench, &operator)
        .open("/operations")
        .await
        .text;
    let (_, section) = page.split_once(r#"id="checkpoints""#).unwrap();
    for words in [
        "signed by <bdi>example.com/journal",
        "a signature is missing since",
        "fails since",
    ] {
        assert!(section.contains(words), "{words}: {section}");
    }
    let support = Grant::everywhere(Role::Operator).of_agent("support");
    let narrow = bench.token("bob", &[support]);
    let page = Visitor::with(&bench, &narrow)
        .open("/operations")
        .await
        .text;
    assert!(!page.contains(r#"id="checkpoints""#));
}
