//! A call of a tool that does nothing takes at most ten allocations, including its record.
#![expect(
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]

use recount::tool::{T, ToolDispatcher, Toolset};
use serde_json::{Value, json};

/// The average number of allocations per call after warm-up.
fn allocations_of(tools: impl Into<Toolset>, calls: u64) -> f64 {
    let mut dispatcher = ToolDispatcher::new();
    dispatcher.register(tools).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let run = async |calls: u64| {
        for _ in 0..calls {
            let called = dispatcher.call_function("nothing", json!({}));
            called.await.unwrap();
        }
    };
    runtime.block_on(run(100));
    let counted = allocation_counter::measure(|| runtime.block_on(run(calls)));
    counted.count_total as f64 / calls as f64
}

fn nothing() -> Toolset {
    T::simple("nothing", "Does nothing", |_| async { Ok(Value::Null) })
}

#[test]
fn a_call_of_a_tool_that_does_nothing_takes_at_most_ten() {
    let per_call = allocations_of(nothing(), 1000);
    assert!(per_call <= 10.0, "{per_call} allocations a call");
}

#[test]
fn a_call_that_takes_an_earlier_result_takes_at_most_ten() {
    let per_call = allocations_of(T::cached(nothing()), 1000);
    assert!(per_call <= 10.0, "{per_call} allocations a call");
}
