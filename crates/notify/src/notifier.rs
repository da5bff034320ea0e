//! The notifications of a service: its sinks, as embedders and operators see them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use recount::engine::Clock;
use recount::ledger::Ledger;
use tokio::sync::{Mutex, mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

use crate::message::{Content, Links, Notice};
use crate::routing::Plan;
use crate::sending::{Sender, Sink, Undelivered};
use crate::sinks::{
    Board, Command, Given, RemovedSink, Settings, SinkStatus, SinkTask, StateFile, Unknown,
};

/// The number of requests of operators that wait for a task.
const COMMANDS: usize = 16;

/// The time for an attempt that is being made when the sinks are replaced.
const LAST_ATTEMPT: Duration = Duration::from_secs(2);

/// The notifications of a service.
///
/// Each sink follows the journal in a task of its own. A message is delivered at least once, with
/// the same id in each delivery.
///
/// ```no_run
/// # async fn example(engine: recount::Engine) -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use recount::engine::SystemClock;
/// use recount_notify::{Markup, Notifier, Occasion, Route, Settings, Sink, Target};
///
/// let url = "https://hooks.slack.com/services/…".parse()?;
/// let target = Target::Slack { url, markup: Markup::Slack };
/// let route = Route {
///     sinks: vec!["ops".parse()?],
///     occasions: [Occasion::Asked].into(),
///     ..Route::default()
/// };
/// let settings = Settings {
///     sinks: vec![Sink::new("ops".parse()?, target)],
///     routes: vec![route],
///     links: Some("https://recount.example".to_owned()),
///     directory: "./journal.sinks".into(),
/// };
/// let ledger = engine.ledger().clone();
/// let notifier = Notifier::start(ledger, SystemClock::shared(), settings).await?;
/// // … while sessions are served
/// notifier.stop(Duration::from_secs(2)).await;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Notifier(Arc<Inner>);

struct Inner {
    ledger: Ledger,
    clock: Arc<dyn Clock>,
    running: Mutex<Running>,
    letters: watch::Sender<u64>,
}

/// The tasks of the sinks.
#[derive(Default)]
struct Running {
    sinks: BTreeMap<String, Handle>,
}

/// The handle of a sink.
struct Handle {
    kind: &'static str,
    detail: &'static str,
    board: Arc<Board>,
    /// `None` if the sink could not start. Its board has the reason.
    work: Option<Work>,
}

/// The handle of a task.
struct Work {
    commands: mpsc::Sender<Command>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

/// The notifications cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotifyError {
    /// Two sinks have the same name.
    #[error("expected a name of its own for each sink, found {name} twice")]
    SameName {
        /// The name.
        name: String,
    },
    /// TLS cannot be set up.
    #[error("failed to set up the connection of a sink: {what}")]
    Connection {
        /// The fault.
        what: String,
    },
}

/// A request about a dead letter was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeadLetterError {
    /// There is no such sink.
    #[error("there is no sink {name:?}")]
    UnknownSink {
        /// The name.
        name: String,
    },
    /// The sink has no such dead letter.
    #[error("the sink has no dead letter {id}")]
    UnknownLetter {
        /// The id.
        id: Uuid,
    },
    /// The task of the sink has ended.
    #[error("the sink is not running")]
    Stopped,
}

impl Notifier {
    /// Starts the sinks where they ended. A new sink starts at the end of the journal.
    ///
    /// A sink whose file or place cannot be read does not run, and its status has the reason. The
    /// others run. One whose file cannot be written runs, and its status has the reason, too. A
    /// target that cannot be reached is no error.
    ///
    /// # Errors
    /// [`NotifyError`].
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub async fn start(
        ledger: Ledger,
        clock: Arc<dyn Clock>,
        settings: Settings,
    ) -> Result<Notifier, NotifyError> {
        let inner = Inner {
            ledger,
            clock,
            running: Mutex::default(),
            letters: watch::Sender::default(),
        };
        let notifier = Notifier(Arc::new(inner));
        notifier.replace(settings).await?;
        Ok(notifier)
    }

    /// Replaces all sinks and routes. A sink with the name of an earlier one continues in its
    /// place. One that did not run is started again.
    ///
    /// Returns the earlier sinks that have no successor and messages that were not delivered.
    ///
    /// # Errors
    /// [`NotifyError`]. The earlier sinks and routes stay then.
    pub async fn replace(&self, settings: Settings) -> Result<Vec<RemovedSink>, NotifyError> {
        let mut prepared = BTreeMap::new();
        for sink in settings.sinks {
            let sender = Sender::new(sink.clone());
            let sender = sender.map_err(|what| NotifyError::Connection { what })?;
            let name = sink.name.to_string();
            if prepared.insert(name.clone(), (sink, sender)).is_some() {
                return Err(NotifyError::SameName { name });
            }
        }
        let directory = settings.directory;
        let is_gone = |name: &String| !prepared.contains_key(name);
        let links = Links::under(settings.links.as_deref());
        let mut running = self.0.running.lock().await;
        let boards = running.stop(LAST_ATTEMPT).await;
        let gone = boards.iter().filter(|(name, _)| is_gone(name));
        let gone = gone.filter_map(|(name, board)| RemovedSink::of(name, board, &directory));
        let gone: Vec<RemovedSink> = gone.collect();
        for (name, (sink, sender)) in prepared {
            let plan = Plan::new(sink.name.clone(), &settings.routes);
            let file = StateFile::of(&sink.name, &directory);
            let board = boards.get(&name).cloned().unwrap_or_default();
            let handle = self.begin(sink, plan, sender, file, &links, board).await;
            running.sinks.insert(name, handle);
        }
        Ok(gone)
    }

    /// Starts a sink. One that cannot start must not keep the others, or the service, from it.
    async fn begin(
        &self,
        sink: Sink,
        plan: Plan,
        sender: Sender,
        file: StateFile,
        links: &Links,
        board: Arc<Board>,
    ) -> Handle {
        let (commands, received) = mpsc::channel(COMMANDS);
        let (stop, stopped) = watch::channel(false);
        let (kind, detail) = (sink.target.kind(), sink.detail.as_str());
        let given = Given {
            ledger: self.0.ledger.clone(),
            clock: self.0.clock.clone(),
            links: links.clone(),
            board: board.clone(),
            letters: self.0.letters.clone(),
            commands: received,
            stop: stopped,
        };
        let name = sink.name.clone();
        let work = match SinkTask::new(sink, plan, Arc::new(sender), file, given).await {
            Ok(task) => {
                board.runs();
                let task = tokio::spawn(task.run());
                Some(Work {
                    commands,
                    stop,
                    task,
                })
            }
            Err(reason) => {
                tracing::error!(sink = %name, %reason, "a sink of notifications does not run");
                board.does_not_run(reason.to_string(), self.0.clock.now());
                None
            }
        };
        Handle {
            kind,
            detail,
            board,
            work,
        }
    }

    /// Returns the status of every sink, by name.
    ///
    /// # Errors
    /// The error of a journal that has no position.
    pub async fn sinks(&self) -> Result<Vec<SinkStatus>, recount_journal::Error> {
        let end = self.0.ledger.journal().position().await?;
        let running = self.0.running.lock().await;
        let status = |(name, handle): (&String, &Handle)| {
            let numbers = handle.board.numbers().clone();
            let (failing_since, error) = numbers.failure();
            SinkStatus {
                name: name.clone(),
                kind: handle.kind,
                detail: handle.detail,
                delivered: numbers.delivered,
                failures: numbers.failures,
                queued: numbers.queued,
                lag: end.saturating_sub(numbers.position),
                failing_since,
                error,
                dead_letters: numbers.dead_letters,
                dropped_dead_letters: numbers.dropped_letters,
            }
        };
        Ok(running.sinks.iter().map(status).collect())
    }

    /// Returns the number of changes of dead letters since the start, in any sink. A reader of
    /// [`sinks`](Self::sinks) can wait for the next one.
    ///
    /// ```
    /// # async fn example(notifier: recount_notify::Notifier) -> Option<()> {
    /// let mut letters = notifier.letters();
    /// letters.changed().await.ok()?;
    /// // Another message was given up, sent again or discarded.
    /// # Some(()) }
    /// ```
    pub fn letters(&self) -> watch::Receiver<u64> {
        self.0.letters.subscribe()
    }

    /// Sends a dead letter again, with the same id.
    ///
    /// # Errors
    /// [`DeadLetterError`].
    pub async fn retry(&self, sink: &str, id: Uuid) -> Result<(), DeadLetterError> {
        self.about_one(sink, id, Command::Retry).await
    }

    /// Removes a dead letter.
    ///
    /// # Errors
    /// [`DeadLetterError`].
    pub async fn discard(&self, sink: &str, id: Uuid) -> Result<(), DeadLetterError> {
        self.about_one(sink, id, Command::Discard).await
    }

    /// Sends all dead letters of a sink again, with the same ids. Returns their number.
    ///
    /// ```
    /// # async fn example(notifier: recount_notify::Notifier)
    /// # -> Result<(), recount_notify::DeadLetterError> {
    /// // Once its token is valid again.
    /// let number = notifier.retry_all("ops").await?;
    /// println!("{number} messages are sent again");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`DeadLetterError`].
    pub async fn retry_all(&self, sink: &str) -> Result<u64, DeadLetterError> {
        self.command(sink, Command::RetryAll).await
    }

    async fn about_one(
        &self,
        sink: &str,
        id: Uuid,
        command: fn(Uuid, oneshot::Sender<Result<(), Unknown>>) -> Command,
    ) -> Result<(), DeadLetterError> {
        let answer = self.command(sink, |reply| command(id, reply)).await?;
        answer.map_err(|Unknown| DeadLetterError::UnknownLetter { id })
    }

    async fn command<A>(
        &self,
        sink: &str,
        command: impl FnOnce(oneshot::Sender<A>) -> Command,
    ) -> Result<A, DeadLetterError> {
        let commands = {
            let running = self.0.running.lock().await;
            let handle = running.sinks.get(sink);
            let handle = handle.ok_or_else(|| DeadLetterError::UnknownSink {
                name: sink.to_owned(),
            })?;
            handle.work.as_ref().map(|it| it.commands.clone())
        };
        let commands = commands.ok_or(DeadLetterError::Stopped)?;
        let (reply, answer) = oneshot::channel();
        let sent = commands.send(command(reply)).await;
        sent.map_err(|_| DeadLetterError::Stopped)?;
        answer.await.map_err(|_| DeadLetterError::Stopped)
    }

    /// Ends all sinks. Attempts that are being made may end within the time. The rest is sent by
    /// the next start.
    pub async fn stop(&self, within: Duration) {
        let _ = self.0.running.lock().await.stop(within).await;
    }
}

impl Running {
    /// Ends all tasks. Returns their numbers.
    async fn stop(&mut self, within: Duration) -> BTreeMap<String, Arc<Board>> {
        let until = Instant::now() + within;
        let handles = std::mem::take(&mut self.sinks);
        for work in handles.values().filter_map(|it| it.work.as_ref()) {
            // Without a receiver, the task has ended.
            let _ = work.stop.send(true);
        }
        let mut boards = BTreeMap::new();
        for (name, mut handle) in handles {
            if let Some(work) = &mut handle.work
                && timeout_at(until, &mut work.task).await.is_err()
            {
                work.task.abort();
                // Two tasks must not write the same file.
                let _ = (&mut work.task).await;
            }
            boards.insert(name, handle.board.clone());
        }
        boards
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl fmt::Debug for Notifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notifier").finish_non_exhaustive()
    }
}

/// Sends one test message to a sink, without a journal.
///
/// # Errors
/// The reason why the message was not delivered.
pub async fn send_test(sink: &Sink, clock: &dyn Clock) -> Result<(), Undelivered> {
    let sender = Sender::new(sink.clone()).map_err(|what| Undelivered::Failed { what })?;
    let now = clock.now();
    // The id of a session is random, and so is that of the message.
    let notice = Notice::test(clock.new_session().0, now);
    sender.send(&Content::of(&notice), now).await
}
