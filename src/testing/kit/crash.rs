//! Simulated crashes: a point of a batch that a test names, and the wrappers that stop there.
//!
//! The engine itself contains none of this code. A [`CrashingJournal`](super::CrashingJournal),
//! [`CrashingTool`] and [`CrashingConnector`] that share one [`Crash`] see every append and every
//! effect. At the point, they call `reached` and then never return, and nothing is appended any
//! more. The callback can kill the process, or the test can drop its runtime.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use recount_journal::{Durability, Head};
use serde_json::Value;
use uuid::Uuid;

use crate::live::{
    ConnectError, Connection, ConnectionLost, Connector, FrameReceiver, FrameSender,
};
use crate::tool::{Ticket, ToolConfirmation, ToolContext, ToolError, ToolFunction, ToolOutcome};

/// One of the four points at which a batch can be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashPoint {
    /// No record of the batch is written.
    BeforeAppend,
    /// The batch is durable, but was not acknowledged. None of its effects has begun.
    Durable,
    /// An effect was performed, by a tool or as a frame, but its outcome is not recorded.
    AfterEffect,
    /// The batch is durable and was acknowledged. The engine continues.
    AfterObservation,
}

impl CrashPoint {
    /// All four points, in the order in which a batch reaches them.
    pub const ALL: [CrashPoint; 4] = [
        CrashPoint::BeforeAppend,
        CrashPoint::Durable,
        CrashPoint::AfterEffect,
        CrashPoint::AfterObservation,
    ];
}

/// The point at which a process stops.
///
/// ```
/// use recount::testing::{Crash, CrashPoint};
/// let crash = Crash::at(3, CrashPoint::Durable, || eprintln!("kill me now"));
/// assert_eq!(crash.batches(), 0);
/// ```
pub struct Crash {
    place: Option<(usize, CrashPoint)>,
    reached: Box<dyn Fn() + Send + Sync>,
    acknowledged: Box<dyn Fn(Uuid, Head) + Send + Sync>,
    begun: AtomicUsize,
    told: AtomicUsize,
    stopped: AtomicBool,
}

impl Crash {
    /// Stops at a point of the `batch`th append, counted from 1, and calls `reached` once.
    pub fn at(
        batch: usize,
        point: CrashPoint,
        reached: impl Fn() + Send + Sync + 'static,
    ) -> Crash {
        Crash {
            place: Some((batch, point)),
            reached: Box::new(reached),
            ..Crash::never()
        }
    }

    /// A crash that never stops the process. It only counts and reports appends.
    pub fn never() -> Crash {
        Crash {
            place: None,
            reached: Box::new(|| {}),
            acknowledged: Box::new(|_, _| {}),
            begun: AtomicUsize::new(0),
            told: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
        }
    }

    /// Calls `acknowledged` for each durable append, before the engine receives the
    /// acknowledgement.
    #[must_use]
    pub fn acknowledging(self, acknowledged: impl Fn(Uuid, Head) + Send + Sync + 'static) -> Crash {
        Crash {
            acknowledged: Box::new(acknowledged),
            ..self
        }
    }

    /// The number of appends that were begun.
    pub fn batches(&self) -> usize {
        self.begun.load(Ordering::SeqCst)
    }

    /// True if the point was reached.
    pub fn is_reached(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    /// Called at the start of an append. Returns the number of the append.
    pub(super) async fn append_begins(&self) -> usize {
        if self.is_reached() {
            return pending().await;
        }
        let batch = self.begun.fetch_add(1, Ordering::SeqCst) + 1;
        match self.place {
            Some((place, CrashPoint::BeforeAppend)) if batch == place => self.stop().await,
            // The batch before had no effect to wait for.
            Some((place, CrashPoint::AfterEffect)) if batch > place => self.stop().await,
            Some(_) | None => {}
        }
        batch
    }

    /// Called when an append is written, before it is acknowledged.
    pub(super) async fn append_kept(
        &self,
        batch: usize,
        session: Uuid,
        head: Head,
        durability: Durability,
    ) {
        match self.place {
            Some((place, CrashPoint::Durable)) if batch == place => self.stop().await,
            Some(_) | None => {}
        }
        if durability == Durability::Durable {
            (self.acknowledged)(session, head);
        }
        self.told.fetch_max(batch, Ordering::SeqCst);
        match self.place {
            Some((place, CrashPoint::AfterObservation)) if batch == place => self.report(),
            Some(_) | None => {}
        }
    }

    /// Called when a tool's body has run, or a frame was written.
    async fn effect_performed(&self) {
        if self.is_reached() {
            return pending().await;
        }
        match self.place {
            Some((place, CrashPoint::AfterEffect)) if self.told.load(Ordering::SeqCst) >= place => {
                self.stop().await;
            }
            Some(_) | None => {}
        }
    }

    async fn stop(&self) {
        self.report();
        pending().await
    }

    fn report(&self) {
        if !self.stopped.swap(true, Ordering::SeqCst) {
            (self.reached)();
        }
    }
}

impl std::fmt::Debug for Crash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Crash")
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}

/// A tool whose process may crash after its body has run, before the outcome is returned.
pub struct CrashingTool {
    inner: Arc<dyn ToolFunction>,
    crash: Arc<Crash>,
}

impl CrashingTool {
    /// Wraps a tool.
    pub fn new(inner: impl ToolFunction, crash: &Arc<Crash>) -> CrashingTool {
        CrashingTool {
            inner: Arc::new(inner),
            crash: crash.clone(),
        }
    }
}

#[async_trait]
impl ToolFunction for CrashingTool {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn description(&self) -> &str {
        self.inner.description()
    }

    fn parameters(&self) -> Option<Value> {
        self.inner.parameters()
    }

    async fn call(&self, args: Value) -> Result<Value, ToolError> {
        let result = self.inner.call(args).await;
        self.crash.effect_performed().await;
        result
    }

    async fn invoke(&self, args: Value, context: ToolContext) -> ToolOutcome {
        let outcome = self.inner.invoke(args, context).await;
        self.crash.effect_performed().await;
        outcome
    }

    async fn resume(
        &self,
        context: ToolContext,
        state: Value,
        answer: ToolConfirmation,
    ) -> ToolOutcome {
        let outcome = self.inner.resume(context, state, answer).await;
        self.crash.effect_performed().await;
        outcome
    }

    fn follows(&self) -> bool {
        self.inner.follows()
    }

    async fn follow(&self, ticket: &Ticket, state: Value) -> Option<Result<Value, ToolError>> {
        self.inner.follow(ticket, state).await
    }

    async fn call_off(&self, ticket: &Ticket, state: Value) {
        self.inner.call_off(ticket, state).await;
    }

    async fn shut_down(&self) {
        self.inner.shut_down().await;
    }

    fn requires_confirmation(&self) -> bool {
        self.inner.requires_confirmation()
    }

    fn confirmation_message(&self) -> Option<&str> {
        self.inner.confirmation_message()
    }

    fn is_long_running(&self) -> bool {
        self.inner.is_long_running()
    }
}

/// A connector whose process may crash after a frame was written, before `send` returns.
pub struct CrashingConnector<C> {
    inner: C,
    crash: Arc<Crash>,
}

impl<C: Connector> CrashingConnector<C> {
    /// Wraps a connector.
    pub fn new(inner: C, crash: &Arc<Crash>) -> CrashingConnector<C> {
        CrashingConnector {
            inner,
            crash: crash.clone(),
        }
    }
}

#[async_trait]
impl<C: Connector> Connector for CrashingConnector<C> {
    fn endpoint(&self) -> String {
        self.inner.endpoint()
    }

    fn model_name(&self, model: &str) -> String {
        self.inner.model_name(model)
    }

    async fn connect(&self) -> Result<Connection, ConnectError> {
        let Connection { sender, receiver } = self.inner.connect().await?;
        let sender = CrashingSender {
            inner: sender,
            crash: self.crash.clone(),
        };
        let receiver: Box<dyn FrameReceiver> = receiver;
        Ok(Connection {
            sender: Box::new(sender),
            receiver,
        })
    }
}

struct CrashingSender {
    inner: Box<dyn FrameSender>,
    crash: Arc<Crash>,
}

#[async_trait]
impl FrameSender for CrashingSender {
    async fn send(&mut self, frame: String) -> Result<(), ConnectionLost> {
        let sent = self.inner.send(frame).await;
        self.crash.effect_performed().await;
        sent
    }

    async fn close(&mut self) {
        self.inner.close().await;
    }
}
