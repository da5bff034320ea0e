//! Calls of a session's tools by the embedding program: the same policies and records, and the
//! model gets nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use recount::prelude::*;
use recount::session::{Seq, ToolPolicy};

/// A tool that counts its runs.
fn counted(runs: &Arc<AtomicUsize>) -> Toolset {
    let runs = runs.clone();
    T::simple("look_up", "Looks up", move |args| {
        let run = runs.fetch_add(1, Ordering::SeqCst) + 1;
        async move { Ok(json!({ "run": run, "args": args })) }
    })
}

async fn session(tools: impl Into<Toolset>) -> LiveHandle {
    let agent = Agent::new().model("none").tools(tools);
    let engine = Engine::in_memory().agent("a", agent).open().await.unwrap();
    engine.session("a").open().await.unwrap()
}

fn pipeline() -> Actor {
    Actor::embedder("pipeline")
}

#[tokio::test]
async fn the_caller_gets_the_result_and_the_call_is_on_record() {
    let runs = Arc::default();
    let live = session(counted(&runs)).await;
    let found = live.call_function("look_up", json!({"a": 1}), pipeline());
    assert_eq!(found.await, Ok(json!({"run": 1, "args": {"a": 1}})));
    let ledger = live.engine().ledger();
    let facts = ledger.facts(live.session_id(), Seq(1), 100).await.unwrap();
    let kinds: Vec<&str> = facts.iter().map(|fact| fact.event.kind()).collect();
    let of_call = [
        "function_call_received",
        "policy_decided",
        "call_ready",
        "call_started",
        "tool_returned",
        "response_issued",
    ];
    assert!(kinds.ends_with(&of_call), "{kinds:?}");
    assert!(live.session().await.unwrap().deliveries.is_empty());
}

#[tokio::test]
async fn an_unknown_tool_and_wrong_arguments_are_errors_of_the_caller() {
    let live = session(T::simple_with(
        "pay",
        "Pays",
        json!({"type": "object", "required": ["amount"]}),
        |_| async { Ok(json!({})) },
    ))
    .await;
    let unknown = live.call_function("nothing", json!({}), pipeline()).await;
    assert!(unknown.unwrap_err().to_string().contains("nothing"));
    let wrong = live.call_function("pay", json!({}), pipeline()).await;
    assert!(matches!(wrong, Err(ToolError::InvalidArgs(told)) if told.contains("amount")));
}

#[tokio::test]
async fn ten_equal_calls_at_once_run_once() {
    let (runs, gate) = (
        Arc::new(AtomicUsize::new(0)),
        Arc::new(tokio::sync::Semaphore::new(0)),
    );
    let (counted, opened) = (runs.clone(), gate.clone());
    let slow = T::simple("look_up", "Looks up", move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        let opened = opened.clone();
        async move {
            let _ = opened.acquire().await;
            Ok(json!({"found": true}))
        }
    });
    let cached = ToolPolicy {
        cache: true,
        ..ToolPolicy::default()
    };
    let live = Arc::new(session(T::policy(slow, cached)).await);
    let calls: Vec<_> = (0..10)
        .map(|n| {
            let live = live.clone();
            let args = if n % 2 == 0 {
                json!({"a": 1, "b": 2})
            } else {
                json!({"b": 2, "a": 1})
            };
            tokio::spawn(async move { live.call_function("look_up", args, pipeline()).await })
        })
        .collect();
    while live.session().await.unwrap().calls.len() < 10 {
        tokio::task::yield_now().await;
    }
    gate.add_permits(1);
    for call in calls {
        assert_eq!(call.await.unwrap(), Ok(json!({"found": true})));
    }
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn next_tool_sees_written_state_and_failed_run_keeps_none() {
    struct Write;
    #[async_trait::async_trait]
    impl ToolFunction for Write {
        fn name(&self) -> &str {
            "write"
        }
        fn description(&self) -> &str {
            "Writes"
        }
        fn parameters(&self) -> Option<Value> {
            None
        }
        async fn call(&self, _: Value) -> Result<Value, ToolError> {
            Err(ToolError::Other("needs a context".into()))
        }
        async fn call_with_context(
            &self,
            args: Value,
            context: ToolContext,
        ) -> Result<Value, ToolError> {
            let before = context.state.get::<i64>("n");
            context.state.set("n", args["n"].clone());
            if args["fails"] == json!(true) {
                return Err(ToolError::ExecutionFailed("as asked".into()));
            }
            Ok(json!({ "before": before }))
        }
    }
    let live = session(Write).await;
    let mut watch = live.state().await.unwrap().watch("n");
    let call = |args| live.call_function("write", args, pipeline());
    assert_eq!(call(json!({"n": 1})).await, Ok(json!({"before": null})));
    assert!(call(json!({"n": 2, "fails": true})).await.is_err());
    assert_eq!(call(json!({"n": 3})).await, Ok(json!({"before": 1})));
    live.change_state(pipeline(), |state| state.set("n", 4))
        .await
        .unwrap();
    let mut seen = Vec::new();
    for _ in 0..3 {
        let change = watch.next().await.unwrap();
        seen.push(change.key.unwrap().1.unwrap().to_value());
    }
    assert_eq!(seen, [json!(1), json!(3), json!(4)]);
}

#[tokio::test]
async fn call_outside_phase_is_rejected_and_state_advances_phase() {
    let say = |name: &'static str| T::simple(name, "Says", |_| async { Ok(json!({})) });
    let agent = Agent::new()
        .model("none")
        .tools(say("verify") | say("pay"))
        .phase("verifying")
        .tools(["verify"])
        .transition("paying", S::is_true("verified"))
        .done()
        .phase("paying")
        .done();
    let engine = Engine::in_memory().agent("a", agent).open().await.unwrap();
    let live = engine.session("a").open().await.unwrap();
    let pay = || live.call_function("pay", json!({}), pipeline());
    let refused = pay().await.unwrap_err().to_string();
    assert!(refused.contains("verifying"), "{refused}");
    live.change_state(pipeline(), |state| state.set("verified", true))
        .await
        .unwrap();
    assert_eq!(pay().await, Ok(json!({})));
    assert_eq!(live.session().await.unwrap().phase.unwrap().phase, "paying");
}

#[tokio::test]
async fn every_mistake_in_the_phases_is_reported_at_once() {
    let agent = Agent::new()
        .model("none")
        .phase("a")
        .tools(["nothing"])
        .transition("b", S::is_true("temp:x"))
        .done()
        .phase("a")
        .done();
    let refused = Engine::in_memory().agent("a", agent).open().await;
    let told = refused.map(|_| ()).unwrap_err().to_string();
    for mistake in ["\"nothing\"", "\"b\"", "\"temp:x\"", "twice"] {
        assert!(told.contains(mistake), "{mistake} in {told}");
    }
}
