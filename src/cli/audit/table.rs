//! The report for a terminal: a heading a session, a line a call, the totals last.

use super::words::{self, Mood};
use crate::audit::{AuditedCall, Report};
use crate::cli::age;
use crate::cli::count::count;
use crate::cli::failure::Failure;
use crate::cli::one_line::{cut, one_line, width};
use crate::cli::screen::{COLUMNS, Screen};
use crate::cli::style::Tone;
use crate::session::SessionId;

/// How wide the call and its verdict are, where they are cut.
const CALL_COLUMNS: usize = 23;
const VERDICT_COLUMNS: usize = 21;

/// Prints the report; `full` cuts nothing.
pub(super) fn print(report: &Report, full: bool, screen: &mut Screen) -> Result<(), Failure> {
    let mut session: Option<SessionId> = None;
    for call in &report.calls {
        if session.replace(call.session) != Some(call.session) {
            screen.toned(Tone::Heading, &fit(&heading(call), COLUMNS, full))?;
        }
        let tone = match words::mood(call) {
            Mood::Good => Tone::Good,
            Mood::Bad => Tone::Bad,
            Mood::Open => Tone::Ask,
            Mood::Plain => Tone::Plain,
        };
        screen.toned(tone, &line(call, full))?;
    }
    let calls = count(report.totals.calls, "call");
    let sessions = count(report.sessions, "session");
    screen.toned(Tone::Heading, &format!("{calls} of {sessions}"))?;
    for (heading, sentence) in words::totals(&report.totals) {
        screen.line(&format!("  {heading}: {sentence}"))?;
    }
    for it in &report.unread {
        let mut text = format!(
            "{}  {}, {}",
            it.session,
            count(it.records, "record"),
            it.why.in_words()
        );
        if let Some(problem) = &it.problem {
            text.push_str(&format!(": {problem}"));
        }
        screen.toned(Tone::Bad, &fit(&text, COLUMNS, full))?;
    }
    for sentence in words::unread(&report.unread) {
        screen.toned(Tone::Bad, &sentence)?;
    }
    for note in &report.notes {
        let text = format!("{}  journal {}", age::moment(note.at), note.what);
        screen.toned(Tone::Quiet, &fit(&text, COLUMNS, full))?;
    }
    Ok(())
}

fn heading(call: &AuditedCall) -> String {
    let mut text = format!("{}  {}", call.session, call.agent);
    if let Some(name) = &call.external_id {
        text.push_str(&format!("  {name}"));
    }
    for (key, value) in &call.labels {
        text.push_str(&format!("  {key}={value}"));
    }
    text
}

fn line(call: &AuditedCall, full: bool) -> String {
    let tool = if call.tool.is_empty() {
        "a nameless function"
    } else {
        &call.tool
    };
    let edited = call.edited_args.as_ref().map(|it| it.as_str());
    let args = edited.unwrap_or_else(|| call.args_text());
    let mut what = format!("{tool} {args}");
    if call.edited_args.is_some() {
        what.push_str(" (changed)");
    }
    let time = match full {
        true => age::moment(call.called_at),
        false => age::utc(call.called_at)
            .format("%m-%d %H:%M:%S")
            .to_string(),
    };
    let text = format!(
        "  {time} #{:<4}{}  {}  {}",
        call.seq,
        column(&what, CALL_COLUMNS, full),
        column(&words::verdict(call), VERDICT_COLUMNS, full),
        one_line(&words::outcome(call))
    );
    fit(text.trim_end(), COLUMNS, full)
}

/// A text in a column of this width, cut or filled up with spaces.
fn column(text: &str, columns: usize, full: bool) -> String {
    let text = fit(text, columns, full);
    let rest = columns.saturating_sub(width(&text));
    format!("{text}{:rest$}", "")
}

fn fit(text: &str, columns: usize, full: bool) -> String {
    let text = one_line(text);
    match full {
        true => text.into_owned(),
        false => cut(&text, columns).into_owned(),
    }
}
