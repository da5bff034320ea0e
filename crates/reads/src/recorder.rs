//! The recorder of a service.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use recount::engine::Clock;
use recount_journal::{Error, Journal};
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::bodies::{BEGAN, Began, ENDED, Ended};
use crate::read::Read;
use crate::windows::Windows;
use crate::writer::{Appender, Entry, Message, Shared, Waiting, Writer};

/// The maximum number of reads that wait for the task. Further ones wait for a place.
const QUEUE_MAX: usize = 1_024;

/// The time within which the same read is not written again, by default.
const WINDOW: Duration = Duration::from_secs(60);

/// The fate of an answer whose read cannot be recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// It is served. The number of such reads goes on record as soon as there is room again.
    #[default]
    Serve,
    /// It is refused.
    Refuse,
}

impl OnFailure {
    /// The name in configurations and on record.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            OnFailure::Serve => "serve",
            OnFailure::Refuse => "refuse",
        }
    }
}

/// The settings of a recorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The fate of an answer whose read cannot be recorded.
    pub on_failure: OnFailure,
    /// The time within which the same read is counted instead of written again. Defaults to 60 s.
    pub window: Duration,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            on_failure: OnFailure::default(),
            window: WINDOW,
        }
    }
}

/// The read is not on record, and must not be served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the read could not be recorded: {what}")]
pub struct NotRecorded {
    what: String,
}

/// The state of a recorder since its start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The number of reads that were written.
    pub recorded: u64,
    /// The number of reads that were counted as repetitions.
    pub repeated: u64,
    /// The number of reads that were served without a record.
    pub missed: u64,
    /// The error since which nothing is on record.
    pub error: Option<String>,
}

/// Records reads in an access journal. Clones share the journal.
#[derive(Clone)]
pub struct Recorder {
    inbox: mpsc::Sender<Message>,
    shared: Arc<Shared>,
    journal: Arc<dyn Journal>,
    clock: Arc<dyn Clock>,
    task: Arc<Mutex<Option<JoinHandle<()>>>>,
}

impl Recorder {
    /// Records that the recording begins, and starts the task that writes.
    ///
    /// # Errors
    /// Those of a journal that cannot be written.
    pub async fn start(
        journal: Arc<dyn Journal>,
        clock: Arc<dyn Clock>,
        settings: Settings,
    ) -> Result<Recorder, Error> {
        let mut appender = Appender::new(Arc::clone(&journal));
        let began = Began {
            window_s: settings.window.as_secs(),
            on_failure: settings.on_failure.as_str().to_owned(),
        };
        let entry = Entry::own(BEGAN, &began)?;
        appender.append(clock.now(), &[entry]).await?;
        let shared = Arc::new(Shared {
            windows: std::sync::Mutex::new(Windows::new(settings.window)),
            recorded: AtomicU64::new(0),
            repeated: AtomicU64::new(0),
            missed: AtomicU64::new(0),
            error: std::sync::Mutex::new(None),
            serves: settings.on_failure == OnFailure::Serve,
        });
        let (inbox, received) = mpsc::channel(QUEUE_MAX);
        let writer = Writer {
            appender,
            clock: Arc::clone(&clock),
            inbox: received,
            shared: Arc::clone(&shared),
            unwritten: Vec::new(),
            missed: None,
        };
        let task = tokio::spawn(writer.run());
        Ok(Recorder {
            inbox,
            shared,
            journal,
            clock,
            task: Arc::new(Mutex::new(Some(task))),
        })
    }

    /// Records a read. Returns once its record, or that of the same read a moment before, is
    /// durable.
    ///
    /// # Errors
    /// [`NotRecorded`] if the read cannot be recorded and the settings say to refuse it.
    pub async fn record(&self, mut read: Read) -> Result<(), NotRecorded> {
        if self.shared.windows().counts(&mut read, self.clock.now()) {
            self.shared.repeated.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
        let (done, outcome) = oneshot::channel();
        let waiting = Message::Read(Box::new(Waiting { read, done }));
        let what = match self.inbox.send(waiting).await {
            Ok(()) => match outcome.await {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(what)) => what,
                Err(_) => self.ended(),
            },
            Err(_) => self.ended(),
        };
        match self.shared.serves {
            true => Ok(()),
            false => Err(NotRecorded { what }),
        }
    }

    /// The access journal.
    #[must_use]
    pub fn journal(&self) -> &Arc<dyn Journal> {
        &self.journal
    }

    /// The state since the start.
    #[must_use]
    pub fn status(&self) -> Status {
        let of = |it: &AtomicU64| it.load(Ordering::Relaxed);
        Status {
            recorded: of(&self.shared.recorded),
            repeated: of(&self.shared.repeated),
            missed: of(&self.shared.missed),
            error: self.shared.error().clone(),
        }
    }

    /// Writes what is still counted, and that the recording ended. The journal stays open.
    pub async fn stop(&self) {
        // The task may have ended already.
        let _ = self.inbox.send(Message::End).await;
        let task = self.task.lock().await.take();
        if let Some(task) = task
            && task.await.is_err()
        {
            tracing::error!("the task that records reads panicked");
        }
    }

    /// Counts a read that no task can record any more.
    fn ended(&self) -> String {
        if self.shared.serves {
            self.shared.missed.fetch_add(1, Ordering::Relaxed);
        }
        "the recording has ended".to_owned()
    }
}

/// Records that a service begins which records no reads, because its configuration says so.
///
/// # Errors
/// Those of a journal that cannot be written.
pub async fn note_off(journal: Arc<dyn Journal>, clock: &dyn Clock) -> Result<(), Error> {
    let entry = Entry::own(ENDED, &Ended { off: true })?;
    let mut appender = Appender::new(journal);
    appender.append(clock.now(), &[entry]).await.map(drop)
}
