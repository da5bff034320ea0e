//! Calls that clients run: which client, since when, and until when its lease lasts.

use std::collections::BTreeMap;

use maud::{Markup, html};
use recount::engine::Error;
use recount::session::{Claim, Seq, SessionId, Timestamp};

use super::cells::{ROWS_MAX, agent, card, more, section, session, table, who};
use super::work::Claimed;
use crate::pages::frame::{Frame, relative, said};
use crate::problems::Problem;
use crate::routes::Caller;

const HEADS: [&str; 7] = [
    "Client",
    "Call",
    "Agent",
    "Session",
    "Claimed",
    "Lease ends",
    "Claim",
];

/// A call that a client runs, with its claim.
pub(super) struct Row {
    session: SessionId,
    call: Seq,
    agent: String,
    external: Option<String>,
    tool: String,
    /// The claim, and its time. `None` if the session cannot be read here, and once the claim has
    /// ended.
    claim: Option<(Claim, Timestamp)>,
}

/// Reads the claims of the first calls.
pub(super) async fn rows(caller: &Caller, claimed: &[Claimed]) -> Result<Vec<Row>, Problem> {
    let mut rows = Vec::new();
    let mut claims = BTreeMap::new();
    let mut read = None;
    for it in claimed.iter().take(ROWS_MAX) {
        // The items of one session follow each other.
        if it.known.opened.is_some() && read != Some(it.session) {
            claims = held(caller, it.session).await?;
            read = Some(it.session);
        }
        let claim = match claims.remove(&it.call) {
            None => None,
            Some(claim) => {
                let fact = caller.ledger().fact(it.session, claim.at).await?;
                fact.map(|fact| (claim, fact.at))
            }
        };
        rows.push(Row {
            session: it.session,
            call: it.call,
            agent: it.known.agent().unwrap_or_default().to_owned(),
            external: it
                .known
                .opened
                .as_ref()
                .and_then(|it| it.external_id.clone()),
            tool: caller.tool_shown(it.session, it.call).await?,
            claim,
        });
    }
    Ok(rows)
}

/// The claims of a session by call. None of a session that cannot be read here.
async fn held(caller: &Caller, session: SessionId) -> Result<BTreeMap<Seq, Claim>, Problem> {
    let session = match caller.service.engine.folded(session).await {
        Err(Error::Ledger(error)) if error.is_of_one_session() => return Ok(BTreeMap::new()),
        folded => folded?,
    };
    let held = session.calls.iter();
    let held = held.filter_map(|(seq, call)| Some((*seq, call.held_claim()?.clone())));
    Ok(held.collect())
}

pub(super) fn shown(frame: &Frame, rows: &[Row], all: usize, now: Timestamp) -> Markup {
    let body = html! {
        @if rows.is_empty() { p.quiet { "No client runs a call." } }
        @else {
            (table("Calls that clients run", &HEADS, 0..0, html! {
                @for row in rows { (one(frame, row, now)) }
            }))
            (more(all))
        }
    };
    section("claims", "Calls that clients run", "", body)
}

fn one(frame: &Frame, row: &Row, now: Timestamp) -> Markup {
    html! {
        tr {
            td {
                @match &row.claim {
                    Some((claim, _)) => (who(&claim.by)),
                    None => span.quiet { "unknown" },
                }
            }
            td { (card(frame, row.session, row.call, &row.tool)) }
            td { (agent(&row.agent)) }
            td { (session(frame, row.session, row.external.as_deref())) }
            @if let Some((claim, at)) = &row.claim {
                td { (relative(*at, now)) }
                td {
                    @if claim.until <= now { span.bad { (relative(claim.until, now)) } }
                    @else { (relative(claim.until, now)) }
                }
                td { (said(&claim.claim)) }
            } @else {
                td {} td {} td {}
            }
        }
    }
}
