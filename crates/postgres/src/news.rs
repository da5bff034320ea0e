//! Notifications of the database, for the tasks of this process that wait for them.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, watch};
use tokio_postgres::Client;

use crate::error::error_text;
use crate::server::{FREE, Server};

/// The time after which a waiting task looks again, should a notification be lost.
const LOOK_AFTER: Duration = Duration::from_secs(1);

/// The notifications of the database. Only the delay of a task depends on them.
pub(crate) struct News {
    server: Arc<Server>,
    /// Changes with each notification.
    any: Arc<watch::Sender<()>>,
    /// The number of notifications that sessions are free.
    free: Arc<watch::Sender<u64>>,
    listening: Mutex<Option<Client>>,
}

impl News {
    pub(crate) fn new(server: Arc<Server>) -> Self {
        Self {
            server,
            any: Arc::default(),
            free: Arc::default(),
            listening: Mutex::default(),
        }
    }

    /// Returns the receiver of all notifications. It must exist before the caller looks.
    pub(crate) fn any(&self) -> watch::Receiver<()> {
        self.any.subscribe()
    }

    /// Waits until the number of notifications about free sessions is not the one that was seen, or
    /// for a while. Returns the number.
    pub(crate) async fn free_after(&self, seen: u64) -> u64 {
        self.listen().await;
        let mut free = self.free.subscribe();
        let news = free.wait_for(|it| *it != seen);
        let _ = tokio::time::timeout(LOOK_AFTER, news).await;
        *free.borrow()
    }

    /// Waits for a notification, or for a while. Without a connection that listens, the database is
    /// asked again after that while.
    pub(crate) async fn wait(&self, news: &mut watch::Receiver<()>) {
        self.listen().await;
        // The sender lives as long as `self`.
        let _ = tokio::time::timeout(LOOK_AFTER, news.changed()).await;
    }

    /// Listens for notifications, if no connection does.
    async fn listen(&self) {
        let mut listening = self.listening.lock().await;
        if listening.as_ref().is_some_and(|it| !it.is_closed()) {
            return;
        }
        let (any, free) = (Arc::clone(&self.any), Arc::clone(&self.free));
        let connected = self.server.connect(move |content| {
            any.send_replace(());
            if content == FREE {
                free.send_modify(|it| *it += 1);
            }
        });
        let listen = format!("LISTEN \"{}\"", self.server.address.channel());
        let client = match connected.await {
            Ok(client) => client.batch_execute(&listen).await.map(|()| client),
            Err(error) => Err(error),
        };
        match client {
            Ok(client) => {
                *listening = Some(client);
                // Something may have come before the connection listened.
                self.any.send_replace(());
                self.free.send_modify(|it| *it += 1);
            }
            Err(error) => {
                tracing::warn!(
                    error = error_text(&error),
                    "no notifications; the database is polled"
                );
            }
        }
    }
}
