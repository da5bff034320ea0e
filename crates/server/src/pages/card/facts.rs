//! The facts about a call besides its arguments: the rule that asked, for whom it is made, what
//! will run and whether that has changed.

use maud::{Markup, html};
use recount::ledger::{HintBy, PendingConfirmation};
use recount::session::catalog::ToolKind;
use recount::session::{About, InDoubt, ToolDeclaration};
use recount_telling::{acted, calls};

use super::loaded::Loaded;
use super::status;
use crate::pages::frame::{moment, said, said_in_lines};

/// The author of the question in words.
pub(super) fn author(open: &PendingConfirmation) -> &'static str {
    match open.about {
        About::InDoubt => "Recount, because the call was cut off",
        About::Gate | About::Tool => match (&open.hint, open.hint_by) {
            (None, _) => "Recount, because the tool has none of its own",
            (Some(_), HintBy::Declaration) => "the author of the tool, in its declaration",
            (Some(_), HintBy::Tool) => "the tool itself, while it ran",
        },
    }
}

/// The facts as a list.
pub(super) fn shown(it: &Loaded) -> Markup {
    let call = &it.call;
    html! {
        h2 { "About this call" }
        (status::approvals(it))
        dl.facts {
            dt { "Agent" } dd { (said(&call.agent)) }
            @if let Some(id) = &call.external_id { dt { "External id" } dd { (said(id)) } }
            @for (name, value) in &call.labels {
                dt { "Label " (said(name)) } dd { (said(value)) }
            }
            dt { "On behalf of" }
            dd {
                @match &call.on_behalf_of {
                    Some(person) => (said(person)),
                    None => span.quiet { "not recorded" },
                }
            }
            dt { "Called by" }
            dd {
                @match (&call.called_by, call.parent) {
                    (Some(by), _) => (said(&acted("", by))),
                    (None, Some(parent)) => { "the model of an agent, in call " (parent) },
                    (None, None) => "the model of the conversation",
                }
                ", " (moment(call.called_at))
            }
            @if let Some(policy) = &call.policy {
                dt { "Rule that decided" }
                dd {
                    (calls::rule(policy.rule))
                    @if let Some(reason) = &policy.reason { ": " (said(reason)) }
                    ", record " (policy.seq)
                }
            }
            dt { "Decision" } dd { (said(&calls::verdict(call))) }
            dt { "What runs" } dd { (what_runs(it)) }
            dt { "Contract" } dd { (contract(it)) }
            dt { "If it is cut off" } dd { (in_doubt(it)) }
            dt { "On record" }
            dd { "session " code { (it.session) } ", record " (call.seq) }
        }
    }
}

/// The tool, its kind, and the place where it runs.
fn what_runs(it: &Loaded) -> Markup {
    let Some(declared) = it.declared() else {
        return html! { span.bad { "The session has no tool of this name now." } };
    };
    let by = match declared.kind {
        ToolKind::Function | ToolKind::Streaming | ToolKind::InputStreaming => {
            "in the process that serves the session"
        }
        ToolKind::LongRunning => {
            "started by the process that serves the session; its result comes from outside"
        }
        ToolKind::ServerSide => "by the service of the model itself",
        ToolKind::Agent => "an agent: a model that may call tools itself",
        ToolKind::Client => "by a client outside, which claims the call",
    };
    html! {
        strong { (said(&declared.name)) } ", " (by)
        @if it.folded.runner.is_none() { br; span.ask { "No process serves the session now." } }
        @if !declared.description.is_empty() {
            br; span.quiet { (said_in_lines(&declared.description)) }
        }
        (place(declared))
    }
}

fn place(declared: &ToolDeclaration) -> Markup {
    html! {
        @if let Some(definition) = &declared.definition {
            @if let Some(server) = definition.get("server").and_then(|it| it.as_str()) {
                br; "Server " code { (said(server)) }
            }
        }
        @if let Some(implementation) = &declared.implementation {
            br; "Program " code { (said(&implementation.to_string())) }
        }
    }
}

/// True words about the contract: an approval is bound to it.
fn contract(it: &Loaded) -> Markup {
    let asked = match (&it.asked, it.call.deciding_question()) {
        (Some(open), _) => open.contract,
        (None, Some(question)) => Some(question.contract),
        (None, None) => None,
    };
    let now = it.folded.terms.contract(&it.call.tool);
    let short = |it: &dyn std::fmt::Display| it.to_string().chars().take(12).collect::<String>();
    html! {
        @match (asked, now) {
            (Some(asked), Some(now)) if asked == now => {
                "unchanged since the question, " code { (short(&now)) }
            },
            (Some(asked), Some(now)) => {
                span.bad { "changed since the question" }
                ": " code { (short(&asked)) } " then, " code { (short(&now)) } " now"
            },
            (Some(asked), None) => {
                span.bad { "the tool is gone since the question" } ", " code { (short(&asked)) }
            },
            (None, Some(now)) => { code { (short(&now)) } },
            (None, None) => span.quiet { "none" },
        }
    }
}

fn in_doubt(it: &Loaded) -> &'static str {
    match it.folded.terms.policies.of(&it.call.tool).in_doubt {
        InDoubt::Retry => "it runs again: the tool is declared idempotent",
        InDoubt::Ask => "a person is asked what happened",
        InDoubt::SettleUnknown => "the model is told that the outcome is unknown",
    }
}
