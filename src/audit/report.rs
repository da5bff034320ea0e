//! The audit of a whole journal: every session told, and what could not be told.

use std::collections::BTreeMap;

use recount_journal::Head;
use serde::Serialize;

use super::audited_call::AuditedCall;
use super::filter::Filter;
use super::journal_note::{JournalNote, notes};
use super::stranger::{Names, Stranger};
use super::telling::Telling;
use super::totals::Totals;
use super::unread_session::{Unread, UnreadSession};
use crate::ledger::{Entry, Erasure, Error, Ledger};
use crate::session::{ObjectHash, Seq, Session, SessionId, Timestamp};

/// How many records are read at a time.
const PAGE: usize = 1024;

/// Who decided what, in a whole journal.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// The calls that were asked about, session after session, oldest session first.
    pub calls: Vec<AuditedCall>,
    /// The sessions whose calls could not be told, whichever those may be.
    pub unread: Vec<UnreadSession>,
    /// What the journal says of itself.
    pub notes: Vec<JournalNote>,
    /// How many calls there are of each kind.
    pub totals: Totals,
    /// How many sessions were told, also those without a call that was asked about.
    pub sessions: u64,
    /// What was asked for and that none of the calls has that could be told.
    pub strangers: Vec<Stranger>,
}

/// Tells all sessions of a journal, and gives the calls that are asked about.
///
/// `progress` hears how many records have been read, and of how many. A session that is sealed and
/// whose key is not here, or that cannot be read, is in [`Report::unread`] and stops nothing.
/// Nothing is decided again: `replay` tells whether what is on record follows.
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
/// Where the journal itself cannot be read.
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
        let told = tell(ledger, *id, |records| progress(done + records, total)).await;
        done += head.seq;
        progress(done, total);
        match told {
            Ok(telling) => {
                report.sessions += 1;
                for call in telling.rows() {
                    names.learn(&call, filter);
                    if filter.takes(&call) {
                        report.calls.push(call);
                    }
                }
            }
            Err(error) => {
                let unread = unread(ledger, *id, head, error, erasures.remove(id)).await?;
                // Whatever may be in it, it did not happen before it began.
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

/// The sessions that can have something that is asked about.
async fn sessions(
    ledger: &Ledger,
    filter: &Filter,
    erasures: &BTreeMap<SessionId, Erasure>,
) -> Result<Vec<(SessionId, Head)>, Error> {
    let mut all = ledger.session_heads().await?;
    all.retain(|(id, head)| filter.reaches(head, erasures.get(id)));
    Ok(all)
}

async fn tell(
    ledger: &Ledger,
    id: SessionId,
    mut progress: impl FnMut(u64),
) -> Result<Telling, Error> {
    let mut next = Seq(1);
    let mut entries = ledger.entries(id, next, PAGE).await?;
    let sealed = entries.first().is_some_and(Entry::is_sealed);
    let mut telling = Telling::new(Session::new(id), sealed);
    while let Some(last) = entries.last() {
        next = last.seq.next();
        for entry in &entries {
            if ledger.passes_over(entry) {
                continue;
            }
            let fact = entry.fact()?;
            ledger.provide(&mut telling.session, &fact).await?;
            let hash = ObjectHash::from_bytes(*entry.hash().as_bytes());
            telling = telling.tell(&fact, hash);
        }
        progress(next.0 - 1);
        entries = ledger.entries(id, next, PAGE).await?;
    }
    Ok(telling)
}

/// What is known of a session that cannot be told because of `error`; the error again, where the
/// journal itself cannot be read.
async fn unread(
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

/// The error and what led to it.
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
