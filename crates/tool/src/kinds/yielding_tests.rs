use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use serde_json::json;
use tokio::sync::{Semaphore, broadcast, oneshot};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::kinds::input_streaming_tool::InputStreamingTool;
use crate::kinds::streaming_tool::StreamingTool;
use crate::run::context::ToolContext;
use crate::run::input::InputEvent;
use crate::run::outcome::ToolOutcome;
use crate::tools::policy_tool::PolicyTool;
use recount_session::{Seq, SessionId};

type Work = dyn Fn(ToolContext, mpsc::Sender<Value>) -> BoxFuture<'static, Result<(), ToolError>>
    + Send
    + Sync;

/// A streaming tool made of a closure.
struct Stream(Box<Work>);

#[async_trait]
impl StreamingTool for Stream {
    fn name(&self) -> &str {
        "stream"
    }
    fn description(&self) -> &str {
        "Streams"
    }
    fn parameters(&self) -> Option<Value> {
        None
    }
    async fn run(&self, _: Value, _: mpsc::Sender<Value>) -> Result<(), ToolError> {
        Err(ToolError::Other("run without a context".to_owned()))
    }
    async fn run_with_context(
        &self,
        _: Value,
        context: ToolContext,
        yield_tx: mpsc::Sender<Value>,
    ) -> Result<(), ToolError> {
        (self.0)(context, yield_tx).await
    }
}

fn stream<Fut>(
    work: impl Fn(ToolContext, mpsc::Sender<Value>) -> Fut + Send + Sync + 'static,
) -> PolicyTool
where
    Fut: Future<Output = Result<(), ToolError>> + Send + 'static,
{
    let work = move |context, sender| work(context, sender).boxed();
    PolicyTool::streaming(Arc::new(Stream(Box::new(work))))
}

fn context() -> ToolContext {
    let session = SessionId(uuid::Uuid::nil());
    ToolContext::new(session, session.call_id(Seq(1)), 1, "key-1")
}

/// Runs a tool to its end and returns the yielded values.
async fn whole(tool: &PolicyTool, context: ToolContext) -> (Vec<Value>, ToolOutcome) {
    let yielded = Mutex::new(Vec::new());
    let keep = |value| {
        yielded.lock().unwrap().push(value);
        async { Ok(()) }
    };
    let outcome = tool.run(json!({}), context, keep).await;
    (yielded.into_inner().unwrap(), outcome)
}

fn failed(error: ToolError) -> ToolOutcome {
    ToolOutcome::Failed(error)
}

#[tokio::test]
async fn every_value_is_yielded_in_order() {
    let tool = stream(|context, sender| async move {
        for step in 0..5 {
            sender.send(json!([step, context.attempt])).await.unwrap();
        }
        Ok(())
    });
    let (yielded, outcome) = whole(&tool, context()).await;
    assert_eq!(
        json!(yielded),
        json!([[0, 1], [1, 1], [2, 1], [3, 1], [4, 1]])
    );
    assert_eq!(outcome, ToolOutcome::Returned(Value::Null));
}

#[tokio::test]
async fn tool_does_not_run_ahead_of_the_record() {
    let sent = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&sent);
    let tool = stream(move |_, sender| {
        let sent = Arc::clone(&counted);
        async move {
            for step in 0..4 {
                sender.send(json!(step)).await.unwrap();
                sent.fetch_add(1, Ordering::SeqCst);
            }
            Ok(())
        }
    });
    let journal = Semaphore::new(0);
    let recorded = AtomicUsize::new(0);
    let record = |value: Value| {
        let (journal, recorded) = (&journal, &recorded);
        async move {
            journal.acquire().await.unwrap().forget();
            assert_eq!(value, json!(recorded.fetch_add(1, Ordering::SeqCst)));
            Ok(())
        }
    };
    let mut running = Box::pin(tool.run(json!({}), context(), record));
    for written in 0..4 {
        for _ in 0..10 {
            assert_eq!((&mut running).now_or_never(), None);
        }
        assert_eq!(recorded.load(Ordering::SeqCst), written);
        assert_eq!(sent.load(Ordering::SeqCst), written + 1);
        journal.add_permits(1);
    }
    assert_eq!(running.await, ToolOutcome::Returned(Value::Null));
    assert_eq!(recorded.load(Ordering::SeqCst), 4);
}

#[tokio::test]
async fn values_before_a_failure_or_panic_are_yielded() {
    let failing = stream(|_, sender| async move {
        sender.send(json!(1)).await.unwrap();
        Err(ToolError::InvalidArgs("no city".to_owned()))
    });
    let error = ToolError::InvalidArgs("no city".to_owned());
    assert_eq!(
        whole(&failing, context()).await,
        (vec![json!(1)], failed(error))
    );

    let panicking = stream(|_, sender| async move {
        sender.send(json!(1)).await.unwrap();
        assert!(sender.is_closed(), "too {}", "bad");
        Ok(())
    });
    let error = ToolError::ExecutionFailed("the tool panicked: too bad".to_owned());
    assert_eq!(
        whole(&panicking, context()).await,
        (vec![json!(1)], failed(error))
    );
}

#[tokio::test]
async fn reserved_send_of_a_spawned_task_is_awaited() {
    let (go, going) = oneshot::channel::<()>();
    let going = Mutex::new(Some(going));
    let tool = stream(move |_, sender| {
        let going = going.lock().unwrap().take().unwrap();
        async move {
            let permit = sender.clone().reserve_owned().await.unwrap();
            tokio::spawn(async move {
                going.await.unwrap();
                permit.send(json!("late"));
            });
            Ok(())
        }
    });
    let mut running = Box::pin(whole(&tool, context()));
    assert_eq!((&mut running).now_or_never(), None);
    go.send(()).unwrap();
    assert_eq!(
        running.await,
        (vec![json!("late")], ToolOutcome::Returned(Value::Null))
    );
}

/// A tool that sends one value and then never ends, and a counter of its future's life.
fn endless() -> (PolicyTool, Arc<()>) {
    let alive = Arc::new(());
    let held = Arc::clone(&alive);
    let tool = stream(move |_, sender| {
        let held = Arc::clone(&held);
        async move {
            sender.send(json!(1)).await.unwrap();
            pending::<()>().await;
            drop(held);
            Ok(())
        }
    });
    (tool, alive)
}

/// The number of references while no tool runs: the test and the closure.
const AT_REST: usize = 2;

#[tokio::test]
async fn a_value_that_cannot_be_recorded_ends_the_run() {
    let (tool, alive) = endless();
    let error = ToolError::ExecutionFailed("too large".to_owned());
    let refuse = |_| async { Err(error.clone()) };
    let outcome = tool.run(json!({}), context(), refuse).await;
    assert_eq!(outcome, failed(error.clone()));
    assert_eq!(Arc::strong_count(&alive), AT_REST);
}

#[tokio::test]
async fn cancellation_drops_the_tool_while_a_value_is_recorded() {
    for is_recorded in [true, false] {
        let (tool, alive) = endless();
        let token = CancellationToken::new();
        let record = |_| async move {
            if !is_recorded {
                pending::<()>().await;
            }
            Ok(())
        };
        let context = context().with_cancellation(token.clone());
        let mut running = Box::pin(tool.run(json!({}), context, record));
        for _ in 0..3 {
            assert_eq!((&mut running).now_or_never(), None);
        }
        assert_eq!(Arc::strong_count(&alive), AT_REST + 1);
        token.cancel();
        let outcome = running.as_mut().await;
        assert!(
            matches!(outcome, ToolOutcome::Failed(ToolError::Cancelled(_))),
            "{outcome:?}"
        );
        assert_eq!(Arc::strong_count(&alive), AT_REST);
    }
}

/// Yields its input until the input ends, as in the documentation.
struct Echo;

#[async_trait]
impl InputStreamingTool for Echo {
    fn name(&self) -> &str {
        "echo"
    }
    fn description(&self) -> &str {
        "Echoes"
    }
    fn parameters(&self) -> Option<Value> {
        None
    }
    async fn run(
        &self,
        _: Value,
        mut input_rx: broadcast::Receiver<InputEvent>,
        yield_tx: mpsc::Sender<Value>,
    ) -> Result<(), ToolError> {
        while let Ok(event) = input_rx.recv().await {
            yield_tx.send(json!(format!("{event:?}"))).await.unwrap();
        }
        Ok(())
    }
}

#[tokio::test]
async fn tool_receives_input_and_the_number_of_lost_events() {
    let echo = PolicyTool::input_streaming(Arc::new(Echo));
    let (session, _) = broadcast::channel(2);
    let heard_before = InputEvent::Text("nobody listens yet".to_owned());
    assert!(session.send(heard_before).is_err());
    let mut running = Box::pin(whole(&echo, context().with_input(&session)));
    assert_eq!((&mut running).now_or_never(), None);
    session.send(InputEvent::ActivityStart).unwrap();
    assert_eq!((&mut running).now_or_never(), None);
    for _ in 0..3 {
        session.send(InputEvent::Text("hello".to_owned())).unwrap();
    }
    drop(session);
    let expected = json!([
        "ActivityStart",
        "Lagged(1)",
        "Text(5 bytes)",
        "Text(5 bytes)"
    ]);
    let (yielded, outcome) = running.await;
    assert_eq!(json!(yielded), expected);
    assert_eq!(outcome, ToolOutcome::Returned(Value::Null));
}

#[tokio::test]
async fn tool_without_live_input_gets_a_closed_receiver() {
    let echo = PolicyTool::input_streaming(Arc::new(Echo));
    let (yielded, outcome) = whole(&echo, context()).await;
    assert_eq!(
        (yielded.len(), outcome),
        (0, ToolOutcome::Returned(Value::Null))
    );
}
