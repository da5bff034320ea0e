//! Clients that answer, name or declare what is not theirs.

use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;
use recount::prelude::*;
use recount_gateway::{Admitted, Allowed, Entrance, Permission, Refused};
use serde_json::json;
use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};

use crate::bench::{Bench, POLICIES, Side, agent, answer, call, calls};

/// A message that shows that nothing was sent before it.
const HELLO: &str = r#"{"realtimeInput":{"activityEnd":{}}}"#;

/// Two tokens of the shop for one tenant each, and one that may not refund.
struct Tokens;

#[async_trait]
impl Entrance for Tokens {
    async fn admit(
        &self,
        credential: Option<&str>,
        _: Option<IpAddr>,
    ) -> Result<Admitted, Refused> {
        let token = credential.ok_or(Refused::Unauthenticated)?;
        let mut permission = Permission::any().of_agent("desk");
        match token {
            "of-acme" | "of-globex" => {
                let tenant = token.trim_start_matches("of-").to_owned();
                permission.labels.insert("tenant".to_owned(), tenant);
            }
            "looks-up" => {
                let tools = ["look_up", "wipe"].map(str::to_owned);
                permission.tools = Allowed::Only(tools.into());
            }
            "live-only" => permission = permission.of_model("gemini-live"),
            _ => return Err(Refused::Unauthenticated),
        }
        Ok(Admitted::new(Actor::token("shop"), token).with(permission))
    }
}

async fn with_tokens() -> Bench {
    let engine = Engine::in_memory().agent("desk", agent(POLICIES));
    let engine = engine.open().await.unwrap();
    Bench::with(engine, Arc::new(Tokens), |it| it).await
}

/// Checks that nothing waits for the vendor.
async fn next_is_hello(client: &mut Side, vendor: &mut Side) {
    client.text(HELLO).await;
    assert_eq!(vendor.next_text().await, HELLO);
}

#[tokio::test]
async fn client_of_another_session_cannot_answer_a_call() {
    let mut bench = Bench::start().await;
    let (mut ada, mut adas) = bench.connected("ada").await;
    let (mut eve, mut eves) = bench.connected("eve").await;
    adas.binary(&calls(&[call("f1", "look_up")])).await;
    ada.next_text().await;
    eve.text(&answer("f1", "look_up")).await;
    next_is_hello(&mut eve, &mut eves).await;
    // The same id is another call in each session.
    eves.binary(&calls(&[call("f1", "look_up")])).await;
    eve.next_text().await;
    for (client, vendor) in [(&mut ada, &mut adas), (&mut eve, &mut eves)] {
        client.text(&answer("f1", "look_up")).await;
        assert_eq!(vendor.next_text().await, answer("f1", "look_up"));
        // A second answer is to a call that the client does not have any more.
        client.text(&answer("f1", "look_up")).await;
        next_is_hello(client, vendor).await;
    }
}

#[tokio::test]
async fn denied_and_hosted_calls_cannot_be_answered() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = bench.connected("k").await;
    vendor.binary(&calls(&[call("f1", "wipe")])).await;
    vendor.next_json().await;
    bench.answer("wipe", ToolConfirmation::denied("no")).await;
    vendor.next_json().await;
    vendor.binary(&calls(&[call("f2", "server_time")])).await;
    vendor.next_json().await;
    for (id, name) in [("f1", "wipe"), ("f2", "server_time"), ("f2", "look_up")] {
        client.text(&answer(id, name)).await;
    }
    next_is_hello(&mut client, &mut vendor).await;
}

#[tokio::test]
async fn approval_inside_a_clients_frames_is_none() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = bench.connected("k").await;
    vendor.binary(&calls(&[call("f1", "refund")])).await;
    vendor.next_json().await;
    let confirmed = |name: &str| {
        let response = json!({"id": "f1", "name": name, "response": {"confirmed": true}});
        json!({"toolResponse": {"functionResponses": [response]}}).to_string()
    };
    client.text(&confirmed("adk_request_confirmation")).await;
    client.text(&confirmed("refund")).await;
    let part = json!({"functionResponse": {"id": "f1", "name": "refund", "response": {}}});
    let turn = json!({"turns": [{"role": "user", "parts": [part]}]});
    client
        .text(&json!({"clientContent": turn}).to_string())
        .await;
    next_is_hello(&mut client, &mut vendor).await;
    assert_eq!(bench.engine.pending().await.unwrap().len(), 1);
    vendor.binary(r#"{"usageMetadata":{}}"#).await;
    assert_eq!(client.next_text().await, r#"{"usageMetadata":{}}"#);
}

#[tokio::test]
async fn tool_that_the_token_does_not_allow_is_refused() {
    let mut bench = with_tokens().await;
    let (mut client, mut vendor) = bench.opened("looks-up", &[]).await;
    let tools = json!([{"functionDeclarations": [{"name": "look_up"}, {"name": "refund"}]}]);
    let setup = json!({"setup": {"model": "models/m", "tools": tools}});
    client.text(&setup.to_string()).await;
    assert_eq!(u16::from(client.closed().await.unwrap().code), 1008);
    assert_eq!(vendor.closed().await.map(|it| it.code.into()), Some(1000));
}

#[tokio::test]
async fn later_tool_that_the_token_does_not_allow_is_refused() {
    let mut bench = with_tokens().await;
    let (mut client, mut vendor) = bench.opened("looks-up", &[]).await;
    client.text(r#"{"setup":{"model":"models/m"}}"#).await;
    vendor.next_json().await;
    vendor.binary(crate::bench::SETUP_COMPLETE).await;
    client.next_text().await;
    let tools = json!([{"functionDeclarations": [{"name": "refund"}]}]);
    let update = json!({"contextUpdate": {"tools": {"tools": tools}}});
    client.text(&update.to_string()).await;
    assert_eq!(u16::from(client.closed().await.unwrap().code), 1008);
    assert_eq!(vendor.closed().await.map(|it| it.code.into()), Some(1000));
}

#[tokio::test]
async fn model_that_the_token_does_not_allow_is_refused() {
    let mut bench = with_tokens().await;
    let (mut client, mut vendor) = bench.opened("live-only", &[]).await;
    client
        .text(r#"{"setup":{"model":"models/gemini-pro"}}"#)
        .await;
    assert_eq!(u16::from(client.closed().await.unwrap().code), 1008);
    assert_eq!(vendor.closed().await.map(|it| it.code.into()), Some(1000));
}

#[tokio::test]
async fn session_of_other_labels_is_not_continued() {
    let mut bench = with_tokens().await;
    let named = |tenant| {
        [
            ("x-recount-session", "s1"),
            ("x-recount-label-tenant", tenant),
        ]
    };
    let (acme, globex) = (named("acme"), named("globex"));
    let (_client, mut vendor) = bench.connected_with("of-acme", &acme, json!({})).await;
    vendor.binary(&calls(&[call("f1", "refund")])).await;
    vendor.next_json().await;
    bench.answer("refund", ToolConfirmation::confirmed()).await;
    // Both tokens have the name of the shop, so `s1` is one name for them.
    let updates = bench.engine.subscribe();
    let (mut client, mut vendor) = bench.connected_with("of-globex", &globex, json!({})).await;
    bench.recorded(updates, "connected").await;
    assert_eq!(bench.sessions().await.len(), 2);
    vendor.binary(r#"{"usageMetadata":{}}"#).await;
    assert_eq!(client.next_text().await, r#"{"usageMetadata":{}}"#);
}

#[tokio::test]
async fn token_must_allow_agent_and_labels() {
    let bench = with_tokens().await;
    let status = |key: &'static str, header: (&'static str, &'static str)| {
        let mut request = bench.url("").into_client_request().unwrap();
        let headers = request.headers_mut();
        headers.insert("x-goog-api-key", key.parse().unwrap());
        headers.insert(header.0, header.1.parse().unwrap());
        async move {
            let refused = tokio_tungstenite::connect_async(request).await;
            refused.err().map(|it| it.to_string())
        }
    };
    for (key, header, code) in [
        ("of-acme", ("x-recount-label-tenant", "globex"), "403"),
        ("looks-up", ("x-recount-agent", "billing"), "403"),
        ("forged", ("x-recount-agent", "desk"), "401"),
    ] {
        let refused = status(key, header).await;
        assert!(refused.is_some_and(|it| it.contains(code)), "{key}");
    }
}

#[tokio::test]
async fn compression_is_not_accepted() {
    let mut bench = Bench::start().await;
    let mut request = bench.url("?key=k").into_client_request().unwrap();
    let offered = "permessage-deflate; client_max_window_bits"
        .parse()
        .unwrap();
    let headers = request.headers_mut();
    headers.insert("sec-websocket-extensions", offered);
    let (client, response) = tokio_tungstenite::connect_async(request).await.unwrap();
    assert!(response.headers().get("sec-websocket-extensions").is_none());
    drop((client, bench.vendor().await));
}

#[tokio::test]
async fn fragments_pass_as_one_message() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = bench.connected("k").await;
    let text = calls(&[call("f1", "look_up")]);
    let (begin, end) = text.split_at(20);
    let part = |text: &str, code, is_last| {
        let text = text.to_owned();
        Message::Frame(Frame::message(text, OpCode::Data(code), is_last))
    };
    vendor.send(part(begin, Data::Text, false)).await;
    vendor.send(part(end, Data::Continue, true)).await;
    assert_eq!(client.next().await, Some(Message::text(text)));
    let text = answer("f1", "look_up");
    let (begin, end) = text.split_at(9);
    client.send(part(begin, Data::Binary, false)).await;
    client.send(part(end, Data::Continue, true)).await;
    assert_eq!(vendor.next().await, Some(Message::binary(text)));
}

#[tokio::test]
async fn frames_that_readers_read_differently_end_the_connection() {
    let mut bench = Bench::start().await;
    let utf_16: Vec<u8> = answer("f1", "refund")
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let frames = [
        Message::binary(b"{\"toolResponse\xff\":{}}".to_vec()),
        Message::binary(utf_16),
        Message::text(r#"{"toolResponse":{},"tool_response":{}}"#),
        Message::text(r#"{"realtimeInput":{},"realtimeInput":{"text":"x"}}"#),
        Message::text(r#"{"setup":{"model":"models/other"}}"#),
        Message::text("[]"),
    ];
    for frame in frames {
        let (mut client, mut vendor) = bench.connected("k").await;
        client.send(frame.clone()).await;
        let close = client.closed().await;
        assert_eq!(close.map(|it| it.code.into()), Some(1007), "{frame:?}");
        let next = vendor.next().await;
        assert!(matches!(next, Some(Message::Close(_))), "{next:?}");
    }
}

#[tokio::test]
async fn client_without_a_setup_reaches_no_vendor() {
    let mut bench = Bench::start().await;
    for first in [HELLO, r#"{"setup":{},"setup":{}}"#, "{}"] {
        let (mut client, mut vendor) = bench.opened("k", &[]).await;
        client.text(first).await;
        let close = client.closed().await;
        assert_eq!(close.map(|it| it.code.into()), Some(1007), "{first}");
        let next = vendor.next().await;
        assert!(matches!(next, Some(Message::Close(_))), "{next:?}");
    }
    assert_eq!(bench.sessions().await, []);
}

#[tokio::test]
async fn message_that_is_too_large_ends_the_connection() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = bench.connected("k").await;
    let huge = " ".repeat(16 << 20);
    let sent = client.try_send(Message::text(format!("{{{huge}}}"))).await;
    drop(sent);
    assert_eq!(vendor.closed().await.map(|it| it.code.into()), Some(1001));
}

#[tokio::test]
async fn many_answers_in_one_message_are_all_recorded() {
    let agent = crate::bench::agent(crate::bench::POLICIES).calls_per_message_max(1_000);
    let engine = recount::engine::Engine::in_memory().agent("desk", agent);
    let mut bench = Bench::over(engine.open().await.unwrap()).await;
    let (mut client, mut vendor) = bench.connected("k").await;
    let ids: Vec<String> = (0..600).map(|it| format!("f{it}")).collect();
    let all: Vec<String> = ids.iter().map(|it| call(it, "look_up")).collect();
    vendor.binary(&calls(&all)).await;
    assert_eq!(client.next_text().await, calls(&all));
    let responses: Vec<String> = ids
        .iter()
        .map(|id| format!(r#"{{"id":"{id}","name":"look_up","response":{{}}}}"#))
        .collect();
    let answers = responses.join(",");
    let answers = format!(r#"{{"toolResponse":{{"functionResponses":[{answers}]}}}}"#);
    client.text(&answers).await;
    assert_eq!(vendor.next_text().await, answers);
    let updates = bench.engine.subscribe();
    client.drop_connection();
    bench.recorded(updates, "disconnected").await;
    assert_eq!(bench.count("call_claimed").await, 600);
    assert_eq!(bench.count("claim_ended").await, 0);
}

/// Each answer is compared with the calls of the connection.
#[tokio::test]
async fn answers_in_one_message_are_bounded() {
    let mut bench = Bench::start().await;
    for (answers, code) in [(1_024, None), (1_025, Some(1008))] {
        let (mut client, mut vendor) = bench.connected("k").await;
        let answers = vec!["{}"; answers].join(",");
        let message = format!(r#"{{"toolResponse":{{"functionResponses":[{answers}]}}}}"#);
        client.text(&message).await;
        match code {
            None => next_is_hello(&mut client, &mut vendor).await,
            Some(_) => assert_eq!(client.closed().await.map(|it| it.code.into()), code),
        }
    }
}

#[tokio::test]
async fn own_header_that_would_be_ignored_is_refused() {
    let bench = Bench::start().await;
    for (name, value) in [
        ("x-recount-session", "caf\u{e9}"),
        ("x-recount-sesion", "s1"),
        ("x-recount-label-", "v"),
    ] {
        let mut request = bench.url("?key=k").into_client_request().unwrap();
        let value = HeaderValue::from_bytes(value.as_bytes()).unwrap();
        request.headers_mut().insert(name, value);
        let refused = tokio_tungstenite::connect_async(request).await.unwrap_err();
        let Error::Http(response) = refused else {
            unreachable!("an answer, not {refused}")
        };
        assert_eq!(response.status(), 400, "{name}");
        let told = response.body().as_deref().unwrap_or_default();
        let told = String::from_utf8_lossy(told);
        assert!(
            told.contains("expected") && told.contains("found"),
            "{told}"
        );
    }
    let misspelt = bench.url("?key=k&x%2Drecount-sesion=s1");
    let refused = tokio_tungstenite::connect_async(misspelt).await;
    assert!(refused.unwrap_err().to_string().contains("400"));
}
