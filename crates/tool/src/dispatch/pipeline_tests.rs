//! Tests that ended calls leave nothing in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt;
use serde_json::json;
use tokio::sync::mpsc;

use super::*;
use crate::approval::confirmation::StaticConfirmation;
use crate::kinds::streaming_tool::StreamingTool;
use crate::tools::t::T;
use crate::tools::toolset::Toolset;
use recount_session::Event;

struct Chunks;

#[async_trait]
impl StreamingTool for Chunks {
    fn name(&self) -> &str {
        "chunks"
    }
    fn description(&self) -> &str {
        "Gives values"
    }
    fn parameters(&self) -> Option<Value> {
        None
    }
    async fn run(&self, _: Value, yield_tx: mpsc::Sender<Value>) -> Result<(), ToolError> {
        for n in 0..3 {
            let sent = yield_tx.send(json!(n)).await;
            sent.map_err(|error| ToolError::ExecutionFailed(error.to_string()))?;
        }
        Ok(())
    }
}

fn dispatcher(tools: impl Into<Toolset>) -> ToolDispatcher {
    let mut dispatcher = ToolDispatcher::new();
    dispatcher.register(tools).unwrap();
    dispatcher
}

#[tokio::test]
async fn only_waiting_calls_have_a_waiter() {
    let hangs = T::simple("hangs", "Never ends", |_| std::future::pending());
    let tools = dispatcher(T::streaming(Arc::new(Chunks)) | T::cached(hangs));
    tools.call_function("chunks", json!({})).await.unwrap();
    assert!(tools.pipeline.core().waiters.is_empty());
    {
        let call = || Box::pin(tools.call_function("hangs", json!({})));
        let (mut runs, mut waits) = (call(), call());
        assert!((&mut runs).now_or_never().is_none());
        assert!((&mut waits).now_or_never().is_none());
        assert_eq!(tools.pipeline.core().waiters.len(), 1);
        drop(waits);
        assert!(tools.pipeline.core().waiters.is_empty());
    }
    let core = tools.pipeline.core();
    assert!(core.session.as_ref().unwrap().calls.is_empty());
}

#[tokio::test]
async fn unusable_cached_result_is_dropped() {
    let runs = Arc::new(AtomicU64::new(0));
    // Another schema is another contract, so results under the old contract are never reused.
    let look_up = |schema| {
        let runs = runs.clone();
        T::cached(T::simple_with("look_up", "Looks up", schema, move |_| {
            let run = runs.fetch_add(1, Ordering::SeqCst) + 1;
            async move { Ok(json!(run)) }
        }))
    };
    let mut tools = dispatcher(look_up(json!({"type": "object"})));
    assert_eq!(
        tools.call_function("look_up", json!({})).await,
        Ok(json!(1))
    );
    let stricter = json!({"type": "object", "maxProperties": 1});
    tools.register_or_replace(look_up(stricter)).unwrap();
    for _ in 0..2 {
        assert_eq!(
            tools.call_function("look_up", json!({})).await,
            Ok(json!(2))
        );
    }
    let core = tools.pipeline.core();
    let kept: Vec<&Value> = core.results.values().collect();
    assert_eq!(kept, [&json!(2)]);
}

#[tokio::test]
async fn old_calls_and_requests_are_dropped_with_their_events() {
    let nothing = T::simple("nothing", "Does nothing", |_| async { Ok(json!({})) });
    let tools = dispatcher(T::confirm(nothing, "May it?"))
        .with_confirmation_provider(StaticConfirmation::allow_all());
    for _ in 0..2 * FACTS_KEPT {
        tools.call_function("nothing", json!({})).await.unwrap();
    }
    let core = tools.pipeline.core();
    let session = core.session.as_ref().unwrap();
    let most = 2 * FACTS_KEPT;
    let kept = (
        core.kept().count(),
        session.settled.len(),
        session.requests.len(),
    );
    assert!(
        kept.0 <= most && kept.1 <= most && kept.2 <= most / 4,
        "{kept:?}"
    );
    assert!(session.calls.is_empty());
}

#[tokio::test]
async fn dropped_future_does_not_cancel_an_ended_call() {
    let (end, ended) = tokio::sync::watch::channel(false);
    let slow = T::simple("slow", "Ends when it is told to", move |_| {
        let mut ended = ended.clone();
        async move { Ok(json!(ended.wait_for(|it| *it).await.is_ok())) }
    });
    let tools = dispatcher(T::cached(slow));
    let call = || Box::pin(tools.call_function("slow", json!({})));
    let (mut runs, mut waits) = (call(), call());
    assert!((&mut runs).now_or_never().is_none());
    assert!((&mut waits).now_or_never().is_none());
    end.send_replace(true);
    assert_eq!(runs.await, Ok(json!(true)));
    // The result is ready, but the caller drops the future.
    drop(waits);
    assert!(tools.pipeline.core().waiters.is_empty());
    let taken_back = |fact: &Fact| fact.event.kind() == "operator_cancelled";
    assert!(!tools.recorded().iter().any(taken_back));
}

#[tokio::test]
async fn paused_call_of_a_dispatcher_is_cancelled() {
    let begin = T::long_running(T::simple("begin", "Begins", |_| async { Ok(json!({})) }));
    let tools = dispatcher(begin);
    tools.call_function("begin", json!({})).await.unwrap();
    let core = tools.pipeline.core();
    assert!(core.session.as_ref().unwrap().calls.is_empty());
}

#[tokio::test]
async fn caller_limit_is_recorded() {
    let hangs = T::simple("hangs", "Never ends", |_| std::future::pending());
    let tools = dispatcher(hangs);
    let limit = Duration::from_millis(1);
    let call = tools.call_function_with_timeout("hangs", json!({}), limit);
    assert_eq!(call.await, Err(ToolError::Timeout(limit)));
    let response = tools
        .recorded()
        .into_iter()
        .find_map(|fact| match fact.event {
            Event::Observed(Observation::ToolReturned(it)) => Some(it.response.to_value()),
            Event::Observed(_) | Event::Decided(_) => None,
        });
    let own = ToolError::Timeout(limit).to_string();
    assert_eq!(response, Some(json!({"error": own, "kind": "timeout"})));
}
