//! Paused calls whose tools find their own result, followed from the pause to the result, across
//! processes.

use recount_journal::causes;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, MutexGuard, PoisonError, Weak};

use futures_util::FutureExt;
use serde_json::Value;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::broadcast::{self};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::responding::supplies_json;
use crate::engine::agents::prepared::Prepared;
use crate::engine::error::Error;
use crate::engine::serving::engine::{Engine, Inner};
use crate::ledger::{Ledger, Recorded};
use crate::session::{
    Actor, Decision, Event, Json, Observation, Outcome, Rejection, ResponseShape, Seq, SessionId,
};
use crate::tool::{PolicyTool, Ticket, ToolError};

impl Engine {
    /// Follows the current and future paused calls of an agent, if one of its tools follows its
    /// calls.
    pub(in crate::engine) fn follow_paused(&self, agent: &str) {
        let Some(agent) = self.agents().get(agent).cloned() else {
            return;
        };
        if agent.follows_calls() {
            self.follow_calls_of(agent);
        }
    }

    /// Follows the calls of a session whose tools were changed, if one of its tools follows its
    /// calls.
    pub(in crate::engine) fn follow_changed(&self, session: SessionId) {
        let changed = self.inner.changed_agents.of(session);
        let Some(changed) = changed.filter(|it| it.follows_calls()) else {
            return;
        };
        let registered = self.agents().get(&changed.name).cloned();
        if let Some(agent) = registered {
            self.follow_calls_of(agent);
        }
    }

    /// Starts the follower of an agent, unless it has one.
    fn follow_calls_of(&self, agent: Arc<Prepared>) {
        let mut followers = self.followers();
        if followers.contains_key(&agent.name) {
            return;
        }
        let name = agent.name.clone();
        let follower = Follower {
            engine: Arc::downgrade(&self.inner),
            ledger: self.inner.ledger.clone(),
            agent,
            following: BTreeMap::new(),
            tasks: JoinSet::new(),
        };
        // Before the listing, so that no pause is missed.
        let updates = self.inner.publisher.subscribe();
        let task = tokio::spawn(follower.follow(updates));
        followers.insert(name, AbortOnDropHandle::new(task));
    }

    /// Stops following calls; the next process continues.
    pub(in crate::engine) fn stop_following(&self) {
        self.followers().clear();
    }

    fn followers(&self) -> MutexGuard<'_, BTreeMap<String, AbortOnDropHandle<()>>> {
        let followers = self.inner.followers.lock();
        followers.unwrap_or_else(PoisonError::into_inner)
    }
}

/// The task that follows the paused calls of one agent.
struct Follower {
    /// Weak, so that it does not keep a dropped engine alive.
    engine: Weak<Inner>,
    ledger: Ledger,
    agent: Arc<Prepared>,
    following: BTreeMap<(SessionId, Seq), Followed>,
    tasks: JoinSet<()>,
}

/// A call that is followed until it ends.
#[derive(Clone)]
struct Followed {
    tool: PolicyTool,
    ticket: Ticket,
    state: Value,
    /// Fires once its result is no longer needed.
    over: CancellationToken,
}

impl Follower {
    async fn follow(mut self, mut updates: broadcast::Receiver<Arc<Recorded>>) {
        self.look().await;
        loop {
            match updates.recv().await {
                Ok(recorded) => self.heard(&recorded).await,
                Err(RecvError::Lagged(_)) => self.look().await,
                Err(RecvError::Closed) => return,
            }
            while self.tasks.try_join_next().is_some() {}
        }
    }

    async fn heard(&mut self, recorded: &Recorded) {
        let session = recorded.session;
        match &recorded.fact.event {
            Event::Observed(Observation::ToolPaused(it)) => {
                let state = it.state.clone().or_else(|| it.interim.clone());
                self.paused(session, it.call, state).await;
            }
            Event::Observed(Observation::ResponseSupplied(it)) if !it.will_continue => {
                self.ended(session, it.call, Outcome::Supplied);
            }
            Event::Decided(Decision::ResponseIssued(it)) if it.outcome != Outcome::Interim => {
                self.ended(session, it.call, it.outcome);
            }
            Event::Decided(Decision::CallCancelled(it)) => {
                self.ended(session, it.call, Outcome::Withdrawn);
            }
            Event::Observed(_) | Event::Decided(_) => {}
        }
    }

    /// Follows every call that is paused now, and stops following all others.
    async fn look(&mut self) {
        let paused = match self.ledger.paused().await {
            Ok(paused) => paused,
            Err(error) => {
                tracing::warn!(error = %causes(&error), "the paused calls cannot be read");
                return;
            }
        };
        let open: BTreeSet<_> = paused.iter().map(|it| (it.session, it.call)).collect();
        let gone = self.following.keys().filter(|it| !open.contains(it));
        let gone: Vec<(SessionId, Seq)> = gone.copied().collect();
        for (session, call) in gone {
            match self.ledger.load(session).await {
                Ok(loaded) => {
                    let settled = loaded.session.settled.get(&call);
                    let outcome = settled.map_or(Outcome::Supplied, |it| it.outcome);
                    self.ended(session, call, outcome);
                }
                Err(error) => tracing::warn!(
                    %session, error = %causes(&error),
                    "a call's end cannot be read"
                ),
            }
        }
        let agent = self.agent.clone();
        for call in paused.into_iter().filter(|it| it.agent == agent.name) {
            self.begin(call.session, call.call, call.tool, call.state);
        }
    }

    /// Follows a call that has just paused.
    async fn paused(&mut self, session: SessionId, call: Seq, state: Option<Json>) {
        let found = async {
            let opened = self.ledger.opened(session).await?;
            let tool = self.ledger.tool_of(session, call).await?;
            Ok::<_, crate::ledger::Error>(opened.map(|(_, it)| it.agent).zip(tool))
        };
        match found.await {
            Ok(Some((agent, tool))) if agent == self.agent.name => {
                self.begin(session, call, tool, state);
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(
                %session, error = %causes(&error),
                "a paused call cannot be read"
            ),
        }
    }

    fn begin(&mut self, session: SessionId, call: Seq, name: String, state: Option<Json>) {
        let changed = self
            .engine
            .upgrade()
            .and_then(|it| it.changed_agents.of(session));
        let agent = changed.as_ref().unwrap_or(&self.agent);
        let tool = agent.dispatcher.get(&name);
        let Some(tool) = tool.filter(|it| it.follows()) else {
            return;
        };
        // A process without a lease asks no tool any more.
        if self.following.contains_key(&(session, call)) || self.ledger.check_lease().is_err() {
            return;
        }
        let ticket = Ticket {
            session,
            call,
            tool: name,
        };
        let state = state.map(|it| it.to_value()).unwrap_or_default();
        let shape = agent.policies.response;
        let followed = Followed {
            tool: tool.clone(),
            ticket,
            state,
            over: CancellationToken::new(),
        };
        self.tasks
            .spawn(followed.clone().respond(self.engine.clone(), shape));
        self.following.insert((session, call), followed);
    }

    /// Stops following a call. Notifies its tool if the result is no longer wanted.
    fn ended(&mut self, session: SessionId, call: Seq, outcome: Outcome) {
        let Some(followed) = self.following.remove(&(session, call)) else {
            return;
        };
        followed.over.cancel();
        if self.ledger.check_lease().is_err() {
            return;
        }
        match outcome {
            Outcome::Expired | Outcome::TimedOut | Outcome::Cancelled | Outcome::Withdrawn => {
                self.tasks.spawn(followed.call_off());
            }
            Outcome::Interim
            | Outcome::Returned
            | Outcome::Failed
            | Outcome::Supplied
            | Outcome::Refused
            | Outcome::Denied
            | Outcome::Unknown => {}
        }
    }
}

impl Followed {
    /// Waits for the result of the call, and supplies it.
    async fn respond(self, engine: Weak<Inner>, shape: ResponseShape) {
        let ticket = &self.ticket;
        let follow = self.tool.follow(ticket, self.state);
        let followed = AssertUnwindSafe(follow).catch_unwind();
        let followed = tokio::select! {
            followed = followed => followed,
            () = self.over.cancelled() => return,
        };
        let panicked = |_| {
            Some(Err(ToolError::ExecutionFailed(
                "the tool panicked".to_owned(),
            )))
        };
        let failed = |error: &ToolError| Json::of(&shape.error(error.kind(), &error.to_string()));
        let response = match followed.unwrap_or_else(panicked) {
            Some(Ok(result)) => shape.success_of_text(&result, None),
            Some(Err(error)) => failed(&error),
            // Another caller responds.
            None => return,
        };
        let Some(inner) = engine.upgrade() else {
            return;
        };
        let engine = Engine::of(inner);
        let respond = async |response: Json| {
            let by = Actor::embedder(&ticket.tool);
            let name = ticket.tool.clone();
            let supply = supplies_json(ticket, name, response, false, by);
            engine.supply(supply).await
        };
        let mut responded = respond(response).await;
        if let Err(Error::Refused(why)) = &responded
            && is_of_the_response(why)
        {
            // No other caller responds, so the call would wait for ever.
            let what = format!("the result cannot be on record: {why}");
            responded = respond(failed(&ToolError::ExecutionFailed(what))).await;
        }
        match responded {
            // Another response came first, or the call was cancelled.
            Ok(_) | Err(Error::Refused(_)) => {}
            Err(error) => {
                tracing::warn!(
                    session = %ticket.session, error = %causes(&error),
                    "the result of a paused call did not go on record"
                );
            }
        }
    }

    /// Notifies the tool that the result is no longer wanted.
    async fn call_off(self) {
        let ticket = &self.ticket;
        let told = AssertUnwindSafe(self.tool.call_off(ticket, self.state)).catch_unwind();
        if told.await.is_err() {
            tracing::error!(session = %ticket.session, tool = %ticket.tool, "the tool panicked");
        }
    }
}

/// True if the rejection is about the content of the response.
fn is_of_the_response(why: &Rejection) -> bool {
    matches!(
        why,
        Rejection::TooLarge { .. }
            | Rejection::TooDeep
            | Rejection::UnfitJson { .. }
            | Rejection::ResponseNotAnObject
    )
}
