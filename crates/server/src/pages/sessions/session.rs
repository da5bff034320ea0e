//! The page of a session: its summary, its timeline and its events.

use axum::response::Response;
use maud::html;
use recount::session::{Seq, SessionId};
use recount_telling::count;

use super::events::{self, Selection};
use super::history::History;
use super::picture::timeline;
use super::summary::Summary;
use crate::access::Role;
use crate::pages::frame::{Frame, Page, said};
use crate::pages::live::Watched;
use crate::problems::{Code, Problem};
use crate::requests::{InPath, Params, session};
use crate::routes::Caller;
use crate::routes::sessions::one;

/// The parameters of the page.
const KNOWN: [&str; 6] = ["kind", "call", "text", "limit", "cursor", "before"];

/// Shows a session.
pub(crate) async fn show(
    caller: Caller,
    frame: Frame,
    InPath(id): InPath<String>,
    params: Params,
) -> Result<Response, Problem> {
    let params = params.given().known(&KNOWN);
    let id = session(&id)?;
    let selection = Selection::of(&params, id)?;
    let before = params
        .parsed::<u64>("before", "the seq of a record")?
        .map(Seq);
    // Taken before the records are read, so that no later one is missed.
    let position = caller.ledger().journal().position().await?;
    let known = caller.session(id, Role::Viewer).await?;
    let summary = Summary {
        session: one(&caller, id, &known).await?,
        leaves: caller.ledger().leaves_in(id).await?,
        role: caller.role_in(&known),
        now: caller.service.access.now(),
    };
    let history = History::read(caller.ledger(), id, Seq(summary.session.summary.records)).await?;
    let agent = known.agent().unwrap_or("sealed session").to_owned();
    let body = html! {
        div id="summary" data-part { (summary.markup(&frame)) }
        (checks(&frame, id))
        section id="timeline" data-part {
            h2 { "Timeline" }
            @if history.left_out > 0 {
                p.quiet { "Only the newest records: " (count(history.left_out, "older record"))
                    " left out." }
            }
            @if history.has_unread && history.facts.is_empty() {
                p { "The records cannot be read here: they are sealed, or of a newer version." }
            } @else {
                (timeline(&frame, id, &history.facts, before))
            }
        }
        h2 id="events" { "Events" }
        (events::filters(&history, &selection))
        div id="rows" data-part {
            (events::table(&frame, id, &history, &selection, &params))
        }
    };
    let heading = html! { "Session of " (said(&agent)) };
    let page = Page::new(
        format!("Session of {}", recount_telling::one_line(&agent)),
        body,
    );
    let page = page.heading(heading);
    // The older pages of events do not change.
    let is_live = selection.is_first() && before.is_none() && !summary.session.closed;
    Ok(frame.page(match is_live {
        true => page.live(&Watched::Session(id), position),
        false => page,
    }))
}

/// The buttons that check the session. With a script, they show their progress in place.
fn checks(frame: &Frame, id: SessionId) -> maud::Markup {
    let checks = [
        ("verify", "Verify the hashes"),
        ("replay", "Check the decisions"),
    ];
    html! {
        div.actions {
            @for (check, word) in checks {
                div data-check={ (frame.links().to("v1/sessions/")) (id) "/" (check) } {
                    (frame.form(&format!("sessions/{id}/{check}"), html! { button { (word) } }))
                }
            }
            a.button href={ (frame.links().to("v1/sessions/")) (id) "/export" } download {
                "Export"
            }
        }
        div id="check-result" role="status" {}
    }
}

/// The problem of a record that the session does not have.
pub(super) fn no_record(seq: Seq) -> Problem {
    Problem::new(Code::NotFound, format!("the session has no record {seq}"))
}
