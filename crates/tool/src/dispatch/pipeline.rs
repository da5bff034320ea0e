//! The in-memory session in which a dispatcher runs calls without a live session.
//!
//! The same reducers decide and the same events are recorded as in a session with a journal, so a
//! policy means the same in both. There are two differences: nothing outlives the process, and only
//! a provider can answer a request.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use recount_session::{
    Actor, Fact, FunctionCallReceived, Json, ObjectHash, Observation, OperatorCancelled, RULES_MIN,
    Request, RequestState, RunnerAttached, Seq, Session, SessionId, SessionOpened, StateChanged,
    Timestamp, ToolAsked, ToolEventEmitted, rules_needed, step_in_place,
};
use serde_json::Value;
use tokio::sync::oneshot;

use super::dispatcher::ToolDispatcher;
use super::next::{Next, next_step};
use super::provider_asker::{ProviderAsker, Waited};
use crate::run::error::ToolError;
use crate::run::listeners::{Listeners, Subscription};
use crate::run::state::{State, Temporary};
use crate::run::state_watch::Watchers;
use crate::run::tool_event::{Emitter, LookBack, ToolEvents, cannot_ask};
use recount_session::ToolConfirmation;

/// The session of a dispatcher. A clone begins its own, so sessions share nothing.
pub(crate) struct Pipeline {
    id: SessionId,
    core: Arc<Mutex<Core>>,
    temporary: Temporary,
    watchers: Arc<Watchers>,
}

impl Default for Pipeline {
    fn default() -> Pipeline {
        let watchers: Arc<Watchers> = Arc::default();
        let core = Core {
            watchers: watchers.clone(),
            ..Core::default()
        };
        Pipeline {
            id: SessionId(uuid::Uuid::now_v7()),
            core: Arc::new(Mutex::new(core)),
            temporary: Temporary::default(),
            watchers,
        }
    }
}

#[async_trait]
impl ToolEvents for Mutex<Core> {
    /// Records the event at once, so no event ever waits.
    fn take(&self, emitted: ToolEventEmitted) -> bool {
        let mut core = self.lock().unwrap_or_else(PoisonError::into_inner);
        let listeners = core.listeners.of(&emitted.name);
        // After a broken invariant no event can be recorded. The call itself reports that error.
        let Ok(from) = core.step(emitted.into()) else {
            return true;
        };
        if listeners.is_empty() {
            return true;
        }
        let session = core.session.as_ref().map(|session| session.id);
        let fact = core.facts.get(from).cloned();
        // A callback may call another tool of the dispatcher.
        drop(core);
        if let (Some(session), Some(fact)) = (session, fact) {
            listeners
                .iter()
                .for_each(|callback| callback(session, &fact));
        }
        true
    }

    async fn look_back(&self, _turns: usize) -> Result<LookBack, ToolError> {
        let core = self.lock().unwrap_or_else(PoisonError::into_inner);
        // There are no turns without a live connection.
        Ok(core.session.as_ref().map(LookBack::of).unwrap_or_default())
    }

    fn now(&self) -> Timestamp {
        now()
    }

    async fn ask(&self, _asked: ToolAsked) -> Result<ToolConfirmation, ToolError> {
        Err(cannot_ask())
    }
}

/// The minimum number of events kept in memory, chosen to fit a CPU cache. At twice the number the
/// older half is dropped.
const FACTS_KEPT: usize = 1 << 9;

#[derive(Default)]
pub(super) struct Core {
    /// Absent before the first call, and after a broken invariant.
    session: Option<Session>,
    facts: Vec<Fact>,
    /// The events before `facts`.
    older: Vec<Fact>,
    /// The results that equal calls may reuse, by the sequence number of their `tool_returned`.
    results: BTreeMap<Seq, Value>,
    /// The latest result for each cache key. An older one is never reused.
    latest: BTreeMap<ObjectHash, Seq>,
    waiters: BTreeMap<Seq, oneshot::Sender<Next>>,
    watchers: Arc<Watchers>,
    listeners: Arc<Listeners<Callback>>,
}

/// A callback for a recorded event of a tool.
pub(super) type Callback = Arc<dyn Fn(SessionId, &Fact) + Send + Sync>;

impl Pipeline {
    /// Records a call and returns its next step.
    pub(super) fn receive(
        &self,
        tools: &ToolDispatcher,
        name: &str,
        (args, original_args): (Json, Option<Json>),
        invalid_args: Option<String>,
    ) -> Result<(Seq, Next), ToolError> {
        let received = FunctionCallReceived {
            epoch: Seq(0),
            id: None,
            name: Some(name.to_owned()),
            args: Some(args),
            malformed_args: None,
            invalid_args,
            sealed_args: Vec::new(),
            original_args,
            by: Some(Actor::embedder("")),
            parent: None,
            beyond_max: None,
            key: None,
        };
        let mut core = self.core();
        core.attach(self.id, tools)?;
        let call = core.head().next();
        Ok((call, core.observe(call, received.into())?))
    }

    /// Records an observation about a call and returns its next step.
    pub(super) fn observe(&self, call: Seq, observation: Observation) -> Result<Next, ToolError> {
        self.core().observe(call, observation)
    }

    /// Records an observation that does not change the call's next step.
    pub(crate) fn note(&self, call: Seq, observation: Observation) -> Result<(), ToolError> {
        self.core().note(call, observation)
    }

    /// Records the end of a run after its state changes, and keeps a result that equal calls may
    /// reuse.
    pub(crate) fn report(
        &self,
        call: Seq,
        changed: Option<StateChanged>,
        ended: Observation,
        result: Option<&Value>,
    ) -> Result<Next, ToolError> {
        let mut core = self.core();
        if let Some(changed) = changed {
            core.step(changed.into())?;
        }
        let open = core.session.as_ref().and_then(|it| it.calls.get(&call));
        if let (Some(key), Some(value)) = (open.and_then(|call| call.cache_key), result) {
            let of = core.head().next();
            core.results.insert(of, value.clone());
            if let Some(older) = core.latest.insert(key, of) {
                core.results.remove(&older);
            }
        }
        core.observe(call, ended)
    }

    /// Records the cancellation of a call that its caller has dropped, unless the call has ended.
    pub(super) fn cancel(&self, call: Seq) {
        let mut core = self.core();
        core.waiters.remove(&call);
        let open = core.session.as_ref().map(|it| it.calls.contains_key(&call));
        if open != Some(true) {
            return;
        }
        let cancelled = OperatorCancelled {
            call,
            reason: None,
            by: Actor::embedder(""),
            response: None,
        };
        // If even this cannot be recorded, the session is broken and nothing more can be done.
        if let Ok(from) = core.step(cancelled.into()) {
            core.notify_waiters(call, from);
        }
    }

    /// Returns the emitter of a run without a provider.
    pub(crate) fn emitter(&self, call: Seq, attempt: u32) -> Emitter {
        Emitter::new(self.core.clone(), call, attempt)
    }

    /// Returns the desk for the events and questions of a run, if there is a provider.
    pub(crate) fn asker(
        &self,
        tools: &ToolDispatcher,
        name: &str,
        call: Seq,
    ) -> Option<Arc<ProviderAsker>> {
        let provider = tools.confirmation_provider()?.clone();
        Some(Arc::new(ProviderAsker {
            core: self.core.clone(),
            session: self.id,
            provider,
            tool_name: name.to_owned(),
            args: self.asked_about(call)?,
            waited: Mutex::new(Waited::default()),
        }))
    }

    /// Registers a callback for the events of this name.
    pub(crate) fn on(&self, name: &'static str, callback: Callback) -> Subscription {
        self.core().listeners.add(name, callback, Arc::default())
    }

    /// Returns the id of the session.
    pub(crate) fn session(&self) -> SessionId {
        self.id
    }

    /// Returns the session state for a run, shared with other runs.
    pub(crate) fn state(&self, seen: Arc<BTreeMap<String, Json>>) -> State {
        State::of(seen, self.temporary.clone(), self.watchers.clone())
    }

    /// Returns the arguments of an open call.
    pub(crate) fn asked_about(&self, call: Seq) -> Option<Json> {
        let core = self.core();
        let session = core.session.as_ref()?;
        Some(session.calls.get(&call)?.args.clone())
    }

    /// Returns the kept events, oldest first.
    pub(crate) fn recorded(&self) -> Vec<Fact> {
        self.core().kept().cloned().collect()
    }

    fn core(&self) -> std::sync::MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Core {
    /// Returns the kept events, oldest first.
    fn kept(&self) -> impl Iterator<Item = &Fact> {
        self.older.iter().chain(&self.facts)
    }

    fn head(&self) -> Seq {
        self.session.as_ref().map_or(Seq(0), |session| session.head)
    }

    /// Opens the session at the first call, and records the tools again after a change of the
    /// registry.
    fn attach(&mut self, id: SessionId, tools: &ToolDispatcher) -> Result<(), ToolError> {
        let terms = tools.terms();
        let same = self.session.as_ref().is_some_and(|session| {
            Arc::ptr_eq(&session.terms.catalog, &terms.catalog)
                && Arc::ptr_eq(&session.terms.policies, &terms.policies)
        });
        if same {
            return Ok(());
        }
        if self.session.is_none() {
            if self.kept().next().is_some() {
                return Err(broken());
            }
            self.session = Some(Session::new(id));
            let opened = SessionOpened {
                agent: DISPATCHER.to_owned(),
                external_id: None,
                on_behalf_of: None,
                labels: BTreeMap::new(),
                rules: RULES_MIN,
                program: PROGRAM.to_owned(),
            };
            self.step(opened.into())?;
        }
        tools.warn_of_waived_gates(&terms.policies);
        let (catalog, policies) = (terms.catalog.hash(), terms.policies.hash());
        if let Some(session) = &mut self.session {
            let library = session.library_mut();
            library.add_catalog(catalog, terms.catalog.clone());
            library.add_policies(policies, terms.policies.clone());
        }
        let attached = RunnerAttached {
            agent: DISPATCHER.to_owned(),
            catalog,
            policies,
            rules: rules_needed(&terms.catalog, &terms.policies),
            program: PROGRAM.to_owned(),
            gates: tools.own_gates(),
            goes_on: false,
        };
        // No call runs now, because each call borrows the dispatcher.
        self.step(attached.into())?;
        Ok(())
    }

    /// Records an observation that does not change the call's next step.
    pub(crate) fn note(&mut self, call: Seq, observation: Observation) -> Result<(), ToolError> {
        let from = self.step(observation)?;
        self.notify_waiters(call, from);
        Ok(())
    }

    #[inline]
    pub(super) fn observe(
        &mut self,
        call: Seq,
        observation: Observation,
    ) -> Result<Next, ToolError> {
        // The caller of this function runs the call, so no waiter of the call is left.
        self.waiters.remove(&call);
        let from = self.step(observation)?;
        let own = self.notify_waiters(call, from);
        if let Some(next) = own {
            return Ok(next);
        }
        let (sender, receiver) = oneshot::channel();
        self.waiters.insert(call, sender);
        Ok(Next::Wait(receiver))
    }

    /// Folds an observation and its consequences; returns the index of their first event.
    #[inline]
    fn step(&mut self, observation: Observation) -> Result<usize, ToolError> {
        let session = self.session.as_mut().ok_or_else(broken)?;
        if self.facts.len() >= FACTS_KEPT {
            std::mem::swap(&mut self.older, &mut self.facts);
            self.facts.clear();
            // A dispatcher receives no late answers. So ended calls and closed requests from before
            // the kept events are dropped too.
            if let Some(first) = self.older.first() {
                session.settled = session.settled.split_off(&first.seq);
                let open = |request: &Request| request.state == RequestState::Open;
                let requests = &mut session.requests;
                requests.retain(|asked, request| *asked >= first.seq || open(request));
            }
        }
        let before = session.state.clone();
        let from = self.facts.len();
        let stepped = step_in_place(session, now(), observation, &mut self.facts);
        if let Some(first) = self.facts.get(from) {
            self.watchers.notify(first.seq, &before, &session.state);
        }
        if let Err(endless) = stepped {
            // No decision will follow any more, so waiting calls must fail.
            self.session = None;
            self.waiters.clear();
            return Err(ToolError::Other(endless.to_string()));
        }
        Ok(from)
    }

    /// Sends each waiting call its next step from the events at `from` and later. Returns the step
    /// of `own`.
    fn notify_waiters(&mut self, own: Seq, from: usize) -> Option<Next> {
        let seen = self.session.as_ref().map(|session| &session.state);
        let mut of_own = None;
        for fact in self.facts.get(from..).unwrap_or_default() {
            let Some((call, next)) = next_step(fact, seen, &self.results) else {
                continue;
            };
            if call == own {
                of_own = Some(next);
            } else if let Some(waiter) = self.waiters.remove(&call) {
                // The receiver may be dropped already.
                let _ = waiter.send(next);
            }
        }
        of_own
    }
}

fn broken() -> ToolError {
    ToolError::Other("the rules of the session contradict themselves".to_owned())
}

/// Returns the current time. The session orders its timestamps, so a clock that is set back is
/// harmless.
fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let us = since.map_or(0, |since| since.as_micros());
    Timestamp(i64::try_from(us).unwrap_or(i64::MAX))
}

/// The agent name of a dispatcher's own session.
pub(super) const DISPATCHER: &str = "dispatcher";

/// The program and version in the record.
const PROGRAM: &str = concat!("recount ", env!("CARGO_PKG_VERSION"));

impl Clone for Pipeline {
    /// Begins a session of its own.
    fn clone(&self) -> Pipeline {
        Pipeline::default()
    }
}

impl fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pipeline").finish_non_exhaustive()
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
#[path = "pipeline_tests.rs"]
mod tests;
