//! Closures for the events that tools emit.

use std::fmt::Display;

use crate::engine::facade::handle::LiveHandle;
use crate::engine::serving::engine::Engine;
use crate::tool::{Emitted, Subscription, ToolEvent};

impl Engine {
    /// Calls a closure for the events of a type that tools emit, in all sessions, until the
    /// subscription is dropped.
    ///
    /// It gets each event once that is on disk, in order, in its own task. A slow closure delays
    /// nothing else. A panic is logged and affects no tool, call or other closure. A
    /// [shutdown](Engine::shutdown) waits until it has handled what is recorded by then. After any
    /// other end of the process, unhandled events are only in the journal.
    ///
    /// ```
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    /// # runtime.unwrap().block_on(async {
    /// use recount::prelude::*;
    /// use recount::tool::ToolEvent;
    /// use serde::{Deserialize, Serialize};
    ///
    /// #[derive(Serialize, Deserialize)]
    /// struct Shipped { by: String }
    ///
    /// impl ToolEvent for Shipped {
    ///     const NAME: &'static str = "shipped";
    /// }
    ///
    /// /// Ships the order.
    /// #[tool]
    /// async fn ship(context: ToolContext) -> Result<(), ToolError> {
    ///     context.emit(&Shipped { by: "train".into() })
    /// }
    ///
    /// let engine = Engine::in_memory()
    ///     .agent("shop", Agent::new().model("none").tools(ship()))
    ///     .open()
    ///     .await?;
    /// let (heard, mut ways) = tokio::sync::mpsc::unbounded_channel();
    /// let listening = engine.on::<Shipped>(move |emitted| {
    ///     let _ = heard.send(emitted.event.by.clone());
    /// });
    /// let session = engine.session("shop").open().await?;
    /// session.call_function("ship", json!({}), Actor::embedder("test")).await.unwrap();
    /// assert_eq!(ways.recv().await.as_deref(), Some("train"));
    /// drop(listening);
    /// assert_eq!(ways.recv().await, None);
    /// # Ok::<(), recount::engine::Error>(())
    /// # }).unwrap();
    /// ```
    pub fn on<E: ToolEvent + 'static>(
        &self,
        listener: impl Fn(&Emitted<E>) + Send + Sync + 'static,
    ) -> Subscription {
        self.inner.publisher.on(None, listener)
    }

    /// Does the same as [`on`](Engine::on) for a closure that may fail; its error is logged.
    pub fn try_on<E: ToolEvent + 'static, P: Display + 'static>(
        &self,
        listener: impl Fn(&Emitted<E>) -> Result<(), P> + Send + Sync + 'static,
    ) -> Subscription {
        self.inner.publisher.try_on(None, listener)
    }
}

impl LiveHandle {
    /// Calls a closure for the events of a type that tools of this session emit; see
    /// [`Engine::on`].
    ///
    /// ```
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    /// # runtime.unwrap().block_on(async {
    /// use recount::prelude::*;
    /// use recount::tool::EndSession;
    ///
    /// let agent = Agent::new().model("none").tools(T::defaults());
    /// let engine = Engine::in_memory().agent("a", agent).open().await?;
    /// let session = engine.session("a").open().await?;
    /// let (heard, mut reasons) = tokio::sync::mpsc::unbounded_channel();
    /// let _listening = session
    ///     .try_on::<EndSession, _>(move |emitted| heard.send(emitted.event.reason.clone()));
    /// let goodbye = json!({"reason": "goodbye", "confirmed": true});
    /// session.call_function("endSession", goodbye, Actor::embedder("test")).await.unwrap();
    /// assert_eq!(reasons.recv().await.as_deref(), Some("goodbye"));
    /// # Ok::<(), recount::engine::Error>(())
    /// # }).unwrap();
    /// ```
    pub fn on<E: ToolEvent + 'static>(
        &self,
        listener: impl Fn(&Emitted<E>) + Send + Sync + 'static,
    ) -> Subscription {
        self.engine.inner.publisher.on(Some(self.session), listener)
    }

    /// Does the same as [`on`](LiveHandle::on) for a closure that may fail; its error is logged.
    pub fn try_on<E: ToolEvent + 'static, P: Display + 'static>(
        &self,
        listener: impl Fn(&Emitted<E>) -> Result<(), P> + Send + Sync + 'static,
    ) -> Subscription {
        self.engine
            .inner
            .publisher
            .try_on(Some(self.session), listener)
    }
}
