//! A typed tool gets every digit that the model sent, and its errors contain no secret.

use std::sync::Arc;

use recount::journal::seal::MemoryKeyStore;
use recount::prelude::*;
use recount::testing::ScriptedModel;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Transfer {
    /// In the smallest unit there is
    amount: u128,
    /// The number under which it is authorised
    pin: Option<u64>,
}

/// The response to a transfer with these arguments.
async fn heard(args: &str) -> Value {
    let script = format!(
        r#"{{"on": {{"text": "go"}}, "send": [{{"call": [{{"id": "c1", "name": "transfer", "args": {args}}}]}}]}}
{{"on": {{"responses_to": ["c1"]}}, "send": [{{"say": "done"}}]}}"#
    );
    let transfer = T::typed("transfer", "Transfers money", |it: Transfer| async move {
        let pin = it.pin.map(|pin| pin.to_string());
        Ok(json!({"amount": it.amount.to_string(), "pin": pin}))
    });
    let model = ScriptedModel::parse(&script).unwrap();
    let live = Live::builder()
        .model("m")
        .tools(T::secret(transfer, "/pin"))
        .keys(Arc::new(MemoryKeyStore::default()))
        .connect_with(model.clone())
        .await
        .unwrap();
    let mut updates = live.subscribe();
    live.send_text("go").await.unwrap();
    updates.turn().await.unwrap();
    let transcript = model.transcript();
    let (_, response, _) = transcript.answers().next().unwrap();
    serde_json::from_str(response.response.as_ref().unwrap().as_str()).unwrap()
}

#[tokio::test]
async fn every_digit_reaches_the_tool_also_of_what_is_sealed() {
    assert_eq!(
        heard(r#"{"amount": 1180591620717411303424, "pin": 9007199254740993}"#).await,
        json!({"amount": "1180591620717411303424", "pin": "9007199254740993"})
    );
}

#[tokio::test]
async fn invalid_argument_is_reported_without_the_secret() {
    let told = heard(r#"{"amount": 1, "pin": 18446744073709551616}"#).await;
    assert_eq!(
        told,
        json!({"error": "invalid arguments: /pin: expected u64; what came is secret",
            "kind": "invalid_args"})
    );
}
