//! The audit for spreadsheets: RFC 4180, without cells that a spreadsheet would calculate.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use super::audited_call::{AuditedCall, LeaveUse};
use super::moment::spelled;
use super::question::Question;
use super::unread_session::UnreadSession;
use crate::session::{ActedAs, Actor, Authentication, Json, Timestamp};

/// The headings of the columns of [`Csv`]. docs/command-line.md explains each; new ones come last.
pub const COLUMNS: [&str; 62] = [
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

/// The audit as lines of CSV, one for each call and one for each session that is not shown.
///
/// The lines have the columns [`COLUMNS`], which `docs/command-line.md` explains, and end with CR
/// and LF. The writer gives the function that escapes characters which a reader would not see.
///
/// ```
/// # async fn example(
/// #     ledger: recount::ledger::Ledger,
/// #     session: recount::session::SessionId,
/// # ) -> Result<(), recount::ledger::Error> {
/// let csv = recount::audit::Csv::new(|text| text.into());
/// print!("{}", csv.heading());
/// for call in recount::audit::calls_of(&ledger, session).await? {
///     print!("{}", csv.call(&call));
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Csv {
    escaped: fn(&str) -> Cow<'_, str>,
}

impl Csv {
    /// Lines whose cells are escaped by this function. It must escape line breaks.
    pub fn new(escaped: fn(&str) -> Cow<'_, str>) -> Csv {
        Csv { escaped }
    }

    /// The line of the headings.
    pub fn heading(&self) -> String {
        self.line(COLUMNS.iter().copied())
    }

    /// The line of a call.
    pub fn call(&self, call: &AuditedCall) -> String {
        self.line(cells(call).iter().map(String::as_str))
    }

    /// The line of a session that is not shown.
    pub fn unread(&self, session: &UnreadSession) -> String {
        self.line(unread(session).iter().map(String::as_str))
    }

    /// A line of these cells.
    #[doc(hidden)]
    pub fn line<'a>(&self, cells: impl Iterator<Item = &'a str>) -> String {
        let cells: Vec<String> = cells.map(|it| self.cell(it)).collect();
        format!("{}\r\n", cells.join(","))
    }

    /// A cell of RFC 4180, on one line, with the characters escaped that a terminal would act on.
    ///
    /// A text that a spreadsheet would take for a formula gets an apostrophe in front. A
    /// spreadsheet that divides at `;` or `|` also divides quoted cells, so these get an apostrophe
    /// behind them, too.
    #[doc(hidden)]
    pub fn cell(&self, text: &str) -> String {
        let text = (self.escaped)(text);
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
        spelled(call.called_at),
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
        let (by, at) = (named(&it.by), spelled(it.at));
        format!("{by} at {at}: {}", it.refusal)
    });
    let by = question.and_then(|it| it.by.as_ref());
    [
        question.map(|it| word(&it.about)).unwrap_or_default(),
        question.and_then(|it| it.hint.clone()).unwrap_or_default(),
        question.map(|it| word(&it.hint_by)).unwrap_or_default(),
        question.map(|it| spelled(it.asked_at)).unwrap_or_default(),
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
    let earlier = earlier.map(|it| format!("{} at {}", named(&it.by), spelled(it.at)));
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

/// The clients that ran the call, each with the number of the start.
fn clients(call: &AuditedCall) -> String {
    let claimed = call.runs.iter().filter_map(|run| {
        let by = named(run.claimed_by.as_ref()?);
        Some(format!("{by} for start {}", run.attempt))
    });
    claimed.collect::<Vec<_>>().join("; ")
}

/// The pauses that held a call, each with its scope and the actor.
fn held(call: &AuditedCall) -> String {
    let pauses = call.held.iter();
    let pauses = pauses.map(|it| format!("{} by {}", it.scope, named(&it.by)));
    pauses.collect::<Vec<_>>().join(" / ")
}

/// The use of a leave, such as `3 of 5`, or `3 until` a time.
fn leave_use(it: &LeaveUse) -> String {
    match (it.count, it.until) {
        (Some(count), _) => format!("{} of {count}", it.nth),
        (None, Some(until)) => format!("{} until {}", it.nth, spelled(until)),
        (None, None) => it.nth.to_string(),
    }
}

fn unread(it: &UnreadSession) -> [String; COLUMNS.len()] {
    let mut cells = [const { String::new() }; COLUMNS.len()];
    for (cell, column) in cells.iter_mut().zip(COLUMNS) {
        *cell = match column {
            "session_id" => it.session.to_string(),
            "called_at_utc" => spelled(it.first_at),
            "not_shown_reason" => format!("{}{}", it.why.as_str(), details(it)),
            _ => String::new(),
        };
    }
    cells
}

/// The details of a session that is not shown: its problem, or who had it erased, and why.
fn details(session: &UnreadSession) -> String {
    match (&session.problem, &session.erasure) {
        (Some(problem), _) => format!(": {problem}"),
        (None, Some(it)) => {
            let by = unverified("by ", &it.by);
            let by = by.unwrap_or_else(|| format!("by {}", it.by.in_short()));
            format!(" {by}: {}", it.reason)
        }
        (None, None) => String::new(),
    }
}

/// The spelling of a value that is one word in JSON.
fn word(it: &impl Serialize) -> String {
    match serde_json::to_value(it) {
        Ok(Value::String(word)) => word,
        Ok(_) | Err(_) => String::new(),
    }
}

/// An actor, with how the name was verified.
fn named(actor: &Actor) -> String {
    unverified("", actor).unwrap_or_else(|| actor.to_string())
}

/// An actor whose name was not verified. The words that say so come first, so that a long name
/// cannot push them out of sight.
fn unverified(link: &str, actor: &Actor) -> Option<String> {
    if actor.authenticated_by != Authentication::None {
        return None;
    }
    let program = match &actor.acted_as {
        Some(ActedAs::Program(decided)) => format!("program {decided:?} for "),
        Some(ActedAs::Person) | None => String::new(),
    };
    let name = &actor.name;
    Some(format!("(identity not verified) {link}{program}{name:?}"))
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
    at.map(spelled).unwrap_or_default()
}

/// True if a spreadsheet would calculate the text, with or without blanks in front.
fn is_formula(text: &str) -> bool {
    let begins = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];
    text.trim_start().starts_with(begins)
}
