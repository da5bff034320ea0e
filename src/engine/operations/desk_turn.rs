//! The dispatch of commands: to the task of the session, or to a turn at the desk.
//!
//! At the desk, one writer at a time appends to a session that no task serves, and publishes to the
//! listeners.

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

/// The number of facts read at a time.
const FACTS: usize = 256;

/// A turn at the desk: the lock to append to a session without its agent. It keeps no part of the
/// engine alive but the desk and the publisher.
pub(super) struct DeskTurn {
    desk: Desk,
    publisher: Publisher,
    session: SessionId,
    _turn: OwnedMutexGuard<()>,
}

impl Engine {
    /// Waits for a turn at the desk. None if a task serves the session.
    pub(super) async fn turn_at_desk(&self, session: SessionId) -> Option<DeskTurn> {
        let has_no_agent = async || {
            matches!(
                self.agent_of(session).await,
                Err(Error::UnknownAgent { .. })
            )
        };
        if !has_no_agent().await {
            return None;
        }
        let inner = &self.inner;
        let turn = inner.desk_turns.clone().lock_owned().await;
        // The agent may have been registered meanwhile.
        has_no_agent().await.then(|| DeskTurn {
            desk: Desk {
                request: self.request,
                ..Desk::new(inner.ledger.clone(), inner.clock.clone())
            },
            publisher: inner.publisher.clone(),
            session,
            _turn: turn,
        })
    }

    /// Admits and records a command, through the session's task or the desk.
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
    /// Returns the desk of this turn.
    pub(in crate::engine) fn desk(&self) -> Desk {
        self.desk.clone()
    }

    /// Runs an append of the desk, then publishes its records.
    ///
    /// It runs in its own task. If the caller is dropped, such as a web request, the append still
    /// finishes under the lock, and listeners still get its records.
    pub(in crate::engine) async fn write<F>(self, writing: F) -> Result<Seq, Error>
    where
        F: Future<Output = Result<Seq, Error>> + Send + 'static,
    {
        let task = async move {
            let before = self.head().await?;
            let written = writing.await;
            self.publish_after(before).await;
            let ledger = &self.desk.ledger;
            ledger
                .release(self.session, ledger.let_go(self.session))
                .await;
            written
        };
        let task = tokio::spawn(task.in_current_span());
        // If the runtime ended, only the log shows whether the append was written.
        task.await.map_err(ended)?
    }

    /// Returns the last record of the session.
    async fn head(&self) -> Result<Seq, Error> {
        let journal = self.desk.ledger.journal();
        let head = journal.head(self.session.0).await?;
        Ok(head.map_or(Seq(0), |head| Seq(head.seq)))
    }

    /// Publishes the records after `before`, including what a dead process left, what was overdue,
    /// and refusals.
    async fn publish_after(&self, before: Seq) {
        let session = self.session;
        let mut from = before.next();
        loop {
            // The records exist, even if they cannot be read now.
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
