//! The list of sessions, newest first, with the filters of the listing under `/v1`.

use axum::response::Response;
use maud::{Markup, html};
use recount_telling::count;

use crate::pages::frame::{Frame, Page, moment, next_page, not_filtered, said};
use crate::problems::Problem;
use crate::requests::{Cursor, Params};
use crate::routes::Caller;
use crate::routes::sessions::{LIST, ListedSession, selected};

/// The filters that the form has, in its order, without the state.
const FILTERS: [(&str, &str); 5] = [
    ("text", "Text"),
    ("agent", "Agent"),
    ("label", "Label, as name:value"),
    ("since", "With a record since (UTC)"),
    ("until", "Opened before (UTC)"),
];

/// An example of a time, for the fields that take one.
const TIME: &str = "2026-11-20T14:03:07Z";

/// A field of a form of filters. One that takes a time is wide enough for its example.
pub(in crate::pages) fn filter_field(name: &str, label: &str, value: &str) -> Markup {
    let is_time = matches!(name, "since" | "until" | "from");
    html! {
        div.time[is_time] {
            label for={ "filter-" (name) } { (label) }
            input id={ "filter-" (name) } name=(name) value=(value)
                placeholder=[is_time.then_some(TIME)];
        }
    }
}

/// Shows the list.
pub(crate) async fn show(
    caller: Caller,
    frame: Frame,
    params: Params,
) -> Result<Response, Problem> {
    let params = params.given().known(&LIST);
    let (sessions, next) = match selected(&caller, &params).await {
        Ok(found) => found,
        Err(problem) => return not_filtered(&frame, "Sessions", filters(&params)?, &problem),
    };
    let next = next.map(Cursor::text);
    let body = html! {
        (filters(&params)?)
        @if sessions.is_empty() {
            p { "No session is selected." }
        } @else {
            div.scroll { (table(&frame, &sessions)) }
        }
        (next_page(params.pairs("cursor"), next.as_deref()))
    };
    Ok(frame.page(Page::new("Sessions", body)))
}

fn filters(params: &Params) -> Result<Markup, Problem> {
    let state = params.one("state")?.unwrap_or_default();
    Ok(html! {
        form.filters method="get" {
            @for (name, label) in FILTERS {
                (filter_field(name, label, params.all(name).next().unwrap_or_default()))
            }
            div {
                label for="filter-state" { "State" }
                select id="filter-state" name="state" {
                    @for (value, word) in [("", "any"), ("open", "open"), ("closed", "closed")] {
                        option value=(value) selected[value == state] { (word) }
                    }
                }
            }
            button { "Filter" }
        }
    })
}

fn table(frame: &Frame, sessions: &[ListedSession]) -> Markup {
    html! {
        table.stack {
            thead {
                tr {
                    th scope="col" { "Session" }
                    th scope="col" { "Labels" }
                    th scope="col" { "State" }
                    th scope="col" { "Opened" }
                    th scope="col" { "Last record" }
                    th.number scope="col" { "Records" }
                }
            }
            tbody {
                @for it in sessions { (row(frame, it)) }
            }
        }
    }
}

fn row(frame: &Frame, it: &ListedSession) -> Markup {
    let summary = &it.summary;
    let id = summary.id.to_string();
    html! {
        tr {
            th scope="row" {
                a href=(frame.links().session(summary.id)) {
                    @if summary.sealed { "(sealed)" } @else { (said(&summary.agent)) }
                }
                div.quiet { code { (id) } }
            }
            td {
                @if let Some(id) = &summary.external_id { div { (said(id)) } }
                @for (name, value) in &summary.labels {
                    div { (said(name)) ": " (said(value)) }
                }
                @if let Some(person) = &summary.on_behalf_of {
                    div.quiet { "on behalf of " (said(person)) }
                }
            }
            td { (badges(it)) }
            td { span.lead { "Opened " } (moment(summary.opened_at)) }
            td { span.lead { "Last record " } (moment(summary.last_at)) }
            td.number { (summary.records) span.lead { " records" } }
        }
    }
}

/// The state of a session: open or closed, paused, and what waits in it.
pub(super) fn badges(it: &ListedSession) -> Markup {
    let waits = it.summary.open.get("confirmation").copied();
    html! {
        @if it.closed {
            span.badge { "closed" }
        } @else {
            span.badge.good { "open" }
        }
        @if !it.paused.is_empty() { " " span.badge.bad { "paused" } }
        @if let Some(waits) = waits.filter(|it| *it > 0) {
            " " span.badge.ask { (count(waits, "request")) }
        }
    }
}
