//! The page of reads: who read which sessions.

use axum::response::Response;
use maud::{Markup, html};
use recount::session::SessionId;
use recount_reads::{Depth, Door, How, Missed, RecordedRead};
use recount_telling::{acted_in_short, count};

use super::sessions::filter_field;
use crate::pages::frame::{Frame, Page, moment, not_filtered, query, said};
use crate::problems::Problem;
use crate::requests::Params;
use crate::routes::Caller;
use crate::routes::reports::reads;

/// The number of sessions that a row names. The next ones are counted.
const SESSIONS: usize = 5;

/// The number of reads of a page, as the listing under `/v1` has it by default.
const LIMIT: usize = 50;

/// Shows the reads, newest first. Needs the role operator in all sessions.
pub(super) async fn show(
    caller: Caller,
    frame: Frame,
    params: Params,
) -> Result<Response, Problem> {
    let params = params.given().known(&reads::LIST);
    let found = match reads::found(&caller, &params).await {
        Ok(found) => found,
        Err(problem) => return not_filtered(&frame, "Reads", filters(&params), &problem),
    };
    let last = found.reads.last().filter(|_| found.reads.len() >= LIMIT);
    let until = last.map(|it| it.at.0.to_string());
    let until = until.as_deref();
    let body = html! {
        @if caller.service.reads.is_none() {
            p.banner.ask { "This service does not record reads." }
        }
        @for missed in &found.missed { (gap(missed)) }
        (filters(&params))
        @if found.reads.is_empty() {
            p { "No read is selected." }
        } @else {
            div.scroll { (table(&frame, &found.reads)) }
        }
        @if let Some(until) = until {
            (older(&params, until))
        }
    };
    Ok(frame.page(Page::new("Reads", body)))
}

fn older(params: &Params, until: &str) -> Markup {
    let pairs = params.pairs("until").chain([("until", until)]);
    let link = query(pairs);
    html! { p.next { a href={ "?" (link) } { "Older reads" } } }
}

fn gap(missed: &Missed) -> Markup {
    html! {
        p.banner.bad {
            (count(missed.reads, "read")) " without a record from " (moment(missed.from)) " to "
            (moment(missed.until)) ": " (said(&missed.error)) "."
        }
    }
}

fn filters(params: &Params) -> Markup {
    let chosen = |name: &'static str| params.all(name).next().unwrap_or_default();
    html! {
        form.filters method="get" {
            (filter_field("session", "Session", chosen("session")))
            (filter_field("reader", "Reader", chosen("reader")))
            (filter_field("until", "Before (UTC)", chosen("until")))
            button { "Filter" }
        }
    }
}

fn table(frame: &Frame, found: &[RecordedRead]) -> Markup {
    html! {
        table.stack {
            thead {
                tr {
                    th scope="col" { "Reader" }
                    th scope="col" { "Read" }
                    th scope="col" { "Sessions" }
                    th scope="col" { "When" }
                }
            }
            tbody { @for it in found { (row(frame, it)) } }
        }
    }
}

fn row(frame: &Frame, it: &RecordedRead) -> Markup {
    let read = &it.read;
    html! {
        tr {
            th scope="row" {
                (said(acted_in_short("", &read.by).trim_start()))
                div.quiet { (proven(read.how)) }
            }
            td {
                code { (said(&read.route)) }
                div.quiet {
                    (door(read.door)) ", "
                    @match read.depth {
                        Depth::Envelopes => "without bodies",
                        Depth::Bodies => "with bodies",
                    }
                }
                @if !read.is_served() { span.badge.bad { "refused: " (read.status) } }
            }
            td { (sessions(frame, read.every_session, &read.sessions)) }
            td {
                (moment(it.at))
                @if it.repeats > 0 {
                    div.quiet { (count(it.repeats, "more time")) ", the last " (moment(it.last)) }
                }
            }
        }
    }
}

fn sessions(frame: &Frame, every: bool, named: &[SessionId]) -> Markup {
    let hidden = named.len().saturating_sub(SESSIONS);
    html! {
        @if every { div { "every session of the reader" } }
        @for id in named.iter().take(SESSIONS) {
            div { a href=(frame.links().session(*id)) { code { (id.to_string()) } } }
        }
        @if hidden > 0 { div.quiet { (hidden) " more" } }
        @if !every && named.is_empty() { span.quiet { "none" } }
    }
}

fn proven(how: How) -> &'static str {
    match how {
        How::Token => "with a token",
        How::Jwt => "with a JWT",
        How::Proxy => "through the proxy",
        How::Embedder => "through the embedding service",
        How::Login => "logged in with a link",
        How::LoginWithToken => "logged in with a token",
        How::ControlToken => "at the control socket",
    }
}

fn door(door: Door) -> &'static str {
    match door {
        Door::Http => "HTTP API",
        Door::Pages => "page",
        Door::Control => "command line",
    }
}
