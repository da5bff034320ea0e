//! What a new connection is told of the conversation: what it does not know, and nothing else.

use recount::prelude::Agent;

use crate::nothing_left::settle;
use crate::stage::Stage;

/// Two turns, no handle; the third is cut off.
const TALK: &str = r#"
{"on": {"text": "go"}, "send": [{"say": "Going."}]}
{"on": {"text": "pay"}, "send": [{"call": [{"id": "p", "name": "pay", "args": {"cents": 4200}}]}]}
{"on": {"responses_to": ["p"]}, "send": [{"say": "Paid."}]}
{"on": {"text": "why"}, "connection": 1, "send": [{"serverContent": {"modelTurn": {"role": "model", "parts": [{"text": "Because"}]}}}]}
{"on": {"text": "why"}, "connection": 2, "send": [{"say": "Because it is so."}]}
{"on": "otherwise", "send": [{"say": "Well."}]}
"#;

#[tokio::test(start_paused = true)]
async fn a_fresh_conversation_is_told_everything_and_a_cut_off_turn_is_asked_for_anew() {
    let stage = Stage::new(TALK, |agent| agent).await;
    let live = stage.gone().await;
    for text in ["Now pay.", "Tell me why."] {
        live.send_text(text).await.unwrap();
        settle().await;
    }
    stage.drop_then(1006, []).await;
    insta::assert_snapshot!(stage.outcome(&live).await);
    stage.end(live).await;
}

#[tokio::test(start_paused = true)]
async fn a_model_that_takes_no_announced_history_is_told_it_as_turns() {
    let old = |agent: Agent| agent.model("gemini-live-2.5-flash");
    let stage = Stage::new(TALK, old).await;
    let live = stage.gone().await;
    stage.drop_then(1006, []).await;
    let transcript = stage.model.transcript();
    let on_second = transcript.received().filter(|(on, _)| on.0 == 2);
    let frames: Vec<String> = on_second.map(|(_, message)| message.encode()).collect();
    assert!(!frames[0].contains("historyConfig"), "{}", frames[0]);
    assert_eq!(
        frames[1],
        r#"{"clientContent":{"turns":[{"role":"user","parts":[{"text":"go"}]},{"role":"model","parts":[{"text":"Going."}]}],"turnComplete":false}}"#
    );
    stage.end(live).await;
}

/// The handle is older than the last words, which the model never answered.
const OLDER_HANDLE: &str = r#"
{"on": {"text": "go"}, "send": [{"say": "Going."}, {"sessionResumptionUpdate": {"newHandle": "h1", "resumable": true}}]}
{"on": {"text": "why"}, "connection": 2, "send": [{"say": "Because."}]}
"#;

#[tokio::test(start_paused = true)]
async fn words_that_the_handle_does_not_cover_are_said_again_and_nothing_else() {
    let stage = Stage::new(OLDER_HANDLE, |agent| agent).await;
    let live = stage.gone().await;
    live.send_text("Tell me why.").await.unwrap();
    settle().await;
    stage.drop_then(1006, []).await;
    assert_eq!(stage.doors.shown(), ["none", "h1"]);
    assert_eq!(stage.told(2), ["Tell me why."]);
    insta::assert_snapshot!(stage.outcome(&live).await);
    stage.end(live).await;
}

/// The user speaks into the model's turn; the connection ends before the answer.
const INTERRUPTED: &str = r#"
{"on": {"text": "go"}, "send": [{"serverContent": {"modelTurn": {"role": "model", "parts": [{"text": "Let me tell you"}]}}}]}
{"on": {"text": "stop"}, "connection": 1, "send": [{"serverContent": {"interrupted": true}}, {"serverContent": {"turnComplete": true}}]}
{"on": {"text": "stop"}, "connection": 2, "send": [{"say": "I stop."}]}
"#;

#[tokio::test(start_paused = true)]
async fn who_interrupted_and_got_no_answer_asks_again() {
    let stage = Stage::new(INTERRUPTED, |agent| agent).await;
    let live = stage.gone().await;
    live.send_text("Please stop.").await.unwrap();
    settle().await;
    stage.drop_then(1006, []).await;
    let told = stage.told(2);
    assert_eq!(told.last().unwrap(), "Please stop.");
    assert!(!told[0].contains("Please stop."), "{told:?}");
    stage.end(live).await;
}

#[tokio::test(start_paused = true)]
async fn of_a_long_conversation_the_newest_turns_are_told() {
    let script = r#"{"on": "any_text", "once": false, "send": [{"say": "Yes."}]}"#;
    let stage = Stage::new(script, |agent| agent).await;
    let live = stage.gone().await;
    let long = "long ".repeat(2_000);
    for number in 0..10 {
        live.send_text(format!("{number} {long}")).await.unwrap();
        settle().await;
    }
    stage.drop_then(1006, []).await;
    let told = stage.told(2);
    assert!(told[0].contains("9 long") && !told[0].contains("0 long"));
    assert!(told[0].len() <= 64 << 10);
    let sent = stage.events(&live, "history_sent").await;
    let body = sent[0].body().unwrap();
    assert!(body.contains("\"left_out\":"), "{body}");
    stage.end(live).await;
}
