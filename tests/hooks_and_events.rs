//! What the embedding program hands the engine may panic, and no session ends of it.
#![cfg(feature = "testing")]
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use recount::prelude::*;
use recount::session::{Event, Observation, ResponseShape};
use recount::testing::ScriptedModel;
use recount::tool::{FunctionCall, ResultFormatter, ToolExecutionMode};

const SCRIPT: &str = r#"
{"on": {"text": "go"}, "send": [{"call": [{"id": "c", "name": "search", "args": {}}]}]}
{"on": {"responses_to": ["c"]}, "send": [{"say": "Done."}]}
"#;

/// The fields `response` of all that the model was answered.
fn told(model: &ScriptedModel) -> Vec<Value> {
    let transcript = model.transcript();
    let answers = transcript.answers();
    answers
        .map(|(_, answer, _)| {
            let response = answer.response.as_ref().unwrap().to_string();
            serde_json::from_str(&response).unwrap()
        })
        .collect()
}

/// Serves one conversation, in which the model calls the tool `search`, and returns what it was answered.
async fn answered(agent: Agent) -> Vec<Value> {
    let model = ScriptedModel::parse(SCRIPT).unwrap();
    let agent = agent.model("m").connect_to(model.clone());
    let engine = Engine::in_memory().agent("a", agent).open().await.unwrap();
    let live = engine.session("a").connect().await.unwrap();
    let mut updates = live.subscribe();
    live.send_text("go").await.unwrap();
    assert_eq!(updates.turn().await.as_deref(), Some("Done."));
    told(&model)
}

fn found() -> Toolset {
    T::simple("search", "Searches", |_| async { Ok(json!({"found": 3})) })
}

struct Panicking;

impl ResultFormatter for Panicking {
    fn format_running(&self, _: &FunctionCall) -> Value {
        panic!("no words")
    }
    fn format_result(&self, _: &FunctionCall, _: Result<Value, ToolError>) -> Value {
        panic!("no words")
    }
    fn format_cancelled(&self, _: &str) -> Value {
        panic!("no words")
    }
}

fn in_background(formatter: impl ResultFormatter) -> Agent {
    let mode = ToolExecutionMode::Background {
        formatter: Some(Arc::new(formatter)),
        scheduling: None,
    };
    Agent::new()
        .tools(found())
        .tool_execution_mode("search", mode)
}

#[tokio::test]
async fn a_formatter_that_panics_leaves_the_words_to_the_default_one() {
    let told = answered(in_background(Panicking)).await;
    let result = json!({"found": 3});
    assert_eq!(
        told,
        [
            json!({"status": "running", "tool": "search"}),
            json!({"status": "completed", "tool": "search", "result": result}),
        ]
    );
}

struct Text;

impl ResultFormatter for Text {
    fn format_running(&self, _: &FunctionCall) -> Value {
        json!("on it")
    }
    fn format_result(&self, _: &FunctionCall, _: Result<Value, ToolError>) -> Value {
        json!("three found")
    }
    fn format_cancelled(&self, _: &str) -> Value {
        json!("never mind")
    }
}

#[tokio::test]
async fn a_formatters_words_are_wrapped_as_every_other_answer() {
    let told = answered(in_background(Text)).await;
    assert_eq!(
        told,
        [json!({"output": "on it"}), json!({"output": "three found"})]
    );
    let told = answered(in_background(Text).response_shape(ResponseShape::Envelope)).await;
    let wrapped = |words: &str| json!({"output": words, "scheduling": "WHEN_IDLE"});
    assert_eq!(told, [wrapped("on it"), wrapped("three found")]);
}

#[tokio::test]
async fn a_call_that_is_run_again_is_acknowledged_once() {
    let runs = Arc::new(AtomicUsize::new(0));
    let flaky = T::simple("search", "Searches", move |_| {
        let run = runs.fetch_add(1, Ordering::SeqCst);
        async move {
            if run == 0 {
                Err(ToolError::ExecutionFailed("not yet".into()))
            } else {
                Ok(json!({"found": 3}))
            }
        }
    });
    let flaky = T::retry(T::idempotent(flaky), 2, Duration::from_millis(1));
    let told = answered(Agent::new().tools(T::background(flaky))).await;
    let status: Vec<&Value> = told.iter().map(|it| &it["status"]).collect();
    assert_eq!(status, ["running", "completed"]);
}

#[tokio::test]
async fn a_hook_that_panics_before_its_future_ends_no_session() {
    let agent = Agent::new()
        .tools(found())
        .extract("hasty", |_, _| -> std::future::Ready<()> {
            panic!("no future")
        })
        .extract("mood", |_, state: State| async move {
            state.set("mood", "calm")
        });
    let model = ScriptedModel::parse(SCRIPT).unwrap();
    let agent = agent.model("m").connect_to(model);
    let engine = Engine::in_memory().agent("a", agent).open().await.unwrap();
    let live = engine.session("a").connect().await.unwrap();
    let mut updates = live.subscribe();
    live.send_text("go").await.unwrap();
    let changed = |event: &Event| matches!(event, Event::Observed(Observation::StateChanged(it)) if it.changes[0].key == "mood");
    assert!(updates.wait_for(changed).await.is_some());
    assert!(live.session().await.is_ok());
}

#[tokio::test]
async fn a_string_that_holds_an_object_is_the_arguments_of_a_program_too() {
    let echo = T::simple("echo", "Echoes", |args| async { Ok(args) });
    let engine = Engine::in_memory();
    let engine = engine.agent("a", Agent::new().model("none").tools(echo));
    let engine = engine.open().await.unwrap();
    let live = engine.session("a").open().await.unwrap();
    let mut updates = live.subscribe();
    let by = || Actor::embedder("pipeline");
    let text = json!(r#"{"n": 1}"#);
    let called = live.call_function("echo", text.clone(), by()).await;
    assert_eq!(called, Ok(json!({"n": 1})));
    let received = updates
        .wait_for(|event| event.kind() == "function_call_received")
        .await
        .unwrap();
    let Event::Observed(Observation::FunctionCallReceived(it)) = &received.fact.event else {
        panic!("{received:?}")
    };
    assert_eq!(it.original_args.as_ref().unwrap().to_value(), text);
    let deep = (0..200).fold(json!({}), |inner, _| json!({ "in": inner }));
    for odd in [json!("[1]"), json!("words"), json!([1]), deep] {
        let called = live.call_function("echo", odd.clone(), by()).await;
        assert!(
            matches!(called, Err(ToolError::InvalidArgs(_))),
            "{odd}: {called:?}"
        );
    }
}
