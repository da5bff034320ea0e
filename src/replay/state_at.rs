//! A session as it was at any of its records.

use crate::ledger::{Error, Ledger};
use crate::session::{Seq, Session, SessionId, evolve_in_place};

/// How many records are read at a time.
const PAGE: usize = 1024;

/// Why there is no such state.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NoState {
    /// The journal could not be read.
    #[error(transparent)]
    Ledger(#[from] Error),
    /// The session is not that long.
    #[error("session {session} ends with record {last}, so it has no record {asked}")]
    BeyondTheEnd {
        /// The session.
        session: SessionId,
        /// The record that was asked for.
        asked: Seq,
        /// The last one that it has.
        last: Seq,
    },
}

/// The session as of its record `at`; as of its last one without it. Nothing is known as of record 0.
///
/// It is the fold of all records up to that one, so two of them may be asked for in any order, and
/// each is the same whenever it is asked for. What the engine owed there says
/// [`owed`](crate::session::owed).
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
/// [`NoState::BeyondTheEnd`], and whatever keeps the journal from being read, such as
/// [`Error::Sealed`] where the session is sealed and its key is not here.
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
        // Behind what is passed over, the next that is known may stand too late.
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
