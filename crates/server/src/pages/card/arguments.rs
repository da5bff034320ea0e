//! The arguments of a call: a table for reading, and the exact JSON beside it.

use maud::{Markup, html};
use recount::session::Json;
use recount_telling::asked;
use recount_text::json::{Tree, escaped, is_within};
use serde_json::value::RawValue;

use super::loaded::Loaded;
use crate::pages::frame::{said, said_in_lines};

/// The depth to which values have rows of their own. Deeper ones are shown as JSON.
const DEPTH_MAX: usize = 3;

/// The arguments with which the tool runs, and those of the model if they differ.
pub(super) fn shown(it: &Loaded) -> Markup {
    let args = it.args();
    let called = it.call.args.as_ref();
    let before = called.filter(|it| it.as_str() != args.as_str());
    html! {
        h2 { "Arguments" }
        @if let Some(malformed) = &it.call.malformed_args {
            p.bad { "The arguments are no JSON:" }
            pre { (said_in_lines(malformed)) }
        } @else {
            @if let Some(flaw) = &it.call.flaw { p.bad { (said(flaw)) } }
            div.beside {
                (json_table(&args, it.sealed()))
                div {
                    h3 id="exact" { "Exact JSON" }
                    pre aria-labelledby="exact" tabindex="0" { (said_in_lines(args.as_str())) }
                }
            }
            @if let Some(before) = before {
                details id="before" {
                    summary { "The model’s arguments, before an approver changed them" }
                    (json_table(before, it.sealed()))
                }
            }
        }
        @if let Some(open) = &it.asked {
            // The hint is above, as the question; here is who wrote it.
            p.quiet {
                "The question " q { (said(asked(open))) } " was written by "
                (super::facts::author(open)) "."
            }
        }
    }
}

/// A JSON object as a table with a row for each member.
pub(super) fn json_table(value: &Json, sealed: &[String]) -> Markup {
    html! {
        div.scroll {
            table.values {
                tbody { (rows(value.raw(), "", sealed, 0)) }
            }
        }
    }
}

fn rows(value: &RawValue, pointer: &str, sealed: &[String], depth: usize) -> Markup {
    match Tree::of(value) {
        Tree::Members(members) if members.is_empty() => {
            html! { tr { td.quiet { "none" } } }
        }
        Tree::Members(members) => html! {
            @for (name, value) in members {
                @let at = format!("{pointer}/{}", escaped(&name));
                tr {
                    th scope="row" { (said(&name)) }
                    td { (cell(value, &at, sealed, depth)) }
                }
            }
        },
        Tree::Elements(elements) => html! {
            @for (at, value) in elements.into_iter().enumerate() {
                tr {
                    th scope="row" { (at) }
                    td { (cell(value, &format!("{pointer}/{at}"), sealed, depth)) }
                }
            }
        },
        Tree::Leaf => html! { tr { td { (leaf(value)) } } },
    }
}

fn cell(value: &RawValue, pointer: &str, sealed: &[String], depth: usize) -> Markup {
    if sealed.iter().any(|it| is_within(pointer, it)) {
        return html! {
            span.badge.ask { "sealed" } " "
            span.quiet { "The value is secret. Only the tool sees it." }
        };
    }
    match Tree::of(value) {
        Tree::Leaf => leaf(value),
        Tree::Members(_) | Tree::Elements(_) if depth < DEPTH_MAX => html! {
            table.values { tbody { (rows(value, pointer, sealed, depth + 1)) } }
        },
        Tree::Members(_) | Tree::Elements(_) => {
            html! { code { (said(value.get())) } }
        }
    }
}

/// A text as it reads, any other value as JSON.
fn leaf(value: &RawValue) -> Markup {
    match serde_json::from_str::<String>(value.get()) {
        Ok(text) if text.is_empty() => html! { span.quiet { "empty text" } },
        Ok(text) => said_in_lines(&text),
        Err(_) => html! { code { (said(value.get())) } },
    }
}
