//! The backlog: open calls by agent and tool, those that wait longest at the top.

use maud::{Markup, html};
use recount::session::Timestamp;

use super::cells::{ROWS_MAX, agent, more, section, table, tool};
use super::work::{CALLS_MAX, Waits, Work};
use crate::pages::frame::relative;

const HEADS: [&str; 8] = [
    "Agent",
    "Tool",
    "Open",
    "For approval",
    "For a result",
    "Ready",
    "Running",
    "Oldest waits since",
];

pub(super) fn shown(work: &Work, now: Timestamp) -> Markup {
    let mut rows: Vec<(&(String, String), &Waits)> = work.backlog.iter().collect();
    // A tool whose calls all run waits for nothing, and comes last.
    rows.sort_by_key(|(_, it)| it.oldest.unwrap_or(Timestamp(i64::MAX)));
    let body = html! {
        @if work.is_cut {
            p.banner.ask {
                "More than " (CALLS_MAX) " calls are open. These are those of the oldest sessions."
            }
        }
        @if rows.is_empty() { p.quiet { "No call is open." } }
        @else {
            (table("Open calls by agent and tool", &HEADS, 2..7, html! {
                @for ((agent_name, tool_name), waits) in rows.iter().take(ROWS_MAX) {
                    tr {
                        td { (agent(agent_name)) }
                        td { (tool(tool_name)) }
                        @for number in [
                            waits.all(), waits.approval, waits.result, waits.ready, waits.running
                        ] {
                            td.number { (number) }
                        }
                        td {
                            @match waits.oldest {
                                Some(at) => (relative(at, now)),
                                None => "",
                            }
                        }
                    }
                }
            }))
            (more(rows.len()))
        }
    };
    section("backlog", "Backlog", "", body)
}
