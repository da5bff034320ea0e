//! The sinks of notifications with their dead letters, for an operator of all sessions.

use std::fmt::Write;

use maud::{Markup, html};
use recount::session::Timestamp;
use recount_notify::{DeadLetter, SinkStatus};

use super::cells::{ROWS_MAX, card, more, section, table};
use crate::pages::frame::{Frame, relative, said};
use crate::problems::Problem;
use crate::routes::{Caller, sinks};

const SINKS: [&str; 8] = [
    "Sink",
    "Kind",
    "Detail",
    "Delivered",
    "Failures",
    "Queued",
    "Behind",
    "State",
];

const LETTERS: [&str; 7] = [
    "Sink", "Occasion", "Call", "At", "Attempts", "Error", "Action",
];

/// Returns the sinks. `None` without any, and for a caller who may not read them.
pub(super) async fn visible(caller: &Caller) -> Result<Option<Vec<SinkStatus>>, Problem> {
    match sinks::letters(caller) {
        Some(_) => sinks::all(caller).await.map(Some),
        None => Ok(None),
    }
}

pub(super) fn shown(frame: &Frame, sinks: &[SinkStatus], now: Timestamp) -> Markup {
    let letters: Vec<(&str, &DeadLetter)> = sinks
        .iter()
        .flat_map(|sink| sink.dead_letters.iter().map(|it| (sink.name.as_str(), it)))
        .collect();
    let mut state = String::new();
    for (_, letter) in &letters {
        // Writing to a string does not fail.
        let _ = write!(state, "{} ", letter.id);
    }
    let body = html! {
        @if sinks.is_empty() { p.quiet { "No sink is configured." } }
        @else {
            (table("Sinks", &SINKS, 3..7, html! {
                @for sink in sinks.iter().take(ROWS_MAX) { (one(sink, now)) }
            }))
            (more(sinks.len()))
            h3 { "Dead letters" }
            @if letters.is_empty() { p.quiet { "Every message was delivered, or is still tried." } }
            @else {
                (again(frame, sinks))
                (table("Dead letters", &LETTERS, 4..5, html! {
                    @for (sink, letter) in letters.iter().take(ROWS_MAX) {
                        (dead(frame, sink, letter, now))
                    }
                }))
                (more(letters.len()))
            }
        }
    };
    section("sinks", "Notifications", &state, body)
}

fn one(sink: &SinkStatus, now: Timestamp) -> Markup {
    html! {
        tr {
            td { (said(&sink.name)) }
            td { (sink.kind) }
            td { (sink.detail) }
            @for number in [sink.delivered, sink.failures, sink.queued, sink.lag] {
                td.number { (number) }
            }
            td {
                @match sink.failing_since {
                    None => span.badge.good { "delivers" },
                    Some(since) => {
                        span.badge.bad { "fails since " (relative(since, now)) }
                    },
                }
                @if sink.dropped_dead_letters > 0 {
                    p.quiet { (sink.dropped_dead_letters) " dead letters dropped for newer ones" }
                }
                @if let Some(error) = &sink.error { p.quiet { (said(error)) } }
            }
        }
    }
}

/// The buttons that send all dead letters of a sink again.
fn again(frame: &Frame, sinks: &[SinkStatus]) -> Markup {
    html! {
        div.actions {
            @for sink in sinks.iter().filter(|it| it.dead_letters.len() > 1) {
                (frame.form("operations/retry-letters", html! {
                    input type="hidden" name="sink" value=(sink.name);
                    button {
                        "Send all " (sink.dead_letters.len()) " of " (said(&sink.name)) " again"
                    }
                }))
            }
        }
    }
}

fn dead(frame: &Frame, sink: &str, letter: &DeadLetter, now: Timestamp) -> Markup {
    let fields = html! {
        input type="hidden" name="sink" value=(sink);
        input type="hidden" name="letter" value=(letter.id);
    };
    html! {
        tr {
            td { (said(sink)) }
            td { (letter.occasion.to_string()) }
            td {
                @match letter.session.zip(letter.call) {
                    Some((session, call)) => (card(frame, session, call, "open the card")),
                    None => span.quiet { "none" },
                }
            }
            td { (relative(letter.at, now)) }
            td.number { (letter.attempts) }
            td { (said(&letter.reason)) }
            td {
                div.actions {
                    (frame.form("operations/retry-letter", html! {
                        (fields)
                        button { "Send again" }
                    }))
                    (frame.form("operations/discard-letter", html! {
                        (fields)
                        button.stop { "Discard" }
                    }))
                }
            }
        }
    }
}
