//! The links and names that several sections show.

use std::ops::Range;

use maud::{Markup, html};
use recount::session::{Actor, Seq, SessionId};
use recount_telling::acted_in_short;

use crate::pages::frame::{Frame, said};

/// The number of rows that a table shows. The next ones are counted below it.
pub(super) const ROWS_MAX: usize = 100;

/// A person or a program.
pub(super) fn who(actor: &Actor) -> Markup {
    said(acted_in_short("", actor).trim_start())
}

/// An agent. That of a sealed session is unknown.
pub(super) fn agent(name: &str) -> Markup {
    match name {
        "" => html! { span.quiet { "sealed session" } },
        name => said(name),
    }
}

/// A tool. A call of a model may name none, and that of a sealed session is unknown.
pub(super) fn tool(name: &str) -> Markup {
    match name {
        "" => html! { span.quiet { "unknown" } },
        name => said(name),
    }
}

/// The link to a session, by the id that people gave it, or by the ends of its own id.
pub(super) fn session(frame: &Frame, id: SessionId, external: Option<&str>) -> Markup {
    let text = id.to_string();
    let (first, last) = text.split_at_checked(8).unwrap_or((&text, ""));
    let last = last.get(last.len().saturating_sub(4)..).unwrap_or_default();
    html! {
        a href=(frame.links().session(id)) title=(text) {
            @match external {
                Some(external) => (said(external)),
                None => code { (first) "…" (last) },
            }
        }
    }
}

/// The link to the card of a call.
pub(super) fn card(frame: &Frame, id: SessionId, call: Seq, name: &str) -> Markup {
    html! { a href=(frame.links().card(id, call)) { (tool(name)) } }
}

/// The words below a table that does not show every row.
pub(super) fn more(rows: usize) -> Markup {
    html! {
        @if let Some(hidden) = rows.checked_sub(ROWS_MAX).filter(|it| *it > 0) {
            p.quiet { (hidden) " more are not shown." }
        }
    }
}

/// A section of the page, which is fetched again after changes.
///
/// Its state decides if a form in it that a person has begun to fill in may be replaced.
pub(super) fn section(id: &str, title: &str, state: &str, body: Markup) -> Markup {
    html! {
        section.card id=(id) data-part data-state=(state) aria-labelledby={ (id) "-title" } {
            h2 id={ (id) "-title" } { (title) }
            (body)
        }
    }
}

/// A table that scrolls on a narrow screen. `numbers` are the columns of numbers.
pub(super) fn table(label: &str, heads: &[&str], numbers: Range<usize>, rows: Markup) -> Markup {
    html! {
        div.scroll.dense tabindex="0" role="region" aria-label=(label) {
            table {
                thead {
                    tr {
                        @for (at, head) in heads.iter().enumerate() {
                            th.number[numbers.contains(&at)] scope="col" { (head) }
                        }
                    }
                }
                tbody { (rows) }
            }
        }
    }
}
