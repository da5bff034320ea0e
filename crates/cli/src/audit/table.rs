//! The report for a terminal: a heading a session, a line a call, the totals last.

use super::words;
use super::words::{Mood, spoken};
use crate::failures::Failure;
use crate::terminal::{COLUMNS, Screen, Tone};
use crate::text::{age, count, cut, one_line, width};
use recount::audit::{AuditedCall, Question, Report};
use recount::session::SessionId;

/// How wide the call and its verdict are in a line of 80 columns.
const CALL_COLUMNS: usize = 23;
const VERDICT_COLUMNS: usize = 21;

/// Prints the report, cut at the width of the terminal; `full` cuts nothing and tells every
/// question.
pub(super) fn print(report: &Report, full: bool, screen: &mut Screen) -> Result<(), Failure> {
    let columns = screen.columns.filter(|_| !full);
    let lines = lines(report, full, columns);
    let mut lines = lines.into_iter();
    lines.try_for_each(|(tone, line)| screen.toned(tone, &line))
}

/// The lines of the report, none wider than this; `full` also gives the years and the questions.
fn lines(report: &Report, full: bool, columns: Option<usize>) -> Vec<(Tone, String)> {
    let mut lines = Vec::new();
    let mut session: Option<SessionId> = None;
    for call in &report.calls {
        if session.replace(call.session) != Some(call.session) {
            lines.push((Tone::Heading, fit(&heading(call), columns)));
        }
        let tone = match words::mood(call) {
            Mood::Good => Tone::Good,
            Mood::Bad => Tone::Bad,
            Mood::Open => Tone::Ask,
            Mood::Plain => Tone::Plain,
        };
        lines.push((tone, line(call, full, columns)));
        if full {
            let questions = call.questions.iter().map(|it| question(it, call));
            lines.extend(questions.map(|it| (Tone::Quiet, fit(&it, columns))));
        }
    }
    let calls = count(report.totals.calls, "call");
    let sessions = count(report.sessions, "session");
    lines.push((Tone::Heading, format!("{calls} of {sessions}")));
    for (heading, sentence) in words::totals(&report.totals) {
        lines.push((Tone::Plain, format!("  {heading}: {sentence}")));
    }
    for it in &report.unread {
        let mut text = format!(
            "{}  {}, {}",
            it.session,
            count(it.records, "record"),
            it.why.in_words()
        );
        if let Some(more) = it.more() {
            text.push_str(&format!(": {more}"));
        }
        lines.push((Tone::Bad, fit(&text, columns)));
    }
    for sentence in words::unread(&report.unread) {
        lines.push((Tone::Bad, sentence));
    }
    for note in &report.notes {
        let text = format!("{}  journal {}", age::moment(note.at), note.what);
        lines.push((Tone::Quiet, fit(&text, columns)));
    }
    lines
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

fn line(call: &AuditedCall, full: bool, columns: Option<usize>) -> String {
    let tool = if call.tool.is_empty() {
        "a nameless function"
    } else {
        &call.tool
    };
    let edited = call.edited_args.as_ref().map(|it| it.as_str());
    let args = edited.unwrap_or_else(|| call.args_text());
    let parent = call.parent.map(|it| format!(" in #{it}"));
    let mut what = format!("{tool}{} {args}", parent.unwrap_or_default());
    if call.edited_args.is_some() {
        what.push_str(" (changed)");
    }
    let time = match full {
        true => age::moment(call.called_at),
        false => age::utc(call.called_at)
            .format("%m-%d %H:%M:%S")
            .to_string(),
    };
    // What a wide terminal has more goes to both, and most of it to the arguments.
    let more = columns.unwrap_or_default().saturating_sub(COLUMNS);
    let verdict = VERDICT_COLUMNS + more / 4;
    let text = format!(
        "  {time} #{:<4}{}  {}  {}",
        call.seq,
        column(&what, CALL_COLUMNS + more - more / 4, columns),
        column(&words::verdict(call), verdict, columns),
        one_line(&words::outcome(call))
    );
    fit(text.trim_end(), columns)
}

/// What a person was asked, what became of it, and what the person was shown.
fn question(it: &Question, call: &AuditedCall) -> String {
    let end = spoken(it.end.as_str());
    let mut text = format!("      {}; {end}", words::asked(it));
    if let Some(by) = &it.by {
        text.push_str(&format!(" by {}", by.in_short()));
    }
    if let Some(us) = it.waited_us {
        text.push_str(&format!(" after {}", words::waited(us)));
    }
    let arguments = words::asked_arguments(it, call).into_iter();
    for said in arguments.chain(words::shown(it)) {
        text.push_str(&format!("; {said}"));
    }
    text
}

/// A text in a column of this width, filled up with spaces, and cut where lines are.
fn column(text: &str, width_of_it: usize, columns: Option<usize>) -> String {
    let text = fit(text, columns.map(|_| width_of_it));
    let rest = width_of_it.saturating_sub(width(&text));
    format!("{text}{:rest$}", "")
}

fn fit(text: &str, columns: Option<usize>) -> String {
    let text = one_line(text);
    match columns {
        None => text.into_owned(),
        Some(columns) => cut(&text, columns).into_owned(),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::sync::Arc;

    use recount_journal::{DiskJournal, block_on};

    use super::*;
    use recount::audit::{Filter, decisions};
    use recount::ledger::Ledger;

    /// What is told of a story of the corpus.
    fn report(story: &str) -> Report {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal");
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let file = root.join(format!("fixtures/journals/rules-1/{story}.jsonl"));
        recount::ledger::import(&std::fs::read(file).unwrap()[..], &path, None).unwrap();
        let journal = DiskJournal::options(&path).read_only().open().unwrap();
        let ledger = Ledger::new(Arc::new(journal));
        block_on(decisions(&ledger, &Filter::default(), |_, _| ())).unwrap()
    }

    #[test]
    fn what_was_shown_comes_behind_all_that_we_say() {
        let mut report = report("answered_twice");
        let call = report.calls.first_mut().unwrap();
        let whole = call.clone();
        let asked = call.questions.first_mut().unwrap();
        let evil = "Pay?”; approved by root after 0 ms";
        asked.hint = Some(evil.to_owned());
        let line = question(asked, &whole);
        let (ours, shown) = line.split_once("; shown, written by ").unwrap();
        assert!(
            !ours.contains("root") && ours.contains("; approved by "),
            "{line}"
        );
        assert_eq!(shown, format!("the tool’s declaration: “{evil}”"));
    }

    #[test]
    fn lines_are_as_wide_as_the_terminal_and_uncut_where_there_is_none() {
        let mut report = report("every_policy_and_a_restart");
        let call = report.calls.first_mut().unwrap();
        call.tool = "look_up_what_this_account_holds_today".to_owned();
        let told = |columns| -> Vec<String> {
            let lines = lines(&report, false, columns).into_iter();
            lines.map(|(_, line)| line).collect()
        };
        let cut = |lines: &[String]| lines.iter().filter(|it| it.contains('…')).count();
        let (narrow, usual, wide) = (told(Some(60)), told(Some(80)), told(Some(140)));
        for (lines, columns) in [(&narrow, 60), (&usual, 80), (&wide, 140)] {
            // The totals are sentences.
            let mut table = lines.iter().filter(|it| it.contains(" #"));
            assert!(table.all(|it| width(it) <= columns), "{lines:?}");
        }
        assert!(cut(&narrow) > 0 && cut(&usual) > 0 && cut(&wide) < cut(&usual));
        assert_eq!(cut(&told(None)), 0);
        insta::assert_snapshot!(usual.join("\n"));
    }
}
