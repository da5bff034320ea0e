//! Telling whoever listens in this process what went on record.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::{broadcast, mpsc, oneshot};

use super::notices::{Notices, is_news};
use crate::ledger::{Ledger, Recorded};
use crate::session::{Event, Observation, SessionId};
use crate::tool::{Emitted, Listeners, Subscription, ToolEvent, hear};

/// What a closure's task is told, in its order.
pub(in crate::engine) enum ToHear {
    Recorded(Arc<Recorded>),
    /// Somebody waits until it has heard everything before this.
    Everything(oneshot::Sender<()>),
}

/// Tells whoever listens in this process what went on record.
#[derive(Clone)]
pub(in crate::engine) struct Publisher {
    updates: broadcast::Sender<Arc<Recorded>>,
    news: Option<mpsc::UnboundedSender<ToHear>>,
    listeners: Arc<Listeners<Listening>>,
    /// Where the closures' tasks run, whoever subscribes; none where the engine was opened outside
    /// a runtime.
    runtime: Option<Handle>,
}

/// The way to a closure that hears events of tools.
#[derive(Clone)]
struct Listening {
    /// The one session of which it hears.
    only: Option<SessionId>,
    told: mpsc::UnboundedSender<ToHear>,
}

impl Publisher {
    /// How many updates a slow subscriber may fall behind before it loses the oldest.
    const UPDATES: usize = 4096;

    /// Begins to tell; the closures hear of what is on `ledger`.
    pub(in crate::engine) fn start(notices: Notices, ledger: &Ledger) -> Publisher {
        let (updates, _) = broadcast::channel(Publisher::UPDATES);
        let news = notices.are_heard().then(|| {
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

    /// Has a closure hear the events of a type, from a task of its own.
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
                    ToHear::Recorded(_) if subscribed.strong_count() == 0 => break,
                    ToHear::Recorded(it) => hear(it.session, &it.fact, &listener),
                    ToHear::Everything(heard) => _ = heard.send(()),
                }
            }
        };
        match self.runtime.clone().or_else(|| Handle::try_current().ok()) {
            Some(runtime) => drop(runtime.spawn(hearing)),
            // Nothing runs without one, so there is nothing to hear.
            None => tracing::warn!("a closure subscribed to events where no tokio runtime is"),
        }
        self.listeners.add(E::NAME, Listening { only, told }, alive)
    }

    /// As [`try_on`](Publisher::try_on), of a closure that cannot fail.
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

    /// `taken` says that whoever made the call has its outcome already.
    pub(in crate::engine) fn publish(&self, recorded: &Arc<Recorded>, taken: bool) {
        let session = recorded.session;
        let news = self.news.as_ref().filter(|_| !taken);
        let news = news.filter(|_| is_news(&recorded.fact));
        // Nobody may be listening, which is nobody's fault.
        if let Some(news) = news {
            let _ = news.send(ToHear::Recorded(recorded.clone()));
        }
        if let Event::Observed(Observation::ToolEventEmitted(it)) = &recorded.fact.event {
            let listening = self.listeners.of(&it.name).into_iter();
            for Listening { told, .. } in
                listening.filter(|it| it.only.is_none_or(|it| it == session))
            {
                let _ = told.send(ToHear::Recorded(recorded.clone()));
            }
        }
        let _ = self.updates.send(recorded.clone());
    }

    /// Completes when the closures have heard all that was published before.
    pub(in crate::engine) async fn heard(&self) {
        let listening = self.listeners.all().into_iter().map(|it| it.told);
        for told in self.news.iter().cloned().chain(listening) {
            let (heard, everything) = oneshot::channel();
            if told.send(ToHear::Everything(heard)).is_ok() {
                let _ = everything.await;
            }
        }
    }
}
