//! One answer to several confirmation requests, and the denial of all that are open in a session.
//!
//! Each request is answered on its own, in the order given, and has an outcome of its own. A
//! refusal or an error of one does not stop the others.

use super::desk::Desk;
use crate::engine::error::Error;
use crate::engine::serving::engine::Engine;
use crate::ledger::{self, Ledger};
use crate::session::{Actor, RequestId, Seq, SessionId};
use crate::tool::ToolConfirmation;

/// The outcome of one answer: its record, or the refusal.
pub(super) type Outcome = (RequestId, Result<Seq, Error>);

impl Engine {
    /// Gives the same answer to several requests, of one session or of several.
    ///
    /// Returns the outcome of each request: what [`answer`](Engine::answer) would return. Each
    /// answer is recorded on its own, so some may count and others be refused. An id that is given
    /// twice is answered once.
    ///
    /// ```
    /// # async fn example(engine: recount::Engine) -> Result<(), recount::engine::Error> {
    /// use recount::prelude::*;
    /// let waiting = engine.pending().await?;
    /// let small = waiting.iter().filter(|it| it.tool == "refund").map(|it| it.id);
    /// let yes = ToolConfirmation::confirmed();
    /// for (request, outcome) in engine.answer_many(small, yes, Actor::embedder("ada")).await {
    ///     match outcome {
    ///         Ok(seq) => println!("{request} approved at seq {seq}"),
    ///         Err(error) => println!("{request}: {error}"),
    ///     }
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn answer_many(
        &self,
        requests: impl IntoIterator<Item = RequestId>,
        confirmation: ToolConfirmation,
        by: Actor,
    ) -> Vec<(RequestId, Result<Seq, Error>)> {
        let mut outcomes: Vec<Outcome> = Vec::new();
        for request in each_once(requests) {
            let outcome = self.answer(request, confirmation.clone(), by.clone());
            outcomes.push((request, outcome.await));
        }
        outcomes
    }

    /// Denies every confirmation request that is open in the session now, and returns each outcome.
    ///
    /// A request that opens meanwhile is not denied. Calls that wait for a result from outside are
    /// no requests; [`Operation::Cancel`](crate::engine::Operation::Cancel) cancels them. The
    /// outcome of a call in doubt stays unknown.
    ///
    /// ```
    /// # async fn example(
    /// #     engine: recount::Engine,
    /// #     session: recount::session::SessionId,
    /// # ) -> Result<(), recount::engine::Error> {
    /// use recount::prelude::*;
    /// let denied = engine.deny_all(session, Some("on hold"), Actor::embedder("ada")).await?;
    /// assert!(denied.iter().all(|(_, outcome)| outcome.is_ok()));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// If the session is unknown or the journal cannot be read; then nothing is denied.
    pub async fn deny_all(
        &self,
        session: SessionId,
        reason: Option<&str>,
        by: Actor,
    ) -> Result<Vec<(RequestId, Result<Seq, Error>)>, Error> {
        let open = open_in(self.ledger(), session).await?;
        Ok(self.answer_many(open, denial(reason), by).await)
    }
}

impl Desk {
    /// Gives the same answer to several requests, as [`Engine::answer_many`] does.
    pub async fn answer_many(
        &self,
        requests: impl IntoIterator<Item = RequestId>,
        confirmation: ToolConfirmation,
        by: Actor,
    ) -> Vec<(RequestId, Result<Seq, Error>)> {
        let mut outcomes: Vec<Outcome> = Vec::new();
        for request in each_once(requests) {
            let outcome = self.answer(request, confirmation.clone(), by.clone());
            outcomes.push((request, outcome.await));
        }
        outcomes
    }

    /// Denies every confirmation request that is open in the session now, as [`Engine::deny_all`]
    /// does.
    ///
    /// # Errors
    /// Those of [`Engine::deny_all`].
    pub async fn deny_all(
        &self,
        session: SessionId,
        reason: Option<&str>,
        by: Actor,
    ) -> Result<Vec<(RequestId, Result<Seq, Error>)>, Error> {
        let open = open_in(&self.ledger, session).await?;
        Ok(self.answer_many(open, denial(reason), by).await)
    }
}

/// Returns the ids of the requests that are open in the session, oldest first.
///
/// # Errors
/// An error if the session is unknown.
pub(in crate::engine) async fn open_in(
    ledger: &Ledger,
    session: SessionId,
) -> Result<Vec<RequestId>, Error> {
    if ledger.journal().head(session.0).await?.is_none() {
        return Err(ledger::Error::UnknownSession { session }.into());
    }
    let open = ledger.pending_in(session).await?;
    Ok(open.into_iter().map(|it| it.id).collect())
}

/// Returns each id once, in the order of its first place.
pub(in crate::engine) fn each_once(
    requests: impl IntoIterator<Item = RequestId>,
) -> Vec<RequestId> {
    let mut seen = std::collections::BTreeSet::new();
    let once = requests.into_iter().filter(|it| seen.insert(*it));
    once.collect()
}

/// Returns a denial with the reason, if there is one.
pub(in crate::engine) fn denial(reason: Option<&str>) -> ToolConfirmation {
    reason.map_or_else(ToolConfirmation::default, ToolConfirmation::denied)
}
