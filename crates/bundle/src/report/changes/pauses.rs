//! Pauses, crashes and repairs: the notes of the journal, and the acts of people in sessions.

use maud::{Markup, html};
use recount::session::{Seq, SessionId, Timestamp};
use uuid::Uuid;

use crate::acts::{Act, Did};
use crate::report::frame::{ROWS_MAX, Section, at, more, said, table};
use crate::report::told::{Told, name, session, verified};

/// The session id of the journal's own stream.
const OWN: SessionId = SessionId(Uuid::nil());

pub(in crate::report) fn pauses(told: &Told<'_>) -> Section {
    let acts = told.contents.sessions.iter().flat_map(|it| &it.acts);
    let acts: Vec<&Act> = acts.filter(|it| is_pause(it)).collect();
    let notes = &told.contents.own.notes;
    let of_pauses: Vec<_> = notes
        .iter()
        .filter(|it| it.kind.ends_with("paused"))
        .collect();
    let others: Vec<_> = notes.iter().filter(|it| is_incident(&it.kind)).collect();
    let rows = html! {
        @for it in &of_pauses { (note(told, it.at, it.seq, &it.what)) }
        @for act in acts.iter().take(ROWS_MAX) { (act_row(told, act)) }
    };
    let body = html! {
        p { "While a pause holds, no call in its range starts. Running calls go on." }
        @if of_pauses.is_empty() && acts.is_empty() { p { "Nothing was paused." } }
        @else {
            (table("Pauses", &["Time", "What", "Place"], rows))
            (more(acts.len(), ROWS_MAX))
        }
        h3 { "Crashes, repairs and other notes of the journal" }
        @if others.is_empty() { p { "No crash, no repair and no unknown record is on record." } }
        @else {
            (table("Notes of the journal", &["Time", "What", "Place"], html! {
                @for it in &others { (note(told, it.at, it.seq, &it.what)) }
            }))
        }
    };
    Section {
        id: "pauses",
        title: "Pauses and incidents",
        body,
    }
}

/// True for the kinds of notes that no other section has.
fn is_incident(kind: &str) -> bool {
    let elsewhere = [
        "erasure_requested",
        "session_erased",
        "hold_placed",
        "hold_released",
    ];
    !kind.ends_with("paused") && !elsewhere.contains(&kind)
}

fn is_pause(act: &Act) -> bool {
    match &act.did {
        Did::Paused(_) | Did::Unpaused(_) => true,
        Did::Revoked(_) => false,
    }
}

fn note(told: &Told<'_>, time: Timestamp, seq: Seq, what: &str) -> Markup {
    html! {
        tr {
            td { (at(time)) }
            td { (said(what)) }
            td { "the journal’s own stream, " (told.record(OWN, seq)) }
        }
    }
}

fn act_row(told: &Told<'_>, act: &Act) -> Markup {
    let (did, scope) = match &act.did {
        Did::Paused(it) => ("paused", it.scope.to_string()),
        Did::Unpaused(it) => ("ended the pause of", it.scope.to_string()),
        Did::Revoked(_) => ("revoked", "a leave".to_owned()),
    };
    html! {
        tr {
            td { (at(act.at)) }
            td {
                (name(act.by())) " " (did) " " (said(&scope))
                @if let Some(reason) = act.reason() { ": " (told.free_text(reason)) }
                span.quiet { " (" (verified(act.by())) ")" }
            }
            td { (session(act.session)) ", " (told.record(act.session, act.seq)) }
        }
    }
}
