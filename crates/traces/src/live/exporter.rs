//! The export of a journal's spans while sessions are served.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use recount::ledger::Ledger;
use recount_journal::FollowPlace;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::cursor::Cursor;
use super::follower::Follower;
use super::sender::Sender;
use super::settings::Settings;

/// The export of a journal's spans to a collector, while sessions are served.
///
/// It follows the journal in a task of its own, so a slow collector delays no session. Spans are
/// delivered at least once: after a crash some are sent again, with the same ids. A collector that
/// does not answer is asked again, after one second at first and 60 s at most.
///
/// ```
/// # async fn example(engine: recount::engine::Engine) -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use recount_traces::{Content, Exporter, Headers, Settings, Source};
///
/// let settings = Settings {
///     endpoint: "http://localhost:4318".parse()?,
///     headers: Headers::default(),
///     content: Content::default(),
///     source: Source::default(),
///     cursor: "journal/traces.json".into(),
/// };
/// let exporter = Exporter::start(engine.ledger().clone(), settings).await?;
/// // … while sessions are served
/// exporter.stop(Duration::from_secs(2)).await;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Exporter {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

/// An export cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The file of the place cannot be read.
    #[error("failed to use the place of the export in {path}: {source}")]
    Cursor {
        /// The file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// TLS cannot be set up.
    #[error("failed to set up the connection to the collector: {what}")]
    Connection {
        /// The fault.
        what: String,
    },
    /// The journal cannot be read.
    #[error(transparent)]
    Journal(#[from] recount_journal::Error),
}

impl Exporter {
    /// Starts an export where the last one with this cursor ended.
    ///
    /// Without a cursor it starts at the end of the journal: `recount export --format otlp` has
    /// what came before. If the journal does not have the place of the cursor, for example after a
    /// repair, it starts with the first record.
    ///
    /// # Errors
    /// [`ExportError`]. A collector that cannot be reached is no error.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub async fn start(ledger: Ledger, settings: Settings) -> Result<Exporter, ExportError> {
        let sender = Sender::new(settings.endpoint, settings.headers, settings.source);
        let sender = sender.map_err(|what| ExportError::Connection { what })?;
        let cursor = Cursor::at(settings.cursor);
        let failed = |source: io::Error| ExportError::Cursor {
            path: cursor.path().to_owned(),
            source,
        };
        let journal = ledger.journal().as_ref();
        let place = match cursor.read().map_err(failed)? {
            None => FollowPlace::at_end(journal).await?,
            Some(place) if place.is_in(journal).await? => place,
            Some(_) => {
                let path = cursor.path().display();
                tracing::warn!(%path, "the journal has another history, so every span is sent");
                FollowPlace::default()
            }
        };
        // The place must be durable before a span that would have to be sent again.
        if let Err(error) = cursor.save(&place) {
            // As on a disk that is full, which must not keep a service from its start.
            let path = cursor.path().display();
            tracing::error!(%error, %path, "the place of the export could not be saved");
        }
        let (stop, stopped) = watch::channel(false);
        let place = (cursor, place);
        let ledger = ledger.through_outages("the export of traces", stopped.clone());
        let follower = Follower::new(ledger, settings.content, sender, place, stopped);
        Ok(Exporter {
            stop,
            task: tokio::spawn(follower.follow()),
        })
    }

    /// Sends what has ended until now, and stops. What cannot be sent in time is sent by the next
    /// export with this cursor.
    pub async fn stop(mut self, within: Duration) {
        // Without a receiver, the task has ended.
        let _ = self.stop.send(true);
        if timeout(within, &mut self.task).await.is_err() {
            self.task.abort();
        }
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        self.task.abort();
    }
}
