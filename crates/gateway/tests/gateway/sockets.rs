//! Broken, divided, compressed and huge frames of a client and of a vendor.

use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};

use crate::bench::Bench;

fn frame(bytes: &[u8], kind: Data, is_last: bool) -> Frame {
    Frame::message(bytes.to_vec(), OpCode::Data(kind), is_last)
}

#[tokio::test]
async fn fragments_pass_as_one_message() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = bench.connected("k").await;
    let text = r#"{"realtimeInput": {"text": "hé llo"}}"#;
    let mut pieces: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
    let last = pieces.pop().unwrap();
    for (at, piece) in pieces.into_iter().enumerate() {
        let kind = if at == 0 { Data::Text } else { Data::Continue };
        client.send(Message::Frame(frame(piece, kind, false))).await;
        if at == 5 {
            client.send(Message::Ping(vec![1].into())).await;
        }
    }
    client
        .send(Message::Frame(frame(last, Data::Continue, true)))
        .await;
    assert_eq!(vendor.next().await, Some(Message::text(text)));
}

#[tokio::test]
async fn unreadable_messages_end_the_connection_and_are_not_forwarded() {
    let utf16 =
        |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    let broken = b"{\"realtimeInput\":{\"text\":\"\xff\"}}";
    let mut compressed = frame(b"\xaa\x56\x4a", Data::Text, true);
    compressed.header_mut().rsv1 = true;
    let huge = " ".repeat((16 << 20) + 1);
    let cases = [
        (Message::Frame(frame(broken, Data::Text, true)), 1007),
        (Message::binary(broken.to_vec()), 1007),
        (Message::binary(utf16(r#"{"toolResponse":{}}"#)), 1007),
        (Message::binary(utf16("\u{feff}{}")), 1007),
        (Message::text("{} {}"), 1007),
        (Message::text(""), 1007),
        (Message::text(r#"{"setup":{"model":"models/m"}}"#), 1007),
        (Message::Frame(compressed), 1002),
        (Message::text(huge), 1009),
    ];
    let mut bench = Bench::start().await;
    for (number, (message, code)) in cases.into_iter().enumerate() {
        let (mut client, mut vendor) = bench.connected("k").await;
        let _ = client.try_send(message).await;
        let closed = client.closed().await;
        let closed = closed.map(|it| u16::from(it.code));
        assert_eq!(closed, Some(code), "{number}");
        let next = vendor.next().await;
        assert!(
            matches!(next, Some(Message::Close(_))),
            "{number}: {next:?}"
        );
    }
}

#[tokio::test]
async fn unfit_first_messages_are_refused() {
    let mut bench = Bench::start().await;
    for first in [
        r#"{"clientContent":{}}"#,
        r#"{"setup":{"model":"a","model":"b"}}"#,
        r#"{"setup":{"model":"a"},"setup":{"model":"b"}}"#,
        r#"{"setup":{"model":"a","sessionResumption":{},"session_resumption":{}}}"#,
        r#"{"setup":{"model":"a"},"toolResponse":{"functionResponses":[]}}"#,
        r#"{"setup":{"model":"a"},"contextUpdate":{"tools":{"tools":[]}}}"#,
        r#"{"SETUP":{"model":"a"}}"#,
        "setup",
    ] {
        let (mut client, mut vendor) = bench.opened("k", &[]).await;
        client.text(first).await;
        let closed = client.closed().await.unwrap();
        assert_eq!(u16::from(closed.code), 1007, "{first}");
        let next = vendor.next().await;
        assert!(matches!(next, Some(Message::Close(_))), "{first}: {next:?}");
    }
    assert!(bench.sessions().await.is_empty());
}

/// A vendor's message that is too large: the vendor hears why, and so does the client.
#[tokio::test]
async fn vendor_with_a_message_that_is_too_large_gets_1009() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = bench.connected("k").await;
    let huge = " ".repeat((16 << 20) + 1);
    let _ = vendor.try_send(Message::text(huge)).await;
    let code = |it: Option<CloseFrame>| it.map(|it| u16::from(it.code));
    assert_eq!(code(vendor.closed().await), Some(1009));
    assert_eq!(code(client.closed().await), Some(1011));
}
