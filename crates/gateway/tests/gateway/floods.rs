//! Sides that flood or read slowly: memory stays bounded, and nothing stalls.
//!
//! The clock is stopped while a test waits for a side to be slowed down. So a timeout fires once
//! nothing else can happen, whatever the machine takes for it.

use std::time::Duration;

use recount::prelude::ToolConfirmation;
use serde_json::json;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;

use crate::bench::{Bench, GRACE, Side, alone, answer, call, calls};

/// The number of messages of 1 MiB that a side takes at most before it slows the other down. The
/// kernel has several MiB for each of the four sockets, and the gateway 1 MiB.
const TAKEN_MAX: usize = 64;

/// Sends messages until the gateway takes no more. Returns their number.
async fn flooded(side: &mut Side, message: impl Fn(usize) -> Message) -> usize {
    tokio::time::pause();
    let mut taken = 0;
    while taken < TAKEN_MAX {
        let sent = side.try_send(message(taken));
        if timeout(Duration::from_millis(500), sent).await.is_err() {
            break;
        }
        taken += 1;
    }
    tokio::time::resume();
    taken
}

fn number(at: usize) -> String {
    format!("{at:0>9}{}", "A".repeat(1 << 20))
}

fn audio_of_vendor(at: usize) -> Message {
    let data = format!(r#"{{"inlineData":{{"data":"{}"}}}}"#, number(at));
    let turn = format!(r#"{{"serverContent":{{"modelTurn":{{"parts":[{data}]}}}}}}"#);
    Message::binary(turn)
}

fn audio_of_client(at: usize) -> Message {
    let audio = format!(
        r#"{{"realtimeInput":{{"audio":{{"data":"{}"}}}}}}"#,
        number(at)
    );
    Message::text(audio)
}

#[tokio::test]
async fn client_that_does_not_read_slows_the_vendor_down() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = bench.connected("k").await;
    let taken = flooded(&mut vendor, audio_of_vendor).await;
    assert!(taken < TAKEN_MAX, "the vendor is not slowed down");
    // The other direction goes on, and nothing is lost.
    client.text(r#"{"realtimeInput":{"activityEnd":{}}}"#).await;
    vendor.next().await;
    for at in 0..taken {
        assert!(client.next().await == Some(audio_of_vendor(at)), "{at}");
    }
}

#[tokio::test]
async fn vendor_that_does_not_read_slows_the_client_down() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = bench.connected("k").await;
    let taken = flooded(&mut client, audio_of_client).await;
    assert!(taken < TAKEN_MAX, "the client is not slowed down");
    // The other direction goes on, and nothing is lost.
    vendor.binary(r#"{"usageMetadata":{}}"#).await;
    client.next().await;
    for at in 0..taken {
        assert!(vendor.next().await == Some(audio_of_client(at)), "{at}");
    }
}

/// A vendor that takes no answers gets to ask no more.
#[tokio::test]
async fn vendor_that_takes_no_answers_is_not_read() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = bench.connected("k").await;
    let session = bench.session_of_connection().await;
    let by = recount::prelude::Actor::token("ada");
    bench
        .engine
        .close_session(session, "enough", by)
        .await
        .unwrap();
    // Each call is refused, with an answer that has the name of the tool and the id.
    let id = "i".repeat(1 << 20);
    let taken = flooded(&mut vendor, |_| {
        Message::binary(calls(&[call(&id, "look_up")]))
    })
    .await;
    assert!(taken < TAKEN_MAX, "the answers pile up");
    client.text(r#"{"realtimeInput":{"activityEnd":{}}}"#).await;
    while !vendor.next_text().await.contains("activityEnd") {}
}

#[tokio::test]
async fn many_words_reach_the_vendor_without_a_stall() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = bench.connected("k").await;
    let words = |it: usize| format!(r#"{{"realtimeInput":{{"text":"{it}"}}}}"#);
    let sending = async {
        for it in 0..2_000 {
            client.text(&words(it)).await;
        }
    };
    let receiving = async {
        for it in 0..2_000 {
            assert_eq!(vendor.next_text().await, words(it));
        }
    };
    let both = async { tokio::join!(sending, receiving) };
    timeout(GRACE, both).await.unwrap();
}

#[tokio::test]
async fn interim_answers_do_not_stall_the_last_one() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = bench.connected("k").await;
    vendor.binary(&calls(&[call("f1", "refund")])).await;
    vendor.next_json().await;
    bench.answer("refund", ToolConfirmation::confirmed()).await;
    assert_eq!(client.next_text().await, alone(&call("f1", "refund")));
    for it in 0..2_000 {
        let interim = format!(r#"{{"id":"f1","willContinue":true,"response":{{"step":{it}}}}}"#);
        let interim = format!(r#"{{"toolResponse":{{"functionResponses":[{interim}]}}}}"#);
        client.text(&interim).await;
    }
    client.text(&answer("f1", "refund")).await;
    let last = async { while !vendor.next_text().await.contains("ok") {} };
    timeout(GRACE, last).await.unwrap();
}

#[tokio::test]
async fn pings_are_answered_while_a_call_is_held() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = bench.connected("k").await;
    vendor.binary(&calls(&[call("f1", "refund")])).await;
    vendor.next_json().await;
    for side in [&mut client, &mut vendor] {
        for it in 0..200_u8 {
            side.send(Message::Ping(vec![it].into())).await;
        }
        let pong = Some(Message::Pong(vec![199].into()));
        let answered = async { while side.next_frame().await != pong {} };
        timeout(GRACE, answered).await.unwrap();
    }
}

#[tokio::test]
async fn declarations_of_a_client_are_bounded_in_number_and_bytes() {
    let function = |name: usize, bytes: usize| {
        let (name, description) = (format!("f{name}"), "d".repeat(bytes));
        json!({"name": name, "description": description})
    };
    let mut bench = Bench::start().await;
    for (functions, bytes, refused) in [
        (1_024, 1, None),
        (1_025, 1, Some("expected at most 1024 declared functions")),
        (
            300,
            4_000,
            Some("expected at most 1 MiB of declared functions"),
        ),
    ] {
        let functions: Vec<_> = (0..functions).map(|it| function(it, bytes)).collect();
        let tools = json!([{"functionDeclarations": functions}]);
        let (mut client, mut vendor) = bench.opened("k", &[]).await;
        let setup = json!({"setup": {"model": "models/m", "tools": tools}});
        client.text(&setup.to_string()).await;
        let Some(refused) = refused else {
            assert!(vendor.next_json().await["setup"].is_object());
            continue;
        };
        let close = client.closed().await.unwrap();
        assert_eq!(
            (u16::from(close.code), close.reason.as_str()),
            (1008, refused)
        );
        // So are those of a later declaration.
        let (mut client, _vendor) = bench.connected("k").await;
        let update = json!({"contextUpdate": {"tools": {"tools": tools}}});
        client.text(&update.to_string()).await;
        let close = client.closed().await.unwrap();
        assert_eq!(close.reason.as_str(), refused);
    }
}
