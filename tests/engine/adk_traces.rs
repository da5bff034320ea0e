//! The engine behaves as ADK was recorded to behave, except where a table names a rule.
//!
//! Every trace in `fixtures/adk` is played to a real engine. A scripted model makes the model's
//! calls. The client's messages arrive through `receive_client_message`, with the ids of our own
//! events. After each message the test compares what is pending, decided, executed and answered.
//! The answers are those that the model received, and the runs are those that the tools counted.

mod ours;
mod standing;
mod table;
mod trace;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ours::{Played, play};
use standing::Standing;
use table::{ROWS, Row, Verdict};
use trace::Trace;

#[test]
fn engine_matches_adk_traces_except_listed_differences() {
    let rows = rows_by_file();
    let mut wrong = Vec::new();
    let mut seen = 0;
    let traces = traces();
    let lost = rows.keys().filter(|name| !traces.contains_key(*name));
    wrong.extend(lost.map(|name| format!("{name}: there is no such trace")));
    for (name, path) in traces {
        let Some(row) = rows.get(&name) else {
            wrong.push(format!("{name}: no row names it"));
            continue;
        };
        wrong.extend(compare(&name, &Trace::read(&path), row));
        seen += 1;
    }
    assert!(seen > 100, "only {seen} traces were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// The differences between a trace and its row of the table.
fn compare(name: &str, trace: &Trace, row: &Row) -> Vec<String> {
    let comparable = |standing: &Standing| {
        let standing = standing.clone();
        if trace.shows_runs {
            standing
        } else {
            standing.without_runs()
        }
    };
    let played = play(trace, row.scene);
    let theirs: Vec<Standing> = trace
        .turns
        .iter()
        .map(|turn| comparable(&turn.standing))
        .collect();
    let ours: Vec<Standing> = played.iter().map(|it| comparable(&it.standing)).collect();
    let shown = |all: &[Standing]| -> Vec<String> { all.iter().map(ToString::to_string).collect() };
    let (theirs_shown, ours_shown) = (shown(&theirs), shown(&ours));
    let mut wrong = Vec::new();
    match &row.verdict {
        Verdict::Same if theirs != ours => wrong.push(format!(
            "{name}: not the same\n  theirs {theirs_shown:#?}\n  ours {ours_shown:#?}"
        )),
        Verdict::Differs { by, .. } if theirs == ours => {
            wrong.push(format!("{name}: the same, not different by {by}"));
        }
        Verdict::Differs { ours, by } if ours_shown != *ours => wrong.push(format!(
            "{name}: by {by} ours should be {ours:#?}\n  theirs {theirs_shown:#?}\n  ours \
            {ours_shown:#?}"
        )),
        Verdict::Same | Verdict::Differs { .. } => {}
    }
    let replies = replies(&played);
    let expected = row.replies.iter().copied().chain(std::iter::repeat("ok"));
    let expected: Vec<&str> = expected.take(replies.len()).collect();
    if replies != expected {
        wrong.push(format!(
            "{name}: the client was answered {replies:?}, not {expected:?}"
        ));
    }
    wrong
}

/// The reply to each turn. The replies to simultaneous messages are sorted, since their order is
/// open.
fn replies(played: &[Played]) -> Vec<String> {
    let turns = played.iter().map(|turn| {
        let mut replies = turn.replies.clone();
        replies.sort();
        if replies.is_empty() {
            "ok".to_owned()
        } else {
            replies.join(" ")
        }
    });
    turns.collect()
}

/// The rows by the names of their trace files.
fn rows_by_file() -> BTreeMap<String, &'static Row> {
    let mut rows = BTreeMap::new();
    for row in ROWS {
        let names = [
            Some(row.trace.to_owned()),
            row.resumable.then(|| format!("{}.resumable", row.trace)),
        ];
        for name in names.into_iter().flatten() {
            let before = rows.insert(name, row);
            assert!(before.is_none(), "two rows for {}", row.trace);
        }
    }
    rows
}

fn traces() -> BTreeMap<String, PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/adk");
    let files = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let traces = files.filter_map(|path| {
        let name = path
            .file_name()?
            .to_str()?
            .strip_suffix(".jsonl")?
            .to_owned();
        Some((name, path))
    });
    traces.collect()
}
