//! Streams: the records of a session as they are appended, and what waits as it changes.

use std::collections::VecDeque;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName};
use axum::response::Response;
use recount::control::LogItem;
use recount::ledger::Ledger;
use recount::session::{OpenKind, Seq, SessionId};
use recount_journal::Commit;
use tokio::time::{Instant, sleep_until, timeout};

use super::caller::Caller;
use super::pending::{Selection, snapshot};
use crate::access::Role;
use crate::driving::{PendingChanges, concerns, wake_after};
use crate::problems::{Code, Problem};
use crate::requests::{InPath, Params, session};
use crate::streams::{Message, Source, json, start};

/// The number of records in one read. A record has up to 3 MiB.
const READ: usize = 8;

/// The kind of the record that closes a session.
const CLOSED: &str = "session_closed";

/// The shortest time between two messages about what waits: four a second.
const PENDING_EVERY: Duration = Duration::from_millis(250);

/// The time after which what waits is read again, whatever was recorded.
const PENDING_AGAIN: Duration = Duration::from_secs(10);

/// The header with the id of the last message that the client has.
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Streams the records of a session, those on record first, then each new one.
///
/// Each message has the event `record`, the seq as id, and a record as data, as in the listing of
/// records. A client that connects again continues after `Last-Event-ID`. The last message has the
/// event `end`, with the reason: the session is `closed`, the service is `draining`, or the stream
/// is `expired` and the client connects again.
#[utoipa::path(
    get,
    path = "/v1/sessions/{id}/events",
    operation_id = "streamRecords",
    tag = "sessions",
    params(
        ("id" = String, Path, description = "The id of the session"),
        ("from" = Option<u64>, Query, description = "The first record, 1 by default"),
        ("Last-Event-ID" = Option<u64>, Header,
            description = "The last record that the client has; it counts before `from`"),
    ),
    responses(
        (status = 200, description = "The stream", body = String,
            content_type = "text/event-stream"),
    ),
)]
pub(crate) async fn records(
    caller: Caller,
    InPath(id): InPath<String>,
    params: Params,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    params.only(&["from"])?;
    let id = session(&id)?;
    caller.session(id, Role::Viewer).await?;
    let from = params.parsed::<u64>("from", "the seq of a record")?;
    let next = match last_event(&headers)? {
        Some(last) => Seq(last).next(),
        None => Seq(from.unwrap_or(1).max(1)),
    };
    let source = Records {
        ledger: caller.ledger().clone(),
        session: id,
        next,
        ready: VecDeque::new(),
        is_closed: false,
    };
    start(&caller.service, caller.proof(), source)
}

/// The id of the last message that the client has.
fn last_event(headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    let Some(header) = headers.get(LAST_EVENT_ID) else {
        return Ok(None);
    };
    let parsed = header.to_str().ok().and_then(|it| it.trim().parse().ok());
    let unfit = || {
        let detail = "Last-Event-ID: expected the seq of a record";
        Problem::new(Code::BadRequest, detail)
    };
    parsed
        .filter(|it| *it < u64::MAX)
        .map(Some)
        .ok_or_else(unfit)
}

/// The records of a session.
struct Records {
    ledger: Ledger,
    session: SessionId,
    /// The next record to read.
    next: Seq,
    /// The records that were read and not yet sent.
    ready: VecDeque<Message>,
    /// True once the end of the session was read.
    is_closed: bool,
}

impl Source for Records {
    async fn next(&mut self) -> Result<Option<Message>, Problem> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                return Ok(Some(message));
            }
            // Taken before the read, so that records appended meanwhile are read or followed.
            let position = self.ledger.journal().position().await?;
            if self.read().await? {
                continue;
            }
            if self.is_closed || !self.is_open().await? {
                return Ok(None);
            }
            let is_own = |commit: &Commit| concerns(commit, self.session);
            wake_after(&self.ledger, position, is_own).await?;
        }
    }

    fn end(&self) -> &'static str {
        "closed"
    }
}

impl Records {
    /// Reads the next records. False if there are none.
    async fn read(&mut self) -> Result<bool, Problem> {
        let entries = self.ledger.entries(self.session, self.next, READ).await?;
        let Some(last) = entries.last() else {
            return Ok(false);
        };
        let mut ready = VecDeque::with_capacity(entries.len());
        for entry in &entries {
            ready.push_back(Message {
                event: "record",
                id: Some(entry.seq.0),
                data: json(&LogItem::of(entry)?)?,
            });
        }
        self.is_closed |= entries.iter().any(|it| it.kind() == CLOSED);
        (self.next, self.ready) = (last.seq.next(), ready);
        Ok(true)
    }

    /// True if the session is open. A stream may begin behind the record of its end.
    async fn is_open(&self) -> Result<bool, Problem> {
        let open = self.ledger.journal().open_work_of(self.session.0).await?;
        let kind = OpenKind::Session.as_str();
        Ok(open.iter().any(|it| it.kind == kind))
    }
}

/// Streams what waits for an answer from outside: now, and after each change.
///
/// Each message has the event `pending` and a whole page as data, as in the listing. Changes that
/// follow each other quickly are one message, at most four a second. The last message has the event
/// `end`: the service is `draining`, or the stream is `expired` and the client connects again.
#[utoipa::path(
    get,
    path = "/v1/pending/events",
    operation_id = "streamPending",
    tag = "approvals",
    params(
        ("agent" = Option<String>, Query, description = "The agent"),
        ("label" = Option<Vec<String>>, Query,
            description = "NAME:VALUE; may be given several times, and all must fit"),
        ("session" = Option<String>, Query, description = "The id of the only session"),
        ("limit" = Option<u16>, Query, description = "1 to 1000, 50 by default",
            minimum = 1, maximum = 1000),
    ),
    responses(
        (status = 200, description = "The stream", body = String,
            content_type = "text/event-stream"),
    ),
)]
pub(crate) async fn pending(caller: Caller, params: Params) -> Result<Response, Problem> {
    params.only(&["agent", "label", "session", "limit"])?;
    let source = Pending {
        selection: Selection::of(&params)?,
        limit: params.limit()?,
        changes: caller.service.pending.subscribe().await?,
        is_current: false,
        due: Instant::now(),
        last: None,
        caller,
    };
    let (service, proof) = (source.caller.service.clone(), source.caller.proof());
    start(&service, proof, source)
}

/// The open requests that the caller may see.
struct Pending {
    caller: Caller,
    selection: Selection,
    limit: usize,
    /// The changes since the last read.
    changes: PendingChanges,
    /// True if nothing was read that is not sent. False at first.
    is_current: bool,
    /// The time before which nothing is read.
    due: Instant,
    /// The last message.
    last: Option<String>,
}

impl Source for Pending {
    async fn next(&mut self) -> Result<Option<Message>, Problem> {
        loop {
            if self.is_current {
                // An expiry, and a new grant, are no change of what waits.
                if let Ok(changed) = timeout(PENDING_AGAIN, self.changes.next()).await {
                    changed?;
                }
                self.is_current = false;
            }
            sleep_until(self.due).await;
            let page = snapshot(&self.caller, &self.selection, None, self.limit).await?;
            let text = json(&page)?;
            self.is_current = true;
            self.due = Instant::now() + PENDING_EVERY;
            if self.last.as_ref() == Some(&text) {
                continue;
            }
            self.last = Some(text.clone());
            return Ok(Some(Message {
                event: "pending",
                id: None,
                data: text,
            }));
        }
    }

    fn end(&self) -> &'static str {
        "done"
    }
}
