//! Messages with a response that a client sends before the calls of its session are known.

use std::time::Duration;

use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use crate::bench::{Bench, SETUP_COMPLETE, Side, call, calls};

const HELLO: &str = r#"{"realtimeInput":{"activityEnd":{}}}"#;

const WORDS: &str = r#"{"realtimeInput":{"text":"hello"}}"#;

const SETUP: &str = r#"{"setup":{"model":"models/gemini-3.8-live"}}"#;

const NAMED: [(&str, &str); 1] = [("x-recount-session", "s1")];

/// A response to the call `b`, as a part of a turn.
fn forged() -> String {
    let part = json!({"functionResponse": {"id": "b", "name": "refund", "response": {}}});
    json!({"clientContent": {"turns": [{"role": "user", "parts": [part]}]}}).to_string()
}

/// A connection of the session `s1` with the held call `b`.
async fn with_held_call(bench: &mut Bench) -> (Side, Side) {
    let (client, mut vendor) = bench.connected_with("k", &NAMED, json!({})).await;
    vendor.binary(&calls(&[call("b", "refund")])).await;
    vendor.next_json().await;
    (client, vendor)
}

/// A client that has sent its setup, which the vendor has.
async fn begun(bench: &mut Bench, headers: &[(&'static str, &str)]) -> (Side, Side) {
    let (mut client, mut vendor) = bench.opened("k", headers).await;
    client.text(SETUP).await;
    vendor.next_json().await;
    (client, vendor)
}

/// Completes the setup, while the earlier connection still stands or after it.
#[tokio::test]
async fn response_directly_behind_the_setup_is_dropped() {
    for takes_over in [true, false] {
        for waits_for_setup in [true, false] {
            let mut bench = Bench::start().await;
            let first = with_held_call(&mut bench).await;
            let updates = bench.engine.subscribe();
            let first = match takes_over {
                true => Some(first),
                false => {
                    first.0.drop_connection();
                    bench.recorded(updates, "disconnected").await;
                    None
                }
            };
            let (mut client, mut vendor) = begun(&mut bench, &NAMED).await;
            if waits_for_setup {
                vendor.binary(SETUP_COMPLETE).await;
                assert_eq!(client.next_text().await, SETUP_COMPLETE);
            }
            for message in [WORDS, &forged(), HELLO] {
                client.text(message).await;
            }
            assert_eq!(vendor.next_text().await, WORDS);
            if !waits_for_setup {
                vendor.binary(SETUP_COMPLETE).await;
            }
            assert_eq!(vendor.next_text().await, HELLO);
            assert_eq!(bench.engine.pending().await.unwrap().len(), 1);
            drop(first);
        }
    }
}

/// The session is known, but none of its calls is held.
#[tokio::test]
async fn response_and_what_is_behind_it_pass_in_order() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = begun(&mut bench, &NAMED).await;
    for message in [&forged(), WORDS, HELLO] {
        client.text(message).await;
    }
    // The vendor gets nothing of them before it completes the setup.
    tokio::time::pause();
    let next = tokio::time::timeout(Duration::from_secs(1), vendor.next_text()).await;
    assert!(next.is_err(), "{next:?}");
    tokio::time::resume();
    vendor.binary(SETUP_COMPLETE).await;
    assert_eq!(client.next_text().await, SETUP_COMPLETE);
    for message in [&forged(), WORDS, HELLO] {
        assert_eq!(vendor.next_text().await, message);
    }
}

/// Its session is new, so nothing is held in it.
#[tokio::test]
async fn response_of_a_client_without_a_key_waits_for_nothing() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = begun(&mut bench, &[]).await;
    client.text(&forged()).await;
    assert_eq!(vendor.next_text().await, forged());
}

#[tokio::test]
async fn waiting_response_ends_with_its_connection() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = begun(&mut bench, &NAMED).await;
    client.text(&forged()).await;
    client.send(Message::Close(None)).await;
    let next = vendor.next().await;
    assert!(matches!(next, Some(Message::Close(None))), "{next:?}");
}

/// A session that cannot be opened may have held calls. The rest of the conversation passes.
#[tokio::test]
async fn response_is_dropped_if_the_session_stays_unknown() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = begun(&mut bench, &NAMED).await;
    bench.engine.shutdown(Duration::ZERO).await.unwrap();
    for message in [&forged(), HELLO] {
        client.text(message).await;
    }
    vendor.binary(SETUP_COMPLETE).await;
    assert_eq!(client.next_text().await, SETUP_COMPLETE);
    assert_eq!(vendor.next_text().await, HELLO);
}

#[tokio::test]
async fn setup_with_words_or_a_response_is_refused() {
    let mut bench = Bench::start().await;
    let response = json!({"functionResponse": {"id": "b", "name": "refund", "response": {}}});
    let instruction = json!({"parts": [response]});
    let setup = json!({"model": "models/m"});
    for first in [
        json!({"setup": setup, "clientContent": {}}),
        json!({"setup": setup, "realtimeInput": {"text": "hello"}}),
        json!({"setup": setup, "functionResponse": response}),
        json!({"setup": {"model": "models/m", "systemInstruction": instruction}}),
    ] {
        let (mut client, mut vendor) = bench.opened("k", &NAMED).await;
        client.text(&first.to_string()).await;
        let close = client.closed().await;
        assert_eq!(close.map(|it| it.code.into()), Some(1007), "{first}");
        let next = vendor.next().await;
        assert!(matches!(next, Some(Message::Close(_))), "{next:?}");
    }
}
