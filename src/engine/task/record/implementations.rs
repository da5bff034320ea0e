//! The identity (file digests, URL) of the external program behind a tool, compared again before an
//! approved call starts.
//!
//! `ToolDeclaration::implementation` describes it. Tools in Rust code have none.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::Value;

use crate::engine::agents::prepared::Prepared;
use crate::engine::error::Error;
use crate::engine::task::parts::Stream;
use crate::engine::task::session_task::SessionTask;
use crate::ledger::Objects;
use crate::session::{Call, Catalog, Deadline, Leave, Observation, Phase, RunnerAttached, Seq};
use crate::tool::{PolicyTool, ToolError};

impl SessionTask {
    /// Returns the catalog with current implementations, if one of the selected tools changed.
    pub(super) async fn refreshed_catalog(
        &self,
        agent: &Prepared,
        catalog: &Arc<Catalog>,
        is_selected: impl Fn(&str) -> bool,
    ) -> Option<Arc<Catalog>> {
        let implemented = catalog.tools.values();
        let implemented =
            implemented.filter(|it| it.implementation.is_some() && is_selected(&it.name));
        let tools: Vec<(Arc<PolicyTool>, Option<Value>)> = implemented
            .filter_map(|it| {
                let tool = agent.dispatcher.shared(&it.name)?;
                Some((tool, it.implementation.clone()))
            })
            .collect();
        if tools.is_empty() {
            return None;
        }
        let checking = tokio::task::spawn_blocking(move || {
            let changed = tools.into_iter().filter_map(|(tool, declared)| {
                // A tool that panics counts as unchanged here, without an effect on other tools.
                // Before an approved call of it runs, `still_runs` asks again and fails closed.
                let current = catch_unwind(AssertUnwindSafe(|| tool.implementation())).ok()?;
                (current != declared).then(|| (tool.name().to_owned(), current))
            });
            changed.collect::<Vec<_>>()
        });
        // The error only says that the runtime shuts down.
        let changed = checking.await.unwrap_or_default();
        if changed.is_empty() {
            return None;
        }
        let mut catalog = Catalog::clone(catalog);
        for (name, current) in changed {
            if let Some(declared) = catalog.tools.get_mut(&name) {
                declared.implementation = current;
            }
        }
        Some(Arc::new(catalog))
    }

    /// Returns the current catalog of an agent's tools.
    pub(super) async fn current_catalog(&self, agent: &Prepared) -> Arc<Catalog> {
        let declared = &agent.catalog;
        let refreshed = self.refreshed_catalog(agent, declared, |_| true).await;
        refreshed.unwrap_or_else(|| declared.clone())
    }

    /// Returns a renewed attachment, if a tool of these calls has changed.
    ///
    /// Also adds its catalog and policies to the session's library. Skips calls without a
    /// `contract`, because no approver was asked about them.
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
        let agent = self.agent.clone();
        let refreshed = self.refreshed_catalog(&agent, &in_force, |name| names.contains(name));
        let Some(catalog) = refreshed.await else {
            return Ok(None);
        };
        let policies = self.stream.session.terms.policies.clone();
        // While the runner stays, what older programs would overlook may be open.
        let session = &self.stream.session;
        let rules = session.rules_needed(&catalog, &policies).max(session.rules);
        let (objects, addresses) = self.named_terms(catalog, policies)?;
        let renewed = RunnerAttached {
            goes_on: true,
            ..self.attachment(addresses, rules)
        };
        Ok(Some((renewed, objects)))
    }

    /// Records a renewed attachment if the tool of this call differs from the declared one.
    pub(super) async fn renew_for(&mut self, call: Seq) -> Result<(), Error> {
        if let Some((renewed, objects)) = self.renewal([call]).await? {
            self.put(vec![renewed.into()], objects).await?;
            self.perform().await?;
        }
        Ok(())
    }
}

impl Stream {
    /// Returns calls that may start: restless calls, and due retries in this batch.
    pub(super) fn may_start(&self, batch: &[Observation]) -> Vec<Seq> {
        let may_start = |seq: &Seq| {
            self.session.calls.get(seq).is_some_and(|call| {
                let excluded = matches!(
                    call.phase,
                    Phase::AwaitingConfirmation { .. } | Phase::Running { .. }
                );
                !excluded
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
        restless.chain(due).filter(may_start).collect()
    }

    /// Returns the implementation of the tool that its request named, if the call runs after one.
    pub(in crate::engine) fn approved_implementation(&self, call: &Call) -> Option<Value> {
        let Phase::Running {
            leave: Leave::Approved(_) | Leave::Unanswered(_),
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
pub(in crate::engine) async fn check_approved<R>(
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
