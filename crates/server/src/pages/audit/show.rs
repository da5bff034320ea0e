//! The page of the audit.

use axum::response::Response;
use maud::{Markup, html};
use recount::audit::{AuditedCall, Verdict};
use recount_telling::calls::{self as words, Mood, OUTCOMES};
use recount_telling::count;

use super::calls::Calls;
use crate::pages::frame::{Frame, Page, moment, next_page, not_filtered, query, said};
use crate::pages::sessions::filter_field;
use crate::problems::Problem;
use crate::requests::{Cursor, Params};
use crate::routes::Caller;
use crate::routes::reports::audit::filter;

/// The parameters of the page.
const KNOWN: [&str; 9] = [
    "from",
    "until",
    "actor",
    "tool",
    "label",
    "verdict",
    "outcome",
    "unconfirmed",
    "cursor",
];

/// The filters with a field for text, in the order of the form.
const FIELDS: [(&str, &str); 5] = [
    ("tool", "Tool"),
    ("actor", "Person"),
    ("label", "Label, as name:value"),
    ("from", "With an event since (UTC)"),
    ("until", "With an event before (UTC)"),
];

/// The maximum length of arguments in the table, in characters.
const ARGS_MAX: usize = 300;

/// Shows the decisions.
pub(crate) async fn show(
    caller: Caller,
    frame: Frame,
    params: Params,
) -> Result<Response, Problem> {
    let params = params.given().known(&KNOWN);
    let filter = match filter(&params) {
        Ok(filter) => filter,
        Err(problem) => return not_filtered(&frame, "Audit", filters(&params)?, &problem),
    };
    let found = Calls::read(&caller, filter, &params).await?;
    let cursor = found.next.map(Cursor::text);
    let body = html! {
        (checks(&frame))
        h2 { "Decisions" }
        (filters(&params)?)
        (exports(&frame, &params))
        @if found.calls.is_empty() {
            p { "No call is selected." }
        } @else {
            div.scroll { (table(&frame, &found.calls)) }
        }
        p.quiet {
            "Read: " (count(found.sessions, "session")) ", newest first."
            @if !found.unread.is_empty() {
                " Not readable here: " (count(found.unread.len(), "session")) "."
            }
        }
        (next_page(params.pairs("cursor"), cursor.as_deref()))
    };
    Ok(frame.page(Page::new("Audit", body)))
}

/// The checks of all sessions. With a script, they show their progress in place.
fn checks(frame: &Frame) -> Markup {
    let checks = [
        ("verify", "Verify all hashes"),
        ("replay", "Check all decisions"),
    ];
    html! {
        div.actions {
            @for (check, word) in checks {
                div data-check-all=(check) data-sessions=(frame.links().to("v1/sessions")) {
                    (frame.form(&format!("audit/{check}"), html! { button { (word) } }))
                }
            }
        }
        div id="check-result" role="status" {}
    }
}

fn filters(params: &Params) -> Result<Markup, Problem> {
    let unconfirmed = params.one("unconfirmed")? == Some("true");
    let verdicts = Verdict::ALL.map(|it| (it.as_str(), words::verdict_words(it)));
    let outcomes = OUTCOMES.map(|it| (it, words::spoken(it)));
    let chosen = |name: &'static str| params.all(name).next().unwrap_or_default().to_owned();
    Ok(html! {
        form.filters method="get" {
            @for (name, label) in FIELDS {
                (filter_field(name, label, &chosen(name)))
            }
            (choice("verdict", "Decision", &verdicts, &chosen("verdict")))
            (choice("outcome", "Outcome", &outcomes, &chosen("outcome")))
            div {
                label.check {
                    input type="checkbox" name="unconfirmed" value="true" checked[unconfirmed];
                    "Ran without a person’s approval"
                }
            }
            button { "Filter" }
        }
    })
}

fn choice(name: &str, label: &str, all: &[(&'static str, String)], chosen: &str) -> Markup {
    html! {
        div {
            label for={ "filter-" (name) } { (label) }
            select id={ "filter-" (name) } name=(name) {
                option value="" { "any" }
                @for (value, word) in all {
                    option value=(value) selected[*value == chosen] { (word) }
                }
            }
        }
    }
}

/// The links to all selected calls as files, from the route under `/v1`.
fn exports(frame: &Frame, params: &Params) -> Markup {
    let link = |format: &str| {
        let query = query(params.pairs("cursor").chain([("format", format)]));
        frame.links().to(&format!("v1/audit/decisions?{query}"))
    };
    html! {
        p {
            "All selected calls as "
            a href=(link("csv")) download="decisions.csv" { "CSV" } " or "
            a href=(link("json")) download="decisions.jsonl" { "JSON lines" } "."
        }
    }
}

fn table(frame: &Frame, calls: &[AuditedCall]) -> Markup {
    html! {
        table.decisions.stack {
            thead {
                tr {
                    th scope="col" { "Call" }
                    th scope="col" { "Arguments" }
                    th scope="col" { "Decision" }
                    th scope="col" { "Outcome" }
                    th scope="col" { "Session" }
                }
            }
            tbody { @for call in calls { (row(frame, call)) } }
        }
    }
}

fn row(frame: &Frame, call: &AuditedCall) -> Markup {
    let mood = match words::mood(call) {
        Mood::Good => "badge good",
        Mood::Bad => "badge bad",
        Mood::Open => "badge ask",
        Mood::Plain => "badge",
    };
    let args = call.args_text();
    let end = args.char_indices().nth(ARGS_MAX).map(|(at, _)| at);
    html! {
        tr {
            th scope="row" {
                a href=(frame.links().card(call.session, call.seq)) {
                    @if call.tool.is_empty() { "(no name)" } @else { (said(&call.tool)) }
                }
                div.quiet { (moment(call.called_at)) }
            }
            td {
                code { (said(end.and_then(|it| args.get(..it)).unwrap_or(args))) }
                @if end.is_some() { "…" }
                @if let Some(edited) = &call.edited_args {
                    div { "changed to " code { (said(edited.as_str())) } }
                }
            }
            td {
                (said(&words::decision(call)))
                @for question in &call.questions {
                    @if let Some(reason) = &question.reason {
                        div.quiet { "Reason: " (said(reason)) }
                    }
                }
                @if call.ran_without_confirmation {
                    div { span.badge.ask { "without a person’s approval" } }
                }
            }
            td { span class=(mood) { (said(&words::outcome_or_state(call))) } }
            td {
                a href=(frame.links().session(call.session)) { (said(&call.agent)) }
                @if let Some(id) = &call.external_id { div.quiet { (said(id)) } }
            }
        }
    }
}
