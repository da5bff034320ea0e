//! The publication of records to the listeners of this process.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::{broadcast, mpsc, oneshot};

use super::notices::{Notices, is_news};
use crate::ledger::{Ledger, Recorded};
use crate::session::{Event, Observation, SessionId};
use crate::tool::{Emitted, Listeners, Subscription, ToolEvent, hear};

/// An item in the queue of a closure's task.
pub(in crate::engine) enum QueueItem {
    Recorded(Arc<Recorded>),
    /// A caller waits until everything before this is handled.
    Everything(oneshot::Sender<()>),
}

/// The publisher of records to the listeners of this process.
#[derive(Clone)]
pub(in crate::engine) struct Publisher {
    updates: broadcast::Sender<Arc<Recorded>>,
    news: Option<mpsc::UnboundedSender<QueueItem>>,
    listeners: Arc<Listeners<Listening>>,
    /// The runtime of the closures' tasks. None if the engine was opened outside a runtime.
    runtime: Option<Handle>,
}

/// The queue of a closure for tool events.
#[derive(Clone)]
struct Listening {
    /// The only session whose events it gets, if set.
    only: Option<SessionId>,
    told: mpsc::UnboundedSender<QueueItem>,
}

impl Publisher {
    /// The number of updates that a slow subscriber may lag behind. Beyond it, the oldest are lost.
    const UPDATES: usize = 4096;

    /// Starts publishing. The closures read details from `ledger`.
    pub(in crate::engine) fn start(notices: Notices, ledger: &Ledger) -> Publisher {
        let (updates, _) = broadcast::channel(Publisher::UPDATES);
        let news = notices.has_any().then(|| {
            let (news, heard) = mpsc::unbounded_channel();
            tokio::spawn(notices.hear(ledger.clone(), heard));
            news
        });
        Publisher {
            updates,
            news,
            listeners: Arc::default(),
            runtime: Handle::try_current().ok(),
        }
    }

    pub(in crate::engine) fn subscribe(&self) -> broadcast::Receiver<Arc<Recorded>> {
        self.updates.subscribe()
    }

    /// Calls a closure for the events of a type, from its own task.
    pub(in crate::engine) fn try_on<E: ToolEvent + 'static, P: fmt::Display + 'static>(
        &self,
        only: Option<SessionId>,
        listener: impl Fn(&Emitted<E>) -> Result<(), P> + Send + Sync + 'static,
    ) -> Subscription {
        let (told, mut to_hear) = mpsc::unbounded_channel();
        let alive = Arc::new(());
        let subscribed = Arc::downgrade(&alive);
        let hearing = async move {
            while let Some(next) = to_hear.recv().await {
                match next {
                    QueueItem::Recorded(_) if subscribed.strong_count() == 0 => break,
                    QueueItem::Recorded(it) => hear(it.session, &it.fact, &listener),
                    QueueItem::Everything(heard) => _ = heard.send(()),
                }
            }
        };
        match self.runtime.clone().or_else(|| Handle::try_current().ok()) {
            Some(runtime) => drop(runtime.spawn(hearing)),
            // Nothing runs without a runtime, so there are no events.
            None => tracing::warn!("a closure subscribed to events where no tokio runtime is"),
        }
        self.listeners.add(E::NAME, Listening { only, told }, alive)
    }

    /// Does the same as [`try_on`](Publisher::try_on), for a closure that cannot fail.
    pub(in crate::engine) fn on<E: ToolEvent + 'static>(
        &self,
        only: Option<SessionId>,
        listener: impl Fn(&Emitted<E>) + Send + Sync + 'static,
    ) -> Subscription {
        self.try_on(only, move |emitted| {
            listener(emitted);
            Ok::<(), Infallible>(())
        })
    }

    /// Publishes a record. `taken` is true if the caller of a function has its outcome already.
    pub(in crate::engine) fn publish(&self, recorded: &Arc<Recorded>, taken: bool) {
        let session = recorded.session;
        let news = self.news.as_ref().filter(|_| !taken);
        let news = news.filter(|_| is_news(&recorded.fact));
        // Sending fails only if there is no receiver.
        if let Some(news) = news {
            let _ = news.send(QueueItem::Recorded(recorded.clone()));
        }
        if let Event::Observed(Observation::ToolEventEmitted(it)) = &recorded.fact.event {
            let listening = self.listeners.of(&it.name).into_iter();
            for Listening { told, .. } in
                listening.filter(|it| it.only.is_none_or(|it| it == session))
            {
                let _ = told.send(QueueItem::Recorded(recorded.clone()));
            }
        }
        let _ = self.updates.send(recorded.clone());
    }

    /// Completes once the closures have handled everything published before.
    pub(in crate::engine) async fn heard(&self) {
        let listening = self.listeners.all().into_iter().map(|it| it.told);
        for told in self.news.iter().cloned().chain(listening) {
            let (heard, everything) = oneshot::channel();
            if told.send(QueueItem::Everything(heard)).is_ok() {
                let _ = everything.await;
            }
        }
    }
}
