//! Hearing of the events that tools emit, by closures.

use std::fmt::Display;

use crate::engine::facade::handle::LiveHandle;
use crate::engine::serving::engine::Engine;
use crate::tool::{Emitted, Subscription, ToolEvent};

impl Engine {
    /// Has a closure hear the events of a type that tools emit, in all sessions, as long as the
    /// subscription is there.
    ///
    /// It hears each event once that is on the disk, in order, from a task of its own: one that
    /// takes long delays nothing else. Where it panics, that is logged, and neither the tool, nor
    /// the call, nor another closure hears of it. A [shutdown](Engine::shutdown) lets it hear first
    /// what is on record by then; what a process that ended otherwise had not heard stays in the
    /// journal.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
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
    /// let engine = Engine::in_memory().agent("shop", Agent::new().model("none").tools(ship())).open().await?;
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

    /// As [`on`](Engine::on), of a closure that may fail; its error is logged.
    pub fn try_on<E: ToolEvent + 'static, P: Display + 'static>(
        &self,
        listener: impl Fn(&Emitted<E>) -> Result<(), P> + Send + Sync + 'static,
    ) -> Subscription {
        self.inner.publisher.try_on(None, listener)
    }
}

impl LiveHandle {
    /// Has a closure hear the events of a type that tools of this session emit; see [`Engine::on`].
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use recount::prelude::*;
    /// use recount::tool::EndSession;
    ///
    /// let agent = Agent::new().model("none").tools(T::defaults());
    /// let engine = Engine::in_memory().agent("a", agent).open().await?;
    /// let session = engine.session("a").open().await?;
    /// let (heard, mut reasons) = tokio::sync::mpsc::unbounded_channel();
    /// let _listening = session.try_on::<EndSession, _>(move |emitted| heard.send(emitted.event.reason.clone()));
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

    /// As [`on`](LiveHandle::on), of a closure that may fail; its error is logged.
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
