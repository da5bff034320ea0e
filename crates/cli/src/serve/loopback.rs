//! A service on a free port of this machine, for commands that show pages.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use super::connections::{ConnectionLimits, Connections, Door};
use super::start;
use crate::failures::Failure;
use recount_server::Service;

/// The limits of the connections of one person's browsers.
const LIMITS: ConnectionLimits = ConnectionLimits {
    connections: 128,
    head_time: Duration::from_secs(60),
};

/// The time for open requests at the end.
const GRACE: Duration = Duration::from_secs(2);

/// The listener of a service on loopback.
pub(crate) struct Loopback {
    address: SocketAddr,
    connections: Connections,
}

/// Listens on a free port of 127.0.0.1.
pub(crate) async fn start(service: &Service) -> Result<Loopback, Failure> {
    let (listener, address) = start::bind((Ipv4Addr::LOCALHOST, 0).into()).await?;
    let router = service.clone().router();
    let connections = Connections::accept(vec![Door::Tcp(listener)], router, None, LIMITS);
    Ok(Loopback {
        address,
        connections,
    })
}

impl Loopback {
    /// The address of the listener.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Closes the listener, and ends the connections within two seconds.
    pub(crate) async fn end(self) {
        self.connections.close();
        if !self.connections.ended(GRACE).await {
            self.connections.cut().await;
        }
    }
}
