//! The history: what was decided, by whom, when, and how it ended.

use axum::response::Response;
use maud::{Markup, html};
use recount::audit::{AuditedCall, Question, QuestionEnd, calls_of};
use recount::ledger;
use recount::session::{SessionId, Timestamp};
use recount_telling::{acted, asked_in_words, calls, cut};

use super::frame::{Frame, Page, moment, next_page, said};
use super::live::Watched;
use crate::problems::{Code, Problem};
use crate::requests::Params;
use crate::routes::Caller;

/// The number of decisions in a page.
const ROWS: usize = 50;

/// The maximum number of sessions that one page reads. A search for rare words would otherwise read
/// the whole journal.
const SESSIONS_MAX: usize = 2_000;

/// The width of the arguments in a row, in columns.
const ARGS_COLUMNS: usize = 100;

/// The decisions that a person may look for.
const DECISIONS: [(&str, &str); 4] = [
    ("", "All"),
    ("approved", "Approved"),
    ("denied", "Denied"),
    ("expired", "Expired"),
];

/// The words and the place of a history page, in its address.
struct Looked {
    words: String,
    decision: String,
    /// The time and the place of the last row of the page before.
    before: Option<Key>,
}

/// The order of rows: the time of the decision, then its place.
type Key = (Timestamp, SessionId, u64);

/// A decision.
struct Row {
    key: Key,
    call: AuditedCall,
    /// The request among those of the call.
    question: Question,
}

/// Shows the decisions, newest first.
pub(crate) async fn show(
    caller: Caller,
    frame: Frame,
    params: Params,
) -> Result<Response, Problem> {
    let looked = Looked::of(&params)?;
    let position = caller.ledger().journal().position().await?;
    let (rows, is_cut) = rows(&caller, &looked).await?;
    let next = rows.get(ROWS.saturating_sub(1)).map(|it| it.key);
    let next = next.filter(|_| rows.len() > ROWS).map(text_of);
    let parameters = [("q", &*looked.words), ("decision", &*looked.decision)];
    let body = html! {
        (filters(&looked))
        div id="decided" data-part {
            @if rows.is_empty() { div.card { p { "No decision fits." } } } @else {
                div.card.scroll { (table(&frame, rows.get(..ROWS).unwrap_or(&rows))) }
            }
            (next_page(parameters, next.as_deref()))
            @if is_cut {
                p.quiet {
                    "The " (SESSIONS_MAX) " sessions with the newest records were searched. "
                    code { "recount audit decisions" } " searches all of them."
                }
            }
        }
    };
    let page = Page::new("History", body);
    Ok(frame.page(page.live(&Watched::Pending, position)))
}

impl Looked {
    fn of(params: &Params) -> Result<Looked, Problem> {
        params.only(&["q", "decision", "cursor"])?;
        let words = params.one("q")?.unwrap_or_default().trim();
        let decision = params.one("decision")?.unwrap_or_default();
        if !DECISIONS.iter().any(|(known, _)| *known == decision) {
            let detail =
                format!("decision: expected approved, denied or expired, found {decision:?}");
            return Err(Problem::new(Code::BadRequest, detail));
        }
        Ok(Looked {
            words: words.to_owned(),
            decision: decision.to_owned(),
            before: params.one("cursor")?.map(key_of).transpose()?,
        })
    }

    fn takes(&self, row: &Row) -> bool {
        let is_kind = match self.decision.as_str() {
            "approved" => matches!(
                row.question.end,
                QuestionEnd::Approved | QuestionEnd::SettledAsDone
            ),
            "denied" => matches!(
                row.question.end,
                QuestionEnd::Denied | QuestionEnd::SettledAsFailed
            ),
            "expired" => row.question.end == QuestionEnd::Expired,
            _ => true,
        };
        is_kind && (self.words.is_empty() || has(row, &self.words.to_lowercase()))
    }
}

/// True if a text of the decision has these words.
fn has(row: &Row, words: &str) -> bool {
    let (call, question) = (&row.call, &row.question);
    let people = call.people().map(|it| it.name.as_str());
    let labels = call
        .labels
        .iter()
        .flat_map(|(name, value)| [&**name, &**value]);
    let texts = [
        Some(call.tool.as_str()),
        Some(call.agent.as_str()),
        call.external_id.as_deref(),
        call.on_behalf_of.as_deref(),
        question.hint.as_deref(),
        question.reason.as_deref(),
        Some(question.args.as_str()),
    ];
    let mut texts = texts.into_iter().flatten().chain(people).chain(labels);
    texts.any(|it| it.to_lowercase().contains(words))
}

fn text_of((at, session, seq): Key) -> String {
    format!("{}.{seq}.{session}", at.0)
}

fn key_of(text: &str) -> Result<Key, Problem> {
    let mut parts = text.splitn(3, '.');
    let mut next = || parts.next().unwrap_or_default();
    match (next().parse(), next().parse(), next().parse()) {
        (Ok(at), Ok(seq), Ok(session)) => Ok((Timestamp(at), session, seq)),
        (Err(_), _, _) | (_, Err(_), _) | (_, _, Err(_)) => {
            let detail = "the cursor is not one of this page";
            Err(Problem::new(Code::BadRequest, detail))
        }
    }
}

/// Returns the newest decisions before the place, one more than a page has, and true if not all
/// sessions were read.
///
/// Sessions are read by their last record, the newest first. No decision of a session is newer than
/// that, so the reading ends once a page has as many newer ones.
async fn rows(caller: &Caller, looked: &Looked) -> Result<(Vec<Row>, bool), Problem> {
    let mut heads = caller.ledger().session_heads().await?;
    heads.sort_by_key(|(id, head)| std::cmp::Reverse((head.at_us, *id)));
    let mut rows: Vec<Row> = Vec::new();
    let mut read = 0;
    for (id, head) in heads {
        let is_full = rows.get(ROWS).is_some_and(|it| it.key.0.0 > head.at_us);
        if is_full {
            return Ok((rows, false));
        }
        if !caller.sees(id).await? {
            continue;
        }
        if read == SESSIONS_MAX {
            return Ok((rows, true));
        }
        read += 1;
        let calls = match calls_of(caller.ledger(), id).await {
            Ok(calls) => calls,
            // Without its key, a session has nothing to show.
            Err(ledger::Error::Sealed { .. }) => continue,
            Err(error) => return Err(error.into()),
        };
        let found = calls.iter().flat_map(decided);
        rows.extend(
            found.filter(|it| {
                looked.takes(it) && looked.before.is_none_or(|before| it.key < before)
            }),
        );
        rows.sort_by_key(|it| std::cmp::Reverse(it.key));
        rows.truncate(ROWS + 1);
    }
    Ok((rows, false))
}

/// The decided requests of a call.
fn decided(call: &AuditedCall) -> impl Iterator<Item = Row> {
    call.questions.iter().filter_map(|question| {
        let at = question.ended_at?;
        let is_decided = match question.end {
            QuestionEnd::Approved
            | QuestionEnd::Denied
            | QuestionEnd::SettledAsDone
            | QuestionEnd::SettledAsFailed
            | QuestionEnd::Expired => true,
            QuestionEnd::Open | QuestionEnd::Withdrawn | QuestionEnd::Superseded => false,
        };
        is_decided.then(|| Row {
            key: (at, call.session, question.seq.0),
            call: call.clone(),
            question: question.clone(),
        })
    })
}

fn filters(looked: &Looked) -> Markup {
    html! {
        form.filters method="get" role="search" aria-label="Search the history" {
            div {
                label for="q" { "Words" }
                input id="q" name="q" type="search" value=(looked.words)
                    placeholder="tool, person, argument, reason …";
            }
            div {
                label for="decision" { "Decision" }
                select id="decision" name="decision" {
                    @for (value, name) in DECISIONS {
                        option value=(value) selected[value == looked.decision] { (name) }
                    }
                }
            }
            button { "Search" }
        }
    }
}

fn table(frame: &Frame, rows: &[Row]) -> Markup {
    html! {
        table.stack {
            thead { tr {
                th scope="col" { "When" }
                th scope="col" { "What" }
                th scope="col" { "Decision" }
                th scope="col" { "How it ended" }
            } }
            tbody { @for row in rows { (line(frame, row)) } }
        }
    }
}

fn line(frame: &Frame, row: &Row) -> Markup {
    let (call, question) = (&row.call, &row.question);
    let tone = match question.end {
        QuestionEnd::Approved | QuestionEnd::SettledAsDone => "good",
        QuestionEnd::Denied | QuestionEnd::SettledAsFailed | QuestionEnd::Expired => "bad",
        QuestionEnd::Open | QuestionEnd::Withdrawn | QuestionEnd::Superseded => "quiet",
    };
    let args = question.edited_args.as_ref().unwrap_or(&question.args);
    html! {
        tr {
            td { (moment(row.key.0)) }
            td {
                a href=(frame.links().card(call.session, call.seq)) {
                    strong { (said(&call.tool)) } ": "
                    (said(asked_in_words(question.about, question.hint.as_deref())))
                }
                br; code { (said(&cut(args.as_str(), ARGS_COLUMNS))) }
                br; span.quiet { "agent " (said(&call.agent)) }
            }
            td {
                span.badge.(tone) { (calls::question_end(question.end)) }
                (said(&calls::answered_by(question)))
                @if let Some(reason) = &question.reason { br; q { (said(reason)) } }
                @if question.edited_args.is_some() { br; span.quiet { "with changed arguments" } }
            }
            td {
                (said(&calls::outcome(call)))
                @if let Some(cancelled) = call.cancelled.as_ref().and_then(|it| it.by.as_ref()) {
                    " " (said(&acted("by", cancelled)))
                }
            }
        }
    }
}
