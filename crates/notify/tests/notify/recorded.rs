//! The messages about recorded sessions of every version, compared with their records.

use std::collections::BTreeSet;
use std::sync::Arc;

use recount::engine::SystemClock;
use recount::journal::MemoryJournal;
use recount::ledger::Ledger;
use recount_notify::{Notifier, Occasion, Settings};
use serde_json::Value;

use crate::receiver::{Receiver, within};
use crate::recorded_sessions::{Recorded, all};
use crate::world::{route, webhook};

/// The occasion of a record, as its JSON has it.
fn occasion(record: &Value) -> Option<&'static str> {
    let body = &record["body"];
    let is_sealed = body.get("$sealed").is_some();
    match record["kind"].as_str().unwrap() {
        "confirmation_requested" if body["about"] == "in_doubt" => Some("recount.in_doubt"),
        "confirmation_reopened" if body["question"]["about"] == "in_doubt" => {
            Some("recount.in_doubt")
        }
        "confirmation_requested" | "confirmation_reopened" => Some("recount.asked"),
        "confirmation_answered" | "confirmation_expired" | "confirmation_withdrawn" => {
            Some("recount.decided")
        }
        "response_issued" if body["outcome"] == "unknown" => Some("recount.in_doubt"),
        "response_issued" if !is_sealed && body["outcome"] != "interim" => {
            let via = body["route"]["via"].as_str().unwrap();
            let is_alone = ["parked", "connect", "notify"].contains(&via);
            is_alone.then_some("recount.settled")
        }
        _ => None,
    }
}

fn expected(recorded: &Recorded) -> BTreeSet<(String, u64)> {
    let records = recorded.lines.iter().map(|line| {
        let record: Value = serde_json::from_slice(line.bytes()).unwrap();
        let seq = record["seq"].as_u64().unwrap();
        Some((occasion(&record)?.to_owned(), seq))
    });
    records.flatten().collect()
}

#[tokio::test]
async fn each_record_gives_its_message() {
    let (mut seen, mut decisions) = (BTreeSet::new(), BTreeSet::new());
    for recorded in all() {
        let (mut receiver, directory) = (Receiver::start().await, tempfile::tempdir().unwrap());
        let journal = Arc::new(MemoryJournal::new());
        let settings = Settings {
            sinks: vec![webhook("ops", &receiver)],
            routes: vec![route("ops", &Occasion::LISTED)],
            links: None,
            directory: directory.path().join("sinks"),
        };
        let ledger = Ledger::new(journal.clone());
        let starting = Notifier::start(ledger, SystemClock::shared(), settings);
        let _notifier = within(starting).await.unwrap();
        recorded.append(journal.as_ref(), 0, recorded.lines.len());
        let (expected, mut found) = (expected(&recorded), BTreeSet::new());
        while found.len() < expected.len() {
            let message = receiver.next().await;
            let data = message.json()["data"].clone();
            assert_eq!(data["session"], recorded.session.0.to_string());
            let decision = data["decision"].as_str().map(str::to_owned);
            decisions.extend(decision);
            found.insert((message.kind(), data["record"].as_u64().unwrap()));
        }
        assert_eq!(found, expected, "{}", recorded.name);
        assert!(receiver.is_quiet(), "{}", recorded.name);
        seen.extend(found.into_iter().map(|(kind, _)| kind));
    }
    let all = Occasion::LISTED.map(|it| format!("recount.{it}"));
    assert_eq!(seen, BTreeSet::from(all));
    for decision in ["approved", "denied", "expired", "withdrawn"] {
        assert!(decisions.contains(decision), "{decision}: {decisions:?}");
    }
}
