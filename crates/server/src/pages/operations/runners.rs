//! Runners: the agents of this process, and the sessions that it serves.
//!
//! A journal belongs to one process, so no other runner can be attached to its sessions.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::cells::{agent, section, table};
use crate::problems::Problem;
use crate::routes::Caller;

const HEADS: [&str; 4] = ["Agent", "Tools", "Open sessions", "Served now"];

/// An agent, and the sessions that name it.
#[derive(Default)]
pub(super) struct Runner {
    /// True if this process has the agent.
    is_here: bool,
    open: u64,
    served: u64,
}

/// Returns the agents that the caller knows, with their sessions. `open` has the numbers of open
/// sessions.
pub(super) async fn known(
    caller: &Caller,
    open: &BTreeMap<String, u64>,
) -> Result<BTreeMap<String, Runner>, Problem> {
    let engine = &caller.service.engine;
    let mut runners: BTreeMap<String, Runner> = BTreeMap::new();
    for name in engine.agent_names() {
        if caller.principal.reads_of(Some(&name)) {
            runners.entry(name).or_default().is_here = true;
        }
    }
    for (name, number) in open {
        runners.entry(name.clone()).or_default().open = *number;
    }
    for id in engine.served_sessions() {
        let known = caller.service.catalogue.session(id).await?;
        if let Some(known) = known.filter(|it| caller.reads(it)) {
            let name = known.agent().unwrap_or_default().to_owned();
            runners.entry(name).or_default().served += 1;
        }
    }
    Ok(runners)
}

pub(super) fn shown(runners: &BTreeMap<String, Runner>) -> Markup {
    let body = html! {
        @if runners.is_empty() { p.quiet { "This process has no agent." } }
        @else {
            (table("Agents and their sessions", &HEADS, 2..4, html! {
                @for (name, runner) in runners {
                    tr {
                        td { (agent(name)) }
                        td {
                            @if runner.is_here { span.badge.good { "in this process" } }
                            @else if name.is_empty() { span.quiet { "unknown" } }
                            @else { span.badge.bad { "not in this process" } }
                        }
                        td.number { (runner.open) }
                        td.number { (runner.served) }
                    }
                }
            }))
            p.quiet {
                "A session is served while it has a connection, a program that drives it, or a "
                "call that runs. Other sessions are served again when something happens in them."
            }
        }
    };
    section("runners", "Runners", "", body)
}
