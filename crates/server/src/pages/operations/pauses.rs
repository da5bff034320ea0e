//! The stop switch: the pauses in force, and the forms that begin and end them.

use std::collections::BTreeSet;
use std::fmt::Write;

use maud::{Markup, html};
use recount::ledger::{ListedPause, PauseTarget};
use recount::session::{PauseScope, Timestamp};

use super::cells::{ROWS_MAX, more, section, who};
use super::switches::{agent_value, fields_of};
use crate::access::Role;
use crate::pages::frame::{Frame, relative, said};
use crate::problems::Problem;
use crate::routes::Caller;
use crate::routes::pauses::expect_operator;

/// A pause in force, and true if the person may end it.
pub(super) struct Row {
    pause: ListedPause,
    may_end: bool,
}

pub(super) async fn rows(caller: &Caller, pauses: Vec<ListedPause>) -> Result<Vec<Row>, Problem> {
    let mut rows = Vec::with_capacity(pauses.len());
    for pause in pauses {
        let may_end = match target(&pause) {
            Some(target) => expect_operator(caller, &target).await.is_ok(),
            None => false,
        };
        rows.push(Row { pause, may_end });
    }
    Ok(rows)
}

/// The target whose pause it is. `None` for a record that no target makes.
fn target(listed: &ListedPause) -> Option<PauseTarget> {
    match &listed.pause.scope {
        PauseScope::Everything => Some(PauseTarget::Everything),
        PauseScope::Agent(agent) => Some(PauseTarget::Agent(agent.clone())),
        PauseScope::Session => listed.session.map(PauseTarget::Session),
        PauseScope::Tool(tool) => {
            let tool = tool.clone();
            let session = listed.session?;
            Some(PauseTarget::Tool { session, tool })
        }
    }
}

pub(super) fn shown(frame: &Frame, rows: &[Row], now: Timestamp) -> Markup {
    let mut state = String::new();
    for Row { pause, .. } in rows {
        let at = pause.session.map_or_else(String::new, |it| it.to_string());
        // Writing to a string does not fail.
        let _ = write!(state, "{at}.{} ", pause.pause.at);
    }
    let body = html! {
        @if rows.is_empty() { p.quiet { "Nothing is paused." } }
        @else {
            ul.held {
                @for (at, row) in rows.iter().take(ROWS_MAX).enumerate() {
                    li { (one(frame, row, at, now)) }
                }
            }
            (more(rows.len()))
        }
    };
    section("pauses", "Pauses in force", &state, body)
}

fn one(frame: &Frame, row: &Row, at: usize, now: Timestamp) -> Markup {
    let pause = &row.pause.pause;
    html! {
        p {
            strong { (scope(&pause.scope)) }
            @if let Some(id) = row.pause.session {
                " of session "
                a href=(frame.links().session(id)) { code { (id) } }
            }
        }
        @if let Some(reason) = &pause.reason { p { (said(reason)) } }
        p.quiet { "paused by " (who(&pause.by)) " " (relative(pause.since, now)) }
        @if row.may_end && let Some(target) = target(&row.pause) {
            (ending(frame, &target, at))
        }
    }
}

fn scope(scope: &PauseScope) -> Markup {
    match scope {
        PauseScope::Everything => html! { "Everything" },
        PauseScope::Agent(agent) => html! { "Agent " (said(agent)) },
        PauseScope::Session => html! { "All calls" },
        PauseScope::Tool(tool) => html! { "Tool " (said(tool)) },
    }
}

/// The form that ends a pause.
fn ending(frame: &Frame, target: &PauseTarget, at: usize) -> Markup {
    let fields = html! {
        @for (name, value) in fields_of(target) {
            input type="hidden" name=(name) value=(value);
        }
        div.actions {
            label.inline for={ "unpause-reason-" (at) } { "Reason (optional)" }
            input.inline id={ "unpause-reason-" (at) } name="reason" maxlength="2000"
                autocomplete="off";
            button id={ "unpause-" (at) } { "End the pause" }
        }
    };
    frame.form("operations/unpause", fields)
}

/// The forms that begin a pause. They are no live part, so a text that is typed stays.
pub(super) fn beginning(caller: &Caller, frame: &Frame, agents: &BTreeSet<&str>) -> Markup {
    let principal = &caller.principal;
    let may_stop_all = principal.role_over_everything() >= Some(Role::Operator);
    let operates = |agent: &&str| {
        // The agent of a sealed session is unknown.
        !agent.is_empty() && principal.role_over_agent(agent) >= Some(Role::Operator)
    };
    let agents: Vec<&str> = agents.iter().copied().filter(operates).collect();
    html! {
        section.card.switch aria-labelledby="pause-title" {
            h2 id="pause-title" { "Begin a pause" }
            p.quiet {
                "Nothing in a pause starts. Calls that run go on, unless you cancel them, and what "
                "a tool has done stays done."
            }
            @if may_stop_all || !agents.is_empty() {
                (frame.form("operations/pause", html! {
                    label for="pause-target" { "What to pause" }
                    // Without a default: a slip must not stop everything.
                    select id="pause-target" name="target" required {
                        option value="" selected { "Choose what to pause" }
                        @if may_stop_all { option value="everything" { "Everything" } }
                        @for agent in agents {
                            option value=(agent_value(agent)) { "Agent " (said_in_option(agent)) }
                        }
                    }
                    (reason("pause"))
                }))
            }
            details id="pause-one" open[!may_stop_all] {
                summary { "Pause one session, or one tool in it" }
                (frame.form("operations/pause", html! {
                    label for="pause-session" { "Id of the session" }
                    input id="pause-session" name="session" required autocomplete="off"
                        spellcheck="false";
                    label for="pause-tool" { "Tool (empty: every tool)" }
                    input id="pause-tool" name="tool" autocomplete="off" spellcheck="false";
                    (reason("pause-one"))
                }))
            }
        }
    }
}

/// An option has text alone, so marks for unseen characters are plain.
fn said_in_option(agent: &str) -> String {
    recount_telling::one_line(agent).into_owned()
}

fn reason(id: &str) -> Markup {
    html! {
        label for={ (id) "-reason" } { "Reason" }
        input id={ (id) "-reason" } name="reason" maxlength="2000" autocomplete="off";
        label.check {
            input type="checkbox" name="cancel_running" value="yes";
            "Also cancel the calls that run"
        }
        p { button.stop { "Pause" } }
    }
}
