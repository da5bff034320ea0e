//! The arguments of a call: a table for reading, and the exact JSON beside it.

use maud::{Markup, html};
use recount::session::Json;
use recount_telling::{asked, mixed_scripts};
use recount_text::json::{Tree, escaped, is_within};
use serde_json::value::RawValue;

use super::loaded::Loaded;
use crate::pages::frame::{said, said_in_lines};

/// The depth to which values have rows of their own. Deeper ones are shown as JSON.
const DEPTH_MAX: usize = 3;

/// The maximum length of a text that is not folded, in characters and in lines.
const TEXT_MAX: (usize, usize) = (2_000, 40);

/// The beginning of a folded text that is shown, in characters and in lines.
const TEXT_HEAD: (usize, usize) = (500, 10);

/// The maximum number of rows that are not folded, in the table and in each table in it.
const ROWS_MAX: [usize; 2] = [100, 20];

/// The arguments with which the tool runs, and those of the model if they differ.
pub(super) fn shown(it: &Loaded) -> Markup {
    let args = it.args();
    let called = it.call.args.as_ref();
    let before = called.filter(|it| it.as_str() != args.as_str());
    html! {
        h2 { "Arguments" }
        // However long they are, the way to the answer is short.
        @if it.open().is_some() { p { a href="#answers" { "To your answer" } } }
        @if let Some(malformed) = &it.call.malformed_args {
            p.bad { "The arguments are no JSON:" }
            pre { (said_in_lines(malformed)) }
        } @else {
            @if let Some(flaw) = &it.call.flaw { p.bad { (said(flaw)) } }
            div.beside {
                (json_table(&args, it.sealed()))
                div {
                    h3 id="exact" { "Exact JSON" }
                    pre aria-labelledby="exact" tabindex="0" { (folded(args.as_str())) }
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
            @let rows = members.into_iter().map(|(name, value)| {
                let at = format!("{pointer}/{}", escaped(&name));
                html! { tr {
                    th scope="row" { (said(&name)) }
                    td { (cell(value, &at, sealed, depth)) }
                } }
            });
            (first_rows(rows.collect(), depth))
        },
        Tree::Elements(elements) => html! {
            @let rows = elements.into_iter().enumerate().map(|(at, value)| html! { tr {
                th scope="row" { (at) }
                td { (cell(value, &format!("{pointer}/{at}"), sealed, depth)) }
            } });
            (first_rows(rows.collect(), depth))
        },
        Tree::Leaf => html! { tr { td { (leaf(value)) } } },
    }
}

/// The rows of a table. Many are folded, and counted.
fn first_rows(rows: Vec<Markup>, depth: usize) -> Markup {
    let [table, inner] = ROWS_MAX;
    let max = if depth == 0 { table } else { inner };
    let (first, rest) = rows.split_at_checked(max).unwrap_or((&rows, &[]));
    html! {
        @for row in first { (row) }
        @if !rest.is_empty() {
            tr { td colspan="2" { details {
                summary { (rest.len()) " more, " (rows.len()) " in all" }
                table.values { tbody { @for row in rest { (row) } } }
            } } }
        }
    }
}

/// A text with its line breaks. A long one is folded behind its beginning and its length.
fn folded(text: &str) -> Markup {
    let end = |(characters, lines): (usize, usize)| {
        let character = text.char_indices().nth(characters).map(|(at, _)| at);
        let line = text.match_indices('\n').nth(lines).map(|(at, _)| at);
        character.into_iter().chain(line).min()
    };
    let head = end(TEXT_HEAD).and_then(|at| text.get(..at));
    let Some(head) = head.filter(|_| end(TEXT_MAX).is_some()) else {
        return said_in_lines(text);
    };
    html! {
        (said_in_lines(head)) "…"
        details {
            summary { "All " (text.chars().count()) " characters" }
            (said_in_lines(text))
        }
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
            html! { code { (folded(value.get())) } }
        }
    }
}

/// A text as it reads, any other value as JSON.
fn leaf(value: &RawValue) -> Markup {
    match serde_json::from_str::<String>(value.get()) {
        Ok(text) if text.is_empty() => html! { span.quiet { "empty text" } },
        Ok(text) => html! {
            (folded(&text))
            @if let Some(odd) = mixed_scripts(&text) {
                div.quiet { "Mixed scripts in a word: " (said(&odd)) }
            }
        },
        Err(_) => html! { code { (folded(value.get())) } },
    }
}
