//! Values larger than a record are rejected at their entry point, and cost nothing else.

use recount::engine::Error;
use recount::prelude::*;
use recount::session::Rejection;
use recount::testing::ScriptedModel;

fn large() -> String {
    "x".repeat(5 << 20)
}

async fn talk_to(script: &str) -> (LiveHandle, ScriptedModel) {
    let flood = T::simple("flood", "Returns a lot", |_| async { Ok(json!(large())) });
    let model = ScriptedModel::parse(script).unwrap();
    let live = Live::builder().model("m").tools(flood);
    (live.connect_with(model.clone()).await.unwrap(), model)
}

async fn told(live: &LiveHandle, model: &ScriptedModel) -> String {
    let mut updates = live.subscribe();
    live.send_text("go").await.unwrap();
    assert_eq!(updates.turn().await.as_deref(), Some("I see."));
    let transcript = model.transcript();
    let (_, answer, _) = transcript.answers().next().unwrap();
    format!("{:?}", answer.response)
}

#[tokio::test]
async fn oversized_result_is_reported_to_model_as_failure() {
    let script = r#"
{"on": {"text": "go"}, "send": [{"call": [{"id": "c", "name": "flood"}]}]}
{"on": {"responses_to": ["c"]}, "send": [{"say": "I see."}]}
"#;
    let (live, model) = talk_to(script).await;
    let told = told(&live, &model).await;
    assert!(told.contains("the result is too large"), "{told}");
}

#[tokio::test]
async fn a_text_that_is_too_large_is_refused_and_the_next_one_is_sent() {
    let script = r#"{"on": "any_text", "send": [{"say": "Hello."}]}"#;
    let (live, _) = talk_to(script).await;
    let mut updates = live.subscribe();
    let refused = live.send_text(large()).await;
    assert!(matches!(
        refused,
        Err(Error::Refused(Rejection::TooLarge { .. }))
    ));
    live.send_text("Hi").await.unwrap();
    assert_eq!(updates.turn().await.as_deref(), Some("Hello."));
}
