//! Notifications of the database, for the tasks of this process that wait for them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;
use tokio_postgres::Client;

use crate::error::error_text;
use crate::server::{FREE, Server};

/// The time after which a waiting task looks again, should a notification be lost.
const LOOK_AFTER: Duration = Duration::from_secs(1);

/// The time after which another connection is tried, if one does not listen by then. A peer that is
/// silent ends no statement.
const LISTEN_WITHIN: Duration = Duration::from_secs(5);

/// The notifications of the database. Only the delay of a task depends on them.
pub(crate) struct News {
    server: Arc<Server>,
    signals: Signals,
    listening: Arc<Mutex<Listening>>,
}

/// The senders of the notifications.
#[derive(Clone, Default)]
struct Signals {
    /// Changes with each notification.
    any: Arc<watch::Sender<()>>,
    /// The number of notifications that sessions are free.
    free: Arc<watch::Sender<u64>>,
}

/// The state of the connection that listens.
#[derive(Default)]
enum Listening {
    #[default]
    Never,
    /// A task opens the connection, and no other does meanwhile.
    Opening,
    On(Client),
    /// The last attempt failed, which the log has.
    Failed,
}

impl Signals {
    fn send(&self, content: &str) {
        self.any.send_replace(());
        if content == FREE {
            self.free.send_modify(|it| *it += 1);
        }
    }
}

impl News {
    pub(crate) fn new(server: Arc<Server>) -> Self {
        Self {
            server,
            signals: Signals::default(),
            listening: Arc::default(),
        }
    }

    /// Returns the receiver of all notifications. It must exist before the caller looks.
    pub(crate) fn any(&self) -> watch::Receiver<()> {
        self.signals.any.subscribe()
    }

    /// Waits until the number of notifications about free sessions is not the one that was seen, or
    /// for a while. Returns the number.
    pub(crate) async fn free_after(&self, seen: u64) -> u64 {
        self.listen();
        let mut free = self.signals.free.subscribe();
        let news = free.wait_for(|it| *it != seen);
        let _ = timeout(LOOK_AFTER, news).await;
        *free.borrow()
    }

    /// Waits for a notification, or for a while. Without a connection that listens, the database is
    /// asked again after that while.
    pub(crate) async fn wait(&self, news: &mut watch::Receiver<()>) {
        self.listen();
        // The sender lives as long as `self`.
        let _ = timeout(LOOK_AFTER, news.changed()).await;
    }

    /// Opens a connection that listens, unless there is one. The caller does not wait for it.
    fn listen(&self) {
        let mut listening = locked(&self.listening);
        let was_told = match &*listening {
            Listening::Opening => return,
            Listening::On(client) if !client.is_closed() => return,
            Listening::On(_) | Listening::Never => false,
            Listening::Failed => true,
        };
        *listening = Listening::Opening;
        let (server, signals) = (Arc::clone(&self.server), self.signals.clone());
        let state = Arc::clone(&self.listening);
        drop(self.server.spawn(async move {
            let opened = timeout(LISTEN_WITHIN, open(&server, &signals)).await;
            let opened = match opened {
                Ok(Ok(client)) => Ok(client),
                Ok(Err(error)) => Err(error_text(&error)),
                Err(_) => Err(format!("no reply within {LISTEN_WITHIN:?}")),
            };
            *locked(&state) = match opened {
                Ok(client) => Listening::On(client),
                Err(error) => {
                    if !was_told {
                        tracing::warn!(error, "no notifications; the database is polled");
                    }
                    Listening::Failed
                }
            };
        }));
    }
}

fn locked(listening: &Mutex<Listening>) -> MutexGuard<'_, Listening> {
    // Each change is one assignment, so a panic elsewhere leaves a whole state.
    listening.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens a connection that listens for notifications.
async fn open(server: &Server, signals: &Signals) -> Result<Client, tokio_postgres::Error> {
    let heard = signals.clone();
    let client = server.connect(move |content| heard.send(content)).await?;
    let listen = format!("LISTEN \"{}\"", server.address.channel());
    client.batch_execute(&listen).await?;
    // Something may have come before the connection listened.
    signals.send(FREE);
    Ok(client)
}
