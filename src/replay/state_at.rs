//! A session as it was at any of its records.

use crate::ledger::{Error, Ledger};
use crate::session::{Seq, Session, SessionId, evolve_in_place};

/// The number of records in one read.
const PAGE: usize = 1024;

/// The reason why a state is not available.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NoState {
    /// The journal could not be read.
    #[error(transparent)]
    Ledger(#[from] Error),
    /// The session has fewer records.
    #[error("session {session} ends with record {last}, so it has no record {asked}")]
    BeyondTheEnd {
        /// The session.
        session: SessionId,
        /// The requested record.
        asked: Seq,
        /// The last record of the session.
        last: Seq,
    },
}

/// Returns the session as of its record `at`, or as of its last record without `at`. The session as
/// of record 0 is empty.
///
/// The state is the fold of all records up to that one. [`owed`](crate::session::owed) returns the
/// effects that the engine owed at that point.
///
/// ```
/// # use recount::ledger::Ledger;
/// # use recount::session::{Seq, SessionId, owed};
/// # async fn example(ledger: Ledger, session: SessionId) -> Result<(), recount::replay::NoState> {
/// let then = recount::replay::state_at(&ledger, session, Some(Seq(7))).await?;
/// println!("{} calls open, {:?} owed", then.calls.len(), owed(&then));
/// # Ok(()) }
/// ```
///
/// # Errors
/// [`NoState::BeyondTheEnd`]. An error of the journal, such as [`Error::Sealed`] if the session is
/// sealed and its key is missing.
pub async fn state_at(
    ledger: &Ledger,
    session: SessionId,
    at: Option<Seq>,
) -> Result<Session, NoState> {
    let head = ledger
        .journal()
        .head(session.0)
        .await
        .map_err(Error::from)?;
    let last = Seq(head.ok_or(Error::UnknownSession { session })?.seq);
    let asked = at.unwrap_or(last);
    if asked > last {
        return Err(NoState::BeyondTheEnd {
            session,
            asked,
            last,
        });
    }
    let mut state = Session::new(session);
    while state.head < asked {
        let left = usize::try_from(asked.0 - state.head.0).unwrap_or(PAGE);
        let next = state.head.next();
        let mut facts = ledger.facts(session, next, left.min(PAGE)).await?;
        // The read skips unknown kinds, so it may return facts after `asked`.
        facts.retain(|fact| fact.seq <= asked);
        if facts.is_empty() {
            break;
        }
        for fact in &facts {
            ledger.provide(&mut state, fact).await?;
            evolve_in_place(&mut state, fact);
        }
    }
    Ok(state)
}
