//! Erasures on record: whose content was erased, who asked for it and why.

use maud::{Markup, html};
use recount::ledger::Erasure;
use recount::session::SessionId;

use super::cells::{ROWS_MAX, more, section, session, table, who};
use crate::pages::frame::{Frame, moment, said};
use crate::problems::Problem;
use crate::routes::Caller;

const HEADS: [&str; 5] = ["Session", "Requested", "By", "Reason", "Erased"];

/// Returns the erasures of the sessions that the caller may read, newest first.
pub(super) async fn visible(caller: &Caller) -> Result<Vec<(SessionId, Erasure)>, Problem> {
    let mut visible = Vec::new();
    for (session, erasure) in caller.ledger().erasures().await? {
        if caller.sees(session).await? {
            caller.shows(session);
            visible.push((session, erasure));
        }
    }
    visible.sort_by_key(|(_, it)| std::cmp::Reverse(it.requested));
    Ok(visible)
}

pub(super) fn shown(frame: &Frame, erasures: &[(SessionId, Erasure)]) -> Markup {
    let body = html! {
        @if erasures.is_empty() { p.quiet { "No erasure is on record." } }
        @else {
            (table("Erasures", &HEADS, 0..0, html! {
                @for (id, erasure) in erasures.iter().take(ROWS_MAX) {
                    tr {
                        td { (session(frame, *id, None)) }
                        td { (moment(erasure.requested_at_us)) }
                        td { (who(&erasure.by)) }
                        td { (said(&erasure.reason)) }
                        td {
                            @match erasure.erased_at_us {
                                Some(at) => (moment(at)),
                                None => span.badge.ask { "interrupted" },
                            }
                        }
                    }
                }
            }))
            (more(erasures.len()))
        }
    };
    section("erasures", "Erasures", "", body)
}
