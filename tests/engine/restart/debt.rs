//! A scenario with every policy: phases, a cached result, a retry, a background stream, and a call
//! that waits for its phase.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use recount::prelude::*;
use recount::tool::ToolEvent;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use crate::restart::world::World;

const SCRIPT: &str = r#"
{"on": {"text": "settle"}, "send": [{"call": [{"id": "c1", "name": "look", "args": {"account": 7}}, {"id": "c2", "name": "verify", "args": {"name": "Ada"}}]}]}
{"on": {"responses_to": ["c1", "c2"]}, "send": [{"say": "Let me see."}, {"call": [{"id": "c3", "name": "look", "args": {"account": 7}}]}]}
{"on": {"responses_to": ["c3"]}, "send": [{"call": [{"id": "c4", "name": "look", "args": {"account": 7}}, {"id": "c5", "name": "watch", "args": {}}]}]}
{"on": {"responses_to": ["c4"]}, "send": [{"say": "You owe seven."}]}
{"on": "otherwise", "send": [{"say": "Understood."}]}
"#;

/// Runs the scenario. The caller is verified in the first phase and informed in the second; the
/// account is busy at first; the process is killed during the second phase.
pub(crate) fn scenario() -> World {
    let world = World::with(SCRIPT);
    let busy = Arc::new(AtomicUsize::new(1));
    let (life, _live) = {
        let life = world.life(agent(&world, &busy));
        let live = life.run(async {
            let live = life.engine().session("support").connect().await.unwrap();
            live.send_text("Please settle my bill.").await.unwrap();
            live
        });
        life.settle();
        (life, live)
    };
    world.clock.advance(BACKOFF);
    life.settle();
    life.crash();
    let life = world.life(agent(&world, &busy));
    let _live = crate::restart::world::resume(&life, world.session());
    life.end();
    for kind in [
        "phase_entered",
        "instruction_sent",
        "state_changed",
        "tool_event_emitted",
        "retry_scheduled",
        "result_reused",
        "background_spawned",
        "tool_yielded",
    ] {
        assert!(world.count(kind) > 0, "no {kind} is on record");
    }
    world
}

const BACKOFF: Duration = Duration::from_millis(200);

fn agent(world: &World, busy: &Arc<AtomicUsize>) -> Agent {
    let busy = busy.clone();
    let look = T::simple("look", "Looks up what is owed", move |_args| {
        let left = busy.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
            left.checked_sub(1)
        });
        async move {
            match left {
                Ok(_) => Err(ToolError::ExecutionFailed("the ledger is busy".into())),
                Err(_) => Ok(json!({"owed": 7})),
            }
        }
    });
    let look = T::cached(T::retry(T::idempotent(look), 3, BACKOFF));
    let watch = T::background(T::streaming(Arc::new(Watch)));
    world
        .agent(look | watch | T::function(Arc::new(Verify)))
        .phase("verify")
        .instruction("Verify the caller.")
        .tools(["verify"])
        .transition("inform", S::is_true("verified"))
        .done()
        .phase("inform")
        .instruction("Tell the caller what is owed.")
        .done()
}

/// The event of the tool `verify`: the name that it accepted.
#[derive(Deserialize, Serialize)]
struct Verified {
    name: String,
}

impl ToolEvent for Verified {
    const NAME: &'static str = "verified";
}

struct Verify;

#[async_trait]
impl ToolFunction for Verify {
    fn name(&self) -> &str {
        "verify"
    }

    fn description(&self) -> &str {
        "Verifies the caller"
    }

    fn parameters(&self) -> Option<Value> {
        None
    }

    async fn call(&self, _args: Value) -> Result<Value, ToolError> {
        Err(ToolError::Other("it is called with a context".into()))
    }

    async fn call_with_context(
        &self,
        _args: Value,
        context: ToolContext,
    ) -> Result<Value, ToolError> {
        let name = "Ada".to_owned();
        context.emit(&Verified { name })?;
        context.state.set("verified", true);
        Ok(json!({"verified": true}))
    }
}

struct Watch;

#[async_trait]
impl StreamingTool for Watch {
    fn name(&self) -> &str {
        "watch"
    }

    fn description(&self) -> &str {
        "Watches the account"
    }

    fn parameters(&self) -> Option<Value> {
        None
    }

    async fn run(&self, _args: Value, yield_tx: mpsc::Sender<Value>) -> Result<(), ToolError> {
        for step in [1, 2] {
            let told = yield_tx.send(json!({ "step": step })).await;
            told.map_err(|error| ToolError::ExecutionFailed(error.to_string()))?;
        }
        Ok(())
    }
}
