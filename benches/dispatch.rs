//! The cost of a call in a dispatcher without a journal: policies, records and all.

use std::sync::Arc;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use recount::tool::{T, ToolDispatcher, Toolset};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

fn with(tools: impl Into<Toolset>) -> ToolDispatcher {
    let mut dispatcher = ToolDispatcher::new();
    if let Err(error) = dispatcher.register(tools) {
        unreachable!("the tools of a bench are sound: {error}");
    }
    dispatcher
}

fn nothing() -> Toolset {
    T::simple("nothing", "Does nothing", |_| async { Ok(Value::Null) })
}

/// A tool that waits ten milliseconds without using the CPU.
fn ten_ms() -> Toolset {
    T::simple("ten_ms", "Waits", |_| async {
        tokio::time::sleep(Duration::from_millis(10)).await;
        Ok(Value::Null)
    })
}

/// Calls `name` so often, one call after another. Returns the number of successes.
async fn called(dispatcher: &ToolDispatcher, name: &str, times: u64) -> u64 {
    let mut succeeded = 0;
    for _ in 0..times {
        succeeded += u64::from(dispatcher.call_function(name, json!({})).await.is_ok());
    }
    succeeded
}

/// Calls the tool of ten milliseconds so often concurrently, each call in a task, as in a service.
async fn at_once(dispatcher: &Arc<ToolDispatcher>, calls: usize) {
    let call = |_| {
        let dispatcher = dispatcher.clone();
        tokio::spawn(async move { dispatcher.call_function("ten_ms", json!({})).await })
    };
    let calls: Vec<_> = (0..calls).map(call).collect();
    for call in calls {
        assert!(
            matches!(call.await, Ok(Ok(_))),
            "a bench of failures measures nothing"
        );
    }
}

async fn sleeps_at_once(sleeps: usize) {
    let sleep = |_| {
        let slept = tokio::time::sleep(Duration::from_millis(10));
        tokio::spawn(tokio::time::timeout(Duration::from_secs(30), slept))
    };
    let sleeps: Vec<_> = (0..sleeps).map(sleep).collect();
    for slept in sleeps {
        assert!(matches!(slept.await, Ok(Ok(()))));
    }
}

fn runtime(threads: usize) -> Runtime {
    let mut builder = match threads {
        1 => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    match builder.worker_threads(threads.max(1)).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => unreachable!("a runtime starts: {error}"),
    }
}

const BATCH: u64 = 1_000;

fn dispatch(c: &mut Criterion) {
    let one = runtime(1);
    let mut group = c.benchmark_group("dispatch");
    group.throughput(Throughput::Elements(BATCH));
    for (name, tools) in [("no-op", nothing()), ("cached hit", T::cached(nothing()))] {
        let dispatcher = with(tools);
        let batch = || one.block_on(called(&dispatcher, "nothing", BATCH));
        assert_eq!(batch(), BATCH, "a bench of failures measures nothing");
        group.bench_function(name, |b| b.iter(batch));
    }
    group.finish();

    let dispatcher = Arc::new(with(ten_ms()));
    let mut group = c.benchmark_group("concurrent");
    group.sample_size(20);
    for (threads, runtime) in [(1, &one), (2, &runtime(2))] {
        // The baseline: the same number of plain tasks, each with its sleep and its timeout.
        let name = format!("10,000 sleeps of 10 ms, threads: {threads}");
        group.bench_function(name, |b| {
            b.iter(|| runtime.block_on(sleeps_at_once(10_000)));
        });
        let name = format!("10,000 calls of a 10 ms tool, threads: {threads}");
        group.bench_function(name, |b| {
            b.iter(|| runtime.block_on(at_once(&dispatcher, 10_000)));
        });
    }
    group.finish();
}

criterion_group!(benches, dispatch);
criterion_main!(benches);
