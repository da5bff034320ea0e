//! Standing leaves: who granted them, how often they were used, who revoked them.

use std::collections::BTreeMap;

use maud::{Markup, html};
use recount::audit::{AuditedCall, Question, QuestionEnd};
use recount::session::{Seq, SessionId};
use recount_telling::bound_words;

use crate::acts::{Act, Did};
use crate::report::frame::{Section, at, number, numbered, said, table};
use crate::report::told::{Told, name, session, verified};

pub(in crate::report) fn leaves(told: &Told<'_>) -> Section {
    let granted = told.contents.sessions.iter().flat_map(|it| &it.calls);
    let granted: Vec<_> = granted.flat_map(granted_with).collect();
    let body = html! {
        p {
            "A standing leave is an approval that also allows later calls of the same tool in the "
            "same session, up to a number or a time. Each use is a record of its own."
        }
        @if granted.is_empty() { p { "No standing leave was granted in the sessions in scope." } }
        @else { (listed(told, &granted)) }
    };
    Section {
        id: "leaves",
        title: "Standing leaves",
        body,
    }
}

/// The answers about a call that granted a leave.
fn granted_with(call: &AuditedCall) -> impl Iterator<Item = (&AuditedCall, &Question)> {
    let grants = |it: &&Question| it.end == QuestionEnd::Approved && it.allow_for.is_some();
    call.questions
        .iter()
        .filter(grants)
        .map(move |it| (call, it))
}

fn listed(told: &Told<'_>, granted: &[(&AuditedCall, &Question)]) -> Markup {
    let mut uses: BTreeMap<(SessionId, Seq), u64> = BTreeMap::new();
    for call in told.contents.sessions.iter().flat_map(|it| &it.calls) {
        if let Some(leave) = &call.leave {
            *uses.entry((call.session, leave.given)).or_default() += 1;
        }
    }
    let heads = [
        "Tool",
        "Granted by",
        "Granted",
        "For",
        "#Used",
        "Revoked",
        "Place",
    ];
    let rows = html! {
        @for (call, question) in granted {
            @let leave = question.ended_seq.unwrap_or(question.seq);
            tr {
                th scope="row" { (said(&call.tool)) }
                td {
                    @for earlier in &question.approvals { (name(&earlier.by)) ", " }
                    @if let Some(by) = &question.by {
                        (name(by)) span.quiet { ", " (verified(by)) }
                    }
                }
                td { @if let Some(time) = question.ended_at { (at(time)) } }
                td { @if let Some(bound) = question.allow_for { (bound_words(bound)) } }
                td.number {
                    (number(uses.get(&(call.session, leave)).copied().unwrap_or_default()))
                }
                td {
                    @match revoked(told, call.session, leave) {
                        Some(act) => (revocation(told, act)),
                        None => span.quiet { "not revoked" },
                    }
                }
                td { (session(call.session)) ", " (told.record(call.session, leave)) }
            }
        }
    };
    html! {
        p { (numbered(granted.len() as u64, "standing leave")) " granted." }
        (table("Standing leaves", &heads, rows))
    }
}

fn revoked<'c>(told: &Told<'c>, session: SessionId, leave: Seq) -> Option<&'c Act> {
    let acts = told.contents.sessions.iter().flat_map(|it| &it.acts);
    let mut of_leave = acts.filter(|act| match &act.did {
        Did::Revoked(it) => act.session == session && it.leave == leave,
        Did::Paused(_) | Did::Unpaused(_) => false,
    });
    of_leave.next()
}

fn revocation(told: &Told<'_>, act: &Act) -> Markup {
    html! {
        (at(act.at)) " by " (name(act.by()))
        @if let Some(reason) = act.reason() { ": " (told.free_text(reason)) }
        ", " (told.record(act.session, act.seq))
    }
}
