//! The answers that a person can give on a card, as forms. A person who may not answer sees none.

use maud::{Markup, html};
use recount::ledger::PendingConfirmation;
use recount::session::About;
use recount_telling::still_needed;

use super::loaded::{Loaded, card};
use super::typed::Typed;
use crate::access::Role;
use crate::pages::denying;
use crate::pages::frame::{Frame, said};

/// The maximum number of characters of a reason.
pub(super) const REASON_MAX: usize = 2_000;

/// The forms for the state of the call. The script replaces them only when that state changes, so
/// that it keeps what a person is typing. A form that was refused has the text that was typed.
pub(super) fn shown(frame: &Frame, it: &Loaded, typed: Typed<'_>) -> Markup {
    let (state, forms) = forms(frame, it, typed);
    html! {
        section.card[forms.is_some()] id="answers" data-part data-state=(state)
            aria-label="Your answer" {
            @if let Some(forms) = forms { (forms) }
        }
    }
}

fn forms(frame: &Frame, it: &Loaded, typed: Typed<'_>) -> (String, Option<Markup>) {
    let page = card(it.session, it.call.seq);
    if let Some(open) = it.open() {
        let state = format!("{}-{}", open.id, open.approvals.len());
        if open.sealed || it.role < Role::Approver {
            return (state, None);
        }
        let allows = it.is_mine && open.may_allow_for_session;
        let answers = html! {
            h2 { "Your answer" }
            @if !it.is_mine { (not_yours(it, open)) }
            div.choices {
                @if it.is_mine { (yes(frame, &page, open, typed.with("answer", "yes"))) }
                (no(frame, &page, it, open, typed.with("answer", "no")))
                @if it.is_mine { (other_ways(frame, &page, it, open, typed)) }
            }
            // Apart from the answers to this call, so that a slip does not decide about others.
            @if allows || it.open_in_session.len() > 1 {
                div.further {
                    h3 { "About other calls, too" }
                    @if allows { (allow(frame, &page, open, typed.with("answer", "allow"))) }
                    @if it.open_in_session.len() > 1 { (deny_all(frame, it)) }
                }
            }
        };
        return (state, Some(answers));
    }
    if it.role >= Role::Operator && it.is_paused() {
        return ("paused".to_owned(), Some(respond(frame, &page, typed)));
    }
    if it.role >= Role::Operator && it.call.is_unknown() && it.call.ended.is_some() {
        return ("in-doubt".to_owned(), Some(reconcile(frame, &page, typed)));
    }
    if let Some((leave, _)) = it.leave()
        && it.role >= Role::Approver
    {
        let state = format!("leave-{leave}");
        return (state, Some(revoke(frame, it, leave.0)));
    }
    ("none".to_owned(), None)
}

/// The hidden fields that name the request which the person saw.
pub(super) fn names(open: &PendingConfirmation) -> Markup {
    html! {
        input type="hidden" name="request" value=(open.id);
        input type="hidden" name="request_hash" value=(open.request_hash);
    }
}

/// The reason why the person cannot say yes.
fn not_yours(it: &Loaded, open: &PendingConfirmation) -> Markup {
    let terms = open
        .needs
        .as_deref()
        .map(|it| still_needed(it, open.missing()));
    html! {
        p.quiet {
            @match (it.own_yes, it.barred, terms) {
                (Some(_), _, _) => {
                    "You have said yes to this call. It waits for others. You may still deny it."
                },
                (None, Some(barred), Some(terms)) => {
                    "You may not say yes to this call: " (barred.to_string())
                    ". Needed: " (said(&terms)) "."
                },
                (None, _, _) => "You may not say yes to this call.",
            }
        }
    }
}

/// The button of a yes.
fn yes(frame: &Frame, page: &str, open: &PendingConfirmation, typed: Typed<'_>) -> Markup {
    let approve = html! {
        (names(open))
        @if let Some(schema) = &open.payload_schema {
            label for="payload" { "Payload (JSON)" }
            textarea.json id="payload" name="payload" required
                aria-invalid=[typed.is_refused().then_some("true")]
                aria-describedby=(typed.mistake().unwrap_or("payload-schema")) {
                (in_area(typed.text("payload").unwrap_or_default()))
            }
            details id="payload-about" {
                summary { "The schema that the payload must fit" }
                pre id="payload-schema" { (said(schema.as_str())) }
            }
        }
        button.go id="approve" name="answer" value="yes" {
            @match open.about {
                About::Gate => "Approve",
                About::Tool => "Continue",
                About::InDoubt => "Run it again",
            }
        }
    };
    html! {
        div.yes.wide[open.payload_schema.is_some()] {
            (frame.form(&format!("{page}/answer"), approve))
        }
    }
}

/// The answers to this call besides a plain yes and no.
fn other_ways(
    frame: &Frame,
    page: &str,
    it: &Loaded,
    open: &PendingConfirmation,
    typed: Typed<'_>,
) -> Markup {
    let may_edit = it.edits().is_some() && it.declared().is_some();
    html! {
        @if open.about == About::Gate && may_edit {
            a.button id="edit" href=(frame.links().to(&format!("{page}/edit"))) {
                "Change the arguments …"
            }
        }
        @if open.about == About::InDoubt { (settle(frame, page, open, typed)) }
    }
}

/// The form of a yes that also allows later calls.
fn allow(frame: &Frame, page: &str, open: &PendingConfirmation, typed: Typed<'_>) -> Markup {
    let by_hours = typed.text("bound") == Some("hours");
    let fields = html! {
        (names(open))
        @if open.payload_schema.is_some() {
            label for="allow-payload" { "Payload (JSON)" }
            textarea.json id="allow-payload" name="payload" required
                aria-invalid=[typed.is_refused().then_some("true")]
                aria-describedby=[typed.mistake()] {
                (in_area(typed.text("payload").unwrap_or_default()))
            }
        }
        fieldset {
            legend { "Allowed without a question" }
            div.bound {
                label.check {
                    input type="radio" name="bound" value="count" checked[!by_hours];
                    "the next"
                }
                input.number id="allow-count" name="count" type="number" min="1" max="1000000"
                    value=(typed.text("count").unwrap_or("5")) aria-label="Number of further calls";
                "calls"
            }
            div.bound {
                label.check {
                    input type="radio" name="bound" value="hours" checked[by_hours];
                    "all calls for the next"
                }
                input.number id="allow-hours" name="hours" type="number" min="1" max="8760"
                    value=(typed.text("hours").unwrap_or("8")) aria-label="Hours";
                "hours"
            }
        }
        p { button.go id="allow" name="answer" value="allow" { "Approve, and allow these" } }
    };
    html! {
        details id="allowing" open[typed.is_refused()] {
            summary { "Approve, and allow later calls of this tool in the session" }
            p.quiet { "You can revoke this here at any time." }
            (frame.form(&format!("{page}/answer"), fields))
        }
    }
}

/// The answers to a call in doubt that do not run it again, in words.
fn settle(frame: &Frame, page: &str, open: &PendingConfirmation, typed: Typed<'_>) -> Markup {
    let (ran, not) = (typed.with("answer", "done"), typed.with("answer", "failed"));
    let done = html! {
        (names(open))
        (result_field("settle-result", ran))
        p { button.go name="answer" value="done" { "It ran: this is its result" } }
    };
    let failed = html! {
        (names(open))
        label for="settle-reason" { "Why it did not run" }
        (reason_field("settle-reason", true, not))
        p { button.stop name="answer" value="failed" { "It did not run" } }
    };
    html! {
        details.act id="settling-done" open[ran.is_refused()] {
            summary { "I know that it ran" }
            (frame.form(&format!("{page}/answer"), done))
        }
        details.act id="settling-failed" open[not.is_refused()] {
            summary { "I know that it did not run" }
            (frame.form(&format!("{page}/answer"), failed))
        }
    }
}

fn no(
    frame: &Frame,
    page: &str,
    it: &Loaded,
    open: &PendingConfirmation,
    typed: Typed<'_>,
) -> Markup {
    let told = match it.keeps_reason() {
        true => "Reason (the model is not told)",
        false => "Reason (the model is told)",
    };
    let fields = html! {
        (names(open))
        label for="reason" { (told) }
        (reason_field("reason", false, typed))
        p { button.stop.final id="deny" name="answer" value="no" { "Deny" } }
    };
    html! {
        details.act.stop id="denying" open[typed.is_refused()] {
            summary id="denying-summary" { "Deny …" }
            (frame.form(&format!("{page}/answer"), fields))
        }
    }
}

fn deny_all(frame: &Frame, it: &Loaded) -> Markup {
    let reason = html! {
        label for="reason-all" { "Reason" }
        textarea id="reason-all" name="reason" maxlength=(REASON_MAX) {}
    };
    let (open, next) = (&it.open_in_session, card(it.session, it.call.seq));
    html! {
        details id="denying-all" {
            summary { "Deny everything that waits in this session …" }
            (denying::form(frame, it.session, open, &next, &reason))
        }
    }
}

fn respond(frame: &Frame, page: &str, typed: Typed<'_>) -> Markup {
    let fields = html! {
        (result_field("result", typed))
        p { button.go { "Supply the result" } }
    };
    html! {
        h2 { "Supply the result" }
        p { "The tool has started something outside. The call ends with the result you give." }
        (frame.form(&format!("{page}/respond"), fields))
    }
}

fn reconcile(frame: &Frame, page: &str, typed: Typed<'_>) -> Markup {
    let (ran, not) = (typed.with("found", "done"), typed.with("found", "failed"));
    let done = html! {
        (result_field("found-result", ran))
        p { button.go name="found" value="done" { "It ran: this is its result" } }
    };
    let failed = html! {
        label for="found-reason" { "Why it did not run" }
        (reason_field("found-reason", true, not))
        p { button.stop name="found" value="failed" { "It did not run" } }
    };
    html! {
        h2 { "What happened?" }
        p {
            "The call was cut off between its start and its result. "
            "Look where the tool acts, then record what you found."
        }
        details.act id="found-done" open[ran.is_refused()] {
            summary { "It ran" }
            (frame.form(&format!("{page}/reconcile"), done))
        }
        details.act.stop id="found-failed" open[not.is_refused()] {
            summary { "It did not run" }
            (frame.form(&format!("{page}/reconcile"), failed))
        }
    }
}

fn revoke(frame: &Frame, it: &Loaded, leave: u64) -> Markup {
    let fields = html! {
        label for="revoke-reason" { "Reason" }
        input id="revoke-reason" name="reason" maxlength=(REASON_MAX);
        p { button.stop id="revoke" { "Revoke" } }
    };
    let page = format!("{}/leaves/{leave}/revoke", card(it.session, it.call.seq));
    html! {
        h2 { "Later calls are allowed" }
        p { "An answer to this call also allows later calls of " (said(&it.call.tool)) "." }
        (frame.form(&page, fields))
    }
}

fn result_field(id: &str, typed: Typed<'_>) -> Markup {
    html! {
        label for=(id) { "Result (a JSON object)" }
        textarea.json id=(id) name="result" required
            aria-invalid=[typed.is_refused().then_some("true")]
            aria-describedby=[typed.mistake()] {
            (in_area(typed.text("result").unwrap_or("{}")))
        }
    }
}

fn reason_field(id: &str, is_required: bool, typed: Typed<'_>) -> Markup {
    html! {
        textarea id=(id) name="reason" required[is_required] maxlength=(REASON_MAX) {
            (in_area(typed.text("reason").unwrap_or_default()))
        }
    }
}

/// The text of an area. A browser drops the first line break, which may be one of the text.
fn in_area(text: &str) -> String {
    format!("\n{text}")
}
