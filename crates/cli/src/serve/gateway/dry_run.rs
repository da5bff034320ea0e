//! The report of a dry run: the calls that the policies would have held.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use recount::engine::Engine;
use recount::session::{Decision, Event, Observation, Seq, SessionId};
use recount_telling::one_line;
use tokio_util::task::AbortOnDropHandle;

/// The maximum number of received calls whose verdict is awaited.
const AWAITED_MAX: usize = 10_000;

/// The calls that would have been held, by tool, since the start of the dry run.
pub(in crate::serve) struct DryRun {
    held: Arc<Mutex<BTreeMap<String, u64>>>,
    _counting: AbortOnDropHandle<()>,
}

impl DryRun {
    /// Counts from now on.
    pub(super) fn start(engine: &Engine) -> DryRun {
        let held = Arc::<Mutex<BTreeMap<String, u64>>>::default();
        let (counted, mut updates) = (held.clone(), engine.subscribe());
        let counting = tokio::spawn(async move {
            let mut awaited: BTreeMap<(SessionId, Seq), String> = BTreeMap::new();
            while let Some(recorded) = updates.next().await {
                let (session, fact) = (recorded.session, &recorded.fact);
                match &fact.event {
                    Event::Observed(Observation::FunctionCallReceived(it)) => {
                        let tool = it.name.clone().unwrap_or_default();
                        awaited.insert((session, fact.seq), tool);
                        if awaited.len() > AWAITED_MAX {
                            awaited.pop_first();
                        }
                    }
                    Event::Decided(Decision::GateWaived(it)) => {
                        if let Some(tool) = awaited.remove(&(session, it.call)) {
                            let (call, shown) = (it.call, one_line(&tool));
                            tracing::info!(%session, %call, tool = %shown, "would have been held");
                            *table(&counted).entry(tool).or_default() += 1;
                        }
                    }
                    Event::Observed(_) | Event::Decided(_) => {}
                }
            }
        });
        DryRun {
            held,
            _counting: AbortOnDropHandle::new(counting),
        }
    }

    /// The report, a line for each tool.
    pub(in crate::serve) fn lines(&self) -> Vec<String> {
        let held = table(&self.held);
        if held.is_empty() {
            return vec!["Dry run: the policies would have held no call.".to_owned()];
        }
        let calls: u64 = held.values().sum();
        let mut lines = vec![format!(
            "Dry run: the policies would have held {calls} of the calls; \
             `recount audit decisions` lists them."
        )];
        lines.extend(
            held.iter()
                .map(|(tool, calls)| format!("  {calls}  {}", one_line(tool))),
        );
        lines
    }
}

fn table(held: &Mutex<BTreeMap<String, u64>>) -> MutexGuard<'_, BTreeMap<String, u64>> {
    // Each change is one step, so a panic elsewhere leaves a whole table.
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use recount::prelude::*;

    use super::*;

    #[tokio::test]
    async fn calls_that_a_policy_would_have_held_are_counted() {
        let refund = T::simple("refund", "Refunds", |_| async { Ok(json!({"done": true})) });
        let look = T::simple("look", "Looks", |_| async { Ok(json!({"found": 1})) });
        let tools = T::confirm(refund, "Refund?") | look;
        let agent = Agent::new().tools(tools).unenforced_confirmations();
        let engine = Engine::in_memory()
            .agent("desk", agent)
            .open()
            .await
            .unwrap();
        let dry_run = DryRun::start(&engine);
        assert_eq!(dry_run.lines().len(), 1);
        let session = engine.session("desk").open().await.unwrap();
        for tool in ["look", "refund", "refund"] {
            let called = session.call_function(tool, json!({}), Actor::embedder("desk"));
            called.await.unwrap();
        }
        while dry_run.lines().last().is_none_or(|it| it != "  2  refund") {
            tokio::task::yield_now().await;
        }
        let first = dry_run.lines().remove(0);
        assert!(first.contains("held 2 of the calls"), "{first}");
    }
}
