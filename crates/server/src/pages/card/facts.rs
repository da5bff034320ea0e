//! The facts about a call besides its arguments: the rule that asked, for whom it is made, what
//! will run and whether that has changed.

use maud::{Markup, html};
use recount::ledger::{HintBy, PendingConfirmation};
use recount::session::catalog::ToolKind;
use recount::session::{About, InDoubt, ToolDeclaration};
use recount::tool::without_note;
use recount_telling::{acted, calls};
use serde_json::Value;

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
            dt { "Decision" } dd { (said(&calls::decision(call))) }
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
        // The note for the model at its end is no word for a person.
        @let description = without_note(&declared.description);
        @if !description.is_empty() { br; span.quiet { (said_in_lines(description)) } }
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
            br; (program(implementation))
        }
    }
}

/// The program that the tool runs. Its arguments are on record as a hash, because they may hold
/// secrets.
fn program(implementation: &Value) -> Markup {
    let text = |name: &str| implementation.get(name).and_then(Value::as_str);
    let files = implementation.get("files").and_then(Value::as_object);
    html! {
        @match (text("program"), text("args")) {
            (Some(program), Some(args)) => {
                "Program " code { (said(program)) } ", with arguments whose SHA-256 begins with "
                code title=(args) { (said(&short(args))) }
                @for (name, hash) in files.into_iter().flatten() {
                    @let hash = hash.as_str().unwrap_or_default();
                    ", file " code { (said(name)) } " with "
                    code title=(hash) { (said(&short(hash))) }
                }
            },
            (_, _) => { "Program " code { (said(&implementation.to_string())) } },
        }
    }
}

/// The first characters of a hash.
fn short(hash: &str) -> String {
    hash.chars().take(12).collect()
}

/// True words about the contract: an approval is bound to it.
fn contract(it: &Loaded) -> Markup {
    let asked = match (&it.asked, it.call.deciding_question()) {
        (Some(open), _) => open.contract,
        (None, Some(question)) => Some(question.contract),
        (None, None) => None,
    };
    let now = it.folded.terms.contract(&it.call.tool);
    let short = |it: &dyn std::fmt::Display| short(&it.to_string());
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
