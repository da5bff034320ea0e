//! The subscription to recorded facts.

use std::sync::Arc;

use tokio::sync::broadcast;

use crate::engine::inputs::registry::TaskRef;
use crate::ledger::Recorded;
use crate::session::{Event, Observation, SessionId};
use crate::tool::ToolEvent;

/// A subscription to facts as they are recorded.
pub struct Updates {
    receiver: broadcast::Receiver<Arc<Recorded>>,
    /// The only session to follow, and its task, whose end ends the subscription.
    only: Option<(SessionId, TaskRef)>,
}

impl Updates {
    pub(in crate::engine) fn of_all(receiver: broadcast::Receiver<Arc<Recorded>>) -> Updates {
        Updates {
            receiver,
            only: None,
        }
    }

    /// Subscribes to the facts of one session, until its task ends.
    pub(in crate::engine) fn of_one(
        receiver: broadcast::Receiver<Arc<Recorded>>,
        session: SessionId,
        task: TaskRef,
    ) -> Updates {
        Updates {
            receiver,
            only: Some((session, task)),
        }
    }

    /// Returns the next fact; `None` once the engine is dropped, or the session is closed or its
    /// task has ended.
    ///
    /// A subscriber that falls thousands of facts behind loses the oldest; the journal has them
    /// all.
    pub async fn next(&mut self) -> Option<Arc<Recorded>> {
        loop {
            let received = match &self.only {
                None => self.receiver.recv().await,
                Some((_, task)) => tokio::select! {
                    biased;
                    received = self.receiver.recv() => received,
                    () = task.over.cancelled() => return None,
                    () = task.inbox.closed() => return None,
                },
            };
            match received {
                Ok(recorded) => match &self.only {
                    Some((only, _)) if *only != recorded.session => {}
                    Some(_) | None => return Some(recorded),
                },
                Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }

    /// Waits for an event for which `wanted` is true.
    pub async fn wait_for(&mut self, wanted: impl Fn(&Event) -> bool) -> Option<Arc<Recorded>> {
        loop {
            let recorded = self.next().await?;
            if wanted(&recorded.fact.event) {
                return Some(recorded);
            }
        }
    }

    /// Waits for the next event of this type that a tool emits.
    ///
    /// The event does not name its call. To get both, use [`wait_for`](Updates::wait_for) and
    /// [`ToolEvent::read`].
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
    /// #[tool("Ships the order")]
    /// async fn ship(context: ToolContext) -> Result<(), ToolError> {
    ///     context.emit(&Shipped { by: "train".into() })
    /// }
    ///
    /// let agent = Agent::new().model("none").tools(ship());
    /// let engine = Engine::in_memory().agent("a", agent).open().await?;
    /// let session = engine.session("a").open().await?;
    /// let mut updates = session.subscribe();
    /// let called = session.call_function("ship", json!({}), Actor::embedder("test")).await;
    /// assert_eq!(called, Ok(json!({"output": null})));
    /// let event = updates.next_event::<Shipped>().await;
    /// assert!(event.is_some_and(|event| event.is_ok_and(|it| it.by == "train")));
    /// # Ok::<(), recount::engine::Error>(())
    /// # }).unwrap();
    /// ```
    pub async fn next_event<E: ToolEvent>(&mut self) -> Option<Result<E, serde_json::Error>> {
        loop {
            if let Some(event) = E::read(&self.next().await?.fact.event) {
                return Some(event);
            }
        }
    }

    /// Waits for the end of the model's turn and returns its text.
    pub async fn turn(&mut self) -> Option<String> {
        let mut said = String::new();
        loop {
            match &self.next().await?.fact.event {
                Event::Observed(Observation::ModelOutputReceived(output)) => {
                    said.push_str(&output.text)
                }
                Event::Observed(Observation::TurnCompleted(_)) => return Some(said),
                Event::Observed(_) | Event::Decided(_) => {}
            }
        }
    }
}
