//! The stop switch: pauses of sessions, tools, agents and everything, and their ends.
//!
//! A pause of more than one session is durable in the journal's own stream first. Then each session
//! with a task observes it, and after them the sessions that only have open calls. Every other
//! session observes it before the first record of its next task. In a journal that several
//! processes write, each does so for its tasks, and the one that pauses waits for the others.

use recount_journal::causes;
use std::collections::BTreeSet;

use futures_util::{StreamExt, stream};
use tokio::sync::oneshot;

use super::desk::Desk;
use super::elsewhere::confirming::expect_applied;
use crate::engine::error::Error;
use crate::engine::inputs::inbox::{CancelRunning, Input};
use crate::engine::serving::engine::Engine;
use crate::engine::task::session_task::Begin;
use crate::ledger::{self, Ledger, ListedPause, PauseTarget};
use crate::session::{Actor, Command, OpenKind, PauseCommand, PauseScope, Seq, SessionId};

/// The number of sessions that observe a pause at the same time. Each costs one commit, which
/// sessions share.
const SESSIONS_AT_ONCE: usize = 64;

impl Engine {
    /// Pauses a session, a tool in it, an agent, or everything. Returns the record of the pause,
    /// which for more than one session is in the journal's own stream.
    ///
    /// When this function returns, no session starts a call that the pause holds, gated or not,
    /// until [`unpause`](Engine::unpause). A running call continues, or is cancelled if
    /// `cancel_running` is set. Calls are judged, asked about and answered as ever. A pause
    /// survives a restart. In a journal that several processes write, all of that is true of each
    /// of them.
    ///
    /// ```
    /// # async fn example(
    /// #     engine: recount::engine::Engine,
    /// # ) -> Result<(), recount::engine::Error> {
    /// use recount::ledger::PauseTarget;
    /// use recount::prelude::*;
    /// let (ada, reason) = (Actor::embedder("ada"), Some("the bank is down".to_owned()));
    /// engine.pause(PauseTarget::Everything, reason, false, ada.clone()).await?;
    /// engine.unpause(PauseTarget::Everything, None, ada).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Refused`] if the target is paused already, or if the session has no such tool;
    /// [`Error::UnknownAgent`] if no agent of that name is registered or has a session;
    /// [`Error::PauseUnconfirmed`] if the pause is recorded, and another process of the journal may
    /// not have applied it.
    pub async fn pause(
        &self,
        target: PauseTarget,
        reason: Option<String>,
        cancel_running: bool,
        by: Actor,
    ) -> Result<Seq, Error> {
        let scope = target.scope();
        let cancel = |journal_record| CancelRunning {
            scope: scope.clone(),
            reason: reason.clone(),
            by: by.clone(),
            journal_record,
        };
        let Some(session) = target.session() else {
            self.expect_room()?;
            self.expect_agent(&scope).await?;
            let (ledger, now) = (&self.inner.ledger, self.inner.clock.now());
            let said = (scope.clone(), reason.clone());
            let recorded = ledger.pause_sessions(said, cancel_running, by.clone(), now);
            let seq = recorded.await?.map_err(Error::Refused)?;
            let cancel = cancel_running.then(|| cancel(Some(seq)));
            self.observe_pauses(&scope, cancel.as_ref()).await?;
            expect_applied(ledger, seq).await?;
            return Ok(seq);
        };
        let tool = target.tool().map(str::to_owned);
        let command = Command::Pause(PauseCommand {
            tool,
            reason: reason.clone(),
            by: by.clone(),
        });
        let seq = self.command(session, command).await?;
        if cancel_running {
            self.observes(session, &scope, Some(&cancel(None))).await?;
        }
        Ok(seq)
    }

    /// Ends a pause. Returns the record of its end. Calls that no other pause holds start.
    ///
    /// # Errors
    /// [`Error::Refused`] if the target is not paused.
    pub async fn unpause(
        &self,
        target: PauseTarget,
        reason: Option<String>,
        by: Actor,
    ) -> Result<Seq, Error> {
        let Some(session) = target.session() else {
            self.expect_room()?;
            let (ledger, now) = (&self.inner.ledger, self.inner.clock.now());
            let scope = target.scope();
            let recorded = ledger.unpause_sessions(scope.clone(), reason, by, now);
            let seq = recorded.await?.map_err(Error::Refused)?;
            self.observe_pauses(&scope, None).await?;
            return Ok(seq);
        };
        let tool = target.tool().map(str::to_owned);
        self.command(session, Command::Unpause(PauseCommand { tool, reason, by }))
            .await
    }

    /// Returns every pause in force, as [`Ledger::pauses`] does.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub async fn pauses(&self) -> Result<Vec<ListedPause>, Error> {
        Ok(self.inner.ledger.pauses().await?)
    }

    /// Lets the sessions in the scope observe a pause or its end.
    async fn observe_pauses(
        &self,
        scope: &PauseScope,
        cancel: Option<&CancelRunning>,
    ) -> Result<(), Error> {
        // Only sessions with a task can start anything now, so they come first.
        let served = self.inner.registry.ids();
        let cancels: Vec<_> = cancel.into_iter().cloned().collect();
        // A task that did not is about to end: the journal has failed.
        let _ending = self.tasks_observe(served.clone(), &cancels).await;
        let with_calls = sessions_with_calls(&self.inner.ledger).await?;
        let others = with_calls.difference(&served).copied();
        self.each_observes(others, scope, cancel).await;
        Ok(())
    }

    async fn each_observes(
        &self,
        sessions: impl Iterator<Item = SessionId>,
        scope: &PauseScope,
        cancel: Option<&CancelRunning>,
    ) {
        let observing = sessions.map(|session| async move {
            match self.observes(session, scope, cancel).await {
                Ok(()) => {}
                // It observes the pause before it starts anything.
                Err(error) => tracing::warn!(
                    %session, error = %causes(&error),
                    "a session did not observe a pause"
                ),
            }
        });
        let observing = stream::iter(observing).buffer_unordered(SESSIONS_AT_ONCE);
        observing.for_each(|()| std::future::ready(())).await;
    }

    async fn observes(
        &self,
        session: SessionId,
        scope: &PauseScope,
        cancel: Option<&CancelRunning>,
    ) -> Result<(), Error> {
        let opened = match self.inner.ledger.opened(session).await {
            // Without its key, no process serves it.
            Err(ledger::Error::Sealed { .. }) => return Ok(()),
            opened => opened?,
        };
        let Some((_, opened)) = opened else {
            return Ok(());
        };
        if matches!(scope, PauseScope::Agent(agent) if *agent != opened.agent) {
            return Ok(());
        }
        match self.inner.ledger.own(session).await {
            // Its own process observes the pause.
            Err(error) if error.is_owned() => return Ok(()),
            owned => owned.map(|_| ())?,
        }
        if let Some(turn) = self.turn_at_desk(session).await {
            let (desk, cancel) = (turn.desk(), cancel.cloned());
            let observing = async move { desk.observe_pauses(session, cancel.as_ref()).await };
            return turn.write(observing).await.map(drop);
        }
        let agent = self.agent_of(session).await?;
        let (reply, observed) = oneshot::channel();
        let cancels = cancel.into_iter().cloned().collect();
        let input = Input::ObservePauses { cancels, reply };
        let task = self.send(session, agent, Begin::Resume, input);
        observed.await.map_err(|_| task.stopped(session))?
    }

    /// Rejects an agent that has neither a registration nor a session. A misspelt name would hold
    /// nothing.
    async fn expect_agent(&self, scope: &PauseScope) -> Result<(), Error> {
        match scope {
            PauseScope::Agent(name) if !self.agents().contains_key(name) => {
                match expect_sessions(&self.inner.ledger, name).await {
                    Err(Error::UnknownAgent { .. }) => self.agent(name).map(drop),
                    found => found,
                }
            }
            PauseScope::Agent(_)
            | PauseScope::Everything
            | PauseScope::Session
            | PauseScope::Tool(_) => Ok(()),
        }
    }
}

impl Desk {
    /// Pauses as [`Engine::pause`] does. A desk runs nothing, so `cancel_running` cancels the calls
    /// that clients run.
    ///
    /// # Errors
    /// Those of [`Engine::pause`].
    pub async fn pause(
        &self,
        target: PauseTarget,
        reason: Option<String>,
        cancel_running: bool,
        by: Actor,
    ) -> Result<Seq, Error> {
        let scope = target.scope();
        let cancel = |journal_record| CancelRunning {
            scope: scope.clone(),
            reason: reason.clone(),
            by: by.clone(),
            journal_record,
        };
        let Some(session) = target.session() else {
            if let PauseTarget::Agent(name) = &target {
                expect_sessions(&self.ledger, name).await?;
            }
            let now = self.clock.now();
            let (ledger, said) = (&self.ledger, (scope.clone(), reason.clone()));
            let recorded = ledger.pause_sessions(said, cancel_running, by.clone(), now);
            let seq = recorded.await?.map_err(Error::Refused)?;
            let cancel = cancel_running.then(|| cancel(Some(seq)));
            self.all_observe_pauses(cancel.as_ref()).await?;
            expect_applied(ledger, seq).await?;
            return Ok(seq);
        };
        let cancel = cancel_running.then(|| cancel(None));
        let tool = target.tool().map(str::to_owned);
        let command = Command::Pause(PauseCommand { tool, reason, by });
        let seq = self.take(session, command).await?;
        if cancel.is_some() {
            self.observe_pauses(session, cancel.as_ref()).await?;
        }
        Ok(seq)
    }

    /// Ends a pause as [`Engine::unpause`] does. Its calls start in the next process.
    ///
    /// # Errors
    /// Those of [`Engine::unpause`].
    pub async fn unpause(
        &self,
        target: PauseTarget,
        reason: Option<String>,
        by: Actor,
    ) -> Result<Seq, Error> {
        let Some(session) = target.session() else {
            let (scope, now) = (target.scope(), self.clock.now());
            let recorded = self.ledger.unpause_sessions(scope, reason, by, now).await?;
            let seq = recorded.map_err(Error::Refused)?;
            self.all_observe_pauses(None).await?;
            return Ok(seq);
        };
        let tool = target.tool().map(str::to_owned);
        self.take(session, Command::Unpause(PauseCommand { tool, reason, by }))
            .await
    }

    async fn all_observe_pauses(&self, cancel: Option<&CancelRunning>) -> Result<(), Error> {
        for session in sessions_with_calls(&self.ledger).await? {
            match self.observe_pauses(session, cancel).await {
                // A session that cannot be read here is not served here.
                Ok(_) | Err(Error::Ledger(ledger::Error::Sealed { .. })) => {}
                // Its own process observes the pause.
                Err(error) if error.is_owned() => continue,
                Err(error) => {
                    tracing::warn!(
                        %session, error = %causes(&error),
                        "a session did not observe a pause"
                    );
                }
            }
            // A desk serves no session: another process must be able to go on with it at once.
            let epoch = self.ledger.let_go(session);
            self.ledger.release(session, epoch).await;
        }
        Ok(())
    }
}

/// Returns the sessions with open calls. The others start nothing before their next task.
async fn sessions_with_calls(ledger: &Ledger) -> Result<BTreeSet<SessionId>, Error> {
    let mut sessions = BTreeSet::new();
    let mut page = ledger.open_items_behind(None).await?;
    while let Some(last) = page.last().cloned() {
        let with_calls = page
            .iter()
            .filter(|it| it.kind != OpenKind::Session.as_str());
        sessions.extend(with_calls.map(|it| SessionId(it.session)));
        page = ledger.open_items_behind(Some(&last)).await?;
    }
    Ok(sessions)
}

/// Rejects an agent without a session in the journal.
async fn expect_sessions(ledger: &Ledger, agent: &str) -> Result<(), Error> {
    let sessions = ledger.sessions().await?;
    if sessions.iter().any(|it| it.agent == agent) {
        return Ok(());
    }
    let names: BTreeSet<String> = sessions.into_iter().map(|it| it.agent).collect();
    let known: Vec<String> = names.into_iter().filter(|it| !it.is_empty()).collect();
    Err(Error::UnknownAgent {
        name: agent.to_owned(),
        registered: known.join(", "),
    })
}
