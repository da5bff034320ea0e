//! Every kind of frame that this program sends, recorded as by `recount simulate --record`.
//!
//! The vendor's libraries read the recording in CI (`.ci/run`).

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use recount::engine::Reconnects;
use recount::live::Endpoint;
use recount::prelude::*;
use recount::session::S;
use recount::simulator::{Script, Simulator};

const SCRIPT: &str = r#"
{"service": {"strict": true}}
{"on": {"text": "search"}, "send": [{"call": [{"id": "a", "name": "search", "args": {"query": "x"}}]}]}
{"on": {"text": "leave"}, "send": [{"close": {"code": 1011}}]}
{"on": "otherwise", "send": [{"say": "Yes."}]}
"#;

#[derive(serde::Deserialize, recount::schemars::JsonSchema)]
struct Query {
    query: String,
}

/// The messages that the service received in a conversation. The two models differ in their
/// capabilities.
async fn recorded(model: &str) -> Vec<String> {
    let lines: Arc<Mutex<Vec<String>>> = Arc::default();
    let kept = lines.clone();
    let simulator = Simulator::start(Script::parse(SCRIPT).unwrap())
        .record(move |frame| kept.lock().unwrap().push(frame.line()))
        .listen("127.0.0.1:0")
        .await
        .unwrap();
    let search = T::typed("search", "Searches", |it: Query| async move {
        Ok(json!({"found": it.query}))
    });
    let search = T::background_with(search, FunctionResponseScheduling::Interrupt);
    let agent = Agent::new()
        .model(model)
        .instruction("You are the support desk.")
        .voice("Kore")
        .language("de-DE")
        .transcription()
        .tools(search | T::google_search())
        .phase("greeting")
        .instruction("Greet.")
        .transition("talk", S::is_true("greeted"))
        .done()
        .phase("talk")
        .instruction("Talk.")
        .done()
        .reconnects(Reconnects::default().waits(Duration::ZERO, Duration::ZERO))
        .connect_to(Endpoint::url(simulator.url()));
    let engine = Engine::in_memory().agent("a", agent).open().await.unwrap();
    let live = engine.session("a").connect().await.unwrap();
    let mut updates = live.subscribe();
    live.send_text("Search!").await.unwrap();
    let returned = updates.wait_for(|event| event.kind() == "tool_returned");
    assert!(returned.await.is_some());
    live.send_audio([0; 640]).await.unwrap();
    live.audio_stream_end().await.unwrap();
    live.send_video("image/png", [1]).await.unwrap();
    let greeted = live.change_state(Actor::embedder("desk"), |it| it.set("greeted", true));
    greeted.await.unwrap();
    let told = updates.wait_for(|event| event.kind() == "instruction_sent");
    assert!(told.await.is_some());
    live.send_text("leave").await.unwrap();
    let told = updates.wait_for(|event| event.kind() == "history_sent");
    assert!(told.await.is_some());
    live.send_text("Are you there?").await.unwrap();
    assert!(updates.turn().await.is_some());
    live.disconnect().await.unwrap();
    simulator.until_all_closed().await;
    let lines = lines.lock().unwrap();
    lines.clone()
}

/// Collects the paths of all fields, down to those that users define.
fn fields(message: &Value, path: &str, found: &mut BTreeSet<String>) {
    match message {
        Value::Object(fields_of) => {
            for (name, value) in fields_of {
                let path = format!("{path}.{name}");
                if !["args", "response", "parameters", "parametersJsonSchema"]
                    .contains(&name.as_str())
                {
                    fields(value, &path, found);
                }
                found.insert(path);
            }
        }
        Value::Array(all) => all.iter().for_each(|it| fields(it, path, found)),
        Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => {}
    }
}

#[tokio::test]
async fn every_kind_of_frame_is_recorded_for_the_vendors_libraries() {
    let mut lines = Vec::new();
    for model in ["gemini-3.8-live", "gemini-3.1-flash-live-preview"] {
        lines.extend(recorded(model).await);
    }
    let mut found = BTreeSet::new();
    for line in &lines {
        let line: Value = serde_json::from_str(line).unwrap();
        if line["direction"] == "client->server" {
            fields(&line["message"], "", &mut found);
        }
    }
    for field in [
        ".setup.generationConfig.speechConfig.languageCode",
        ".setup.historyConfig.initialHistoryInClientContent",
        ".setup.tools.functionDeclarations.behavior",
        ".setup.tools.functionDeclarations.parametersJsonSchema",
        ".setup.tools.googleSearch",
        ".contextUpdate.systemInstruction.parts.text",
        ".clientContent.turnComplete",
        ".realtimeInput.audio.data",
        ".realtimeInput.audioStreamEnd",
        ".realtimeInput.text",
        ".realtimeInput.video.mimeType",
        ".toolResponse.functionResponses.scheduling",
        ".toolResponse.functionResponses.willContinue",
    ] {
        assert!(found.contains(field), "{field} in {found:#?}");
    }
    let recording = concat!(env!("CARGO_TARGET_TMPDIR"), "/every_kind.frames");
    std::fs::write(recording, lines.join("\n") + "\n").unwrap();
}
