//! Two connections of one session, and clients that leave.

use recount::prelude::ToolConfirmation;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use crate::bench::{Bench, answer, call, calls};

const SESSION: [(&str, &str); 1] = [("x-recount-session", "s1")];

/// The later connection continues the session. The earlier one ends, and tells its vendor nothing
/// of calls that still wait.
#[tokio::test]
async fn later_connection_takes_over_what_is_held() {
    for _ in 0..20 {
        let mut bench = Bench::start().await;
        let (mut first, mut firsts) = bench.connected_with("k", &SESSION, json!({})).await;
        firsts.binary(&calls(&[call("f1", "refund")])).await;
        firsts.next_json().await;
        let (mut later, mut laters) = bench.connected_with("k", &SESSION, json!({})).await;
        assert_eq!(u16::from(first.closed().await.unwrap().code), 1000);
        let next = firsts.next().await;
        assert!(matches!(next, Some(Message::Close(_))), "{next:?}");
        bench.answer("refund", ToolConfirmation::confirmed()).await;
        let delivered = later.next_json().await;
        assert_eq!(delivered["toolCall"]["functionCalls"][0]["id"], "f1");
        later.text(&answer("f1", "refund")).await;
        let told = laters.next_json().await;
        assert!(told["clientContent"].is_object(), "{told}");
        assert_eq!(bench.sessions().await.len(), 1);
    }
}

#[tokio::test]
async fn held_call_outlives_a_vendor_that_closes() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = bench.connected_with("k", &SESSION, json!({})).await;
    vendor.binary(&calls(&[call("f1", "refund")])).await;
    vendor.next_json().await;
    vendor.send(Message::Close(None)).await;
    assert_eq!(client.closed().await, None);
    bench.answer("refund", ToolConfirmation::confirmed()).await;
    let (mut client, _vendor) = bench.connected_with("k", &SESSION, json!({})).await;
    let delivered = client.next_json().await;
    assert_eq!(delivered["toolCall"]["functionCalls"][0]["id"], "f1");
}
