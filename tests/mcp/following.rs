//! Tools that wait themselves for the results of the calls that they have paused.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use recount::prelude::*;
use recount::session::ResponseShape;
use recount::tool::{Pending, ToolFunction, ToolOutcome};

use crate::rounds::until;
use crate::survives::model;
use crate::tasks::supplied;

/// A tool that starts job 17 elsewhere and pauses its call.
struct Print {
    result: fn(Value) -> Value,
}

#[async_trait]
impl ToolFunction for Print {
    fn name(&self) -> &str {
        "print"
    }

    fn description(&self) -> &str {
        "Prints"
    }

    fn parameters(&self) -> Option<Value> {
        None
    }

    async fn call(&self, _args: Value) -> Result<Value, ToolError> {
        Err(ToolError::NotAvailable("it pauses".into()))
    }

    async fn invoke(&self, _args: Value, _context: ToolContext) -> ToolOutcome {
        let told = Pending::with_interim(json!({"job": 18}));
        told.with_state(json!({"job": 17})).into()
    }

    fn follows(&self) -> bool {
        true
    }

    async fn follow(&self, _ticket: &Ticket, state: Value) -> Option<Result<Value, ToolError>> {
        Some(Ok((self.result)(state)))
    }
}

async fn printed(agent: Agent, result: fn(Value) -> Value) -> String {
    let agent = agent.model("m").tools(Print { result });
    let engine = Engine::in_memory().agent("desk", agent.connect_to(model("print")));
    let engine = engine.open().await.unwrap();
    let live = engine.session("desk").connect().await.unwrap();
    live.send_text("go").await.unwrap();
    supplied(&engine, live.session_id()).await
}

#[tokio::test]
async fn pause_state_stays_as_tool_gave_it() {
    let agent = Agent::new()
        .response_shape(ResponseShape::Envelope)
        .redact(|text| (text == "17" || text == "18").then(|| "[number]".to_owned()))
        .before_tool_response(|mut all, _state| async move {
            let hide = |it: &mut FunctionResponse| {
                if it.response["output"].is_object() {
                    it.response = json!({"output": "hidden"});
                }
            };
            all.iter_mut().for_each(hide);
            all
        });
    let told = printed(agent, |state| (state == json!({"job": 17})).into()).await;
    assert_eq!(told, r#"{"output":true,"scheduling":"WHEN_IDLE"}"#);
}

#[tokio::test]
async fn unrecordable_result_is_failure_and_ends_call() {
    let told = printed(Agent::new(), |_| json!({"text": "x".repeat(5 << 20)})).await;
    assert!(
        told.contains("the result cannot be on record: ") && told.contains("execution_failed"),
        "{}",
        told.get(..200).unwrap_or(&told)
    );
    let told = printed(Agent::new(), |_| json!(["a", 1])).await;
    assert_eq!(told, r#"{"output":["a",1]}"#);
}

/// A tool whose calls never end by themselves; it counts `follow` and `call_off`.
#[derive(Clone, Default)]
struct Endless {
    followed: Arc<AtomicUsize>,
    called_off: Arc<AtomicUsize>,
}

#[async_trait]
impl ToolFunction for Endless {
    fn name(&self) -> &str {
        "print"
    }

    fn description(&self) -> &str {
        "Prints"
    }

    fn parameters(&self) -> Option<Value> {
        None
    }

    async fn call(&self, _args: Value) -> Result<Value, ToolError> {
        Err(ToolError::NotAvailable("it pauses".into()))
    }

    async fn invoke(&self, _args: Value, _context: ToolContext) -> ToolOutcome {
        Pending::new().with_state(json!(17)).into()
    }

    fn follows(&self) -> bool {
        true
    }

    async fn follow(&self, _ticket: &Ticket, _state: Value) -> Option<Result<Value, ToolError>> {
        self.followed.fetch_add(1, Ordering::SeqCst);
        std::future::pending().await
    }

    async fn call_off(&self, _ticket: &Ticket, state: Value) {
        assert_eq!(state, json!(17));
        self.called_off.fetch_add(1, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn a_call_whose_session_is_closed_is_called_off_by_its_tool() {
    let tool = Endless::default();
    let agent = Agent::new().model("m").tools(tool.clone());
    let engine = Engine::in_memory().agent("desk", agent.connect_to(model("print")));
    let engine = engine.open().await.unwrap();
    let live = engine.session("desk").connect().await.unwrap();
    live.send_text("go").await.unwrap();
    let (followed, called_off) = (tool.followed, tool.called_off);
    until("the call is followed", async || {
        followed.load(Ordering::SeqCst) == 1
    })
    .await;
    let by = Actor::embedder("ada");
    live.close("done", by).await.unwrap();
    until("the call is called off", async || {
        called_off.load(Ordering::SeqCst) == 1
    })
    .await;
}
