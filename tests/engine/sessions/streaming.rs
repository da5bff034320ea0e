//! The model gets each result of a streaming tool in order, and none before it is recorded.

use std::sync::Arc;

use async_trait::async_trait;
use recount::prelude::*;
use recount::session::Seq;
use recount::testing::ScriptedModel;
use tokio::sync::mpsc;

struct CountDown;

#[async_trait]
impl StreamingTool for CountDown {
    fn name(&self) -> &str {
        "count_down"
    }
    fn description(&self) -> &str {
        "Counts down"
    }
    fn parameters(&self) -> Option<Value> {
        None
    }
    async fn run(&self, args: Value, yield_tx: mpsc::Sender<Value>) -> Result<(), ToolError> {
        let from = args.get("from").and_then(Value::as_u64).unwrap_or_default();
        for left in (1..=from).rev() {
            let told = yield_tx.send(json!({ "left": left })).await;
            told.map_err(|error| ToolError::ExecutionFailed(error.to_string()))?;
        }
        Ok(())
    }
}

const SCRIPT: &str = r#"
{"on": {"text": "go"}, "send": [{"call": [{"id": "c", "name": "count_down", "args": {"from": 3}}]}]}
{"on": {"responses_to": ["c"]}, "send": [{"say": "Counting."}]}
"#;

#[tokio::test]
async fn model_gets_stream_results_in_order_with_will_continue() {
    let model = ScriptedModel::parse(SCRIPT).unwrap();
    let live = Live::builder()
        .model("m")
        .tools(T::streaming(Arc::new(CountDown)));
    let live = live.connect_with(model.clone()).await.unwrap();
    let mut updates = live.subscribe();
    live.send_text("go").await.unwrap();
    // The model reacts to the final response, which is sent last.
    assert_eq!(updates.turn().await.as_deref(), Some("Counting."));
    let transcript = model.transcript();
    let told: Vec<_> = transcript
        .answers()
        .map(|(_, answer, _)| {
            let response = answer.response.as_ref().unwrap().to_string();
            let response: Value = serde_json::from_str(&response).unwrap();
            (response, answer.will_continue == Some(true))
        })
        .collect();
    let step = |left: u64| (json!({ "left": left }), true);
    assert!(told.starts_with(&[step(3), step(2), step(1)]), "{told:?}");
    let goes_on: Vec<bool> = told.iter().map(|(_, goes_on)| *goes_on).collect();
    assert_eq!(goes_on, [true, true, true, false]);
    let facts = live.engine().ledger();
    let facts = facts.facts(live.session_id(), Seq(1), 100).await.unwrap();
    let kinds = facts.iter().map(|fact| fact.event.kind());
    let of_tool: Vec<&str> = kinds.filter(|kind| kind.starts_with("tool_")).collect();
    assert_eq!(
        of_tool,
        [
            "tool_yielded",
            "tool_yielded",
            "tool_yielded",
            "tool_returned"
        ]
    );
}

#[tokio::test]
async fn a_program_that_calls_it_gets_all_its_results_as_one_array() {
    let agent = Agent::new()
        .model("none")
        .tools(T::streaming(Arc::new(CountDown)));
    let engine = Engine::in_memory().agent("a", agent).open().await.unwrap();
    let session = engine.session("a").open().await.unwrap();
    let by = || Actor::embedder("pipeline");
    let counted = session.call_function("count_down", json!({"from": 2}), by());
    assert_eq!(counted.await, Ok(json!([{"left": 2}, {"left": 1}])));
    let nothing = session.call_function("count_down", json!({}), by());
    assert_eq!(nothing.await, Ok(json!([])));
}
