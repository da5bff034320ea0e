//! Sealed sessions and sealed arguments: their content stays where it is.

use std::sync::Arc;

use recount::engine::SystemClock;
use recount::journal::seal::MemoryKeyStore;
use recount::ledger::Ledger;
use recount::prelude::{Actor, Agent, Engine, T, json};
use recount_notify::{Detail, Notifier, Occasion, Settings};

use crate::receiver::{Receiver, within};
use crate::world::{route, webhook};

const CARD: &str = "4111-1111";

/// The message about a call with a secret argument, to a sink that may have arguments.
async fn message(set: impl FnOnce(Agent) -> Agent) -> serde_json::Value {
    message_over(set, |ledger| ledger).await
}

/// The same with notifications over another ledger of the engine's journal.
async fn message_over(
    set: impl FnOnce(Agent) -> Agent,
    over: impl FnOnce(Ledger) -> Ledger,
) -> serde_json::Value {
    let pay = T::simple("pay", "Pays", |_| async { Ok(json!({"paid": true})) });
    let pay = T::secret(T::confirm(pay, "Pay this?"), "/card");
    let agent = set(Agent::new().model("none").strict().tools(pay));
    let engine = Engine::in_memory().keys(Arc::new(MemoryKeyStore::default()));
    let engine = engine.agent("shop", agent).open().await.unwrap();
    let (mut receiver, directory) = (Receiver::start().await, tempfile::tempdir().unwrap());
    let mut sink = webhook("ops", &receiver);
    sink.detail = Detail::Arguments;
    let settings = Settings {
        sinks: vec![sink],
        routes: vec![route("ops", &[Occasion::Asked])],
        links: None,
        directory: directory.path().join("sinks"),
    };
    let starting = Notifier::start(
        over(engine.ledger().clone()),
        SystemClock::shared(),
        settings,
    );
    let _notifier = within(starting).await.unwrap();
    let handle = engine.session("shop").open().await.unwrap();
    tokio::spawn(async move {
        let by = Actor::embedder("pipeline");
        // It waits for the approval.
        let args = json!({"cents": 7, "card": CARD});
        let _ = handle.call_function("pay", args, by).await;
    });
    let message = receiver.next().await;
    assert!(!message.text.contains(CARD) && !message.text.contains("$sealed"));
    message.json()["data"].clone()
}

#[tokio::test]
async fn sealed_argument_is_no_part_of_a_message() {
    let data = message(|agent| agent).await;
    assert_eq!(data["arguments"], json!({"cents": 7, "card": "(sealed)"}));
    assert_eq!(data["hint"], "Pay this?");
}

#[tokio::test]
async fn message_about_a_sealed_session_has_names_only() {
    let data = message(Agent::sealed).await;
    assert_eq!(
        (&data["tool"], &data["agent"]),
        (&json!("pay"), &json!("shop"))
    );
    assert!(
        data.get("arguments").is_none() && data.get("hint").is_none(),
        "{data}"
    );
}

#[tokio::test]
async fn sealed_session_without_its_key_gives_ids_only() {
    let without_keys = |ledger: Ledger| Ledger::new(ledger.journal().clone());
    let data = message_over(Agent::sealed, without_keys).await;
    assert!(
        data.get("session").is_some() && data.get("record").is_some(),
        "{data}"
    );
    for member in ["tool", "agent", "arguments", "hint"] {
        assert!(data.get(member).is_none(), "{data}");
    }
}
