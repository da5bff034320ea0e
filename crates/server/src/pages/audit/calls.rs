//! The calls of a page of the audit, newest first.

use recount::audit::{AuditedCall, Auditor, Filter};
use recount::session::SessionId;

use crate::problems::Problem;
use crate::requests::{Cursor, Params};
use crate::routes::Caller;

/// The number of calls of a page.
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
    /// The place at which the next page begins, if older calls may follow.
    pub(super) next: Option<Cursor>,
}

impl Calls {
    /// Reads the calls of the page at the cursor.
    pub(super) async fn read(
        caller: &Caller,
        filter: Filter,
        params: &Params,
    ) -> Result<Calls, Problem> {
        let cursor = params.cursor()?;
        let auditor = Auditor::new(caller.ledger().clone(), filter).await?;
        let mut found = Calls {
            calls: Vec::new(),
            sessions: 0,
            unread: Vec::new(),
            next: None,
        };
        for session in auditor.sessions().await?.into_iter().rev() {
            // The scope is checked for each session, before anything of it is read.
            if !begins(cursor, session) || !caller.sees(session).await? {
                continue;
            }
            if found.calls.len() >= CALLS || found.sessions >= SESSIONS_MAX {
                return Ok(found);
            }
            let audit = auditor.read(session).await?;
            found.sessions += 1;
            found.unread.extend(audit.unread.map(|it| it.session));
            let older = audit.calls.into_iter().rev();
            let older = older.filter(|it| match cursor {
                Some(Cursor::Item(of, seq)) if of == session => it.seq < seq,
                Some(Cursor::Item(..) | Cursor::Session(_)) | None => true,
            });
            for call in older {
                if found.calls.len() >= CALLS {
                    return Ok(found);
                }
                found.next = Some(Cursor::Item(session, call.seq));
                caller.shows(session);
                found.calls.push(call);
            }
            found.next = Some(Cursor::Session(session));
        }
        found.next = None;
        Ok(found)
    }
}

/// True if the page at the cursor may have calls of this session.
fn begins(cursor: Option<Cursor>, session: SessionId) -> bool {
    match cursor {
        None => true,
        Some(Cursor::Session(before)) => session < before,
        Some(Cursor::Item(before, _)) => session <= before,
    }
}
