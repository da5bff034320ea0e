//! The report as one HTML file without script, font, picture or network.
//!
//! Text from the journal is untrusted, so it is escaped, and a content security policy in the file
//! forbids scripts and requests.

use std::collections::BTreeMap;
use std::fmt::Write;

use recount_journal::verify::{Integrity, Report as Verified};

use super::html_call;
use super::proof::{Proof, Replayed, verified_in_words};
use super::timelines::Timelines;
use recount::audit::{AuditedCall, Report, Verdict};
use recount::session::Timestamp;
use recount_telling::calls as words;
use recount_telling::timeline_svg::STYLE;
use recount_telling::{age, count, one_line};

/// The maximum number of characters of one text.
const SHOWN_MAX: usize = 4_000;

/// The maximum number of items of a list, such as findings.
const LISTED_MAX: usize = 50;

/// The top of a report.
pub(super) struct Head {
    /// The journal, as the command line names it.
    pub(super) journal: String,
    /// The options that chose calls; empty for all calls.
    pub(super) asked: Vec<String>,
    pub(super) written_at: Timestamp,
}

/// The beginning of every report.
const BEGINNING: &str = concat!(
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
    "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n",
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; ",
    "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n",
    "<title>Decisions on record: ",
);

/// The complete report.
pub(super) fn document(
    head: &Head,
    proof: &Proof,
    report: &Report,
    timelines: &Timelines,
) -> String {
    let asked = match head.asked.as_slice() {
        [] => "All calls of all sessions.".to_owned(),
        asked => format!("Only calls with {}.", text(&asked.join(", "))),
    };
    let mut out = begun(head, &asked);
    proved(&mut out, proof);
    numbers(&mut out, report);
    unconfirmed(&mut out, &report.calls);
    calls(&mut out, &report.calls);
    timelines.add(&mut out, &report.calls);
    unread(&mut out, report);
    catalogs(&mut out, report);
    notes(&mut out, report);
    ended(&mut out, head);
    put(
        &mut out,
        format_args!(
            "<p>Root of all records: <code>{}</code>. Keep it elsewhere: with it, <code>recount \
             verify PATH --root HEX</code> shows later if it was rewritten.</p>\n</footer>\n\
             </body>\n</html>\n",
            proof.verified.root
        ),
    );
    out
}

/// The report about a journal that cannot be read, with the reason.
pub(super) fn of_damaged(head: &Head, verified: &Verified, why: &str) -> String {
    let mut out = begun(head, "No call is shown.");
    cards(&mut out);
    verified_card(&mut out, verified);
    let sentence =
        format!("The journal cannot be read, so no call is shown and nothing was replayed: {why}");
    card(&mut out, "plain", "Not replayed", &sentence);
    out.push_str("<p><code>recount repair</code> recovers what it can.</p>\n</div>\n</section>\n");
    ended(&mut out, head);
    out.push_str("</footer>\n</body>\n</html>\n");
    out
}

/// The report up to its main part.
fn begun(head: &Head, asked: &str) -> String {
    let mut out = String::from(BEGINNING);
    let journal = text(&head.journal);
    put(
        &mut out,
        format_args!(
            "{journal}</title>\n<style>\n{}{STYLE}</style>\n</head>\n<body>\n<header>\n",
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

/// Ends the main part and begins the footer.
fn ended(out: &mut String, head: &Head) {
    let written = html_call::time(head.written_at);
    put(
        out,
        format_args!(
            "</main>\n<footer class=\"quiet small\">\n<p>Written {written} by recount {}.</p>\n",
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
    out.push_str("<section class=\"cards\" aria-label=\"Verification and replay\">\n");
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

/// The beginning of a card.
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
        ("expired without an answer", verdict(Verdict::Expired)),
        ("waiting for approval", verdict(Verdict::Waiting)),
        (
            "ran without a person’s approval",
            totals.ran_without_confirmation,
        ),
        ("refused by policy", verdict(Verdict::RefusedByPolicy)),
        ("outcome still unknown", totals.unknown_to_this_day),
        ("arguments changed by an approver", totals.edited),
        ("answers refused", totals.refused_answers),
        ("sessions not shown", report.unread.len() as u64),
    ];
    let unanswered = verdict(Verdict::AllowedUnanswered);
    let unanswered = (unanswered > 0).then_some(("allowed without an answer", unanswered));
    let by_leave = verdict(Verdict::AllowedByLeave);
    let by_leave = (by_leave > 0).then_some(("allowed by a standing leave", by_leave));
    for (what, number) in figures.into_iter().chain(by_leave).chain(unanswered) {
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

/// The calls that ran without a person's approval, by tool and by the reason that allowed them.
fn unconfirmed(out: &mut String, calls: &[AuditedCall]) {
    out.push_str("<section>\n<h2 id=\"unconfirmed\">Ran without a person’s approval</h2>\n");
    let mut groups: BTreeMap<(String, String), u64> = BTreeMap::new();
    for call in calls.iter().filter(|it| it.ran_without_confirmation) {
        let key = (call.tool.clone(), html_call::allowed_by(call));
        *groups.entry(key).or_default() += 1;
    }
    if groups.is_empty() {
        out.push_str("<p>None.</p>\n</section>\n");
        return;
    }
    let caption = "Tools that ran without the approval of a person, and the reason";
    table(out, "unconfirmed", "", caption);
    heads(out, &["Tool", "Allowed by", "Calls"]);
    for ((tool, allowed_by), number) in groups {
        let (tool, allowed_by) = (text(&tool), text(&allowed_by));
        put(
            out,
            format_args!(
                "<tr><th scope=\"row\"><code>{tool}</code></th><td>{allowed_by}</td>\
                 <td>{number}</td></tr>\n"
            ),
        );
    }
    out.push_str("</tbody>\n</table>\n</div>\n</section>\n");
}

fn calls(out: &mut String, calls: &[AuditedCall]) {
    out.push_str("<section>\n<h2 id=\"calls\">Every call</h2>\n");
    if calls.is_empty() {
        out.push_str("<p>No call matches.</p>\n</section>\n");
        return;
    }
    let caption = "Calls by session, in the order of their records";
    table(out, "calls", " class=\"calls\"", caption);
    heads(
        out,
        &[
            "Call",
            "Tool and arguments",
            "Decision",
            "Approval requests",
            "Runs",
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
    out.push_str("<section>\n<h2 id=\"unread\">Sessions not shown</h2>\n");
    let caption = "Sessions that are sealed or cannot be read, with their data in clear text; \
                   they are verified like all others";
    table(out, "unread", "", caption);
    heads(
        out,
        &[
            "Session", "From", "To", "Records", "Calls", "Answers", "Reason",
        ],
    );
    for it in &report.unread {
        let (first, last) = (html_call::time(it.first_at), html_call::time(it.last_at));
        let why = format!("{}{}", it.why.in_words(), words::details(it));
        let why = text(&why);
        put(
            out,
            format_args!(
                "<tr><th scope=\"row\"><code>{}</code></th><td>{first}</td><td>{last}</td>\
                 <td>{}</td><td>{}</td><td>{}</td><td>{why}</td></tr>\n",
                it.session, it.records, it.calls, it.answers
            ),
        );
    }
    out.push_str("</tbody>\n</table>\n</div>\n</section>\n");
}

/// The changes of tools while their session lived. Absent if there was none.
fn catalogs(out: &mut String, report: &Report) {
    if report.catalogs.is_empty() {
        return;
    }
    out.push_str("<section>\n<h2 id=\"tools\">Tools changed while a session lived</h2>\n");
    let changes = report.catalogs.iter().map(|it| {
        let (at, session, seq) = (age::moment(it.at), it.session, it.seq);
        format!("{at}: {session}, record {seq}: {}", it.in_words())
    });
    listed(out, changes);
    out.push_str("</section>\n");
}

fn notes(out: &mut String, report: &Report) {
    out.push_str("<section>\n<h2 id=\"journal\">Events of the journal itself</h2>\n");
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

/// The number of shown sessions that are sealed on record.
fn sealed(report: &Report) -> Option<String> {
    let mut sealed: Vec<_> = report.calls.iter().filter(|it| it.sealed).collect();
    sealed.dedup_by_key(|it| it.session);
    let text = format!(
        "{} shown here sealed on record",
        count(sealed.len(), "session")
    );
    (!sealed.is_empty()).then_some(text)
}

/// The beginning of a table that can be scrolled, below the heading with the id `section`.
fn table(out: &mut String, section: &str, class: &str, caption: &str) {
    put(
        out,
        format_args!(
            "<div class=\"scroll\" role=\"region\" aria-labelledby=\"{section}\" tabindex=\"0\">\n\
             <table{class}>\n<caption>{caption}</caption>\n"
        ),
    );
}

/// The headings of the columns of a table.
fn heads(out: &mut String, heads: &[&str]) {
    out.push_str("<thead><tr>");
    for head in heads {
        put(out, format_args!("<th scope=\"col\">{head}</th>"));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
}

/// Untrusted text: escaped, without characters that change the direction of writing, and cut.
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
    // Writing to a string does not fail.
    let _ = out.write_fmt(what);
}

#[cfg(test)]
#[path = "html_tests.rs"]
mod tests;
