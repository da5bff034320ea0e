//! The way of every command: to the task of its session, or to a turn at the desk.
//!
//! At the desk a session that no task serves is written to, one writer at a time, and the listeners
//! are told.

use std::sync::Arc;

use tokio::sync::OwnedMutexGuard;
use tracing::Instrument;

use super::desk::Desk;
use crate::engine::error::{Error, ended};
use crate::engine::inputs::inbox::Input;
use crate::engine::notify::publisher::Publisher;
use crate::engine::serving::engine::Engine;
use crate::ledger::Recorded;
use crate::session::{Command, Seq, SessionId};

/// How many facts are read at a time.
const FACTS: usize = 256;

/// The turn to write to a session whose agent is not here. It keeps nothing of the engine alive but
/// what it writes and tells by.
pub(super) struct DeskTurn {
    desk: Desk,
    publisher: Publisher,
    session: SessionId,
    _turn: OwnedMutexGuard<()>,
}

impl Engine {
    /// The next turn, where no task serves the session.
    pub(super) async fn turn_at_desk(&self, session: SessionId) -> Option<DeskTurn> {
        let nobody = async || {
            matches!(
                self.agent_of(session).await,
                Err(Error::UnknownAgent { .. })
            )
        };
        if !nobody().await {
            return None;
        }
        let inner = &self.inner;
        let turn = inner.desk_turns.clone().lock_owned().await;
        // The agent may have come meanwhile.
        nobody().await.then(|| DeskTurn {
            desk: Desk::new(inner.ledger.clone(), inner.clock.clone()),
            publisher: inner.publisher.clone(),
            session,
            _turn: turn,
        })
    }

    /// Has a command taken: by the session's task, or at the desk.
    pub(in crate::engine) async fn command(
        &self,
        session: SessionId,
        command: Command,
    ) -> Result<Seq, Error> {
        if let Some(turn) = self.turn_at_desk(session).await {
            let desk = turn.desk();
            let taking = async move { desk.take(session, command).await };
            return turn.write(taking).await;
        }
        self.ask_task(session, |reply| Input::Command(command, reply))
            .await
    }
}

impl DeskTurn {
    /// What answers in this turn.
    pub(in crate::engine) fn desk(&self) -> Desk {
        self.desk.clone()
    }

    /// Waits until the desk has written, and tells whoever listens what is on record from it.
    ///
    /// It is done in a task of its own: a caller that does not wait for it, as a web service whose
    /// client is gone, takes neither the news from the others nor the turn from a writing that goes
    /// on.
    pub(in crate::engine) async fn write<F>(self, writing: F) -> Result<Seq, Error>
    where
        F: Future<Output = Result<Seq, Error>> + Send + 'static,
    {
        let task = async move {
            let before = self.head().await?;
            let written = writing.await;
            self.publish_after(before).await;
            written
        };
        let task = tokio::spawn(task.in_current_span());
        // Where the runtime ended, the log tells whether anything was written.
        task.await.map_err(ended)?
    }

    /// The last record of the session.
    async fn head(&self) -> Result<Seq, Error> {
        let journal = self.desk.ledger.journal();
        let head = journal.head(self.session.0).await?;
        Ok(head.map_or(Seq(0), |head| Seq(head.seq)))
    }

    /// Tells whoever listens what is on record behind `before`: also what a dead process left, what
    /// was overdue, and what was refused.
    async fn publish_after(&self, before: Seq) {
        let session = self.session;
        let mut from = before.next();
        loop {
            // What cannot be read now is on record all the same.
            let facts = self.desk.ledger.facts(session, from, FACTS).await;
            let facts = facts.unwrap_or_default();
            let Some(last) = facts.last() else {
                return;
            };
            from = last.seq.next();
            for fact in facts {
                let recorded = Arc::new(Recorded { session, fact });
                self.publisher.publish(&recorded, false);
            }
        }
    }
}
