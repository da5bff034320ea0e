//! The service behind the routes: the engine, the access and what requests share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use recount::Engine;

use crate::access::Access;
use crate::catalogue::Catalogue;
use crate::requests::{Answers, BODY_BYTES_MAX};

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
    pub(crate) body_max: usize,
    /// The OpenAPI document, set once the routes are known.
    pub(crate) document: Arc<OnceLock<String>>,
    draining: Arc<AtomicBool>,
}

impl Service {
    /// Creates a service over the engine.
    #[must_use]
    pub fn new(engine: Engine, access: Access) -> Service {
        Service {
            catalogue: Catalogue::new(engine.ledger().clone()),
            engine,
            access: Arc::new(access),
            answers: Arc::default(),
            body_max: BODY_BYTES_MAX,
            document: Arc::default(),
            draining: Arc::default(),
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

    /// Refuses every request that changes something from now on, with 503. `/readyz` reports it.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Release);
    }

    /// True once [`drain`](Service::drain) was called.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Acquire)
    }
}
