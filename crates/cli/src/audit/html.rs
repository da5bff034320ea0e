//! The report as one HTML file that needs nothing beside itself: no script, no font, no picture, no
//! network.
//!
//! Whatever comes from the journal is text of strangers, so it is escaped, and a policy in the file
//! forbids it to act.

use std::collections::BTreeMap;
use std::fmt::Write;

use recount_journal::verify::{Integrity, Report as Verified};

use super::html_call;
use super::proof::{Proof, Replayed, verified_in_words};
use super::words;
use crate::text::{age, count, one_line};
use recount::audit::{AuditedCall, Report, Verdict};
use recount::session::Timestamp;

/// How many characters of one text are shown.
const SHOWN_MAX: usize = 4_000;

/// How many findings, divergences and the like are listed.
const LISTED_MAX: usize = 50;

/// What stands at the top of a report.
pub(super) struct Head {
    /// The journal, as it was named.
    pub(super) journal: String,
    /// What was asked for, where not everything was.
    pub(super) asked: Vec<String>,
    pub(super) written_at: Timestamp,
}

/// How every report begins, by which one is known.
const BEGINNING: &str = concat!(
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
    "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n",
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n",
    "<title>Decisions on record: ",
);

/// The whole file.
pub(super) fn document(head: &Head, proof: &Proof, report: &Report) -> String {
    let asked = match head.asked.as_slice() {
        [] => "All calls of all sessions.".to_owned(),
        asked => format!("Only calls that fit: {}.", text(&asked.join(", "))),
    };
    let mut out = begun(head, &asked);
    proved(&mut out, proof);
    numbers(&mut out, report);
    unasked(&mut out, &report.calls);
    calls(&mut out, &report.calls);
    unread(&mut out, report);
    notes(&mut out, report);
    ended(&mut out, head);
    put(
        &mut out,
        format_args!(
            "<p>Root of all records: <code>{}</code>. Keep it elsewhere: <code>recount verify PATH \
             --root HEX</code> shows against it whether the journal was rewritten.</p>\n</footer>\n\
             </body>\n</html>\n",
            proof.verified.root
        ),
    );
    out
}

/// The whole file about a journal of which nothing can be told, and why that is.
pub(super) fn of_damaged(head: &Head, verified: &Verified, why: &str) -> String {
    let mut out = begun(head, "No call is told.");
    cards(&mut out);
    verified_card(&mut out, verified);
    let sentence = format!(
        "The journal cannot be read, so no call is told and nothing was decided again: {why}"
    );
    card(&mut out, "plain", "Not replayed", &sentence);
    out.push_str("<p><code>recount repair</code> recovers what it can.</p>\n</div>\n</section>\n");
    ended(&mut out, head);
    out.push_str("</footer>\n</body>\n</html>\n");
    out
}

fn begun(head: &Head, asked: &str) -> String {
    let mut out = String::from(BEGINNING);
    let journal = text(&head.journal);
    put(
        &mut out,
        format_args!(
            "{journal}</title>\n<style>\n{}</style>\n</head>\n<body>\n<header>\n",
            include_str!("report.css")
        ),
    );
    put(
        &mut out,
        format_args!("<h1>Decisions on record</h1>\n<p>Journal <code>{journal}</code></p>\n"),
    );
    put(
        &mut out,
        format_args!("<p class=\"quiet\">{asked}</p>\n</header>\n<main>\n"),
    );
    out
}

/// Up to a footer that is still open.
fn ended(out: &mut String, head: &Head) {
    let written = html_call::time(head.written_at);
    put(
        out,
        format_args!(
            "</main>\n<footer class=\"quiet small\">\n<p>Written {written} UTC by recount {}. All times are UTC.</p>\n",
            env!("CARGO_PKG_VERSION")
        ),
    );
}

fn proved(out: &mut String, proof: &Proof) {
    cards(out);
    verified_card(out, &proof.verified);
    let (mood, heading) = match proof.replayed() {
        Replayed::Same => ("good", "Replayed: the same decisions"),
        Replayed::Diverged => ("bad", "Replayed: diverged"),
        Replayed::Partly => ("plain", "Not everything could be replayed"),
    };
    card(out, mood, heading, &proof.replayed_in_words());
    let places = proof.diverged.iter();
    listed(
        out,
        places.map(|(session, seq)| format!("session {session}, from record {seq} on")),
    );
    out.push_str("</div>\n</section>\n");
}

fn cards(out: &mut String) {
    out.push_str("<section class=\"cards\" aria-label=\"Whether this can be trusted\">\n");
}

fn verified_card(out: &mut String, verified: &Verified) {
    let (mood, heading) = match verified.integrity() {
        Integrity::Anchored => ("good", "Verified: sound, anchored"),
        Integrity::Consistent => ("good", "Verified: consistent, not anchored"),
        Integrity::Damaged => ("bad", "Verified: damaged"),
    };
    card(out, mood, heading, &verified_in_words(verified).1);
    listed(out, verified.findings.iter().map(ToString::to_string));
    listed(out, verified.notes.iter().cloned());
    out.push_str("</div>\n");
}

/// A card that is still open.
fn card(out: &mut String, mood: &str, heading: &str, sentence: &str) {
    let sentence = text(sentence);
    put(
        out,
        format_args!("<div class=\"card {mood}\">\n<h2>{heading}</h2>\n<p>{sentence}</p>\n"),
    );
}

fn listed(out: &mut String, items: impl Iterator<Item = String>) {
    let mut items = items.peekable();
    if items.peek().is_none() {
        return;
    }
    out.push_str("<ul class=\"small\">\n");
    for item in items.by_ref().take(LISTED_MAX) {
        put(out, format_args!("<li>{}</li>\n", text(&item)));
    }
    let more = items.count();
    if more > 0 {
        put(out, format_args!("<li>and {more} more</li>\n"));
    }
    out.push_str("</ul>\n");
}

fn numbers(out: &mut String, report: &Report) {
    let totals = &report.totals;
    let verdict = |it: Verdict| totals.verdicts.get(&it).copied().unwrap_or_default();
    out.push_str("<section>\n<h2 id=\"numbers\">In numbers</h2>\n<dl class=\"counts\">\n");
    let figures = [
        ("calls", totals.calls),
        ("sessions read", report.sessions),
        ("approved", verdict(Verdict::Approved)),
        ("denied", verdict(Verdict::Denied)),
        (
            "approved by a program",
            verdict(Verdict::ApprovedAutomatically),
        ),
        ("denied by a program", verdict(Verdict::DeniedAutomatically)),
        ("expired unanswered", verdict(Verdict::Expired)),
        ("waiting for a person", verdict(Verdict::Waiting)),
        ("ran without confirmation", totals.ran_without_confirmation),
        ("refused by policy", verdict(Verdict::RefusedByPolicy)),
        ("outcome unknown to this day", totals.unknown_to_this_day),
        ("arguments changed by a person", totals.edited),
        ("answers refused", totals.refused_answers),
        ("sessions not told", report.unread.len() as u64),
    ];
    for (what, number) in figures {
        put(
            out,
            format_args!("<div><dt>{what}</dt><dd>{number}</dd></div>\n"),
        );
    }
    out.push_str("</dl>\n");
    for (heading, sentence) in words::totals(totals) {
        let sentence = text(&sentence);
        put(
            out,
            format_args!(
                "<p class=\"small\"><span class=\"quiet\">{heading}:</span> {sentence}</p>\n"
            ),
        );
    }
    out.push_str("</section>\n");
}

/// What ran without confirmation, by tool and by what allowed it.
fn unasked(out: &mut String, calls: &[AuditedCall]) {
    out.push_str("<section>\n<h2 id=\"unasked\">Ran without confirmation</h2>\n");
    let mut groups: BTreeMap<(String, String), u64> = BTreeMap::new();
    for call in calls.iter().filter(|it| it.ran_without_confirmation) {
        let key = (call.tool.clone(), html_call::leave(call));
        *groups.entry(key).or_default() += 1;
    }
    if groups.is_empty() {
        out.push_str("<p>No call did.</p>\n</section>\n");
        return;
    }
    out.push_str("<div class=\"scroll\" role=\"region\" aria-labelledby=\"unasked\" tabindex=\"0\">\n<table>\n<caption>Tools that ran without a person’s yes, and what allowed it</caption>\n");
    heads(out, &["Tool", "Allowed by", "Calls"]);
    for ((tool, leave), number) in groups {
        let (tool, leave) = (text(&tool), text(&leave));
        put(
            out,
            format_args!(
                "<tr><th scope=\"row\"><code>{tool}</code></th><td>{leave}</td><td>{number}</td></tr>\n"
            ),
        );
    }
    out.push_str("</tbody>\n</table>\n</div>\n</section>\n");
}

fn calls(out: &mut String, calls: &[AuditedCall]) {
    out.push_str("<section>\n<h2 id=\"calls\">Every call</h2>\n");
    if calls.is_empty() {
        out.push_str("<p>No call fits.</p>\n</section>\n");
        return;
    }
    out.push_str("<div class=\"scroll\" role=\"region\" aria-labelledby=\"calls\" tabindex=\"0\">\n<table class=\"calls\">\n<caption>Calls in the order in which they came, session after session; times are UTC</caption>\n");
    heads(
        out,
        &[
            "Call",
            "Tool and arguments",
            "Policy",
            "People",
            "Run",
            "Outcome",
        ],
    );
    for call in calls {
        html_call::row(out, call);
    }
    out.push_str("</tbody>\n</table>\n</div>\n</section>\n");
}

fn unread(out: &mut String, report: &Report) {
    if report.unread.is_empty() {
        return;
    }
    out.push_str("<section>\n<h2 id=\"unread\">Sessions not told</h2>\n<div class=\"scroll\" role=\"region\" aria-labelledby=\"unread\" tabindex=\"0\">\n<table>\n<caption>What stands in clear of sessions that are sealed or cannot be read; they are verified like all others</caption>\n");
    heads(
        out,
        &[
            "Session", "From", "To", "Records", "Calls", "Answers", "Why",
        ],
    );
    for it in &report.unread {
        let (first, last) = (html_call::time(it.first_at), html_call::time(it.last_at));
        let mut why = text(it.why.in_words());
        if let Some(more) = it.more() {
            why.push_str(&format!(": {}", text(&more)));
        }
        put(
            out,
            format_args!(
                "<tr><th scope=\"row\"><code>{}</code></th><td>{first}</td><td>{last}</td><td>{}</td><td>{}</td><td>{}</td><td>{why}</td></tr>\n",
                it.session, it.records, it.calls, it.answers
            ),
        );
    }
    out.push_str("</tbody>\n</table>\n</div>\n</section>\n");
}

fn notes(out: &mut String, report: &Report) {
    out.push_str("<section>\n<h2 id=\"journal\">What the journal says of itself</h2>\n");
    if report.notes.is_empty() {
        out.push_str("<p>No crash, no repair.</p>\n");
    }
    let notes = report.notes.iter();
    listed(
        out,
        notes.map(|it| format!("{}: {}", age::moment(it.at), it.what)),
    );
    let unread = words::unread(&report.unread).into_iter();
    listed(out, unread.chain(sealed(report)));
    out.push_str("</section>\n");
}

/// How many of the sessions that were told are sealed on record.
fn sealed(report: &Report) -> Option<String> {
    let mut sealed: Vec<_> = report.calls.iter().filter(|it| it.sealed).collect();
    sealed.dedup_by_key(|it| it.session);
    let told = format!(
        "{} told here sealed on record",
        count(sealed.len(), "session")
    );
    (!sealed.is_empty()).then_some(told)
}

fn heads(out: &mut String, heads: &[&str]) {
    out.push_str("<thead><tr>");
    for head in heads {
        put(out, format_args!("<th scope=\"col\">{head}</th>"));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
}

/// Text of strangers: escaped, nothing in it that changes the direction of writing, and no longer
/// than can be read.
pub(super) fn text(it: &str) -> String {
    let mut shown = one_line(it).into_owned();
    if let Some((end, _)) = shown.char_indices().nth(SHOWN_MAX) {
        let rest = shown.chars().count() - SHOWN_MAX;
        shown.truncate(end);
        shown.push_str(&format!("… ({rest} characters more, in --json)"));
    }
    let mut escaped = String::with_capacity(shown.len());
    for c in shown.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

pub(super) fn put(out: &mut String, what: std::fmt::Arguments<'_>) {
    // A string takes whatever is written to it.
    let _ = out.write_fmt(what);
}

#[cfg(test)]
#[path = "html_tests.rs"]
mod tests;
