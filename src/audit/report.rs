//! The audit report: the calls of all sessions, and the sessions that could not be read.

use std::collections::BTreeMap;

use recount_journal::Head;
use serde::Serialize;
use tokio::task::yield_now;

use super::audited_call::AuditedCall;
use super::catalog_note::CatalogNote;
use super::filter::Filter;
use super::journal_note::{JournalNote, notes};
use super::projection::CallProjection;
use super::stranger::{Names, Stranger};
use super::totals::Totals;
use super::unread_session::{Unread, UnreadSession};
use super::window::Window;
use crate::ledger::{Entry, Erasure, Error, Ledger};
use crate::session::{ObjectHash, Seq, Session, SessionId, Timestamp};

/// The number of records read at a time.
const PAGE: usize = 1024;

/// The number of records projected at a time. Their bodies are in memory together.
const PROJECTED: usize = 128;

/// The audit of a whole journal.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// The selected calls by session, oldest session first.
    pub calls: Vec<AuditedCall>,
    /// The sessions that could not be read, whether or not they have selected calls.
    pub unread: Vec<UnreadSession>,
    /// The changes of tools while their session lived, in the selected time range.
    pub catalogs: Vec<CatalogNote>,
    /// The records of the journal about itself.
    pub notes: Vec<JournalNote>,
    /// The numbers of selected calls, by several criteria.
    pub totals: Totals,
    /// The number of sessions read, including those without a selected call.
    pub sessions: u64,
    /// The names in the filter that no call has.
    pub strangers: Vec<Stranger>,
}

/// Reads all sessions of a journal and returns the selected calls.
///
/// `progress` receives the number of records read so far, and the total. A session that cannot be
/// read, for example because its key is missing, is listed in [`Report::unread`] and does not stop
/// the audit. The audit does not repeat decisions. `replay` checks whether the recorded ones
/// follow.
///
/// ```
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use recount::audit::{Filter, Verdict, decisions};
/// use recount::journal::DiskJournal;
/// use recount::ledger::Ledger;
/// use std::sync::Arc;
///
/// let journal = DiskJournal::options("journal").read_only().open()?;
/// let ledger = Ledger::new(Arc::new(journal));
/// let wanted = Filter { verdicts: vec![Verdict::Approved], ..Filter::default() };
/// for call in decisions(&ledger, &wanted, |_, _| ()).await?.calls {
///     let by = call.deciding_question().and_then(|it| it.by.as_ref());
///     println!("{} {:?}: approved by {by:?}", call.tool, call.args);
/// }
/// # Ok(()) }
/// ```
///
/// # Errors
/// The error of a journal that cannot be read.
pub async fn decisions(
    ledger: &Ledger,
    filter: &Filter,
    mut progress: impl FnMut(u64, u64),
) -> Result<Report, Error> {
    let mut erasures = ledger.erasures().await?;
    let sessions = sessions(ledger, filter, &erasures).await?;
    let total = sessions.iter().map(|(_, head)| head.seq).sum();
    let (mut report, mut names) = (Report::default(), Names::default());
    let mut done = 0;
    for (id, head) in &sessions {
        let projected = project(ledger, *id, |records| progress(done + records, total)).await;
        done += head.seq;
        progress(done, total);
        match projected {
            Ok(mut projection) => {
                report.sessions += 1;
                let catalogs = std::mem::take(&mut projection.catalogs).into_iter();
                report
                    .catalogs
                    .extend(catalogs.filter(|it| filter.covers(it.at)));
                for call in projection.rows() {
                    names.add(&call, filter);
                    if filter.takes(&call) {
                        report.calls.push(call);
                    }
                }
            }
            Err(error) => {
                let unread = unread(ledger, *id, head, error, erasures.remove(id)).await?;
                // A session's events cannot be older than its first record.
                if filter.until.is_none_or(|until| unread.first_at < until) {
                    report.unread.push(unread);
                }
            }
        }
    }
    report.notes = notes(ledger.journal().as_ref(), filter).await?;
    report.calls.iter().for_each(|it| report.totals.add(it));
    report.strangers = names.strangers(filter);
    Ok(report)
}

/// Returns the calls of one session, in the order of their records.
///
/// ```
/// # async fn example(
/// #     ledger: recount::ledger::Ledger,
/// #     session: recount::session::SessionId,
/// # ) -> Result<(), recount::ledger::Error> {
/// for call in recount::audit::calls_of(&ledger, session).await? {
///     println!("{} {}: {}", call.seq, call.tool, call.verdict.as_str());
/// }
/// # Ok(()) }
/// ```
///
/// # Errors
/// [`Error::UnknownSession`]; [`Error::Sealed`] if the session is sealed and its key is missing.
pub async fn calls_of(ledger: &Ledger, session: SessionId) -> Result<Vec<AuditedCall>, Error> {
    // The journal's own stream has the nil id and is not a session.
    if session.0.is_nil() || ledger.journal().head(session.0).await?.is_none() {
        return Err(Error::UnknownSession { session });
    }
    let projection = project(ledger, session, |_| ()).await?;
    Ok(projection.rows().collect())
}

/// A page of the calls of one session.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq)]
pub struct CallsPage {
    /// The calls, in the order of their records.
    pub calls: Vec<AuditedCall>,
    /// True if further calls follow.
    pub more: bool,
}

/// Returns at most `limit` calls of a session after a call, or fewer once their arguments have
/// `bytes`, but at least one.
///
/// The session is folded from its first record, and up to its last one unless the calls of the page
/// are final before. Only those calls and a few records are in memory.
///
/// # Errors
/// Those of [`calls_of`].
#[doc(hidden)]
pub async fn calls_after(
    ledger: &Ledger,
    session: SessionId,
    after: Seq,
    limit: usize,
    bytes: usize,
) -> Result<CallsPage, Error> {
    if session.0.is_nil() || ledger.journal().head(session.0).await?.is_none() {
        return Err(Error::UnknownSession { session });
    }
    let window = Window::after(after, limit, bytes);
    let projection = project_in(ledger, session, window, |_| ()).await?;
    let more = projection.window.is_full();
    let calls = projection.rows().collect();
    Ok(CallsPage { calls, more })
}

/// Returns the sessions that may have selected calls.
async fn sessions(
    ledger: &Ledger,
    filter: &Filter,
    erasures: &BTreeMap<SessionId, Erasure>,
) -> Result<Vec<(SessionId, Head)>, Error> {
    let mut all = ledger.session_heads().await?;
    all.retain(|(id, head)| filter.reaches(head, erasures.get(id)));
    Ok(all)
}

pub(super) async fn project(
    ledger: &Ledger,
    id: SessionId,
    progress: impl FnMut(u64),
) -> Result<CallProjection, Error> {
    project_in(ledger, id, Window::all(), progress).await
}

/// Projects the calls of the window. Further calls are only folded.
async fn project_in(
    ledger: &Ledger,
    id: SessionId,
    window: Window,
    mut progress: impl FnMut(u64),
) -> Result<CallProjection, Error> {
    let mut next = Seq(1);
    let mut entries = ledger.entries(id, next, PROJECTED).await?;
    let sealed = entries.first().is_some_and(Entry::is_sealed);
    let mut projection = CallProjection::new(Session::new(id), sealed, window);
    while let Some(last) = entries.last() {
        next = last.seq.next();
        for entry in &entries {
            if ledger.passes_over(entry) {
                continue;
            }
            let fact = entry.fact()?;
            ledger.provide(&mut projection.session, &fact).await?;
            let hash = ObjectHash::from_bytes(*entry.hash().as_bytes());
            projection = projection.apply(&fact, hash);
        }
        progress(next.0 - 1);
        if projection.is_final() {
            break;
        }
        // Other tasks of the thread can run: a long session takes a while.
        yield_now().await;
        entries = ledger.entries(id, next, PROJECTED).await?;
    }
    Ok(projection)
}

/// Describes a session that cannot be read because of `error`. Returns the error if the journal
/// itself cannot be read.
pub(super) async fn unread(
    ledger: &Ledger,
    session: SessionId,
    head: &Head,
    error: Error,
    erasure: Option<Erasure>,
) -> Result<UnreadSession, Error> {
    let erased = erasure.as_ref().is_some_and(|it| it.erased.is_some());
    let why = match &error {
        Error::Journal(_) => return Err(error),
        Error::Sealed { .. } | Error::Seal(_) if erased => Unread::Erased,
        Error::Sealed { .. } if ledger.keys().is_some() => Unread::KeyMissing,
        Error::Sealed { .. } => Unread::KeyNotGiven,
        Error::NoKeyStore { .. }
        | Error::Seal(_)
        | Error::Unreadable { .. }
        | Error::Malformed { .. }
        | Error::NewerRules { .. }
        | Error::UnknownField { .. }
        | Error::MissingObject { .. }
        | Error::UnknownSession { .. }
        | Error::Unwritable { .. }
        | Error::Endless { .. } => Unread::Unreadable,
    };
    let mut it = UnreadSession {
        session,
        first_at: Timestamp(head.at_us),
        last_at: Timestamp(head.at_us),
        records: head.seq,
        calls: 0,
        answers: 0,
        why,
        problem: (why == Unread::Unreadable).then(|| in_words(&error)),
        erasure,
    };
    let mut next = 1;
    loop {
        let lines = ledger.journal().read(session.0, next, PAGE).await?;
        if lines.is_empty() {
            return Ok(it);
        }
        next += lines.len() as u64;
        for record in lines.iter().filter_map(|line| line.record().ok()) {
            if record.seq == 1 {
                it.first_at = Timestamp(record.at_us);
            }
            it.calls += u64::from(record.kind == "function_call_received");
            it.answers += u64::from(record.kind == "confirmation_answered");
        }
    }
}

/// Returns the text of an error and of its sources.
fn in_words(error: &Error) -> String {
    let (mut text, mut source) = (error.to_string(), std::error::Error::source(error));
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
