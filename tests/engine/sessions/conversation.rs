//! A conversation with a scripted model: calls run in parallel, and each gets its response as it
//! ends.

use std::sync::Arc;

use recount::live::wire::ServerMessage;
use recount::prelude::*;
use recount::session::{Event, Observation};
use recount::testing::ScriptedModel;
use tokio::sync::Notify;

const THREE_CALLS: &str = r#"
{"on": {"text": "go"}, "send": [{"call": [{"id": "slow", "name": "slow"}, {"id": "quick", "name": "quick"}, {"id": "none", "name": "no_such_tool"}]}]}
{"on": {"responses_to": ["quick"]}, "send": [{"say": "quick is done"}]}
{"on": {"responses_to": ["slow"]}, "send": [{"say": "slow is done"}]}
"#;

#[tokio::test]
async fn a_slow_call_holds_no_other_up() {
    let release = Arc::new(Notify::new());
    let held = release.clone();
    let slow = T::simple("slow", "Waits until it is let go", move |_| {
        let held = held.clone();
        async move {
            held.notified().await;
            Ok(json!({"slow": true}))
        }
    });
    let quick = T::simple("quick", "Returns at once", |_| async {
        Ok(json!({"quick": true}))
    });
    let model = ScriptedModel::parse(THREE_CALLS).unwrap();
    let live = Live::builder()
        .model("m")
        .tools(slow | quick)
        .connect_with(model.clone())
        .await
        .unwrap();
    let mut updates = live.subscribe();
    live.send_text("go").await.unwrap();

    assert_eq!(updates.turn().await.as_deref(), Some("quick is done"));
    let answered: Vec<_> = ids_answered(&model);
    assert!(!answered.contains(&"slow".to_owned()), "{answered:?}");
    release.notify_one();
    assert_eq!(updates.turn().await.as_deref(), Some("slow is done"));
    let mut answered = ids_answered(&model);
    answered.sort();
    assert_eq!(answered, ["none", "quick", "slow"]);
    assert_eq!(live.session().await.unwrap().calls.len(), 0);
}

#[tokio::test]
async fn a_lost_connection_is_on_record_and_the_session_lives_on() {
    let model =
        ScriptedModel::parse(r#"{"on": "any_text", "once": false, "send": [{"say": "Hello."}]}"#)
            .unwrap();
    let live = Live::builder()
        .model("m")
        .connect_with(model.clone())
        .await
        .unwrap();
    let mut updates = live.subscribe();
    model.drop_connection(1011, "Internal error encountered.");
    let lost = updates
        .wait_for(|event| matches!(event, Event::Observed(Observation::Disconnected(_))))
        .await
        .unwrap();
    let Event::Observed(Observation::Disconnected(lost)) = &lost.fact.event else {
        unreachable!()
    };
    assert_eq!(
        (lost.code, lost.reason.as_str()),
        (Some(1011), "Internal error encountered.")
    );
    live.connect().await.unwrap();
    live.send_text("Still there?").await.unwrap();
    assert_eq!(updates.turn().await.as_deref(), Some("Hello."));
}

#[tokio::test]
async fn a_frame_that_cannot_be_read_harms_nothing() {
    let model = ScriptedModel::parse(r#"{"on": "any_text", "send": [{"say": "Hello."}]}"#).unwrap();
    let live = Live::builder()
        .model("m")
        .connect_with(model.clone())
        .await
        .unwrap();
    let mut updates = live.subscribe();
    model.send(&ServerMessage::default());
    live.send_text("Hi").await.unwrap();
    assert_eq!(updates.turn().await.as_deref(), Some("Hello."));
}

fn ids_answered(model: &ScriptedModel) -> Vec<String> {
    let transcript = model.transcript();
    transcript
        .answers()
        .filter_map(|(_, response, _)| response.id.clone())
        .collect()
}
