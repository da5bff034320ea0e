//! The two pages of a change: the form, and the difference before it is sent.

use axum::http::StatusCode;
use axum::response::Response;
use maud::{Markup, html};
use recount::session::Json;
use recount_telling::one_line;
use recount_text::json::changes;

use super::super::answers::{REASON_MAX, names};
use super::super::arguments::json_table;
use super::super::loaded::{Loaded, card};
use super::fields::{Field, Kind};
use crate::pages::frame::{Frame, Page, said, said_in_lines};

/// The line break that a browser takes away at the beginning of a text area.
const BREAK: &str = "\n";

/// The form. `faults` are those of no field.
pub(super) fn form(frame: &Frame, it: &Loaded, fields: &[Field], faults: &[String]) -> Response {
    let page = card(it.session, it.call.seq);
    let has_faults = !faults.is_empty() || fields.iter().any(|it| !it.faults.is_empty());
    let inputs = html! {
        @if let Some(open) = it.open() { (names(open)) }
        @for (at, field) in fields.iter().enumerate() { (input(at, field)) }
        div.actions {
            button.go name="step" value="show" { "Show the difference" }
            a.button href=(frame.links().to(&page)) { "Back to the call" }
        }
    };
    let body = html! {
        p { "Nothing is sent before you have seen the difference." }
        @if has_faults {
            div.banner.bad role="alert" {
                p { "The arguments do not fit the tool’s schema." }
                @for fault in faults { p { (said(fault)) } }
            }
        }
        section.card { (frame.form(&format!("{page}/edit"), inputs)) }
    };
    let status = match has_faults {
        true => StatusCode::UNPROCESSABLE_ENTITY,
        false => StatusCode::OK,
    };
    frame.page_with(
        status,
        Page::new("Change the arguments", body).heading(heading(it)),
    )
}

fn heading(it: &Loaded) -> Markup {
    html! { "Change the arguments of " (said(&it.call.tool)) }
}

fn input(at: usize, field: &Field) -> Markup {
    let id = format!("field-{at}");
    let (about, fault) = (format!("about-{at}"), format!("fault-{at}"));
    let is_wrong = !field.faults.is_empty();
    let described = match is_wrong {
        true => format!("{fault} {about}"),
        false => about.clone(),
    };
    let invalid = is_wrong.then_some("true");
    html! {
        div.wrong[is_wrong] {
            label for=(id) {
                (said(&field.name))
                @if !field.is_required { span.quiet { " (optional)" } }
            }
            @match &field.kind {
                Kind::Text => {
                    textarea id=(id) name=(field.key()) rows="1" aria-describedby=(described)
                        aria-invalid=[invalid] { (BREAK) (field.value) }
                },
                Kind::Number => {
                    // A number keeps its digits only as a text.
                    input id=(id) name=(field.key()) inputmode="decimal" value=(field.value)
                        aria-describedby=(described) aria-invalid=[invalid];
                },
                Kind::Flag => {
                    (choices(&id, field, &described, &["true".to_owned(), "false".to_owned()]))
                },
                Kind::Choice(all) => (choices(&id, field, &described, all)),
                Kind::Json => {
                    textarea.json id=(id) name=(field.key()) aria-describedby=(described)
                        aria-invalid=[invalid] { (BREAK) (field.value) }
                },
                Kind::Sealed => {
                    input id=(id) value="sealed" disabled aria-describedby=(described);
                },
            }
            p.quiet id=(about) {
                (said_in_lines(&field.about))
                @match field.kind {
                    Kind::Sealed => " The value is secret and stays as it is.",
                    Kind::Json => " A JSON value.",
                    Kind::Text | Kind::Number | Kind::Flag | Kind::Choice(_) => "",
                }
            }
            @if one_line(&field.value) != field.value && field.kind == Kind::Text {
                p.quiet { "As it is written: " (said_in_lines(&field.value)) }
            }
            div id=(fault) {
                @for fault in &field.faults { p.fault { (said(fault)) } }
            }
        }
    }
}

fn choices(id: &str, field: &Field, described: &str, all: &[String]) -> Markup {
    let is_other = !field.value.is_empty() && !all.contains(&field.value);
    html! {
        select id=(id) name=(field.key()) aria-describedby=(described)
            aria-invalid=[(!field.faults.is_empty()).then_some("true")] {
            @if !field.is_required || field.value.is_empty() {
                option value="" selected[field.value.is_empty()] { "—" }
            }
            @for choice in all {
                option value=(choice) selected[*choice == field.value] { (choice) }
            }
            @if is_other {
                option value=(field.value) selected { (one_line(&field.value)) }
            }
        }
    }
}

/// The difference, with the button that sends it.
pub(super) fn difference(frame: &Frame, it: &Loaded, args: &Json, fields: &[Field]) -> Response {
    let page = card(it.session, it.call.seq);
    let before = it.args();
    let changed = changes(&before, args, &|_| false);
    let kept = html! {
        @if let Some(open) = it.open() { (names(open)) }
        @for field in fields {
            @if field.kind != Kind::Sealed {
                input type="hidden" name=(field.key()) value=(field.value);
            }
        }
    };
    let send = html! {
        (kept)
        label for="reason" { "Reason (optional)" }
        textarea id="reason" name="reason" maxlength=(REASON_MAX) {}
        div.actions {
            @if !changed.is_empty() {
                button.go id="send" name="step" value="send" { "Approve with these arguments" }
            }
            button name="step" value="back" { "Change more" }
            a.button href=(frame.links().to(&page)) { "Back to the call" }
        }
    };
    let body = html! {
        section.card {
            h2 { "The difference" }
            @if changed.is_empty() {
                p { "The arguments are as they were. Approve the call as it is, or change more." }
            } @else {
                div.scroll {
                    table {
                        thead { tr {
                            th scope="col" { "Argument" }
                            th scope="col" { "Before" }
                            th scope="col" { "After" }
                        } }
                        tbody {
                            @for change in &changed {
                                tr {
                                    th scope="row" {
                                        (said(change.pointer.trim_start_matches('/')))
                                    }
                                    td { (side(change.before.as_ref(), "del")) }
                                    td { (side(change.after.as_ref(), "ins")) }
                                }
                            }
                        }
                    }
                }
            }
            (frame.form(&format!("{page}/edit"), send))
        }
        section.card {
            h2 { "The call would run with" }
            (json_table(args, it.sealed()))
        }
    };
    frame.page(Page::new("The difference", body).heading(heading(it)))
}

fn side(value: Option<&Json>, kind: &str) -> Markup {
    match (value, kind) {
        (None, _) => html! { span.quiet { "none" } },
        (Some(value), "del") => html! { del { code { (said(value.as_str())) } } },
        (Some(value), _) => html! { ins { code { (said(value.as_str())) } } },
    }
}
