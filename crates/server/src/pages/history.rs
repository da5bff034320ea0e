//! The history: what was decided, by whom, when, and how it ended.

use axum::response::Response;
use maud::{Markup, html};
use recount::audit::{AuditedCall, Question, QuestionEnd, calls_of};
use recount::ledger::Error;
use recount::session::{SessionId, Timestamp};
use recount_telling::{acted, asked_in_words, calls, count, cut};

use super::frame::{Frame, Page, moment, next_page, query, said};
use super::live::Watched;
use crate::problems::{Code, Problem};
use crate::requests::Params;
use crate::routes::Caller;

/// The number of decisions in a page.
const ROWS: usize = 50;

/// The maximum number of sessions that one page reads. A search for rare words would otherwise read
/// the whole journal.
const SESSIONS_MAX: u64 = 2_000;

/// The maximum number of records that one page reads, as on the page of figures. The last session
/// is read whole.
const RECORDS_MAX: u64 = 100_000;

/// The maximum length of the words of a search, in characters.
const WORDS_MAX: usize = 200;

/// The width of the arguments in a row, in columns.
const ARGS_COLUMNS: usize = 100;

/// The decisions that a person may look for.
const DECISIONS: [(&str, &str); 5] = [
    ("", "All"),
    ("approved", "Approved"),
    ("denied", "Denied"),
    ("expired", "Expired"),
    ("allowed_unanswered", "Allowed without an answer"),
];

/// The words and the place of a history page, in its address.
struct Looked {
    words: String,
    /// The words in lower case.
    lower: String,
    decision: String,
    /// The time and the place of the last row of the page before.
    before: Option<Key>,
    /// The first session of this search. Those with newer records were searched before.
    from: Option<Place>,
}

/// The order of rows: the time of the decision, then its place.
type Key = (Timestamp, SessionId, u64);

/// The place of a session in the search: the time of its last record, then its id.
type Place = (Timestamp, SessionId);

/// A decision.
struct Row {
    key: Key,
    call: AuditedCall,
    /// The request among those of the call.
    question: Question,
}

/// The decisions of one page.
#[derive(Default)]
struct Found {
    /// The newest decisions, one more than a page has if there are more.
    rows: Vec<Row>,
    sessions: u64,
    records: u64,
    /// The number of sessions that could not be read.
    unread: u64,
    /// The first session that was not searched, if the maximum was reached.
    rest: Option<Place>,
}

/// Shows the decisions, newest first.
pub(crate) async fn show(
    caller: Caller,
    frame: Frame,
    params: Params,
) -> Result<Response, Problem> {
    let looked = Looked::of(&params)?;
    let position = caller.ledger().journal().position().await?;
    let found = Found::of(&caller, &looked).await?;
    let rows = &found.rows;
    let shown = rows.iter().take(ROWS);
    shown.for_each(|it| caller.shows(it.call.session));
    let next = rows.get(ROWS.saturating_sub(1)).map(|it| it.key);
    let next = next.filter(|_| rows.len() > ROWS).map(text_of);
    let from = looked.from.map(text_of_place).unwrap_or_default();
    let words = [("q", &*looked.words), ("decision", &*looked.decision)];
    let body = html! {
        (filters(&looked))
        div id="decided" data-part {
            @if rows.is_empty() { div.card { p { "No decision fits." } } } @else {
                div.card.scroll { (table(&frame, rows.get(..ROWS).unwrap_or(rows))) }
            }
            (next_page(words.into_iter().chain([("from", &*from)]), next.as_deref()))
            (searched(&found, &words, next.is_some()))
        }
    };
    let page = Page::new("History", body);
    // A search reads much, and older pages do not change.
    Ok(frame.page(match looked.is_narrow() {
        true => page,
        false => page.live(&Watched::Pending, position),
    }))
}

/// The words about sessions that were not searched or not readable, with the link to the rest.
fn searched(found: &Found, words: &[(&str, &str)], has_next: bool) -> Markup {
    html! {
        @if let Some(place) = found.rest.filter(|_| !has_next) {
            @let place = text_of_place(place);
            @let rest = query(words.iter().copied().chain([("from", &*place)]));
            p.next {
                "Searched: " (count(found.sessions, "session")) ", those with the newest records. "
                a href={ "?" (rest) } { "Search older sessions" }
            }
        }
        @if found.unread > 0 {
            p.quiet {
                (count(found.unread, "session")) " could not be read, so their decisions are "
                "missing. " code { "recount audit decisions" } " names them, with the reason."
            }
        }
    }
}

impl Looked {
    fn of(params: &Params) -> Result<Looked, Problem> {
        let words = params.one("q")?.unwrap_or_default().trim();
        let length = words.chars().count();
        if length > WORDS_MAX {
            let detail = format!("q: expected at most {WORDS_MAX} characters, found {length}");
            return Err(Problem::new(Code::BadRequest, detail));
        }
        let decision = params.one("decision")?.unwrap_or_default();
        if !DECISIONS.iter().any(|(known, _)| *known == decision) {
            let detail = format!("decision: expected one of those of the page, found {decision:?}");
            return Err(Problem::new(Code::BadRequest, detail));
        }
        Ok(Looked {
            words: words.to_owned(),
            lower: words.to_lowercase(),
            decision: decision.to_owned(),
            before: params.one("cursor")?.map(key_of).transpose()?,
            from: params.one("from")?.map(place_of).transpose()?,
        })
    }

    /// True for a search, and for a page other than the first.
    fn is_narrow(&self) -> bool {
        let is_search = !self.words.is_empty() || !self.decision.is_empty();
        is_search || self.before.is_some() || self.from.is_some()
    }

    fn takes(&self, key: Key, call: &AuditedCall, question: &Question) -> bool {
        let is_kind = match self.decision.as_str() {
            "approved" => matches!(
                question.end,
                QuestionEnd::Approved | QuestionEnd::SettledAsDone
            ),
            "denied" => matches!(
                question.end,
                QuestionEnd::Denied | QuestionEnd::SettledAsFailed
            ),
            "expired" => question.end == QuestionEnd::Expired,
            "allowed_unanswered" => question.end == QuestionEnd::AllowedUnanswered,
            _ => true,
        };
        is_kind
            && self.before.is_none_or(|before| key < before)
            && (self.lower.is_empty() || has(call, question, &self.lower))
    }
}

/// True if a text of the decision has these words.
fn has(call: &AuditedCall, question: &Question, words: &str) -> bool {
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

fn text_of_place((at, session): Place) -> String {
    format!("{}.{session}", at.0)
}

fn place_of(text: &str) -> Result<Place, Problem> {
    let (at, session) = text.split_once('.').unwrap_or_default();
    match (at.parse(), session.parse()) {
        (Ok(at), Ok(session)) => Ok((Timestamp(at), session)),
        (Err(_), _) | (_, Err(_)) => {
            let detail = "from: expected the place of a link on this page";
            Err(Problem::new(Code::BadRequest, detail))
        }
    }
}

impl Found {
    /// Finds the newest decisions before the place of the search.
    ///
    /// Sessions are read by their last record, the newest first. No decision of a session is newer
    /// than that, so the reading ends once a page has as many newer ones.
    async fn of(caller: &Caller, looked: &Looked) -> Result<Found, Problem> {
        let mut heads = caller.ledger().session_heads().await?;
        heads.sort_by_key(|(id, head)| std::cmp::Reverse((head.at_us, *id)));
        let mut found = Found::default();
        for (id, head) in heads {
            let place = (Timestamp(head.at_us), id);
            let newest = found.rows.get(ROWS).map(|it| it.key.0);
            if newest.is_some_and(|at| at > place.0) {
                return Ok(found);
            }
            if looked.from.is_some_and(|from| place > from) || !caller.sees(id).await? {
                continue;
            }
            if found.sessions >= SESSIONS_MAX || found.records >= RECORDS_MAX {
                found.rest = Some(place);
                return Ok(found);
            }
            found.sessions += 1;
            found.records += head.seq;
            match calls_of(caller.ledger(), id).await {
                Ok(calls) => found.add(&calls, looked),
                // Without its key, a session has nothing to show.
                Err(Error::Sealed { .. }) => {}
                Err(error) if error.is_of_one_session() => found.unread += 1,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(found)
    }

    /// Adds the decisions of a session that are looked for.
    fn add(&mut self, calls: &[AuditedCall], looked: &Looked) {
        for (key, call, question) in calls.iter().flat_map(decided) {
            if looked.takes(key, call, question) {
                self.rows.push(Row {
                    key,
                    call: call.clone(),
                    question: question.clone(),
                });
            }
        }
        self.rows.sort_by_key(|it| std::cmp::Reverse(it.key));
        self.rows.truncate(ROWS + 1);
    }
}

/// The decided requests of a call.
fn decided(call: &AuditedCall) -> impl Iterator<Item = (Key, &AuditedCall, &Question)> {
    call.questions.iter().filter_map(move |question| {
        let at = question.ended_at?;
        let is_decided = match question.end {
            QuestionEnd::Approved
            | QuestionEnd::Denied
            | QuestionEnd::SettledAsDone
            | QuestionEnd::SettledAsFailed
            | QuestionEnd::Expired
            | QuestionEnd::AllowedUnanswered => true,
            QuestionEnd::Open | QuestionEnd::Withdrawn | QuestionEnd::Superseded => false,
        };
        let key = (at, call.session, question.seq.0);
        is_decided.then_some((key, call, question))
    })
}

fn filters(looked: &Looked) -> Markup {
    html! {
        form.filters method="get" role="search" aria-label="Search the history" {
            div {
                label for="q" { "Words" }
                input id="q" name="q" type="search" value=(looked.words) maxlength=(WORDS_MAX)
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
        QuestionEnd::Denied
        | QuestionEnd::SettledAsFailed
        | QuestionEnd::Expired
        | QuestionEnd::AllowedUnanswered => "bad",
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
