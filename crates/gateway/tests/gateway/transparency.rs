//! Messages without calls pass as they are, and so do the ends of connections.

use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use crate::bench::{Bench, PATH, SETUP_COMPLETE};

#[tokio::test]
async fn messages_pass_with_their_kind_and_order() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = bench.connected("k").await;
    let from_vendor = [
        Message::binary(concat!(
            r#"{"serverContent":{"modelTurn":{"parts":[{"inlineData":"#,
            r#"{"mimeType":"audio/pcm;rate=24000","data":"AAAA"}}]}}}"#,
        )),
        Message::text(r#"{"serverContent": {"outputTranscription": {"text": "hé  llo"}}}"#),
        Message::binary(r#"{"brandNew":{"x":1}}"#),
        Message::binary(
            r#"{"serverContent":{"turnComplete":true},"usageMetadata":{"totalTokenCount":7}}"#,
        ),
    ];
    for message in &from_vendor {
        vendor.send(message.clone()).await;
    }
    for message in from_vendor {
        assert_eq!(client.next().await, Some(message));
    }
    let from_client = [
        Message::text(
            r#"{"realtime_input": {"audio": {"mime_type": "audio/pcm", "data": "AA__"}}}"#,
        ),
        Message::text(
            r#"{"client_content":{"turns":[{"parts":[{"text":"hi"}]}],"turnComplete":true}}"#,
        ),
        Message::binary(r#"{"realtimeInput":{"activityEnd":{}}}"#),
    ];
    for message in &from_client {
        client.send(message.clone()).await;
    }
    for message in from_client {
        assert_eq!(vendor.next().await, Some(message));
    }
}

#[tokio::test]
async fn setup_gets_the_hosted_tools_and_stays_as_it_was() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = bench.opened("k", &[]).await;
    let begin = r#"{"setup": {"model": "models/m",  "tools": [{"googleSearch": {}}"#;
    let end = r#"], "labels": {"a": "b"}}}"#;
    client.text(&format!("{begin}{end}")).await;
    let sent = vendor.next_text().await;
    let is_kept = sent.starts_with(begin) && sent.ends_with(end);
    assert!(is_kept, "{sent}");
    assert!(sent.contains(r#""name":"server_time""#), "{sent}");
    vendor.binary(SETUP_COMPLETE).await;
    assert_eq!(client.next_text().await, SETUP_COMPLETE);
}

#[tokio::test]
async fn close_codes_pass_both_ways() {
    let frame = |code: u16| CloseFrame {
        code: CloseCode::from(code),
        reason: "why".into(),
    };
    let mut bench = Bench::start().await;
    for code in [1000, 1008, 1011, 4321] {
        let (mut client, mut vendor) = bench.connected("k").await;
        vendor.send(Message::Close(Some(frame(code)))).await;
        assert_eq!(client.closed().await, Some(frame(code)));
        let (mut client, mut vendor) = bench.connected("k").await;
        client.send(Message::Close(Some(frame(code)))).await;
        assert_eq!(vendor.closed().await, Some(frame(code)));
    }
}

/// tungstenite does not know the code 1014 of a vendor's proxy. The client is not to blame for it.
#[tokio::test]
async fn unknown_close_code_of_the_vendor_is_an_error_of_its_side() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = bench.connected("k").await;
    let frame = CloseFrame {
        code: CloseCode::from(1014),
        reason: "bad gateway".into(),
    };
    vendor.send(Message::Close(Some(frame))).await;
    assert_eq!(client.closed().await.unwrap().code, CloseCode::Error);
}

#[tokio::test]
async fn broken_connection_of_the_vendor_breaks_the_clients() {
    let mut bench = Bench::start().await;
    let (mut client, vendor) = bench.connected("k").await;
    vendor.drop_connection();
    assert_eq!(client.closed().await, None);
}

#[tokio::test]
async fn path_with_a_prefix_reaches_the_vendors_path() {
    let bench = Bench::start().await;
    let url = bench.url("?key=k").replace(PATH, &format!("/team//{PATH}"));
    let (_client, response) = tokio_tungstenite::connect_async(url).await.unwrap();
    assert_eq!(response.status(), 101);
    let other = bench
        .url("")
        .replace("BidiGenerateContent", "GenerateContent");
    let refused = tokio_tungstenite::connect_async(other).await.unwrap_err();
    assert!(refused.to_string().contains("404"), "{refused}");
}
