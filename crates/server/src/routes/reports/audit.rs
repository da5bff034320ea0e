//! The audit: who allowed each call, its arguments and its outcome.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io;

use axum::body::Bytes;
use axum::http::{HeaderMap, header};
use axum::response::Response;
use recount::audit::{
    AuditedCall, Auditor, CatalogNote, Csv, Filter, LabelFilter, Row, SessionAudit, Totals,
    UnreadSession, Verdict,
};
use recount::session::SessionId;
use recount_telling::calls::outcome_named;

use super::parts::{Parts, response};
use crate::access::Role;
use crate::problems::{Code, Problem};
use crate::requests::Params;
use crate::routes::caller::Caller;
use crate::streams::json;

/// The size from which rows are sent, in bytes.
const PART_BYTES: usize = 64 << 10;

/// The parameters of the audit.
const KNOWN: [&str; 9] = [
    "from",
    "until",
    "actor",
    "tool",
    "label",
    "verdict",
    "outcome",
    "unconfirmed",
    "format",
];

/// Reads the audit: each call of the sessions that the caller may read.
///
/// JSON lines have the rows of `recount audit decisions --json`, session by session, and the totals
/// last: a response without them is incomplete. CSV has its columns. A repeated `actor`, `tool`,
/// `verdict` or `outcome` selects any of its values.
#[utoipa::path(
    get,
    path = "/v1/audit/decisions",
    operation_id = "auditDecisions",
    tag = "reports",
    params(
        ("from" = Option<String>, Query,
            description = "Calls with an event at this time or later: RFC 3339, or microseconds \
                           since 1970"),
        ("until" = Option<String>, Query, description = "Calls with an event before this time"),
        ("actor" = Option<Vec<String>>, Query, description = "Calls with an act of this person"),
        ("tool" = Option<Vec<String>>, Query, description = "Calls of this tool"),
        ("label" = Option<Vec<String>>, Query,
            description = "NAME:VALUE; may be given several times, and all must fit"),
        ("verdict" = Option<Vec<String>>, Query, description = "Such as `approved` or `denied`"),
        ("outcome" = Option<Vec<String>>, Query, description = "Such as `returned` or `unknown`"),
        ("unconfirmed" = Option<bool>, Query,
            description = "True for calls that ran without the approval of a person"),
        ("format" = Option<String>, Query,
            description = "`json` or `csv`; by default CSV if `Accept` names `text/csv`"),
    ),
    responses(
        (status = 200, description = "The calls", content(
            (String = "application/x-ndjson"), (String = "text/csv"))),
    ),
)]
pub(crate) async fn decisions(
    caller: Caller,
    params: Params,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    params.only(&KNOWN)?;
    let (format, filter) = (format(&params, &headers)?, filter(&params)?);
    let place = caller.service.streams.take("streams")?;
    let auditor = Auditor::new(caller.ledger().clone(), filter).await?;
    let proof = caller.proof();
    let audit = Audit {
        sessions: auditor.sessions().await?.into(),
        auditor,
        format,
        read: ReadSession::default(),
        totals: Totals::default(),
        stage: Stage::Heading,
        caller,
    };
    let content_type = match format {
        Format::Json => "application/x-ndjson",
        Format::Csv => "text/csv; charset=utf-8; header=present",
    };
    Ok(response(audit, proof, place, content_type))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Json,
    Csv,
}

fn format(params: &Params, headers: &HeaderMap) -> Result<Format, Problem> {
    match params.one("format")? {
        Some("json") => Ok(Format::Json),
        Some("csv") => Ok(Format::Csv),
        Some(found) => {
            let detail = format!("format: expected json or csv, found {found:?}");
            Err(Problem::new(Code::BadRequest, detail))
        }
        None => {
            let accept = headers.get(header::ACCEPT).and_then(|it| it.to_str().ok());
            let is_csv = accept.is_some_and(|it| it.contains("text/csv"));
            Ok(if is_csv { Format::Csv } else { Format::Json })
        }
    }
}

pub(crate) fn filter(params: &Params) -> Result<Filter, Problem> {
    let owned =
        |name: &'static str| -> Vec<String> { params.all(name).map(str::to_owned).collect() };
    let label = |(name, value): (&str, &str)| LabelFilter {
        name: name.to_owned(),
        value: Some(value.to_owned()),
    };
    let verdicts = params.all("verdict").map(|it| {
        let unknown = || Problem::new(Code::BadRequest, format!("there is no verdict {it:?}"));
        Verdict::named(it).ok_or_else(unknown)
    });
    let outcomes = params.all("outcome").map(|it| {
        let unknown = || Problem::new(Code::BadRequest, format!("there is no outcome {it:?}"));
        outcome_named(it).ok_or_else(unknown)
    });
    Ok(Filter {
        from: params.time("from")?,
        until: params.time("until")?,
        actors: owned("actor"),
        tools: owned("tool"),
        labels: params.labels()?.into_iter().map(label).collect(),
        verdicts: verdicts.collect::<Result<_, _>>()?,
        outcomes: outcomes.collect::<Result<_, _>>()?,
        unconfirmed: params
            .parsed("unconfirmed", "true or false")?
            .unwrap_or(false),
    })
}

/// The next part of the audit.
#[derive(Clone, Copy)]
enum Stage {
    Heading,
    Sessions,
    End,
}

/// An audit of the sessions that the caller may read.
struct Audit {
    caller: Caller,
    auditor: Auditor,
    format: Format,
    sessions: VecDeque<SessionId>,
    /// The rows of a session that are not yet written.
    read: ReadSession,
    totals: Totals,
    stage: Stage,
}

/// The rows of one session.
#[derive(Default)]
struct ReadSession {
    calls: VecDeque<AuditedCall>,
    unread: Option<UnreadSession>,
    catalogs: Vec<CatalogNote>,
}

impl From<SessionAudit> for ReadSession {
    fn from(read: SessionAudit) -> ReadSession {
        ReadSession {
            calls: read.calls.into(),
            unread: read.unread,
            catalogs: read.catalogs,
        }
    }
}

impl Parts for Audit {
    async fn next(&mut self) -> Result<Option<Bytes>, Problem> {
        match self.stage {
            Stage::End => Ok(None),
            Stage::Heading => {
                self.stage = Stage::Sessions;
                Ok(Some(match self.format {
                    Format::Csv => csv().heading().into(),
                    Format::Json => Bytes::new(),
                }))
            }
            Stage::Sessions => {
                loop {
                    if let Some(rows) = self.rows()? {
                        return Ok(Some(rows.into()));
                    }
                    let Some(session) = self.sessions.pop_front() else {
                        break;
                    };
                    // The scope is checked for each session, before anything of it is read.
                    if self.caller.sees(session).await? {
                        let _place = self.caller.projecting().await?;
                        let audit = self.auditor.read(session).await?;
                        if !audit.calls.is_empty() || audit.unread.is_some() {
                            self.caller.shows(session);
                        }
                        self.read = audit.into();
                    }
                }
                self.stage = Stage::End;
                Ok(Some(self.last_rows().await?.into()))
            }
        }
    }

    fn broken(&self, problem: Problem) -> io::Result<Bytes> {
        let line = match self.format {
            // Without the totals, the report is incomplete.
            Format::Json => json(&problem).unwrap_or_default() + "\n",
            Format::Csv => csv().line(["incomplete", problem.code().as_str()].into_iter()),
        };
        Ok(line.into())
    }
}

impl Audit {
    /// Takes rows of the session that was read. `None` if it has no further row.
    fn rows(&mut self) -> Result<Option<String>, Problem> {
        let mut rows = String::new();
        // What was written of a call is dropped, so that a long session is not in memory twice.
        while rows.len() < PART_BYTES {
            let Some(call) = self.read.calls.pop_front() else {
                self.last_rows_of_session(&mut rows)?;
                break;
            };
            self.totals.add(&call);
            match self.format {
                Format::Json => line(&mut rows, &Row::Call(&call))?,
                Format::Csv => rows.push_str(&csv().call(&call)),
            }
        }
        Ok(Some(rows).filter(|it| !it.is_empty()))
    }

    /// Takes the rows behind the calls of a session.
    fn last_rows_of_session(&mut self, rows: &mut String) -> Result<(), Problem> {
        if let Some(unread) = self.read.unread.take() {
            match self.format {
                Format::Json => line(rows, &Row::Unread(&unread))?,
                Format::Csv => rows.push_str(&csv().unread(&unread)),
            }
        }
        for catalog in std::mem::take(&mut self.read.catalogs) {
            match self.format {
                Format::Json => line(rows, &Row::Catalog(&catalog))?,
                Format::Csv => {}
            }
        }
        Ok(())
    }

    /// The notes of the journal, for a reader of all of it, and the totals.
    async fn last_rows(&self) -> Result<String, Problem> {
        let mut rows = String::new();
        if self.format == Format::Csv {
            return Ok(rows);
        }
        if self.caller.principal.role_over_everything() >= Some(Role::Viewer) {
            for note in &self.auditor.notes().await? {
                line(&mut rows, &Row::Note(note))?;
            }
        }
        line(&mut rows, &Row::Totals(&self.totals))?;
        Ok(rows)
    }
}

fn line(rows: &mut String, row: &Row<'_>) -> Result<(), Problem> {
    rows.push_str(&json(row)?);
    rows.push('\n');
    Ok(())
}

fn csv() -> Csv {
    Csv::new(escaped)
}

/// Escapes what a reader might not see: everything outside letters, digits and printable ASCII.
fn escaped(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, ' '..='~');
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            c if is_plain(c) => shown.push(c),
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            c => {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    shown.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unseen_characters_are_escaped() {
        assert_eq!(escaped("plain ü 日本"), "plain ü 日本");
        assert_eq!(escaped("a\r\n\u{1b}[2J\u{202e}b"), r"a\r\n\u001b[2J\u202eb");
    }
}
