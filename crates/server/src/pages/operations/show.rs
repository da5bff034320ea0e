//! The page: its sections in their order.

use std::collections::BTreeSet;

use axum::response::Response;
use maud::{Markup, html};

use super::journal::Health;
use super::work::Work;
use super::{
    backlog, checkpoints, claims, doubts, erasures, holds, journal, leaves, pauses, runners, sinks,
};
use crate::access::Role;
use crate::pages::frame::{Frame, Page};
use crate::pages::live::Watched;
use crate::problems::Problem;
use crate::routes::pauses::visible as visible_pauses;
use crate::routes::reports::checkpoints::of as checkpoints_of;
use crate::routes::sinks::letters;
use crate::routes::{Caller, holds as listed_holds, leaves as listed_leaves};

/// Shows what runs, what waits, and the switches. Needs the role operator in some sessions.
pub(crate) async fn show(caller: Caller, frame: Frame) -> Result<Response, Problem> {
    caller.expect_somewhere(Role::Operator)?;
    // Taken before the read, so that the page is fetched again after changes meanwhile.
    let position = caller.ledger().journal().position().await.ok();
    caller.shows_every_session();
    let letters = letters(&caller).map_or(0, |it| *it.borrow());
    let health = Health::of(&caller).await?;
    let work = Work::of(&caller).await?;
    let held = pauses::rows(&caller, visible_pauses(&caller).await?).await?;
    let claimed = claims::rows(&caller, &work.claims).await?;
    let agents = runners::known(&caller, &work.sessions).await?;
    let given = listed_leaves::visible(&caller).await?;
    let kept = holds::rows(&caller, listed_holds::visible(&caller).await?).await?;
    let erased = erasures::visible(&caller).await?;
    let notified = sinks::visible(&caller).await?;
    let signed = checkpoints_of(&caller);
    let now = caller.service.access.now();
    let names: BTreeSet<&str> = agents.keys().map(String::as_str).collect();
    let tally = [
        ("backlog", work.open(), "open calls"),
        ("backlog", work.waiting(), "wait for an answer"),
        ("doubts", work.doubts.len() as u64, "in doubt"),
        ("claims", work.claims.len() as u64, "run by clients"),
        ("pauses", held.len() as u64, "pauses"),
        ("leaves", given.len() as u64, "standing leaves"),
    ];
    let body = html! {
        (health.warning())
        (counts(&tally))
        (pauses::shown(&frame, &held, now))
        (doubts::shown(&frame, &work.doubts, now))
        (pauses::beginning(&caller, &frame, &names))
        (backlog::shown(&work, now))
        (claims::shown(&frame, &claimed, work.claims.len(), now))
        (runners::shown(&agents))
        (leaves::shown(&caller, &frame, &given, now))
        @if let Some(notified) = &notified { (sinks::shown(&frame, notified, now)) }
        @if let Some(status) = &signed { (checkpoints::shown(status, now)) }
        (holds::shown(&frame, &kept, now))
        (erasures::shown(&frame, &erased))
        (journal::shown(&frame, &health))
    };
    let page = Page::new("Operations", body);
    Ok(frame.page(match position {
        Some(position) => page.live(&Watched::Operations { letters }, position),
        // A journal that is closed has no position, and no changes.
        None => page,
    }))
}

/// The numbers at the top, each with a link to its section.
fn counts(tally: &[(&str, u64, &str)]) -> Markup {
    html! {
        ul.tally id="tally" data-part {
            @for (section, number, of) in tally {
                li { a href={ "#" (section) } { strong { (number) } " " (of) } }
            }
        }
    }
}
