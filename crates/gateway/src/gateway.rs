//! The gateway: its start, its router, and its end.

use recount::journal::causes;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use recount::engine::{Engine, Error};
use recount::ledger;
use recount::session::{Actor, Rejection};
use tokio::sync::Semaphore;
use tokio::time::{interval, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use crate::entrance::Entrance;
use crate::gaps::{self, Gaps};
use crate::handshake::{self, Inner};
use crate::index::Index;
use crate::outages::Outages;
use crate::relay::{Complaints, Shared};
use crate::sessions::Sessions;
use crate::settings::Settings;

/// The time for the last messages of a connection that the gateway ends.
const LAST_MESSAGES: Duration = Duration::from_secs(5);

/// The longest time between two looks at sessions without a client.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// A gateway that is running.
#[derive(Clone)]
pub struct Gateway(Arc<Inner>);

/// The reason why a gateway could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The index of sessions cannot be used.
    #[error("the index of the gateway's sessions cannot be used: {0}")]
    Index(#[source] std::io::Error),
    /// The agent is unknown, or the journal cannot be read.
    #[error(transparent)]
    Engine(#[from] recount::engine::Error),
}

impl Gateway {
    /// Starts a gateway over the engine, and ends the claims that a killed process has left.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::sync::Arc;
    /// use recount::prelude::*;
    /// use recount_gateway::{AnyCredential, Gateway, Settings, Upstream};
    ///
    /// let agent = Agent::new().strict().tools_from_clients();
    /// let engine = Engine::in_memory().agent("support", agent).open().await?;
    /// let settings = Settings {
    ///     upstream: Upstream::Url("ws://127.0.0.1:8787".to_owned()),
    ///     ..Settings::of_agent("support")
    /// };
    /// let gateway = Gateway::start(engine, settings, Arc::new(AnyCredential)).await?;
    /// let app: axum::Router = axum::Router::new().nest_service("/live", gateway.router());
    /// # drop(app);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`StartError`], for example for an agent that the engine does not have.
    pub async fn start(
        engine: Engine,
        settings: Settings,
        entrance: Arc<dyn Entrance>,
    ) -> Result<Gateway, StartError> {
        engine.named_in_policies(&settings.agent)?;
        let index = Index::open(settings.index.as_deref(), settings.keep);
        let index = index.map_err(StartError::Index)?;
        let ended = engine.end_relayed_claims().await?;
        if ended > 0 {
            tracing::warn!(
                calls = ended,
                "an earlier process left calls at clients in doubt"
            );
        }
        let sessions = Sessions::default();
        index
            .sessions()
            .into_iter()
            .for_each(|it| sessions.remember(it));
        let places = Arc::new(Semaphore::new(
            settings.connections.min(Semaphore::MAX_PERMITS),
        ));
        let gaps = Arc::<Gaps>::default();
        let recording = gaps::record_all(gaps.clone(), engine.clone());
        let recording = AbortOnDropHandle::new(tokio::spawn(recording));
        let shared = Arc::new(Shared {
            engine,
            entrance,
            settings,
            index: Arc::new(index),
            sessions,
            gaps,
            complaints: Complaints::default(),
            closing: CancellationToken::new(),
        });
        let closing = AbortOnDropHandle::new(tokio::spawn(close_left(shared.clone())));
        Ok(Gateway(Arc::new(Inner {
            shared,
            places,
            relays: TaskTracker::new(),
            is_draining: AtomicBool::new(false),
            outages: Outages::default(),
            _closing: closing,
            _recording: recording,
        })))
    }

    /// The router of the gateway. It takes the paths of Gemini's live API under any prefix.
    ///
    /// The server behind it must serve HTTP/1.1 with upgrades.
    pub fn router(&self) -> Router {
        let answer = |State(inner): State<Arc<Inner>>, request: Request| async move {
            handshake::answer(inner, request).await
        };
        Router::new().fallback(answer).with_state(self.0.clone())
    }

    /// Refuses new clients from now on, with 503.
    pub fn drain(&self) {
        self.0.is_draining.store(true, Ordering::Relaxed);
        self.0.relays.close();
    }

    /// Waits for the end of every connection, and ends the rest after `grace` with code 1001.
    pub async fn ended(&self, grace: Duration) {
        self.drain();
        if timeout(grace, self.0.relays.wait()).await.is_err() {
            self.0.shared.closing.cancel();
            let _ = timeout(LAST_MESSAGES, self.0.relays.wait()).await;
        }
        self.0.shared.gaps.record(&self.0.shared.engine).await;
    }
}

/// Closes the sessions whose client has not come back in time. Those that could not be closed are
/// tried again at the next look.
async fn close_left(shared: Arc<Shared>) {
    let keep = shared.settings.keep;
    let mut looks = interval(keep.min(LOOK_EVERY).max(Duration::from_millis(100)));
    loop {
        looks.tick().await;
        for session in shared.sessions.left_for(keep) {
            let by = Actor::embedder("gateway");
            let closed = shared
                .engine
                .close_session(session, "its client did not come back", by);
            match closed.await {
                Ok(_) => shared.sessions.forget(session),
                Err(error) if is_over(&error) => shared.sessions.forget(session),
                Err(error) => {
                    tracing::debug!(
                        %session, error = %causes(&error),
                        "a session without a client is not closed"
                    );
                }
            }
        }
    }
}

/// True if the session is closed or erased, so that there is nothing to try again.
fn is_over(error: &Error) -> bool {
    match error {
        Error::Refused(rejection) => *rejection == Rejection::SessionClosed,
        Error::Ledger(error) => matches!(error, ledger::Error::UnknownSession { .. }),
        _ => false,
    }
}
