//! The tools of the agent, and what they saw.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use recount::engine::Clock;
use recount::ledger::Ledger;
use recount::prelude::*;
use recount::session::Seq;
use recount::testing::ManualClock;
use tokio::sync::{Notify, mpsc};

/// What the tools did, and when the slow ones end.
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
    /// The tools look here whether they may run.
    pub(crate) fn look_at(&self, ledger: &Ledger) {
        *self.0.ledger.lock().unwrap() = Some(ledger.clone());
    }

    /// Lets go of the journal.
    pub(crate) fn look_away(&self) {
        *self.0.ledger.lock().unwrap() = None;
    }

    /// The tool that waits, or the next that will, ends.
    pub(crate) fn release(&self) {
        self.0.release.notify_one();
    }

    /// The runs that were begun, in order.
    pub(crate) fn runs(&self) -> Vec<&'static str> {
        self.0.runs.lock().unwrap().clone()
    }

    /// The runs that were begun before their start was on record.
    pub(crate) fn unrecorded(&self) -> Vec<&'static str> {
        self.0.unrecorded.lock().unwrap().clone()
    }

    /// One that ends at once, one that ends when it is told to, one in the background, one that a
    /// person must agree to, and one that tells of its work as it goes on, and one whose result
    /// comes from outside, which runs once however often it is called meanwhile.
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

    /// Law 1: whatever runs, that it starts is on record.
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

/// The name of the first session under a clock of its own.
pub(crate) fn first_session() -> SessionId {
    ManualClock::new().new_session()
}

/// When a tool returns.
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
