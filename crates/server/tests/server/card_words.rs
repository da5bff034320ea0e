//! The words around a decision: pauses, the answers beside each other, what runs, and filters.

use recount::engine::Operation;
use recount::ledger::PauseTarget;
use recount::prelude::{Actor, Agent, Engine, T, json};
use recount_server::{Grant, Role};

use crate::bench::Bench;
use crate::cards::{asks, engine, person, recorded, session};
use crate::page::Browser;

/// The place of a text in a page.
fn at(page: &str, text: &str) -> usize {
    let found = page.find(text);
    assert!(found.is_some(), "{text} is not in {page}");
    found.unwrap()
}

#[tokio::test]
async fn card_and_inbox_tell_of_a_pause() {
    let bench = Bench::over(engine().await);
    let (handle, mut updates) = session(&bench.engine, "acme").await;
    let card = asks(&handle, &mut updates, "refund", json!({"cents": 5})).await;
    let ada = Browser::with(&bench, &person(&bench, "ada", &[])).await;
    let before = (ada.open("/inbox").await.text, ada.open(&card).await.text);
    assert!(!before.0.contains(">paused<") && !before.1.contains("Paused"));
    let pause = Operation::Pause {
        target: PauseTarget::Agent("desk".to_owned()),
        reason: Some("the bank is down".to_owned()),
        cancel_running: false,
    };
    let by = Actor::embedder("op");
    bench.engine.operate(pause, by.clone()).await.unwrap();
    assert!(ada.open("/inbox").await.text.contains(">paused</span>"));
    let page = ada.open(&card).await.text;
    assert!(page.contains("<strong>Paused</strong>") && page.contains("the bank is down"));
    assert!(
        page.contains("After a yes the call waits until the pause ends."),
        "{page}"
    );
    let sent = ada
        .submit(&card, &format!("{card}/answer"), &[("answer", "yes")])
        .await;
    assert_eq!(sent.status, 303, "{}", sent.text);
    let page = ada.open(&card).await.text;
    assert!(page.contains("Approved, held by a pause</h2>"), "{page}");
    assert!(!page.contains("Not ended"), "{page}");
    let target = PauseTarget::Agent("desk".to_owned());
    let end = Operation::Unpause {
        target,
        reason: None,
    };
    bench.engine.operate(end, by).await.unwrap();
    recorded(&mut updates, "tool_returned").await;
    let page = ada.open(&card).await.text;
    assert!(
        page.contains("Ran, receipt 17") && page.contains(" after "),
        "{page}"
    );
}

/// A person looks for a yes and a no. What decides about other calls is apart from them.
#[tokio::test]
async fn yes_and_no_are_beside_each_other() {
    let bench = Bench::over(engine().await);
    let (handle, mut updates) = session(&bench.engine, "acme").await;
    asks(&handle, &mut updates, "refund", json!({"cents": 5})).await;
    let card = asks(&handle, &mut updates, "refund", json!({"cents": 6})).await;
    let ada = Browser::with(&bench, &person(&bench, "ada", &[])).await;
    let page = ada.open(&card).await.text;
    let places = [
        r#"id="approve""#,
        r#"id="denying""#,
        r#"id="edit""#,
        r#"class="further""#,
        r#"id="allowing""#,
        r#"id="denying-all""#,
    ]
    .map(|text| at(&page, text));
    assert!(places.is_sorted(), "{places:?}");
    assert!(
        page.contains("Reason (the model is told)</label>"),
        "{page}"
    );
}

#[tokio::test]
async fn misread_filter_lists_nothing_and_stays_in_its_field() {
    let bench = Bench::over(engine().await);
    let (handle, mut updates) = session(&bench.engine, "acme").await;
    asks(&handle, &mut updates, "refund", json!({"cents": 5})).await;
    let ada = Browser::with(&bench, &person(&bench, "ada", &[])).await;
    for bad in ["acme", ":acme", "tenant:"] {
        let page = ada.open(&format!("/inbox?label={bad}&tool=ref")).await;
        assert_eq!(page.status, 422, "{bad}");
        assert!(
            !page.text.contains("Refund this order?"),
            "{bad}: {}",
            page.text
        );
        assert!(
            page.text.contains(r#"id="fault-label""#),
            "{bad}: {}",
            page.text
        );
        assert!(page.text.contains(&format!(r#"value="{bad}""#)), "{bad}");
        assert!(page.text.contains(r#"value="ref""#), "{bad}");
    }
    for (path, kept) in [
        ("/audit?from=nonsense&tool=refund", r#"value="refund""#),
        ("/sessions?since=nonsense&agent=desk", r#"value="desk""#),
        ("/audit?label=acme&tool=refund", r#"value="refund""#),
    ] {
        let page = ada.open(path).await;
        assert_eq!(page.status, 422, "{path}");
        assert!(
            page.text.contains("a filter is not understood"),
            "{}",
            page.text
        );
        assert!(page.text.contains(kept), "{path}: {}", page.text);
    }
}

/// Each session of the inbox is a part of its own, which the script replaces alone.
#[tokio::test]
async fn inbox_has_a_part_for_each_session() {
    let bench = Bench::over(engine().await);
    let mut ids = Vec::new();
    for tenant in ["acme", "globex"] {
        let (handle, mut updates) = session(&bench.engine, tenant).await;
        asks(&handle, &mut updates, "refund", json!({"cents": 5})).await;
        ids.push(handle.session_id());
    }
    let ada = Browser::with(&bench, &person(&bench, "ada", &[])).await;
    let page = ada.open("/inbox").await.text;
    assert!(page.contains(r#"id="waiting" data-list"#), "{page}");
    for id in ids {
        assert!(
            page.contains(&format!(r#"id="in-{id}" data-part"#)),
            "{page}"
        );
    }
}

#[tokio::test]
async fn tool_is_described_to_people_without_the_note_for_models() {
    let ship = T::simple("ship", "Ships the order", |_| async { Ok(json!({})) });
    let ship = T::confirm(T::long_running(ship), "Ship it?");
    let agent = Agent::new().model("none").strict().tools(ship);
    let engine = Engine::in_memory().agent("desk", agent).open().await;
    let bench = Bench::over(engine.unwrap());
    let (handle, mut updates) = session(&bench.engine, "acme").await;
    let card = asks(&handle, &mut updates, "ship", json!({})).await;
    let ada = Browser::with(&bench, &person(&bench, "ada", &[])).await;
    let page = ada.open(&card).await.text;
    assert!(page.contains("Ships the order</bdi>"), "{page}");
    assert!(!page.contains("NOTE:"), "{page}");
}

#[tokio::test]
async fn call_of_a_client_is_no_call_of_a_person() {
    let bench = Bench::over(engine().await);
    let (handle, mut updates) = session(&bench.engine, "acme").await;
    asks(&handle, &mut updates, "refund", json!({"cents": 5})).await;
    let token = bench.token("eve", &[Grant::everywhere(Role::Viewer)]);
    let eve = Browser::with(&bench, &token).await;
    let page = eve
        .open(&format!("/sessions/{}", handle.session_id()))
        .await;
    assert!(page.text.contains(">client</td>"), "{}", page.text);
    assert!(
        page.text.contains("pipeline (embedder) calls refund"),
        "{}",
        page.text
    );
    assert!(!page.text.contains(">person</td>"), "{}", page.text);
}

#[tokio::test]
async fn letters_that_look_alike_are_named() {
    let bench = Bench::over(engine().await);
    let (handle, mut updates) = session(&bench.engine, "acme").await;
    let note = format!("\u{440}\u{430}ypal Z{}", "\u{300}".repeat(9));
    let args = json!({"cents": 5, "note": note});
    let card = asks(&handle, &mut updates, "refund", args).await;
    let ada = Browser::with(&bench, &person(&bench, "ada", &[])).await;
    let page = ada.open(&card).await.text;
    let words = "Mixed scripts in a word: <bdi>Cyrillic \u{430} \u{440}</bdi>";
    assert!(page.contains(words), "{page}");
    assert!(page.contains(r">\u{300}</span>"), "{page}");
    assert!(!page.contains(&"\u{300}".repeat(5)), "{page}");
}
