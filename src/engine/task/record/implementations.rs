//! The implementations of tools, checked again before an approved call starts, so that the approved
//! tool runs.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use crate::engine::error::Error;
use crate::engine::task::parts::Stream;
use crate::engine::task::session_task::SessionTask;
use crate::ledger::Objects;
use crate::session::{Call, Catalog, Deadline, Leave, Observation, Phase, RunnerAttached, Seq};
use crate::tool::{PolicyTool, ToolError};

impl SessionTask {
    /// Returns the catalog with current implementations, if one of the selected tools changed.
    pub(super) async fn remade(
        &self,
        catalog: &Arc<Catalog>,
        looks_at: impl Fn(&str) -> bool,
    ) -> Option<Arc<Catalog>> {
        let made = catalog.tools.values();
        let made = made.filter(|it| it.implementation.is_some() && looks_at(&it.name));
        let tools: Vec<(Arc<PolicyTool>, Option<Value>)> = made
            .filter_map(|it| {
                let tool = self.agent.dispatcher.shared(&it.name)?;
                Some((tool, it.implementation.clone()))
            })
            .collect();
        if tools.is_empty() {
            return None;
        }
        let looked = tokio::task::spawn_blocking(move || {
            let now = tools.into_iter().filter_map(|(tool, before)| {
                let now = tool.implementation();
                (now != before).then(|| (tool.name().to_owned(), now))
            });
            now.collect::<Vec<_>>()
        });
        // A tool that panics reports no implementation, and is compared with that when it runs.
        let changed = looked.await.unwrap_or_default();
        if changed.is_empty() {
            return None;
        }
        let mut catalog = Catalog::clone(catalog);
        for (name, now) in changed {
            if let Some(declared) = catalog.tools.get_mut(&name) {
                declared.implementation = now;
            }
        }
        Some(Arc::new(catalog))
    }

    /// Returns the current catalog of the agent's tools.
    pub(super) async fn catalog_now(&self) -> Arc<Catalog> {
        let declared = &self.agent.catalog;
        let remade = self.remade(declared, |_| true).await;
        remade.unwrap_or_else(|| declared.clone())
    }

    /// Returns a renewed attachment, if a tool of these calls has changed.
    pub(super) async fn renewal(
        &mut self,
        calls: impl IntoIterator<Item = Seq>,
    ) -> Result<Option<(RunnerAttached, Objects)>, Error> {
        let in_force = self.stream.session.terms.catalog.clone();
        let names: BTreeSet<&str> = calls
            .into_iter()
            .filter_map(|seq| self.stream.session.calls.get(&seq))
            .filter(|call| call.contract.is_some())
            .map(|call| call.name.as_str())
            .collect();
        let is_implemented = |name: &&str| {
            let declared = in_force.get(name);
            declared.is_some_and(|it| it.implementation.is_some())
        };
        if !names.iter().any(is_implemented) {
            return Ok(None);
        }
        let Some(catalog) = self.remade(&in_force, |name| names.contains(name)).await else {
            return Ok(None);
        };
        let policies = self.stream.session.terms.policies.clone();
        let (objects, addresses) = self.stream.seal.terms(self.id, &catalog, &policies)?;
        let library = self.stream.session.library_mut();
        library.add_catalog(addresses[0], catalog);
        library.add_policies(addresses[1], policies);
        let renewed = RunnerAttached {
            goes_on: true,
            ..self.attachment(addresses)
        };
        Ok(Some((renewed, objects)))
    }

    /// Records a renewed attachment if the tool of this call differs from the approved one.
    pub(super) async fn renew_for(&mut self, call: Seq) -> Result<(), Error> {
        if let Some((renewed, objects)) = self.renewal([call]).await? {
            self.put(vec![renewed.into()], objects).await?;
            self.perform().await?;
        }
        Ok(())
    }
}

impl Stream {
    /// Returns the approved calls that this batch may start.
    pub(super) fn may_start(&self, batch: &[Observation]) -> Vec<Seq> {
        let waits = |seq: &Seq| {
            self.session.calls.get(seq).is_some_and(|call| {
                let begun = matches!(
                    call.phase,
                    Phase::AwaitingConfirmation { .. } | Phase::Running { .. }
                );
                !begun
            })
        };
        let restless = self.session.may_move();
        let due = batch.iter().filter_map(|it| {
            if let Observation::DeadlinePassed(passed) = it
                && let Deadline::Retry { call, .. } = passed.deadline
            {
                Some(call)
            } else {
                None
            }
        });
        restless.chain(due).filter(waits).collect()
    }

    /// Returns the approved implementation, for a call that starts with an approval.
    pub(in crate::engine) fn approved_implementation(&self, call: &Call) -> Option<Value> {
        let Phase::Running {
            leave: Leave::Approved(_),
            ..
        } = call.phase
        else {
            return None;
        };
        let declared = self.session.terms.catalog.get(&call.name)?;
        declared.implementation.clone()
    }
}

/// Returns the run if its tool still has the approved implementation, else an error.
///
/// A run may wait for a slot after its start is recorded, so the tool may change in between.
pub(in crate::engine) async fn as_approved<R>(
    run: Result<(Arc<PolicyTool>, Value, R), ToolError>,
    approved: Option<Value>,
) -> Result<(Arc<PolicyTool>, Value, R), ToolError> {
    match (run, approved) {
        (Ok((tool, args, context)), Some(approved)) => {
            tool.still_runs(approved).await?;
            Ok((tool, args, context))
        }
        (run, _) => run,
    }
}
