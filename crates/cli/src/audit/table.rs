//! The report for a terminal: a heading for each session, a line for each call, then the totals.

use crate::failures::Failure;
use crate::terminal::{COLUMNS, Screen, Tone};
use recount::audit::{AuditedCall, Question, QuestionEnd, Report};
use recount::session::{SessionId, Timestamp};
use recount_telling::calls::{self as words, Mood};
use recount_telling::{acted_in_short, age, count, cut, one_line, width};

/// The width of the tool and its arguments in a line of 80 columns.
const CALL_COLUMNS: usize = 20;

/// The width of the verdict in a line of 80 columns.
const VERDICT_COLUMNS: usize = 24;

/// Prints the report, cut at the width of the terminal. `full` cuts nothing and adds lines.
pub(super) fn print(report: &Report, full: bool, screen: &mut Screen) -> Result<(), Failure> {
    let columns = screen.columns.filter(|_| !full);
    let lines = lines(report, full, columns);
    let mut lines = lines.into_iter();
    lines.try_for_each(|(tone, line)| screen.toned(tone, &line))
}

/// The lines of the report, none wider than `columns`. `full` adds
/// the lines below each call.
fn lines(report: &Report, full: bool, columns: Option<usize>) -> Vec<(Tone, String)> {
    let mut lines = Vec::new();
    let mut session: Option<SessionId> = None;
    if !report.calls.is_empty() {
        lines.push((Tone::Quiet, headings(columns)));
    }
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
        lines.push((tone, line(call, columns)));
        if full {
            let details = details(call).into_iter();
            lines.extend(details.map(|it| (Tone::Quiet, fit(&it, columns))));
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
        text.push_str(&words::details(it));
        lines.push((Tone::Bad, fit(&text, columns)));
    }
    for sentence in words::unread(&report.unread) {
        lines.push((Tone::Bad, sentence));
    }
    for note in &report.catalogs {
        let (session, at) = (note.session, age::moment(note.at));
        let text = format!("{at}  {session}  {}", note.in_words());
        lines.push((Tone::Quiet, fit(&text, columns)));
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

/// The headings of the columns of the calls.
fn headings(columns: Option<usize>) -> String {
    let time = time(Timestamp(0), columns);
    let time = format!("{:1$}", "time", width(&time));
    let cells = [
        time.as_str(),
        "call",
        "tool and arguments",
        "decision",
        "outcome",
    ];
    row(cells, columns)
}

/// The time of a call. A terminal shows no year, to leave room for the arguments.
fn time(at: Timestamp, columns: Option<usize>) -> String {
    match columns {
        None => age::moment(at),
        Some(_) => age::short_moment(at),
    }
}

fn line(call: &AuditedCall, columns: Option<usize>) -> String {
    let tool = if call.tool.is_empty() {
        "a function without a name"
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
    let (time, seq) = (time(call.called_at, columns), format!("#{}", call.seq));
    let (verdict, outcome) = (words::verdict(call), words::outcome(call));
    row([&time, &seq, &what, &verdict, &outcome], columns)
}

fn row(cells: [&str; 5], columns: Option<usize>) -> String {
    let [time, seq, what, verdict, outcome] = cells;
    // The additional columns of a wide terminal are shared, most of them for the arguments.
    let more = columns.unwrap_or_default().saturating_sub(COLUMNS);
    let verdict_columns = VERDICT_COLUMNS + more / 4;
    let text = format!(
        "  {time} {seq:<5}{}  {}  {}",
        column(what, CALL_COLUMNS + more - more / 4, columns),
        column(verdict, verdict_columns, columns),
        one_line(outcome)
    );
    fit(text.trim_end(), columns)
}

/// The lines below a call: its requests, the pauses that held it, and the clients that ran it.
fn details(call: &AuditedCall) -> Vec<String> {
    let questions = call.questions.iter().map(|it| question(it, call));
    let held = call
        .held
        .iter()
        .map(|it| format!("      {}", words::held(it)));
    let clients = call.runs.iter().filter_map(|run| {
        let by = acted_in_short("by the client", run.claimed_by.as_ref()?);
        Some(format!("      start {} {by}", run.attempt))
    });
    questions.chain(held).chain(clients).collect()
}

/// A request for approval: the question, its end, and the text that the approver was shown.
fn question(it: &Question, call: &AuditedCall) -> String {
    let end = words::question_end(it.end);
    let mut text = format!("      {}; {end}", words::asked(it));
    text.push_str(&words::answered_by(it));
    if it.end != QuestionEnd::Approved {
        let earlier = it.approvals.iter();
        let earlier = earlier.map(|it| acted_in_short("; approved before by", &it.by));
        text.extend(earlier);
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

/// A text in a column of this width, padded with spaces, and cut if lines are cut.
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

    /// The report of a journal of the corpus.
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
    fn shown_text_is_the_end_of_the_line() {
        let mut report = report("answered_twice");
        let call = report.calls.first_mut().unwrap();
        let whole = call.clone();
        let asked = call.questions.first_mut().unwrap();
        let evil = "Pay?”; approved by root after 0 ms";
        asked.hint = Some(evil.to_owned());
        let line = question(asked, &whole);
        let (ours, shown) = line.split_once("; text shown, from ").unwrap();
        assert!(
            !ours.contains("root") && ours.contains("; approved by "),
            "{line}"
        );
        assert_eq!(shown, format!("the tool’s declaration: “{evil}”"));
    }

    #[test]
    fn lines_are_cut_at_the_width_of_the_terminal() {
        let mut report = report("every_policy_and_a_restart");
        let call = report.calls.first_mut().unwrap();
        call.tool = "look_up_what_this_account_holds_today".to_owned();
        let shown = |columns| -> Vec<String> {
            let lines = lines(&report, false, columns).into_iter();
            lines.map(|(_, line)| line).collect()
        };
        let cut = |lines: &[String]| lines.iter().filter(|it| it.contains('…')).count();
        let (narrow, usual, wide) = (shown(Some(60)), shown(Some(80)), shown(Some(140)));
        for (lines, columns) in [(&narrow, 60), (&usual, 80), (&wide, 140)] {
            // The totals are sentences of any length.
            let mut table = lines.iter().filter(|it| it.contains(" #"));
            assert!(table.all(|it| width(it) <= columns), "{lines:?}");
        }
        assert!(cut(&narrow) > 0 && cut(&usual) > 0 && cut(&wide) < cut(&usual));
        assert_eq!(cut(&shown(None)), 0);
        insta::assert_snapshot!(usual.join("\n"));
    }
}
