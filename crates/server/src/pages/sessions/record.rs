//! The page of a record: its sentence, its JSON, its cause and effects, and the state around it.

use axum::response::Response;
use maud::{Markup, html};
use recount::ledger::{Entry, Ledger};
use recount::replay::{Change, changes, state_at, state_json};
use recount::session::{Json, Seq, SessionId};
use recount_telling::{age, cut};
use serde_json::value::RawValue;

use super::history::{History, Row};
use super::session::no_record;
use crate::access::Role;
use crate::pages::frame::{Frame, Page, moment, said, said_in_lines};
use crate::problems::Problem;
use crate::requests::{InPath, seq, session};
use crate::routes::Caller;

/// The maximum number of records after this one among which its effects are looked for.
const EFFECTS_WITHIN: usize = 1_000;

/// The maximum width of the sentence in the heading, in columns. It is whole below.
const HEADING_COLUMNS: usize = 80;

/// The maximum number of differences of the state.
const CHANGES_MAX: usize = 100;

/// The maximum length of a value in a difference, in characters.
const VALUE_MAX: usize = 2_000;

/// Shows a record.
pub(crate) async fn show(
    caller: Caller,
    frame: Frame,
    InPath((id, at)): InPath<(String, String)>,
) -> Result<Response, Problem> {
    let (id, at) = (session(&id)?, seq(&at)?);
    let known = caller.session(id, Role::Viewer).await?;
    let ledger = caller.ledger();
    let entry = ledger.entries(id, at, 1).await?.pop();
    let entry = entry
        .filter(|it| it.seq == at)
        .ok_or_else(|| no_record(at))?;
    let history = History::read(ledger, id, at).await?;
    let row = history.rows.last().filter(|it| it.seq == at);
    let row = row.ok_or_else(|| no_record(at))?;
    let effects = effects(ledger, id, at).await?;
    let head = ledger
        .journal()
        .head(id.0)
        .await?
        .map_or(at.0, |head| head.seq);
    let agent = known.agent().unwrap_or("sealed session");
    let body = html! {
        p { a href=(frame.links().session(id)) { "Session of " (said(agent)) } }
        (ways(&frame, id, at, head))
        (about(row))
        (links(&frame, id, entry.cause(), &effects, &history))
        (json(&entry, row)?)
        (state(ledger, id, at).await?)
    };
    let heading = html! { "Record " (at) ": " (said(&cut(&row.text, HEADING_COLUMNS))) };
    Ok(frame.page(Page::new(format!("Record {at}"), body).heading(heading)))
}

/// The links to the records before and after.
fn ways(frame: &Frame, id: SessionId, at: Seq, head: u64) -> Markup {
    html! {
        nav.ways aria-label="Records" {
            @if at.0 > 1 {
                a rel="prev" href=(frame.links().record(id, Seq(at.0 - 1))) { "Record before" }
            }
            @if at.0 < head {
                a rel="next" href=(frame.links().record(id, at.next())) { "Record after" }
            }
        }
    }
}

fn about(row: &Row) -> Markup {
    html! {
        div.card {
            p.event { (said(&row.text)) }
            p.quiet {
                (row.who) ", " code { (row.kind) } ", "
                (moment(row.at)) " " code { (age::stamp(row.at)) }
            }
        }
    }
}

/// The cause and the effects, and the call.
fn links(
    frame: &Frame,
    id: SessionId,
    cause: Option<Seq>,
    effects: &[(Seq, String)],
    history: &History,
) -> Markup {
    let link = |seq: Seq| html! { a href=(frame.links().record(id, seq)) { "record " (seq) } };
    let row = history.rows.last();
    let caused = cause.and_then(|it| history.rows.iter().find(|row| row.seq == it));
    html! {
        dl.facts {
            dt { "Cause" }
            dd {
                @match cause {
                    Some(seq) => {
                        (link(seq))
                        @if let Some(row) = caused { ": " (said(&row.text)) }
                    },
                    None => "none on record",
                }
            }
            dt { "Effects" }
            dd {
                @if effects.is_empty() { "none so far" }
                @for (seq, kind) in effects { div { (link(*seq)) ": " (kind) } }
            }
            @if let Some(call) = row.and_then(|it| it.call) {
                dt { "Call" }
                dd { a href=(frame.links().card(id, call)) { "call " (call) } }
            }
        }
    }
}

/// The records that this one directly led to.
async fn effects(
    ledger: &Ledger,
    id: SessionId,
    cause: Seq,
) -> Result<Vec<(Seq, String)>, Problem> {
    let entries = ledger.entries(id, cause.next(), EFFECTS_WITHIN).await?;
    let caused = entries.iter().filter(|it| it.cause() == Some(cause));
    Ok(caused.map(|it| (it.seq, it.kind().to_owned())).collect())
}

/// The body with a line for each member, and the record exactly as it is stored.
fn json(entry: &Entry, row: &Row) -> Result<Markup, Problem> {
    let stored = String::from_utf8_lossy(entry.line.bytes()).into_owned();
    let body = row.body.as_deref();
    let value = body.and_then(|it| serde_json::from_str::<&RawValue>(it).ok());
    let outline = value.map(|it| recount_telling::outline(it, 0, &[]).join("\n"));
    Ok(html! {
        h2 { "Body" }
        @match outline {
            Some(outline) if !outline.is_empty() => {
                pre.outline { (said_in_lines(&outline)) }
            },
            Some(_) => p { "Empty." },
            None => p { "Sealed; its key is not here." },
        }
        details id="stored" {
            summary { "The record as JSON, as it is stored" }
            pre { (said(stored.trim_end())) }
            p.quiet { "SHA-256 " code { (entry.hash().to_string()) } }
        }
    })
}

/// The differences between the states before and after the record.
async fn state(ledger: &Ledger, id: SessionId, at: Seq) -> Result<Markup, Problem> {
    let before = state_at(ledger, id, Some(Seq(at.0 - 1))).await;
    let after = state_at(ledger, id, Some(at)).await;
    let (Ok(before), Ok(after)) = (before, after) else {
        return Ok(html! {
            h2 { "State" }
            p { "The state cannot be derived here: a record is sealed, or of a newer version." }
        });
    };
    let changed = changes(&state_json(&before), &state_json(&after));
    // Every record moves these.
    let ever = ["/head", "/last_at_us"];
    let changed: Vec<&Change> = changed
        .iter()
        .filter(|it| !ever.contains(&it.pointer.as_str()))
        .collect();
    Ok(html! {
        h2 { "State before and after" }
        @if changed.is_empty() {
            p { "The record changed nothing in the state of the session." }
        } @else {
            div.scroll {
                table.changes {
                    thead {
                        tr {
                            th scope="col" { "Place" }
                            th scope="col" { "Before" }
                            th scope="col" { "After" }
                        }
                    }
                    tbody {
                        @for it in changed.iter().take(CHANGES_MAX) {
                            tr {
                                th scope="row" { code { (said(&it.pointer)) } }
                                td { (value(it.before.as_ref())) }
                                td { (value(it.after.as_ref())) }
                            }
                        }
                    }
                }
            }
            @if changed.len() > CHANGES_MAX {
                p.quiet { "And " (changed.len() - CHANGES_MAX) " more differences." }
            }
        }
    })
}

fn value(it: Option<&Json>) -> Markup {
    let Some(json) = it else {
        return html! { span.quiet { "absent" } };
    };
    let text = json.as_str();
    let end = text.char_indices().nth(VALUE_MAX).map(|(at, _)| at);
    html! {
        code {
            (said(end.and_then(|end| text.get(..end)).unwrap_or(text)))
            @if end.is_some() { "…" }
        }
    }
}
