//! The events of a session as a table with filters, newest first.

use maud::{Markup, html};
use recount::session::{Seq, SessionId};
use recount_telling::{Tone, age, cut};

use super::history::{History, Row};
use crate::pages::frame::{Frame, next_page, said};
use crate::problems::{Code, Problem};
use crate::requests::{Cursor, Params, seq};

/// The selection of events, and the place in their list.
pub(super) struct Selection {
    kind: Option<String>,
    call: Option<Seq>,
    /// A part of the sentence or of the body, in lower case.
    text: Option<String>,
    /// The event after which the page begins.
    after: Option<Seq>,
    limit: usize,
}

impl Selection {
    pub(super) fn of(params: &Params, session: SessionId) -> Result<Selection, Problem> {
        let after = match params.cursor()? {
            None => None,
            Some(Cursor::Item(of, seq)) if of == session => Some(seq),
            Some(Cursor::Item(..) | Cursor::Session(_)) => {
                let detail = "the cursor is of another listing";
                return Err(Problem::new(Code::BadRequest, detail));
            }
        };
        Ok(Selection {
            kind: params.one("kind")?.map(str::to_owned),
            call: params.one("call")?.map(seq).transpose()?,
            text: params.one("text")?.map(str::to_lowercase),
            after,
            limit: params.limit()?,
        })
    }

    /// True if the page is the first one, which is live.
    pub(super) fn is_first(&self) -> bool {
        self.after.is_none()
    }

    fn takes(&self, row: &Row) -> bool {
        let has = |part: &String| {
            let body = row.body.as_deref().unwrap_or_default();
            row.text.to_lowercase().contains(part) || body.to_lowercase().contains(part)
        };
        self.kind.as_ref().is_none_or(|it| *it == row.kind)
            && self.call.is_none_or(|it| row.call == Some(it))
            && self.text.as_ref().is_none_or(has)
    }
}

/// The filters, as a form.
pub(super) fn filters(history: &History, selection: &Selection) -> Markup {
    let kind = selection.kind.as_deref().unwrap_or_default();
    let call = selection.call.map_or(String::new(), |it| it.to_string());
    let calls = history.rows.iter().rev();
    let calls = calls.filter(|it| it.call == Some(it.seq));
    html! {
        form.filters method="get" action="#events" {
            div {
                label for="filter-text" { "Text" }
                input id="filter-text" name="text"
                    value=(selection.text.as_deref().unwrap_or_default());
            }
            div {
                label for="filter-kind" { "Kind" }
                select id="filter-kind" name="kind" {
                    option value="" { "any" }
                    @for (name, number) in history.kinds() {
                        option value=(name) selected[name == kind] { (name) " (" (number) ")" }
                    }
                }
            }
            div {
                label for="filter-call" { "Call" }
                input id="filter-call" name="call" value=(call) inputmode="numeric" list="calls"
                    placeholder="its number";
                datalist id="calls" {
                    @for row in calls.take(CALLS_MAX) { option value=(row.seq) {} }
                }
            }
            button { "Filter" }
        }
    }
}

/// The width of a sentence in a row, in columns. The page of the record has it whole.
const TEXT_COLUMNS: usize = 500;

/// The maximum number of calls that the filter proposes.
const CALLS_MAX: usize = 200;

/// The events of the page.
pub(super) fn table(
    frame: &Frame,
    session: SessionId,
    history: &History,
    selection: &Selection,
    params: &Params,
) -> Markup {
    let older = |row: &&Row| selection.after.is_none_or(|after| row.seq < after);
    let mut rows = history.rows.iter().rev().filter(older);
    let shown: Vec<&Row> = rows
        .by_ref()
        .filter(|it| selection.takes(it))
        .take(selection.limit)
        .collect();
    let has_more = rows.any(|it| selection.takes(it));
    let last = shown.last().filter(|_| has_more);
    let cursor = last.map(|it| Cursor::Item(session, it.seq).text());
    html! {
        @if shown.is_empty() {
            p { "No event is selected." }
        } @else {
            div.scroll {
                table.events {
                    thead {
                        tr {
                            th.number scope="col" { "No." }
                            th scope="col" { "Time" }
                            th scope="col" { "Who" }
                            th scope="col" { "Event" }
                        }
                    }
                    tbody {
                        @for row in shown { (event(frame, session, row)) }
                    }
                }
            }
        }
        (next_page(params.pairs("cursor"), cursor.as_deref()))
    }
}

fn event(frame: &Frame, session: SessionId, row: &Row) -> Markup {
    let class = match row.tone {
        Tone::Plain | Tone::Heading | Tone::Call | Tone::Speech => "",
        Tone::Quiet => "quiet",
        Tone::Ask => "ask",
        Tone::Good => "good",
        Tone::Bad => "bad",
    };
    let at = age::in_zone(row.at);
    html! {
        tr {
            td.number { a href=(frame.links().record(session, row.seq)) { (row.seq) } }
            td {
                time datetime=(age::stamp(row.at)) title=(age::moment(row.at)) data-time {
                    (at.format("%H:%M:%S%.3f").to_string())
                }
            }
            td.quiet { (row.who) }
            td class=(class) {
                (said(&cut(&row.text, TEXT_COLUMNS))) " " span.kind { (row.kind) }
                @if let Some(call) = row.call.filter(|it| *it == row.seq) {
                    " " a href=(frame.links().card(session, call)) { "call" }
                }
            }
        }
    }
}
