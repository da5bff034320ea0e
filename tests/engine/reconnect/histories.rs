//! The history for a new connection: everything that it does not know, and nothing else.

use recount::engine::Transcripts;
use recount::live::Capabilities;
use recount::prelude::{Agent, LiveHandle};
use recount::session::{Event, HistoryForm, HistorySent, Observation};
use recount::tool::ToolExecutionMode;

use crate::nothing_left::settle;
use crate::reconnect::stage::Stage;

/// Two turns without a handle; the third turn is cut off.
const TALK: &str = r#"
{"on": {"text": "go"}, "send": [{"say": "Going."}]}
{"on": {"text": "pay"}, "send": [{"call": [{"id": "p", "name": "pay", "args": {"cents": 4200}}]}]}
{"on": {"responses_to": ["p"]}, "send": [{"say": "Paid."}]}
{"on": {"text": "why"}, "connection": 1, "send": [{"serverContent": {"modelTurn": {"role": "model", "parts": [{"text": "Because"}]}}}]}
{"on": {"text": "why"}, "connection": 2, "send": [{"say": "Because it is so."}]}
{"on": "otherwise", "send": [{"say": "Well."}]}
"#;

#[tokio::test(start_paused = true)]
async fn fresh_conversation_gets_history_and_repeats_cut_off_turn() {
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
        concat!(
            r#"{"clientContent":{"turns":[{"role":"user","parts":[{"text":"go"}]},"#,
            r#"{"role":"model","parts":[{"text":"Going."}]}],"turnComplete":false}}"#,
        )
    );
    stage.end(live).await;
}

/// The handle is older than the last text, which the model never answered.
const OLDER_HANDLE: &str = r#"
{"on": {"text": "go"}, "send": [{"say": "Going."}, {"sessionResumptionUpdate": {"newHandle": "h1", "resumable": true}}]}
{"on": {"text": "why"}, "connection": 2, "send": [{"say": "Because."}]}
"#;

#[tokio::test(start_paused = true)]
async fn only_texts_after_handle_are_sent_again() {
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

#[tokio::test(start_paused = true)]
async fn history_leaves_out_words_that_are_not_recorded() {
    let none = |agent: Agent| agent.record_transcripts(Transcripts::None);
    let stage = Stage::new(TALK, none).await;
    let live = stage.gone().await;
    live.send_text("Now pay.").await.unwrap();
    settle().await;
    stage.drop_then(1006, []).await;
    let told = stage.told(2);
    assert!(
        matches!(&told[..], [outcome] if outcome.starts_with("[tool outcome]")),
        "{told:?}"
    );
    stage.end(live).await;

    let stage = Stage::new(OLDER_HANDLE, none).await;
    let live = stage.gone().await;
    live.send_text("Tell me how.").await.unwrap();
    settle().await;
    stage.drop_then(1006, []).await;
    assert!(stage.told(2).is_empty(), "{:?}", stage.told(2));
    live.send_text("Tell me why.").await.unwrap();
    settle().await;
    assert_eq!(stage.told(2), ["Tell me why."]);
    stage.end(live).await;
}

/// The user interrupts the model's turn, and the connection ends before the answer.
const INTERRUPTED: &str = r#"
{"on": {"text": "go"}, "send": [{"serverContent": {"modelTurn": {"role": "model", "parts": [{"text": "Let me tell you"}]}}}]}
{"on": {"text": "stop"}, "connection": 1, "send": [{"serverContent": {"interrupted": true}}, {"serverContent": {"turnComplete": true}}]}
{"on": {"text": "stop"}, "connection": 2, "send": [{"say": "I stop."}]}
"#;

#[tokio::test(start_paused = true)]
async fn unanswered_interruption_is_sent_again() {
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
async fn history_of_long_conversation_has_its_newest_turns() {
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

const SYNCHRONOUS: &str = "gemini-3.1-flash-live-preview";

fn synchronous(agent: Agent) -> Agent {
    agent.model(SYNCHRONOUS)
}

/// The messages on the second connection after its setup.
fn on_second(stage: &Stage) -> Vec<String> {
    let transcript = stage.model.transcript();
    let received = transcript.received().filter(|(on, _)| on.0 == 2);
    received
        .skip(1)
        .map(|(_, message)| message.encode())
        .collect()
}

async fn history_sent(stage: &Stage, live: &LiveHandle) -> HistorySent {
    match &stage.events(live, "history_sent").await[..] {
        [Event::Observed(Observation::HistorySent(it))] => it.clone(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn resumed_model_without_turns_gets_gap_as_live_input() {
    let stage = Stage::new(OLDER_HANDLE, synchronous).await;
    let live = stage.gone().await;
    live.send_text("Tell me why.").await.unwrap();
    settle().await;
    stage.drop_then(1006, []).await;
    assert_eq!(stage.doors.shown(), ["none", "h1"]);
    assert_eq!(
        on_second(&stage),
        [r#"{"realtimeInput":{"text":"Tell me why."}}"#]
    );
    let told = history_sent(&stage, &live).await;
    assert_eq!(
        (told.form, told.answer_wanted),
        (HistoryForm::LiveText, true)
    );
    stage.end(live).await;
}

/// After its handle a call was answered, a turn ended, and the user sent another text.
const GAP: &str = r#"
{"on": {"text": "go"}, "send": [{"say": "Going."}, {"sessionResumptionUpdate": {"newHandle": "h1", "resumable": true}}]}
{"on": {"text": "pay"}, "connection": 1, "send": [{"call": [{"id": "p", "name": "pay", "args": {"cents": 4200}}]}]}
{"on": {"responses_to": ["p"]}, "send": [{"say": "Paid."}]}
{"on": {"text": "why"}, "connection": 2, "send": [{"say": "Because."}]}
"#;

#[tokio::test(start_paused = true)]
async fn gap_of_several_turns_is_one_message_answered_once() {
    let stage = Stage::new(GAP, synchronous).await;
    let live = stage.gone().await;
    for text in ["Now pay.", "Tell me why."] {
        live.send_text(text).await.unwrap();
        settle().await;
    }
    stage.drop_then(1006, []).await;
    let told = on_second(&stage);
    assert_eq!(told.len(), 1, "{told:?}");
    let lines: Vec<&str> = told[0].split("\\n").collect();
    assert!(lines[0].ends_with("You may not know of this:"), "{lines:?}");
    assert_eq!(lines[1], "The user said: Now pay.");
    assert!(lines[2].starts_with("[tool outcome]") && lines[2].contains("paid"));
    assert_eq!(lines[3..5], ["You said: Paid.", "[end] And now:"]);
    assert!(lines[5].starts_with("Tell me why."));
    assert_eq!(history_sent(&stage, &live).await.turns, 4);
    assert_eq!(stage.till.runs(), 1);
    stage.end(live).await;
}

#[tokio::test(start_paused = true)]
async fn a_gap_that_wants_no_answer_is_told_and_says_so() {
    let stage = Stage::new(GAP, synchronous).await;
    let live = stage.gone().await;
    live.send_text("Now pay.").await.unwrap();
    settle().await;
    stage.drop_then(1006, []).await;
    let told = on_second(&stage);
    assert!(told[0].contains("[end] No answer is needed."), "{told:?}");
    let sent = history_sent(&stage, &live).await;
    assert_eq!(
        (sent.form, sent.answer_wanted),
        (HistoryForm::LiveText, false)
    );
    stage.end(live).await;
}

#[tokio::test(start_paused = true)]
async fn fresh_model_without_later_turns_gets_history_at_setup() {
    let stage = Stage::new(TALK, synchronous).await;
    let live = stage.gone().await;
    live.send_text("Tell me why.").await.unwrap();
    settle().await;
    stage.drop_then(1006, []).await;
    assert_eq!(
        on_second(&stage),
        [
            concat!(
                r#"{"clientContent":{"turns":[{"role":"user","parts":[{"text":"go"}]},"#,
                r#"{"role":"model","parts":[{"text":"Going."}]}],"turnComplete":true}}"#,
            ),
            r#"{"realtimeInput":{"text":"Tell me why."}}"#,
        ]
    );
    assert_eq!(
        history_sent(&stage, &live).await.form,
        HistoryForm::Announced
    );
    stage.end(live).await;
}

#[tokio::test(start_paused = true)]
async fn program_may_override_announcing_history() {
    for (model, announced) in [("gemini-live-2.5-flash", true), (SYNCHRONOUS, false)] {
        let mut capabilities = Capabilities::of_model(model);
        assert_ne!(capabilities.initial_history, announced);
        capabilities.initial_history = announced;
        let with = |agent: Agent| agent.model(model).capabilities(capabilities);
        let stage = Stage::new(TALK, with).await;
        let live = stage.gone().await;
        stage.drop_then(1006, []).await;
        let form = history_sent(&stage, &live).await.form;
        assert_eq!(
            form == HistoryForm::Announced,
            announced,
            "{model}: {form:?}"
        );
        let connected = stage.events(&live, "connected").await;
        let said = format!("\"initial_history\":{announced}");
        assert!(connected[0].body().unwrap().contains(&said));
        stage.end(live).await;
    }
}

/// A background call on a connection whose later state is unknown.
const SEARCH: &str = r#"
{"on": {"text": "go"}, "connection": 1, "send": [{"call": [{"id": "s", "name": "ship", "args": {}}]}]}
{"on": "otherwise", "send": []}
"#;

#[tokio::test(start_paused = true)]
async fn old_news_of_a_call_that_has_ended_asks_for_no_answer() {
    let in_the_background = |agent: Agent| {
        let (formatter, scheduling) = (None, None);
        let mode = ToolExecutionMode::Background {
            formatter,
            scheduling,
        };
        agent.tool_execution_mode("ship", mode)
    };
    let stage = Stage::new(SEARCH, in_the_background).await;
    let live = stage.gone().await;
    live.disconnect().await.unwrap();
    settle().await;
    live.connect().await.unwrap();
    settle().await;
    let told: Vec<String> = on_second(&stage)
        .into_iter()
        .filter(|it| it.contains("[tool outcome]"))
        .collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told[0].contains("it goes on") && told[0].contains(r#""turnComplete":false"#),
        "{told:?}"
    );
    assert!(told[1].contains("unknown"), "{told:?}");
    stage.end(live).await;
}
