//! The service behind the routes: the engine, the access and what requests share.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use recount::Engine;
use recount_evidence::StatusBoard;
use recount_journal::Error as JournalError;
use recount_notify::Notifier;
use recount_reads::Recorder;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::access::Access;
use crate::catalogue::Catalogue;
use crate::driving::{HeldSessions, PendingWatch, Places};
use crate::metrics::Counters;
use crate::requests::{Answers, BODY_BYTES_MAX, BODY_TIME_MAX};

/// The maximum number of requests that wait for an outcome or for a call to claim.
const WAITS_MAX: usize = 1024;

/// The default maximum number of waiting requests of one principal. A fleet of workers may share a
/// token.
const WAITS_EACH: usize = 256;

/// The default maximum number of streams.
const STREAMS_MAX: usize = 256;

/// The default maximum number of streams of one principal.
const STREAMS_EACH: usize = 64;

/// The time within which the journal must tell its position: less than a balancer waits.
const JOURNAL_WITHIN: Duration = Duration::from_secs(2);

/// The maximum number of sessions that are folded for their calls at the same time. Each takes up
/// to a page of calls in memory, or all calls of a session for the audit.
const PROJECTIONS_MAX: usize = 8;

/// The maximum number of them for one principal.
const PROJECTIONS_EACH: usize = 4;

/// An HTTP service over an engine, with its limits. [`router`](crate::router) is the short form
/// with the defaults.
///
/// ```
/// # async fn example() -> Result<(), recount::engine::Error> {
/// use recount::Engine;
/// use recount_server::{Access, Service};
///
/// let engine = Engine::in_memory().open().await?;
/// let service = Service::new(engine, Access::single_user("ada")).body_max(64 << 10);
/// let router = service.clone().router();
/// // On SIGTERM: requests that change something get 503 from now on.
/// service.drain();
/// # let _ = router;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Service {
    pub(crate) engine: Engine,
    pub(crate) access: Arc<Access>,
    pub(crate) catalogue: Catalogue,
    pub(crate) answers: Arc<Answers>,
    pub(crate) held: Arc<HeldSessions>,
    /// The changes of what waits for an answer.
    pub(crate) pending: PendingWatch,
    /// The places of waiting requests.
    pub(crate) waits: Places,
    /// The places of streams.
    pub(crate) streams: Places,
    /// The places of requests that fold a session for its calls.
    pub(crate) projections: Places,
    pub(crate) counters: Arc<Counters>,
    pub(crate) body_max: usize,
    /// The maximum time for the body of a request.
    pub(crate) body_time: Duration,
    /// The OpenAPI document, set once the routes are known.
    pub(crate) document: Arc<OnceLock<String>>,
    /// The notifications, if the service has any.
    pub(crate) notifier: Option<Notifier>,
    /// The recorder of reads, if they are recorded.
    pub(crate) reads: Option<Recorder>,
    /// The status of the checkpoints, if the service makes any.
    pub(crate) evidence: Option<StatusBoard>,
    draining: Arc<watch::Sender<bool>>,
}

impl Service {
    /// Creates a service over the engine.
    #[must_use]
    pub fn new(engine: Engine, access: Access) -> Service {
        Service {
            catalogue: Catalogue::new(engine.ledger().clone()),
            pending: PendingWatch::new(engine.ledger().clone()),
            engine,
            access: Arc::new(access),
            answers: Arc::default(),
            held: Arc::default(),
            waits: Places::new(WAITS_MAX, WAITS_EACH),
            streams: Places::new(STREAMS_MAX, STREAMS_EACH),
            projections: Places::new(PROJECTIONS_MAX, PROJECTIONS_EACH),
            counters: Arc::default(),
            body_max: BODY_BYTES_MAX,
            body_time: BODY_TIME_MAX,
            document: Arc::default(),
            notifier: None,
            reads: None,
            evidence: None,
            draining: Arc::new(watch::Sender::new(false)),
        }
    }

    /// Sets the maximum size of a request's body, in bytes. Defaults to 4 MiB.
    #[must_use]
    pub fn body_max(self, bytes: usize) -> Service {
        Service {
            body_max: bytes,
            ..self
        }
    }

    /// Sets the maximum time for the body of a request. A slower one gets 408. Defaults to 30 s.
    #[must_use]
    pub fn body_time(self, time: Duration) -> Service {
        Service {
            body_time: time,
            ..self
        }
    }

    /// Sets the maximum number of streams at the same time, such as those of records. The next one
    /// gets 429. Defaults to 256.
    #[must_use]
    pub fn streams_max(self, streams: usize) -> Service {
        Service {
            streams: self.streams.max(streams),
            ..self
        }
    }

    /// Sets the maximum number of streams of one principal at the same time. The next one gets 429.
    /// Defaults to 64.
    #[must_use]
    pub fn streams_of_each(self, streams: usize) -> Service {
        Service {
            streams: self.streams.each(streams),
            ..self
        }
    }

    /// Sets the maximum number of requests of one principal that wait at the same time for an
    /// outcome or for a call to claim. The next one gets 429. Defaults to 256.
    #[must_use]
    pub fn waits_of_each(self, waits: usize) -> Service {
        Service {
            waits: self.waits.each(waits),
            ..self
        }
    }

    /// Shows the sinks of notifications to operators, who may send dead letters again.
    #[must_use]
    pub fn notifications(self, notifier: Notifier) -> Service {
        Service {
            notifier: Some(notifier),
            ..self
        }
    }

    /// Records every read of sessions, and every attempt that is refused, in an access journal. An
    /// answer goes out once its read is durable.
    ///
    /// ```
    /// # async fn example(journal: std::path::PathBuf) -> Result<(), Box<dyn std::error::Error>> {
    /// use std::sync::Arc;
    /// use recount::Engine;
    /// use recount::engine::SystemClock;
    /// use recount::journal::DiskJournal;
    /// use recount_reads::{Recorder, Settings};
    /// use recount_server::{Access, Service};
    ///
    /// let engine = Engine::builder(&journal).open().await?;
    /// let beside = Arc::new(DiskJournal::open(journal.with_extension("access"))?);
    /// let clock = SystemClock::shared();
    /// let recorder = Recorder::start(beside, clock, Settings::default()).await?;
    /// let service = Service::new(engine, Access::none()).recording_reads(recorder.clone());
    /// // At the end, before the journal beside is closed.
    /// recorder.stop().await;
    /// # let _ = service;
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn recording_reads(self, recorder: Recorder) -> Service {
        Service {
            reads: Some(recorder),
            ..self
        }
    }

    /// Shows the status of the checkpoints and their anchors to operators.
    #[must_use]
    pub fn checkpoints(self, board: StatusBoard) -> Service {
        Service {
            evidence: Some(board),
            ..self
        }
    }

    /// Refuses every request that changes something from now on, with 503. `/readyz` reports it.
    /// Waiting requests get their answer at once, and streams end.
    pub fn drain(&self) {
        self.draining.send_replace(true);
    }

    /// True once [`drain`](Service::drain) was called.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        *self.draining.borrow()
    }

    /// Checks whether the journal takes records. One that is closed, or that has stopped after a
    /// failure, has no position.
    pub(crate) async fn check_writable(&self) -> Result<(), JournalError> {
        let journal = self.engine.ledger().journal();
        // A node without a lease may not reach its database at all.
        if let Some(sharing) = journal.sharing() {
            sharing.lease()?;
            sharing.takes_appends()?;
        }
        let asked = timeout(JOURNAL_WITHIN, journal.position()).await;
        asked.map_err(|_| silent())??;
        journal.room()
    }

    /// Waits until the service drains.
    pub(crate) async fn drained(&self) {
        let mut draining = self.draining.subscribe();
        // The sender lives in this service.
        let _ = draining.wait_for(|it| *it).await;
    }
}

fn silent() -> JournalError {
    let waited = format!("it did not answer within {} s", JOURNAL_WITHIN.as_secs());
    JournalError::Io {
        doing: "read the position of the journal".to_owned(),
        source: std::io::Error::new(std::io::ErrorKind::TimedOut, waited),
    }
}
