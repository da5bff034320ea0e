//! Callbacks for events of tools whose calls a dispatcher runs itself.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;

use recount_session::Fact;

use super::dispatcher::ToolDispatcher;
use crate::run::listeners::{Emitted, Subscription, hear};
use crate::run::tool_event::ToolEvent;

impl ToolDispatcher {
    /// Registers a callback for the events of one type from tools that this dispatcher runs itself.
    ///
    /// The callback runs synchronously after the event is recorded and before the tool continues.
    /// If it panics, the panic is logged; the tool and other callbacks are not affected. A clone of
    /// the dispatcher begins without callbacks. In an engine, use `Engine::on`.
    ///
    /// ```
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    /// # runtime.unwrap().block_on(async {
    /// use std::sync::{Arc, Mutex};
    /// use recount_tool::{Escalated, T, ToolDispatcher};
    /// use serde_json::json;
    ///
    /// let mut tools = ToolDispatcher::new();
    /// tools.register(T::escalate())?;
    /// let heard = Arc::new(Mutex::new(Vec::new()));
    /// let list = heard.clone();
    /// let listening = tools.on::<Escalated>(move |emitted| {
    ///     list.lock().unwrap().push(emitted.event.reason.clone());
    /// });
    /// tools.call_function("escalate", json!({"reason": "angry"})).await.unwrap();
    /// drop(listening);
    /// tools.call_function("escalate", json!({"reason": "angrier"})).await.unwrap();
    /// assert_eq!(*heard.lock().unwrap(), ["angry"]);
    /// # Ok::<(), recount_tool::RegistrationError>(())
    /// # }).unwrap();
    /// ```
    pub fn on<E: ToolEvent + 'static>(
        &self,
        listener: impl Fn(&Emitted<E>) + Send + Sync + 'static,
    ) -> Subscription {
        self.try_on(move |emitted| {
            listener(emitted);
            Ok::<(), Infallible>(())
        })
    }

    /// Registers a callback like [`on`](Self::on) that may fail; its error is logged.
    pub fn try_on<E: ToolEvent + 'static, P: fmt::Display + 'static>(
        &self,
        listener: impl Fn(&Emitted<E>) -> Result<(), P> + Send + Sync + 'static,
    ) -> Subscription {
        let callback = move |session, fact: &Fact| hear(session, fact, &listener);
        self.pipeline.on(E::NAME, Arc::new(callback))
    }
}
