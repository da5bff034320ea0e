//! The audit of a journal session by session, so that memory does not grow with the journal.

use std::collections::BTreeMap;

use super::audited_call::AuditedCall;
use super::catalog_note::CatalogNote;
use super::filter::Filter;
use super::journal_note::{JournalNote, notes};
use super::report::{project, unread};
use super::unread_session::UnreadSession;
use crate::ledger::{Erasure, Error, Ledger};
use crate::session::SessionId;

/// An audit that reads one session after another.
///
/// [`decisions`](super::decisions) returns the same rows at once.
///
/// ```
/// # async fn example(ledger: recount::ledger::Ledger) -> Result<(), recount::ledger::Error> {
/// use recount::audit::{Auditor, Filter};
/// let auditor = Auditor::new(ledger, Filter::default()).await?;
/// for session in auditor.sessions().await? {
///     for call in auditor.read(session).await?.calls {
///         println!("{} {}", call.tool, call.verdict.as_str());
///     }
/// }
/// # Ok(()) }
/// ```
pub struct Auditor {
    ledger: Ledger,
    filter: Filter,
    erasures: BTreeMap<SessionId, Erasure>,
}

/// The audit of one session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionAudit {
    /// The selected calls, in the order of their records.
    pub calls: Vec<AuditedCall>,
    /// The changes of tools while the session lived, in the selected time range.
    pub catalogs: Vec<CatalogNote>,
    /// The session, if it could not be read.
    pub unread: Option<UnreadSession>,
}

impl Auditor {
    /// Prepares an audit of the selected calls.
    ///
    /// # Errors
    /// The error of a journal that cannot be read.
    pub async fn new(ledger: Ledger, filter: Filter) -> Result<Auditor, Error> {
        let erasures = ledger.erasures().await?;
        Ok(Auditor {
            ledger,
            filter,
            erasures,
        })
    }

    /// Returns the sessions that may have selected calls, oldest first.
    ///
    /// # Errors
    /// The error of a journal that cannot be read.
    pub async fn sessions(&self) -> Result<Vec<SessionId>, Error> {
        let heads = self.ledger.session_heads().await?.into_iter();
        let reached = heads.filter(|(id, head)| self.filter.reaches(head, self.erasures.get(id)));
        Ok(reached.map(|(id, _)| id).collect())
    }

    /// Reads the selected calls of a session. A session that cannot be read is
    /// [`unread`](SessionAudit::unread), which is no error.
    ///
    /// # Errors
    /// [`Error::UnknownSession`]; the error of a journal that cannot be read.
    pub async fn read(&self, session: SessionId) -> Result<SessionAudit, Error> {
        let head = self.ledger.journal().head(session.0).await?;
        let head = head.ok_or(Error::UnknownSession { session })?;
        let mut audit = SessionAudit::default();
        match project(&self.ledger, session, |_| ()).await {
            Ok(mut projection) => {
                audit.catalogs = std::mem::take(&mut projection.catalogs);
                audit.catalogs.retain(|it| self.filter.covers(it.at));
                audit.calls = projection
                    .rows()
                    .filter(|it| self.filter.takes(it))
                    .collect();
            }
            Err(error) => {
                let erasure = self.erasures.get(&session).cloned();
                let unread = unread(&self.ledger, session, &head, error, erasure).await?;
                // A session's events cannot be older than its first record.
                let is_reached = self
                    .filter
                    .until
                    .is_none_or(|until| unread.first_at < until);
                audit.unread = is_reached.then_some(unread);
            }
        }
        Ok(audit)
    }

    /// Returns the records of the journal about itself, in the selected time range.
    ///
    /// # Errors
    /// The error of a journal that cannot be read.
    pub async fn notes(&self) -> Result<Vec<JournalNote>, Error> {
        notes(self.ledger.journal().as_ref(), &self.filter).await
    }
}
