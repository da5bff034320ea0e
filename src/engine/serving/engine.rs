//! The engine: its agents, its sessions' tasks, and what they share.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument;
use uuid::Uuid;

use crate::control::{Look, Reloaded};
use crate::engine::agents::agent::Agent;
use crate::engine::agents::changed::ChangedAgents;
use crate::engine::agents::extractors::Turn;
use crate::engine::agents::prepared::Prepared;
use crate::engine::clock::Clock;
use crate::engine::connection::message_limit::Rest;
use crate::engine::connection::reconnecting::Reconnecting;
use crate::engine::effects::performer::Performer;
use crate::engine::effects::slots::Slots;
use crate::engine::error::Error;
use crate::engine::inputs::alarm::Alarm;
use crate::engine::inputs::back_off::BackOff;
use crate::engine::inputs::inbox::{Inbox, Input};
use crate::engine::inputs::left_open::LeftOpen;
use crate::engine::inputs::offers::Offers;
use crate::engine::inputs::registry::{Failure, Registry, TaskRef};
use crate::engine::live_media::media::Media;
use crate::engine::notify::notices::Notices;
use crate::engine::notify::publisher::Publisher;
use crate::engine::notify::updates::Updates;
use crate::engine::task::parts::{Connections, Running, Shared, Stream};
use crate::engine::task::retrying_journal::{self, SpaceWait};
use crate::engine::task::session_task::{Begin, SessionTask};
use crate::engine::task::yield_after_sync::YieldAfterSync;
use crate::ledger::{Ledger, PausedCall, Seal, SessionSummary, Tail};
use crate::session::{Seq, Session, SessionId, SpanOf};
use crate::tool::Temporary;

/// The number of messages of a connection that wait for their session, before the reader waits.
const INCOMING: usize = 256;

/// Sessions over one journal.
///
/// ```
/// # async fn example() -> Result<(), recount::engine::Error> {
/// use std::time::Duration;
/// use recount::prelude::*;
/// let support = Agent::new().model("gemini-3.8-live").tools(T::confirm(
///     T::simple("refund", "Refunds an order", |_| async { Ok(json!({"refunded": true})) }),
///     "Refund this order?",
/// ));
/// let engine = Engine::builder("./journal").agent("support", support).open().await?;
/// for waiting in engine.pending().await? {
///     engine.answer(waiting.id, ToolConfirmation::confirmed(), Actor::embedder("ada")).await?;
/// }
/// engine.shutdown(Duration::from_secs(20)).await
/// # }
/// ```
#[derive(Clone)]
pub struct Engine {
    pub(in crate::engine) inner: Arc<Inner>,
    /// The request of another process that this handle carries out.
    pub(in crate::engine) request: Option<Uuid>,
}

pub(in crate::engine) struct Inner {
    /// The server for operators' requests. Declared first, so that it is dropped before the
    /// journal.
    pub(in crate::engine) control: Mutex<Option<crate::control::Server>>,
    pub(in crate::engine) ledger: Ledger,
    /// The same journal for the sessions' tasks, which wait when the disk is full.
    pub(super) retrying_ledger: Ledger,
    pub(in crate::engine) room: SpaceWait,
    pub(in crate::engine) clock: Arc<dyn Clock>,
    pub(in crate::engine) agents: Mutex<BTreeMap<String, Arc<Prepared>>>,
    pub(in crate::engine) changed_agents: Arc<ChangedAgents>,
    pub(in crate::engine) registry: Arc<Registry>,
    pub(in crate::engine) publisher: Publisher,
    /// The slots for running tools.
    pub(in crate::engine) slots: Slots,
    /// Locked while the desk appends to a session without a task.
    pub(in crate::engine) desk_turns: Arc<tokio::sync::Mutex<()>>,
    /// The due times of sessions without a task.
    pub(in crate::engine) alarm: Arc<Alarm>,
    /// The work that ended tasks could not do, in a journal that several processes write.
    pub(super) left_open: Arc<LeftOpen>,
    /// The calls that clients may claim.
    pub(in crate::engine) offers: Arc<Offers>,
    /// The sessions whose task failed, in a journal that several processes write.
    pub(super) back_off: Arc<BackOff>,
    pub(in crate::engine) alarm_task: Mutex<Option<AbortOnDropHandle<()>>>,
    /// The task that takes over sessions of processes that are gone.
    pub(super) adopting: Mutex<Option<AbortOnDropHandle<()>>>,
    /// The task that applies pauses in a journal that several processes write.
    pub(super) observing: Mutex<Option<AbortOnDropHandle<()>>>,
    /// The tasks that ask tools for the results of paused calls, by agent.
    pub(in crate::engine) followers: Mutex<BTreeMap<String, AbortOnDropHandle<()>>>,
    /// Reads the configuration of the embedding program anew.
    pub(in crate::engine) reload: OnceLock<Reload>,
    /// Notes what an operator looks at.
    pub(in crate::engine) on_look: OnceLock<OnLook>,
}

/// Reads a configuration anew.
pub(in crate::engine) type Reload =
    Box<dyn Fn(Engine) -> BoxFuture<'static, Reloaded> + Send + Sync>;

/// Notes what an operator looks at. The error refuses it.
pub(in crate::engine) type OnLook =
    Box<dyn Fn(Look) -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

impl Engine {
    pub(in crate::engine) fn new(
        ledger: Ledger,
        clock: Arc<dyn Clock>,
        slots: Slots,
        notices: Notices,
    ) -> Engine {
        let publisher = Publisher::start(notices, &ledger);
        let room = SpaceWait::default();
        let inner = Inner {
            control: Mutex::default(),
            retrying_ledger: retrying_journal::ledger_of_tasks(&ledger, &room),
            ledger,
            room,
            clock,
            agents: Mutex::default(),
            changed_agents: Arc::default(),
            registry: Arc::default(),
            publisher,
            slots,
            desk_turns: Arc::default(),
            alarm: Arc::default(),
            left_open: Arc::default(),
            offers: Arc::default(),
            back_off: Arc::default(),
            alarm_task: Mutex::default(),
            adopting: Mutex::default(),
            observing: Mutex::default(),
            followers: Mutex::default(),
            reload: OnceLock::new(),
            on_look: OnceLock::new(),
        };
        Engine::of(Arc::new(inner))
    }

    pub(in crate::engine) fn of(inner: Arc<Inner>) -> Engine {
        Engine {
            inner,
            request: None,
        }
    }

    /// Returns a handle whose next record carries out a request of another process.
    pub(in crate::engine) fn for_request(&self, request: Uuid) -> Engine {
        Engine {
            inner: self.inner.clone(),
            request: Some(request),
        }
    }

    /// Returns an input that carries out the request of this handle, if it has one.
    pub(in crate::engine) fn input(&self, input: Input) -> Input {
        match self.request {
            Some(request) => Input::Requested(request, Box::new(input)),
            None => input,
        }
    }

    /// Registers an agent without starting owed effects.
    pub(in crate::engine) fn add(&self, name: String, agent: Agent) -> Result<(), Error> {
        let prepared = Arc::new(self.prepared(&name, agent)?);
        let mut agents = self.agents();
        // Another caller may have been faster.
        if agents.contains_key(&name) {
            let mistakes = vec![registered_twice(&name)];
            return Err(Error::Configuration { mistakes });
        }
        agents.insert(name, prepared);
        Ok(())
    }

    /// Checks that the agent could be registered.
    pub(in crate::engine) fn check(&self, name: &str, agent: Agent) -> Result<(), Error> {
        self.prepared(name, agent).map(drop)
    }

    pub(in crate::engine) fn prepared(&self, name: &str, agent: Agent) -> Result<Prepared, Error> {
        let mut mistakes = Vec::new();
        if self.agents().contains_key(name) {
            mistakes.push(registered_twice(name));
        }
        match agent.prepare(name, &self.inner.ledger) {
            Ok(prepared) if mistakes.is_empty() => return Ok(prepared),
            Ok(_) => {}
            Err(others) => mistakes.extend(others),
        }
        Err(Error::Configuration { mistakes })
    }

    pub(in crate::engine) fn agents(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Prepared>>> {
        let agents = self.inner.agents.lock();
        agents.unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns every call that waits for a response from outside.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub async fn paused(&self) -> Result<Vec<PausedCall>, Error> {
        Ok(self.inner.ledger.paused().await?)
    }

    /// Returns every session, with its labels and its external id.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub async fn sessions(&self) -> Result<Vec<SessionSummary>, Error> {
        Ok(self.inner.ledger.sessions().await?)
    }

    /// Subscribes to the records of all sessions. Each arrives once it is recorded.
    pub fn subscribe(&self) -> Updates {
        Updates::of_all(self.inner.publisher.subscribe())
    }

    /// The ledger of this engine's journal, for reading its sessions.
    pub fn ledger(&self) -> &Ledger {
        &self.inner.ledger
    }

    /// Rejects a request if the disk has no room to record it.
    pub(in crate::engine) fn expect_room(&self) -> Result<(), Error> {
        Ok(self.inner.ledger.journal().room()?)
    }

    /// Sends an input to the session's task and waits for its reply.
    pub(in crate::engine) async fn ask_task<T>(
        &self,
        session: SessionId,
        input: impl FnOnce(oneshot::Sender<Result<T, Error>>) -> Input,
    ) -> Result<T, Error> {
        self.expect_room()?;
        let agent = self.agent_of(session).await?;
        self.inner.ledger.own(session).await?;
        let (reply, answer) = oneshot::channel();
        let input = self.input(input(reply));
        let task = self.send(session, agent, Begin::Resume, input);
        answer.await.map_err(|_| task.stopped(session))?
    }

    pub(in crate::engine) fn send(
        &self,
        session: SessionId,
        agent: Arc<Prepared>,
        begin: Begin,
        input: Input,
    ) -> TaskRef {
        self.inner.registry.send(session, input, |input| {
            self.spawn(session, agent, begin, input)
        })
    }

    pub(in crate::engine) fn spawn(
        &self,
        id: SessionId,
        agent: Arc<Prepared>,
        begin: Begin,
        first: Input,
    ) -> TaskRef {
        let agent = self.newest(id, agent);
        let (own, inbox) = Inbox::open();
        // Before the task begins: a task without input retires, and records that.
        let _ = own.send(first);
        let (incoming_sender, incoming) = mpsc::channel(INCOMING);
        let failure: Arc<OnceLock<Failure>> = Arc::default();
        let over = CancellationToken::new();
        let media = Arc::new(Media::new(
            self.inner.clock.clone(),
            agent.withholds_input.then(|| agent.non_blocking.clone()),
        ));
        let yield_after_sync = YieldAfterSync::default();
        let task = SessionTask {
            id,
            agent,
            stream: Stream {
                ledger: self.inner.retrying_ledger.clone(),
                room: self.inner.room.clone(),
                session: Session::new(id),
                tail: Tail::EMPTY,
                folded: Seq(0),
                seal: Seal::default(),
                latest: Vec::new(),
                pauses_known: 0,
                owned: None,
                requested: None,
            },
            connections: Connections {
                socket: None,
                sockets: 0,
                relay: None,
                heard: 0,
                opening: None,
                reconnecting: Reconnecting::default(),
                incoming,
                incoming_sender,
                rest: Rest::default(),
                kept: Vec::new(),
                media: media.clone(),
                silence: None,
                silences: 0,
            },
            running: Running {
                performer: Performer::default(),
                timer: None,
                attached: None,
                callers: BTreeMap::new(),
                asking: BTreeMap::new(),
                turn: Turn::default(),
                extracting: Vec::new(),
                temporary: Temporary::default(),
                watchers: Arc::default(),
            },
            shared: Shared {
                desk_turns: self.inner.desk_turns.clone(),
                clock: self.inner.clock.clone(),
                changed_agents: self.inner.changed_agents.clone(),
                publisher: self.inner.publisher.clone(),
                registry: self.inner.registry.clone(),
                slots: self.inner.slots.clone(),
                alarm: self.inner.alarm.clone(),
                left_open: self.inner.left_open.clone(),
                back_off: self.inner.back_off.clone(),
            },
            failure: failure.clone(),
            requested: None,
            draining: None,
            handles: 0,
            yield_after_sync: yield_after_sync.clone(),
            over: over.clone(),
            inbox,
            own: own.clone(),
        };
        // The ids of the session's OpenTelemetry span, so that log lines can be correlated with it.
        let span = tracing::info_span!(
            "session",
            session = %id,
            trace_id = %id.trace_id(),
            span_id = %id.span_id(SpanOf::Session),
        );
        let serving = yield_after_sync.serve(Box::pin(Box::new(task).serve(begin)));
        tokio::spawn(serving.instrument(span));
        TaskRef {
            inbox: own,
            failure,
            media,
            over,
        }
    }

    /// Returns the agent with the policies of now: they may have changed since the caller looked
    /// it up. The registry is locked meanwhile, so a change reaches every other task.
    fn newest(&self, session: SessionId, agent: Arc<Prepared>) -> Arc<Prepared> {
        if let Some(changed) = self.inner.changed_agents.of(session) {
            return changed;
        }
        self.agents().get(&agent.name).cloned().unwrap_or(agent)
    }

    pub(in crate::engine) async fn agent_of(
        &self,
        session: SessionId,
    ) -> Result<Arc<Prepared>, Error> {
        if let Some(changed) = self.inner.changed_agents.of(session) {
            return Ok(changed);
        }
        let opened = self.inner.ledger.opened(session).await?;
        let (_, opened) = opened.ok_or(crate::ledger::Error::UnknownSession { session })?;
        self.agent(&opened.agent)
    }

    pub(in crate::engine) fn agent(&self, name: &str) -> Result<Arc<Prepared>, Error> {
        let agents = self.agents();
        agents.get(name).cloned().ok_or_else(|| {
            let registered = agents.keys().cloned().collect::<Vec<_>>().join(", ");
            Error::UnknownAgent {
                name: name.to_owned(),
                registered,
            }
        })
    }
}

fn registered_twice(name: &str) -> String {
    format!(
        "the agent {name:?} is registered twice; \
         further sessions of it begin with engine.session({name:?})"
    )
}
