//! Code of the embedding program may panic without ending a session.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use recount::prelude::*;
use recount::session::{Event, Observation, ResponseShape};
use recount::testing::ScriptedModel;
use recount::tool::{FunctionCall, ResultFormatter, ToolEvent, ToolExecutionMode};
use serde::{Deserialize, Serialize};
use tokio::sync::{broadcast, mpsc};

const SCRIPT: &str = r#"
{"on": {"text": "go"}, "send": [{"call": [{"id": "c", "name": "search", "args": {}}]}]}
{"on": {"responses_to": ["c"]}, "send": [{"say": "Done."}]}
"#;

/// The `response` members of all responses to the model.
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

/// Serves one conversation in which the model calls the tool `search`, and returns the responses.
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
    let changed = |event: &Event| {
        matches!(event, Event::Observed(Observation::StateChanged(it))
        if it.changes[0].key == "mood")
    };
    assert!(updates.wait_for(changed).await.is_some());
    assert!(live.session().await.is_ok());
}

#[tokio::test]
async fn program_receives_string_arguments_as_object() {
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

#[derive(Serialize, Deserialize)]
struct Progress {
    step: u128,
}

impl ToolEvent for Progress {
    const NAME: &'static str = "progress";
}

#[tool("Reports until nobody takes more reports")]
async fn report(context: ToolContext) -> Result<usize, ToolError> {
    let step = u128::MAX;
    let taken = (0..5_000).take_while(|_| context.emit(&Progress { step }).is_ok());
    let taken = taken.count();
    let refused = context.emit(&Progress { step });
    assert!(matches!(refused, Err(ToolError::LimitReached(_))));
    Ok(taken)
}

#[tokio::test]
async fn endless_reporter_is_stopped_and_reports_keep_digits() {
    let agent = Agent::new()
        .model("none")
        .tools(T::function(Arc::new(report())));
    let engine = Engine::in_memory().agent("a", agent).open().await.unwrap();
    let live = engine.session("a").open().await.unwrap();
    let mut updates = live.subscribe();
    // Twice: recorded reports make room for later ones.
    for _ in 0..2 {
        let called = live.call_function("report", json!({}), Actor::embedder("test"));
        assert_eq!(called.await, Ok(json!({"output": 1024})));
        let event = updates.next_event::<Progress>().await;
        assert_eq!(event.unwrap().unwrap().step, u128::MAX);
    }
}

struct Listening;

#[async_trait::async_trait]
impl InputStreamingTool for Listening {
    fn name(&self) -> &str {
        "search"
    }
    fn description(&self) -> &str {
        "Listens until the user says stop"
    }
    fn parameters(&self) -> Option<Value> {
        None
    }
    async fn run(
        &self,
        _args: Value,
        mut input_rx: broadcast::Receiver<InputEvent>,
        yield_tx: mpsc::Sender<Value>,
    ) -> Result<(), ToolError> {
        let _ = yield_tx.send(json!("listening")).await;
        while let Ok(InputEvent::Text(text)) = input_rx.recv().await {
            if text == "stop" {
                return Ok(());
            }
            let _ = yield_tx.send(json!({ "heard": text })).await;
        }
        Err(ToolError::ExecutionFailed("the input ended".into()))
    }
}

fn yielded(event: &Event) -> bool {
    event.kind() == "tool_yielded"
}

/// A live session in which the model has called the tool that listens to input.
async fn listening(script: &str) -> (ScriptedModel, LiveHandle, recount::engine::Updates) {
    let model = ScriptedModel::parse(script).unwrap();
    let agent = Agent::new()
        .tools(Arc::new(Listening) as Arc<dyn InputStreamingTool>)
        .model("m")
        .connect_to(model.clone());
    let engine = Engine::in_memory().agent("a", agent).open().await.unwrap();
    let live = engine.session("a").connect().await.unwrap();
    let mut updates = live.subscribe();
    live.send_text("go").await.unwrap();
    assert!(updates.wait_for(yielded).await.is_some());
    (model, live, updates)
}

#[tokio::test]
async fn a_tool_of_a_live_session_hears_the_user_while_it_runs() {
    let script = r#"
{"on": {"text": "go"}, "send": [{"call": [{"id": "c", "name": "search", "args": {}}]}]}
"#;
    let (model, live, mut updates) = listening(script).await;
    live.send_text("warmer").await.unwrap();
    assert!(updates.wait_for(yielded).await.is_some());
    live.send_text("stop").await.unwrap();
    let ended = updates
        .wait_for(|event| event.kind() == "responses_sent")
        .await;
    assert!(ended.is_some());
    while told(&model).len() < 3 {
        tokio::task::yield_now().await;
    }
    let expected = [
        json!({"output": "listening"}),
        json!({"heard": "warmer"}),
        json!({"status": "completed"}),
    ];
    assert_eq!(told(&model), expected);
}

#[tokio::test]
async fn a_tool_that_listens_ends_when_the_model_takes_its_call_back() {
    let script = r#"
{"on": {"text": "go"}, "send": [{"call": [{"id": "c", "name": "search", "args": {}}]}]}
{"on": {"text": "enough"}, "send": [{"cancel": ["c"]}]}
"#;
    let (model, live, mut updates) = listening(script).await;
    live.send_text("enough").await.unwrap();
    let cancelled = updates
        .wait_for(|event| event.kind() == "call_cancelled")
        .await;
    assert!(cancelled.is_some());
    let session = live.session().await.unwrap();
    assert!(session.calls.is_empty());
    live.disconnect().await.unwrap();
    assert!(told(&model).iter().all(|it| it.get("status").is_none()));
    let facts = live.engine().ledger();
    let facts = facts
        .facts(live.session_id(), recount::session::Seq(1), 1000)
        .await
        .unwrap();
    let ended = facts
        .iter()
        .filter(|fact| matches!(fact.event.kind(), "tool_returned" | "call_cancelled"));
    assert_eq!(ended.count(), 1, "{facts:#?}");
}
