//! The calls of a page of the audit, newest session first.

use recount::audit::{AuditedCall, Auditor, Filter};
use recount::session::SessionId;

use crate::problems::Problem;
use crate::routes::Caller;

/// The number of calls after which a page ends with its session.
const CALLS: usize = 50;

/// The maximum number of sessions that a page reads.
const SESSIONS_MAX: usize = 500;

/// The selected calls of some sessions.
pub(super) struct Calls {
    pub(super) calls: Vec<AuditedCall>,
    /// The number of sessions that were read.
    pub(super) sessions: usize,
    /// The sessions of these that could not be read.
    pub(super) unread: Vec<SessionId>,
    /// The last session of the page, if older ones follow.
    pub(super) next: Option<SessionId>,
}

impl Calls {
    /// Reads sessions older than `before`, newest first, until there are calls for a page.
    pub(super) async fn read(
        caller: &Caller,
        filter: Filter,
        before: Option<SessionId>,
    ) -> Result<Calls, Problem> {
        let auditor = Auditor::new(caller.ledger().clone(), filter).await?;
        let mut found = Calls {
            calls: Vec::new(),
            sessions: 0,
            unread: Vec::new(),
            next: None,
        };
        let sessions = auditor.sessions().await?.into_iter().rev();
        let older = sessions.filter(|it| before.is_none_or(|before| *it < before));
        let mut last = None;
        for session in older {
            // The scope is checked for each session, before anything of it is read.
            if !caller.sees(session).await? {
                continue;
            }
            if found.calls.len() >= CALLS || found.sessions >= SESSIONS_MAX {
                found.next = last;
                break;
            }
            let audit = auditor.read(session).await?;
            found.calls.extend(audit.calls.into_iter().rev());
            found.unread.extend(audit.unread.map(|it| it.session));
            found.sessions += 1;
            last = Some(session);
        }
        Ok(found)
    }
}
