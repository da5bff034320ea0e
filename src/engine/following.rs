//! Paused calls whose tools know themselves how they go on: looked after from the pause to the result, also by the next process.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, MutexGuard, PoisonError, Weak};

use futures_util::FutureExt;
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

use super::error::Error;
use super::prepared::Prepared;
use super::{Engine, FunctionResponse, Inner, Ticket};
use crate::ledger::{Ledger, Recorded};
use crate::session::{Actor, Event, Json, Observation, Seq, SessionId};
use crate::tool::{PolicyTool, ToolError};

impl Engine {
    /// Looks after the paused calls of an agent, those of before and those to come, if a tool of it follows its calls.
    pub(super) fn follow_paused(&self, agent: &str) {
        let Some(agent) = self.agents().get(agent).cloned() else {
            return;
        };
        let dispatcher = &agent.dispatcher;
        let follows = |name| dispatcher.get(name).is_some_and(PolicyTool::follows);
        let is_any = dispatcher.names().any(follows);
        if !is_any {
            return;
        }
        let follower = Follower {
            engine: Arc::downgrade(&self.inner),
            ledger: self.inner.ledger.clone(),
            agent,
            following: BTreeSet::new(),
            tasks: JoinSet::new(),
        };
        // Before anything is listed, so that no pause falls between.
        let updates = self.inner.publisher.subscribe();
        let task = tokio::spawn(follower.follow(updates));
        self.followers().push(AbortOnDropHandle::new(task));
    }

    /// Looks after no call any more; the next process does.
    pub(super) fn follow_no_more(&self) {
        self.followers().clear();
    }

    fn followers(&self) -> MutexGuard<'_, Vec<AbortOnDropHandle<()>>> {
        let followers = self.inner.followers.lock();
        followers.unwrap_or_else(PoisonError::into_inner)
    }
}

/// Looks after the paused calls of one agent.
struct Follower {
    /// Weak, because an engine that nobody has any more is to end.
    engine: Weak<Inner>,
    ledger: Ledger,
    agent: Arc<Prepared>,
    following: BTreeSet<(SessionId, Seq)>,
    tasks: JoinSet<()>,
}

impl Follower {
    async fn follow(mut self, mut updates: broadcast::Receiver<Arc<Recorded>>) {
        self.look().await;
        loop {
            match updates.recv().await {
                Ok(recorded) => {
                    if let Event::Observed(Observation::ToolPaused(paused)) = &recorded.fact.event {
                        let interim = paused.interim.clone();
                        self.paused(recorded.session, paused.call, interim).await;
                    }
                }
                Err(RecvError::Lagged(_)) => self.look().await,
                Err(RecvError::Closed) => return,
            }
            while self.tasks.try_join_next().is_some() {}
        }
    }

    /// Begins with every call that is paused now.
    async fn look(&mut self) {
        match self.ledger.paused().await {
            Ok(paused) => {
                let agent = self.agent.clone();
                for call in paused.into_iter().filter(|it| it.agent == agent.name) {
                    self.begin(call.session, call.call, call.tool, call.interim);
                }
            }
            Err(error) => tracing::warn!(%error, "the paused calls cannot be read"),
        }
    }

    /// Begins with a call that has just paused.
    async fn paused(&mut self, session: SessionId, call: Seq, interim: Option<Json>) {
        let found = async {
            let opened = self.ledger.opened(session).await?;
            let tool = self.ledger.tool_of(session, call).await?;
            Ok::<_, crate::ledger::Error>(opened.map(|(_, it)| it.agent).zip(tool))
        };
        match found.await {
            Ok(Some((agent, tool))) if agent == self.agent.name => {
                self.begin(session, call, tool, interim);
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(%session, %error, "a paused call cannot be read"),
        }
    }

    fn begin(&mut self, session: SessionId, call: Seq, name: String, interim: Option<Json>) {
        let tool = self.agent.dispatcher.get(&name);
        let Some(tool) = tool.filter(|it| it.follows()) else {
            return;
        };
        if !self.following.insert((session, call)) {
            return;
        }
        let ticket = Ticket {
            session,
            call,
            tool: name,
        };
        let (tool, engine) = (tool.clone(), self.engine.clone());
        self.tasks.spawn(async move {
            let interim = interim.map(|it| it.to_value()).unwrap_or_default();
            let followed = AssertUnwindSafe(tool.follow(&ticket, interim)).catch_unwind();
            let panicked = |_| Some(Err(ToolError::ExecutionFailed("the tool panicked".to_owned())));
            let response = match followed.await.unwrap_or_else(panicked) {
                Some(Ok(value)) => value,
                Some(Err(error)) => error.to_response(),
                // It is left to whoever responds.
                None => return,
            };
            let Some(inner) = engine.upgrade() else {
                return;
            };
            let response = FunctionResponse::new(&ticket.tool, response);
            let by = Actor::embedder(&ticket.tool);
            match (Engine { inner }).respond(&ticket, response, by).await {
                // Somebody was quicker, or the call was taken back.
                Ok(_) | Err(Error::Refused(_)) => {}
                Err(error) => {
                    tracing::warn!(session = %ticket.session, %error, "the result of a paused call did not go on record");
                }
            }
        });
    }
}
