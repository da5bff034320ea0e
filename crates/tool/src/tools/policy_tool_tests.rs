use std::future::pending;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use async_trait::async_trait;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::kinds::long_running::LongRunningFunctionTool;
use crate::kinds::simple::SimpleTool;
use recount_session::{Seq, SessionId};

fn context() -> ToolContext {
    let session = SessionId(uuid::Uuid::nil());
    ToolContext::new(session, session.call_id(Seq(1)), 1, "key-1")
}

async fn nothing_yielded(value: Value) -> Result<(), ToolError> {
    Err(ToolError::Other(format!("yielded {value}")))
}

fn plain(function: Arc<dyn ToolFunction>) -> PolicyTool {
    PolicyTool::new(function, ToolPolicy::default())
}

fn returning(value: Value) -> Arc<dyn ToolFunction> {
    Arc::new(SimpleTool::new("give", "Gives", None, move |_| {
        let value = value.clone();
        async move { Ok(value) }
    }))
}

fn failing(error: ToolError) -> Arc<dyn ToolFunction> {
    Arc::new(SimpleTool::new("fail", "Fails", None, move |_| {
        let error = error.clone();
        async move { Err(error) }
    }))
}

/// Sets a flag when dropped.
struct Dropped(Arc<AtomicBool>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// A tool that never ends, and a flag that is set when its future is dropped.
fn endless() -> (PolicyTool, Arc<AtomicBool>) {
    let dropped = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&dropped);
    let tool = SimpleTool::new("wait", "Waits", None, move |_| {
        let guard = Dropped(Arc::clone(&flag));
        async move {
            pending::<()>().await;
            drop(guard);
            Ok(Value::Null)
        }
    });
    (plain(Arc::new(tool)), dropped)
}

#[tokio::test]
async fn null_from_a_plain_tool_is_a_result() {
    for value in [json!(null), json!({}), json!(0)] {
        let tool = plain(returning(value.clone()));
        assert_eq!(
            tool.run(json!({}), context(), nothing_yielded).await,
            ToolOutcome::Returned(value)
        );
    }
}

#[tokio::test]
async fn long_running_null_pauses_and_any_value_is_interim() {
    let wrappers: [fn(Arc<dyn ToolFunction>) -> PolicyTool; 3] = [
        |function| plain(Arc::new(LongRunningFunctionTool::new(function))),
        |function| plain(function).long_running(),
        |function| plain(Arc::new(LongRunningFunctionTool::new(function))).long_running(),
    ];
    for wrap in wrappers {
        let paused = wrap(returning(Value::Null))
            .run(json!({}), context(), nothing_yielded)
            .await;
        assert_eq!(paused, ToolOutcome::Paused(Pending::new()));
        for value in [json!({}), json!(false), json!({"ticket": 7})] {
            let outcome = wrap(returning(value.clone()))
                .run(json!({}), context(), nothing_yielded)
                .await;
            assert_eq!(outcome, ToolOutcome::Paused(Pending::with_interim(value)));
        }
    }
}

#[tokio::test]
async fn long_running_failure_is_no_pause() {
    let error = ToolError::InvalidArgs("no amount".into());
    let tool = plain(failing(error.clone())).long_running();
    assert_eq!(
        tool.run(json!({}), context(), nothing_yielded).await,
        ToolOutcome::Failed(error)
    );
}

#[tokio::test]
async fn plain_tool_may_pause() {
    struct Sometimes;
    #[async_trait]
    impl ToolFunction for Sometimes {
        fn name(&self) -> &str {
            "sometimes"
        }
        fn description(&self) -> &str {
            ""
        }
        fn parameters(&self) -> Option<Value> {
            None
        }
        async fn call(&self, args: Value) -> Result<Value, ToolError> {
            Ok(args)
        }
        async fn invoke(&self, _args: Value, _context: ToolContext) -> ToolOutcome {
            Pending::with_interim(json!("soon")).into()
        }
    }
    let expected = ToolOutcome::Paused(Pending::with_interim(json!("soon")));
    let bare = plain(Arc::new(Sometimes));
    let behind_pointers = plain(Arc::new(Arc::new(Sometimes)));
    let wrapped = plain(Arc::new(LongRunningFunctionTool::new(Arc::new(Sometimes))));
    for tool in [bare, behind_pointers, wrapped] {
        assert_eq!(
            tool.run(json!({}), context(), nothing_yielded).await,
            expected
        );
    }
}

#[expect(clippy::panic, reason = "panics are what is tested")]
#[tokio::test]
async fn a_panic_becomes_a_failure_wherever_it_happens() {
    let early = SimpleTool::new("early", "", None, |args: Value| {
        assert!(args.is_null(), "too {}", "early");
        async { Ok(Value::Null) }
    });
    let late = SimpleTool::new("late", "", None, |_| async { panic!("too late") });
    let odd = SimpleTool::new("odd", "", None, |_| async { std::panic::panic_any(7) });
    for (tool, text) in [
        (early, "too early"),
        (late, "too late"),
        (odd, "without a message"),
    ] {
        let outcome = plain(Arc::new(tool))
            .run(json!({}), context(), nothing_yielded)
            .await;
        let expected = ToolError::ExecutionFailed(format!("the tool panicked: {text}"));
        assert_eq!(outcome, ToolOutcome::Failed(expected));
    }
}

#[tokio::test]
async fn a_tool_is_not_run_after_its_cancellation() {
    let runs = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&runs);
    let tool = SimpleTool::new("count", "", None, move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        async { Ok(Value::Null) }
    });
    let token = CancellationToken::new();
    token.cancel();
    let outcome = plain(Arc::new(tool))
        .run(
            json!({}),
            context().with_cancellation(token),
            nothing_yielded,
        )
        .await;
    assert!(
        matches!(outcome, ToolOutcome::Failed(ToolError::Cancelled(_))),
        "{outcome:?}"
    );
    assert_eq!(runs.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn cancellation_drops_the_running_tool() {
    let (tool, dropped) = endless();
    let token = CancellationToken::new();
    let running = tool.run(
        json!({}),
        context().with_cancellation(token.clone()),
        nothing_yielded,
    );
    tokio::pin!(running);
    assert_eq!((&mut running).now_or_never(), None);
    assert!(!dropped.load(Ordering::SeqCst));
    token.cancel();
    let outcome = running.await;
    assert!(
        matches!(outcome, ToolOutcome::Failed(ToolError::Cancelled(_))),
        "{outcome:?}"
    );
    assert!(dropped.load(Ordering::SeqCst));
}

#[tokio::test]
async fn dropping_the_run_drops_the_tool() {
    let (tool, dropped) = endless();
    let mut running = Box::pin(tool.run(json!({}), context(), nothing_yielded));
    assert_eq!((&mut running).now_or_never(), None);
    drop(running);
    assert!(dropped.load(Ordering::SeqCst));
}

#[tokio::test]
async fn a_tool_sees_the_call_it_serves() {
    struct Curious;
    #[async_trait]
    impl ToolFunction for Curious {
        fn name(&self) -> &str {
            "curious"
        }
        fn description(&self) -> &str {
            ""
        }
        fn parameters(&self) -> Option<Value> {
            None
        }
        async fn call(&self, _args: Value) -> Result<Value, ToolError> {
            Err(ToolError::Other("called without a context".into()))
        }
        async fn call_with_context(
            &self,
            _args: Value,
            context: ToolContext,
        ) -> Result<Value, ToolError> {
            Ok(json!([
                context.session,
                context.call_id(),
                context.attempt,
                context.idempotency_key()
            ]))
        }
    }
    let context = context();
    let expected = json!([context.session, context.call_id(), 1, "key-1"]);
    for function in [
        Arc::new(Curious) as Arc<dyn ToolFunction>,
        Arc::new(Arc::new(Curious)),
    ] {
        let outcome = plain(function)
            .run(json!({}), context.clone(), nothing_yielded)
            .await;
        assert_eq!(outcome, ToolOutcome::Returned(expected.clone()));
    }
}
