//! The run of a streaming tool, which yields one value after another.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::pin::pin;

use futures_util::FutureExt;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::run::error::ToolError;
use crate::run::outcome::ToolOutcome;

/// Runs a tool to its end. Each value goes to `on_yield`, and the tool is not polled again before
/// that future is done.
///
/// `beside` is a future that runs meanwhile. An error of `on_yield` ends the run with that error.
pub(crate) async fn run<F, Fut>(
    tool: impl Future<Output = Result<(), ToolError>>,
    mut yielded: mpsc::Receiver<Value>,
    beside: impl Future<Output = ()>,
    mut on_yield: F,
) -> ToolOutcome
where
    F: FnMut(Value) -> Fut,
    Fut: Future<Output = Result<(), ToolError>>,
{
    let mut tool = pin!(AssertUnwindSafe(tool).catch_unwind());
    let mut beside = pin!(beside);
    let mut beside_ended = false;
    let ended = loop {
        tokio::select! {
            biased;
            Some(value) = yielded.recv() => if let Err(error) = on_yield(value).await {
                return ToolOutcome::Failed(error);
            },
            ended = &mut tool => break ended,
            () = &mut beside, if !beside_ended => beside_ended = true,
        }
    };
    // Values sent before the end count, even from a task that the tool has spawned.
    yielded.close();
    while let Some(value) = yielded.recv().await {
        if let Err(error) = on_yield(value).await {
            return ToolOutcome::Failed(error);
        }
    }
    match ended {
        Ok(Ok(())) => ToolOutcome::Returned(Value::Null),
        Ok(Err(error)) => ToolOutcome::Failed(error),
        Err(panic) => panicked(&*panic),
    }
}

/// Returns the outcome of a tool that panicked.
pub(crate) fn panicked(panic: &(dyn Any + Send)) -> ToolOutcome {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a message");
    ToolOutcome::Failed(ToolError::ExecutionFailed(format!(
        "the tool panicked: {text}"
    )))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
#[path = "yielding_tests.rs"]
mod tests;
