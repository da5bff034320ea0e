//! The tools of the agent, and a list of their runs.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use recount::engine::Clock;
use recount::ledger::Ledger;
use recount::prelude::*;
use recount::session::Seq;
use recount::testing::ManualClock;
use tokio::sync::{Notify, mpsc};

/// The runs of the tools, and the signal that ends the slow ones.
#[derive(Clone, Default)]
pub(crate) struct Till(Arc<Inner>);

#[derive(Default)]
struct Inner {
    ledger: Mutex<Option<Ledger>>,
    runs: Mutex<Vec<&'static str>>,
    unrecorded: Mutex<Vec<&'static str>>,
    release: Notify,
}

impl Till {
    /// Sets the ledger in which the tools check that their start is recorded.
    pub(crate) fn look_at(&self, ledger: &Ledger) {
        *self.0.ledger.lock().unwrap() = Some(ledger.clone());
    }

    /// Drops the ledger, so that the journal can close.
    pub(crate) fn look_away(&self) {
        *self.0.ledger.lock().unwrap() = None;
    }

    /// Ends the waiting tool, or the next one that waits.
    pub(crate) fn release(&self) {
        self.0.release.notify_one();
    }

    /// The started runs, in order.
    pub(crate) fn runs(&self) -> Vec<&'static str> {
        self.0.runs.lock().unwrap().clone()
    }

    /// The runs that started before their start was recorded.
    pub(crate) fn unrecorded(&self) -> Vec<&'static str> {
        self.0.unrecorded.lock().unwrap().clone()
    }

    /// Six tools: immediate, slow, background, gated, streaming, and long-running.
    ///
    /// The long-running tool `order` runs once, however often it is called while its result is
    /// pending.
    pub(crate) fn tools(&self) -> Toolset {
        let pay = self.tool("pay", "Pays", At::Once, json!({"paid": true}));
        let ship = self.tool("ship", "Ships", At::Release, json!({"shipped": true}));
        let search = self.tool("search", "Searches", At::Release, json!({"found": 3}));
        let refund = self.tool("refund", "Refunds", At::Once, json!({"refunded": true}));
        let follow = T::streaming(Arc::new(Follows(self.clone())));
        let order = T::long_running(self.tool("order", "Orders", At::Once, Value::Null));
        let order = T::pending_ticket(order);
        pay | ship | T::background(search) | T::confirm(refund, "Refund it?") | follow | order
    }

    fn tool(&self, name: &'static str, does: &str, returns: At, result: Value) -> Toolset {
        let till = self.clone();
        T::simple(name, does, move |_| {
            let (till, result) = (till.clone(), result.clone());
            async move {
                till.begins(name).await;
                if let At::Release = returns {
                    till.0.release.notified().await;
                }
                Ok(result)
            }
        })
    }

    /// Notes a run, and checks law 1: its start is recorded.
    async fn begins(&self, tool: &'static str) {
        let runs = {
            let mut runs = self.0.runs.lock().unwrap();
            runs.push(tool);
            runs.len()
        };
        let ledger = self.0.ledger.lock().unwrap().clone();
        let ledger = ledger.unwrap();
        let facts = ledger.facts(first_session(), Seq(1), 100_000).await;
        let facts = facts.unwrap();
        let starts = facts.iter().filter(|it| it.event.kind() == "call_started");
        if starts.count() < runs {
            self.0.unrecorded.lock().unwrap().push(tool);
        }
    }
}

/// The id of the first session under a new clock.
pub(crate) fn first_session() -> SessionId {
    ManualClock::new().new_session()
}

/// The time at which a tool returns.
#[derive(Clone, Copy)]
enum At {
    Once,
    Release,
}

struct Follows(Till);

#[async_trait]
impl StreamingTool for Follows {
    fn name(&self) -> &str {
        "follow"
    }

    fn description(&self) -> &str {
        "Follows an order"
    }

    fn parameters(&self) -> Option<Value> {
        None
    }

    async fn run(&self, _: Value, yield_tx: mpsc::Sender<Value>) -> Result<(), ToolError> {
        self.0.begins("follow").await;
        let unheard = |_| ToolError::ExecutionFailed("nobody listens".to_owned());
        yield_tx.send(json!({"step": 1})).await.map_err(unheard)?;
        self.0.0.release.notified().await;
        yield_tx.send(json!({"step": 2})).await.map_err(unheard)
    }
}
