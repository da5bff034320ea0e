//! The report for spreadsheets: RFC 4180, without cells that a spreadsheet would calculate.

use std::io::Write;

use super::words::{self, word};
use crate::failures::Failure;
use crate::terminal::Screen;
use crate::text::{age, escaped, named};
use recount::audit::{AuditedCall, LeaveUse, Question, Report, UnreadSession};
use recount::session::{Authentication, Json, Timestamp};

/// The headings of the columns. docs/command-line.md explains each; new ones come last.
const COLUMNS: [&str; 62] = [
    "session_id",
    "agent",
    "external_id",
    "labels",
    "on_behalf_of",
    "call_seq",
    "call_id",
    "call_hash",
    "model_call_id",
    "called_at_utc",
    "called_by",
    "tool",
    "arguments",
    "changed_arguments",
    "arguments_error",
    "verdict",
    "policy_verdict",
    "policy_rule",
    "policy_reason",
    "policies_hash",
    "approvals_enforced",
    "approvals_not_enforced_reason",
    "question_about",
    "question_text",
    "question_text_by",
    "asked_at_utc",
    "answer_due_at_utc",
    "question_ended_at_utc",
    "question_open_microseconds",
    "question_result",
    "answered_by",
    "identity_verified_by",
    "answer_reason",
    "answer_payload",
    "other_questions",
    "refused_answers",
    "number_of_runs",
    "first_run_started_at_utc",
    "last_run_ended_at_utc",
    "ran_without_confirmation",
    "call_ended_at_utc",
    "outcome",
    "error_kind",
    "open_call_state",
    "result_reused_from_seq",
    "result_supplied_by",
    "cancelled_by",
    "cancel_reason",
    "reconciled_as",
    "reconciled_by",
    "reconciled_at_utc",
    "reconciled_reason",
    "session_sealed",
    "not_shown_reason",
    "parent_call_seq",
    "held_by_pauses",
    "approved_before_by",
    "standing_leave_of",
    "standing_leave_use",
    "standing_leave_seq",
    "idempotency_key",
    "run_by_clients",
];

/// Prints a line for each call, and one for each session that is not shown.
pub(super) fn print(report: &Report, screen: &mut Screen) -> Result<(), Failure> {
    let mut text = line(COLUMNS.iter().copied());
    for call in &report.calls {
        text.push_str(&line(cells(call).iter().map(String::as_str)));
    }
    for session in &report.unread {
        text.push_str(&line(unread(session).iter().map(String::as_str)));
    }
    screen
        .writer()
        .write_all(text.as_bytes())
        .map_err(|error| Failure::io("write to standard output", &error))
}

/// The cells of a call, in the order of the columns.
fn cells(call: &AuditedCall) -> Vec<String> {
    let question = call.deciding_question();
    let parts: [&[String]; 4] = [
        &of_call(call),
        &of_policy(call),
        &of_question(call, question),
        &of_end(call, question),
    ];
    parts.concat()
}

/// The numbers of columns about the call, its policy, the deciding question, and the end.
const PARTS: [usize; 4] = [15, 7, 14, 26];

const _: () = assert!(PARTS[0] + PARTS[1] + PARTS[2] + PARTS[3] == COLUMNS.len());

fn of_call(call: &AuditedCall) -> [String; PARTS[0]] {
    let labels = call
        .labels
        .iter()
        .map(|(key, value)| format!("{key}={value}"));
    [
        call.session.to_string(),
        call.agent.clone(),
        call.external_id.clone().unwrap_or_default(),
        labels.collect::<Vec<_>>().join(" "),
        call.on_behalf_of.clone().unwrap_or_default(),
        call.seq.to_string(),
        call.id.to_string(),
        call.hash.to_string(),
        call.wire_id.clone().unwrap_or_default(),
        age::stamp(call.called_at),
        call.called_by.as_ref().map(named).unwrap_or_default(),
        call.tool.clone(),
        call.args_text().to_owned(),
        json(call.edited_args.as_ref()),
        call.flaw.clone().unwrap_or_default(),
    ]
}

fn of_policy(call: &AuditedCall) -> [String; PARTS[1]] {
    let policy = call.policy.as_ref();
    [
        call.verdict.to_string(),
        policy.map(|it| word(&it.verdict)).unwrap_or_default(),
        policy.map(|it| word(&it.rule)).unwrap_or_default(),
        policy.and_then(|it| it.reason.clone()).unwrap_or_default(),
        policy
            .and_then(|it| it.policies)
            .map(|it| it.to_string())
            .unwrap_or_default(),
        call.gates.enforced.to_string(),
        call.gates.reason.clone().unwrap_or_default(),
    ]
}

fn of_question(call: &AuditedCall, question: Option<&Question>) -> [String; PARTS[2]] {
    let others: Vec<&Question> = call
        .questions
        .iter()
        .filter(|it| question.is_none_or(|deciding| deciding.seq != it.seq))
        .collect();
    let others = match others.as_slice() {
        [] => String::new(),
        others => serde_json::to_string(others).unwrap_or_default(),
    };
    let refused = call.questions.iter().flat_map(|it| &it.refused);
    let refused = refused.map(|it| {
        let (by, at) = (named(&it.by), age::stamp(it.at));
        format!("{by} at {at}: {}", it.refusal)
    });
    let by = question.and_then(|it| it.by.as_ref());
    [
        question.map(|it| word(&it.about)).unwrap_or_default(),
        question.and_then(|it| it.hint.clone()).unwrap_or_default(),
        question.map(|it| word(&it.hint_by)).unwrap_or_default(),
        question
            .map(|it| age::stamp(it.asked_at))
            .unwrap_or_default(),
        time(question.and_then(|it| it.expires_at)),
        time(question.and_then(|it| it.ended_at)),
        question
            .and_then(|it| it.waited_us)
            .map(|it| it.to_string())
            .unwrap_or_default(),
        question
            .map(|it| it.end.as_str().to_owned())
            .unwrap_or_default(),
        by.map(|it| it.name.clone()).unwrap_or_default(),
        by.map(|it| verified(it.authenticated_by))
            .unwrap_or_default(),
        question
            .and_then(|it| it.reason.clone())
            .unwrap_or_default(),
        json(question.and_then(|it| it.payload.as_ref())),
        others,
        refused.collect::<Vec<_>>().join("; "),
    ]
}

fn of_end(call: &AuditedCall, question: Option<&Question>) -> [String; PARTS[3]] {
    let (first, last) = (call.runs.first(), call.runs.last());
    let (ended, cancelled) = (call.ended.as_ref(), call.cancelled.as_ref());
    let found = call.reconciled.as_ref();
    let earlier = question.into_iter().flat_map(|it| &it.approvals);
    let earlier = earlier.map(|it| format!("{} at {}", named(&it.by), age::stamp(it.at)));
    let leave = call.leave.as_ref();
    let givers = leave.into_iter().flat_map(|it| &it.by).map(named);
    [
        call.runs.len().to_string(),
        time(first.map(|it| it.started_at)),
        time(last.and_then(|it| it.ended_at)),
        call.ran_without_confirmation.to_string(),
        time(ended.map(|it| it.at)),
        ended.map(|it| word(&it.outcome)).unwrap_or_default(),
        call.error_kind.clone().unwrap_or_default(),
        call.waits_as.unwrap_or_default().to_owned(),
        call.reused.map(|it| it.to_string()).unwrap_or_default(),
        call.supplied_by.as_ref().map(named).unwrap_or_default(),
        cancelled
            .and_then(|it| it.by.as_ref())
            .map(named)
            .unwrap_or_default(),
        cancelled
            .and_then(|it| it.reason.clone())
            .unwrap_or_default(),
        found
            .map(|it| it.found.as_str().to_owned())
            .unwrap_or_default(),
        found.map(|it| named(&it.by)).unwrap_or_default(),
        time(found.map(|it| it.at)),
        found.and_then(|it| it.reason.clone()).unwrap_or_default(),
        call.sealed.to_string(),
        String::new(),
        call.parent.map(|it| it.to_string()).unwrap_or_default(),
        held(call),
        earlier.collect::<Vec<_>>().join("; "),
        givers.collect::<Vec<_>>().join("; "),
        leave.map(leave_use).unwrap_or_default(),
        leave.map(|it| it.given.to_string()).unwrap_or_default(),
        call.key.clone().unwrap_or_default(),
        clients(call),
    ]
}

/// The pauses that held a call, each with its scope and the actor.
fn held(call: &AuditedCall) -> String {
    let pauses = call.held.iter();
    let pauses = pauses.map(|it| format!("{} by {}", it.scope, named(&it.by)));
    pauses.collect::<Vec<_>>().join(" / ")
}

/// The clients that ran the call, each with the number of the start.
fn clients(call: &AuditedCall) -> String {
    let claimed = call.runs.iter().filter_map(|run| {
        let by = named(run.claimed_by.as_ref()?);
        Some(format!("{by} for start {}", run.attempt))
    });
    claimed.collect::<Vec<_>>().join("; ")
}

/// The use of a leave, such as `3 of 5`, or `3 until` a time.
fn leave_use(it: &LeaveUse) -> String {
    match (it.count, it.until) {
        (Some(count), _) => format!("{} of {count}", it.nth),
        (None, Some(until)) => format!("{} until {}", it.nth, age::stamp(until)),
        (None, None) => it.nth.to_string(),
    }
}

fn unread(it: &UnreadSession) -> [String; COLUMNS.len()] {
    let mut cells = [const { String::new() }; COLUMNS.len()];
    for (cell, column) in cells.iter_mut().zip(COLUMNS) {
        *cell = match column {
            "session_id" => it.session.to_string(),
            "called_at_utc" => age::stamp(it.first_at),
            "not_shown_reason" => format!("{}{}", it.why.as_str(), words::details(it)),
            _ => String::new(),
        };
    }
    cells
}

/// The way in which a name was verified, as JSON spells it, or words if it was not.
fn verified(by: Authentication) -> String {
    match by {
        Authentication::None => "not verified".to_owned(),
        Authentication::Embedder | Authentication::Token | Authentication::OsUser => word(&by),
    }
}

fn json(it: Option<&Json>) -> String {
    it.map(|it| it.as_str().to_owned()).unwrap_or_default()
}

fn time(at: Option<Timestamp>) -> String {
    at.map(age::stamp).unwrap_or_default()
}

fn line<'a>(cells: impl Iterator<Item = &'a str>) -> String {
    let cells: Vec<String> = cells.map(cell).collect();
    format!("{}\r\n", cells.join(","))
}

/// A cell of RFC 4180, on one line, with the characters escaped that a terminal would act on.
///
/// A text that a spreadsheet would take for a formula gets an apostrophe in front. A spreadsheet
/// that divides at `;` or `|` also divides quoted cells, so these get an apostrophe behind them,
/// too.
fn cell(text: &str) -> String {
    let text = escaped(text);
    let plain = |c: char| c.is_ascii_alphanumeric() || " _.:/-()".contains(c);
    if text.chars().all(plain) && !is_formula(&text) {
        return text.into_owned();
    }
    let mut cell = String::with_capacity(text.len() + 3);
    cell.push('"');
    for (part, piece) in text.split_inclusive([';', '|']).enumerate() {
        let guard = match part {
            0 => is_formula(piece),
            // The spreadsheet removes the quotes at the beginning of such a cell.
            _ => is_formula(piece.trim_start_matches(|c: char| c == '"' || c.is_whitespace())),
        };
        if guard {
            cell.push('\'');
        }
        cell.push_str(&piece.replace('"', "\"\""));
    }
    cell.push('"');
    cell
}

/// True if a spreadsheet would calculate the text, with or without blanks in front.
fn is_formula(text: &str) -> bool {
    let begins = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];
    text.trim_start().starts_with(begins)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn every_column_is_documented() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let docs = std::fs::read_to_string(root.join("docs/command-line.md")).unwrap();
        let mut columns = COLUMNS.to_vec();
        columns.retain(|it| !docs.contains(&format!("\n| `{it}` | ")));
        assert!(
            columns.is_empty(),
            "not in docs/command-line.md: {columns:?}"
        );
    }

    #[test]
    fn no_cell_begins_like_a_formula() {
        for (text, safe) in [
            ("=1+2", "\"'=1+2\""),
            ("+cmd|' /C calc'!A0", "\"'+cmd|' /C calc'!A0\""),
            ("-2+3", "\"'-2+3\""),
            ("-plain", "\"'-plain\""),
            ("@SUM(A1)", "\"'@SUM(A1)\""),
            (" =1", "\"' =1\""),
            ("\u{a0}=1", "\"\\u00a0=1\""),
            ("＝1", "\"'＝1\""),
            ("=\"a\",\"b\"", "\"'=\"\"a\"\",\"\"b\"\"\""),
        ] {
            assert_eq!(cell(text), safe, "{text:?}");
        }
    }

    /// The cells of a line in a spreadsheet that divides at this character.
    fn divided_at(line: &str, divider: char) -> Vec<String> {
        let (mut cells, mut cell, mut quoted, mut begins) = (vec![], String::new(), false, true);
        let mut chars = line.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '"' if begins => quoted = true,
                '"' if quoted && chars.peek() == Some(&'"') => cell.extend(chars.next()),
                '"' if quoted => quoted = false,
                c if c == divider && !quoted => {
                    cells.push(std::mem::take(&mut cell));
                    begins = true;
                    continue;
                }
                c => cell.push(c),
            }
            begins = false;
        }
        cells.push(cell);
        cells
    }

    #[test]
    fn no_divided_cell_begins_like_a_formula() {
        for evil in [
            "a;=1+1",
            "=1;=1+1",
            "a; \t=1",
            "a;\"=1+1",
            "a; \"\" +1",
            "a;;@SUM(A1)",
            "a|=1",
            "a\t=1",
            "a\n=1",
            "a\r\n=1",
            "a;\u{feff}=1",
            "a;",
            "{\"a\":\";=1\"}",
        ] {
            let line = line(["0199-session", evil, "=2", evil].into_iter());
            let line = line.strip_suffix("\r\n").unwrap();
            for divider in [',', ';', '|', '\t', '\n', '\r'] {
                for cell in divided_at(line, divider) {
                    assert!(!is_formula(&cell), "{evil:?} at {divider:?}: {cell:?}");
                }
            }
        }
        assert_eq!(cell("a;=1"), "\"a;'=1\"");
        assert_eq!(cell("a; b"), "\"a; b\"");
    }

    #[test]
    fn cell_is_one_line_without_control_characters() {
        assert_eq!(
            cell("a\r\n\u{1b}[2J\u{202e}b"),
            r#""a\r\n\u001b[2J\u202eb""#
        );
    }

    #[test]
    fn cells_are_quoted_by_rfc_4180() {
        assert_eq!(cell("returned"), "returned");
        assert_eq!(
            cell("2026-11-20T14:03:07.112345Z"),
            "2026-11-20T14:03:07.112345Z"
        );
        assert_eq!(cell(""), "");
        assert_eq!(cell("a,b"), "\"a,b\"");
        assert_eq!(cell(r#"{"a":"b"}"#), r#""{""a"":""b""}""#);
        assert_eq!(line(["a", "=b"].into_iter()), "a,\"'=b\"\r\n");
    }
}
