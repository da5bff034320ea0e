//! Calls in doubt: they started, and their outcome is unknown. A person is asked about each.

use maud::{Markup, html};
use recount::ledger::PendingConfirmation;
use recount::session::Timestamp;

use super::cells::{ROWS_MAX, agent, card, more, section, session, table};
use crate::pages::frame::{Frame, relative};

const HEADS: [&str; 5] = ["Call", "Agent", "Session", "Asked", "Expires"];

pub(super) fn shown(frame: &Frame, doubts: &[PendingConfirmation], now: Timestamp) -> Markup {
    let body = html! {
        @if doubts.is_empty() { p.quiet { "No interrupted call waits for an answer." } }
        @else {
            p.quiet {
                "These calls were interrupted. Their cards take the outcome that you find."
            }
            (table("Calls in doubt", &HEADS, 0..0, html! {
                @for doubt in doubts.iter().take(ROWS_MAX) {
                    tr {
                        td { (card(frame, doubt.session, doubt.call, &doubt.tool)) }
                        td { (agent(&doubt.agent)) }
                        td { (session(frame, doubt.session, doubt.external_id.as_deref())) }
                        td { (relative(doubt.requested_at, now)) }
                        td {
                            @match doubt.expires_at {
                                Some(at) => (relative(at, now)),
                                None => span.quiet { "never" },
                            }
                        }
                    }
                }
            }))
            (more(doubts.len()))
        }
    };
    section("doubts", "In doubt", "", body)
}
