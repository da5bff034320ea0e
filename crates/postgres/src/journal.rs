//! The journal in a database.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_channel::oneshot;
use recount_journal::{
    Actor, Admission, Append, BoxFuture, Commit, Error, Hash, Head, Journal, Line, OpenItem,
    own_append,
};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use uuid::Uuid;

use crate::address::{Address, NotAnAddress};
use crate::claims::{self, Claims};
use crate::commits::Commits;
use crate::lease::{self, Lease};
use crate::options::Options;
use crate::queue::{Job, Queue};
use crate::reading::Reading;
use crate::sequencer::Sequencer;
use crate::server::Server;

/// The time for which a close waits for the database.
const CLOSE_WITHIN: Duration = Duration::from_secs(10);

/// The kind of the record about settings that may lose appends.
const LOSSY: &str = "lossy_settings_allowed";

/// A journal in a PostgreSQL database.
///
/// Appends of many streams share a transaction. A durable and a buffered append are acknowledged
/// alike, after their commit. The journal has threads of its own, so its methods work in any
/// runtime, or in none.
pub struct PostgresJournal {
    server: Arc<Server>,
    reading: Reading,
    commits: Arc<Commits>,
    sequencer: Arc<Sequencer>,
    writer: Option<Arc<Writer>>,
    is_closed: AtomicBool,
}

/// The parts of a journal that appends.
pub(crate) struct Writer {
    queue: Arc<Queue>,
    lease: Arc<Lease>,
    claims: Arc<Claims>,
    committers: Mutex<Vec<JoinHandle<()>>>,
}

impl Writer {
    pub(crate) fn new(
        queue: Arc<Queue>,
        lease: Arc<Lease>,
        claims: Arc<Claims>,
        committers: Vec<JoinHandle<()>>,
    ) -> Self {
        Self {
            queue,
            lease,
            claims,
            committers: Mutex::new(committers),
        }
    }

    /// Returns the epoch for an append, and claims its stream if this node does not own it.
    async fn epoch(&self, server: &Server, append: &Append) -> Result<Option<i64>, Error> {
        let session = append.session;
        if session.is_nil() {
            return Ok(None);
        }
        if let Some(epoch) = self.claims.epoch(session) {
            return Ok(Some(epoch));
        }
        // A new stream is claimed by its first append.
        if append.expected == 0 {
            return Ok(None);
        }
        let client = server.reader().await?;
        let schema = server.address.quoted_schema();
        let claimed = claims::claim(&client, &schema, session, self.lease.node).await?;
        if let Some(epoch) = claimed {
            self.claims.note(session, epoch);
        }
        Ok(claimed)
    }
}

impl PostgresJournal {
    /// Opens a journal at an address such as `postgres://recount@db.internal/journal`, and makes
    /// its tables if there are none. See [`Options`] for the settings.
    ///
    /// # Errors
    /// As [`Options::open`].
    pub fn open(address: &str) -> Result<Self, Error> {
        let address: Address = address.parse().map_err(not_a_journal)?;
        Options::new(address).open()
    }

    /// Returns the settings of a journal, to be changed before it is opened.
    pub fn options(address: Address) -> Options {
        Options::new(address)
    }

    pub(crate) fn new(
        server: Arc<Server>,
        reading: Reading,
        commits: Arc<Commits>,
        sequencer: Arc<Sequencer>,
        writer: Option<Arc<Writer>>,
    ) -> Self {
        Self {
            server,
            reading,
            commits,
            sequencer,
            writer,
            is_closed: AtomicBool::new(false),
        }
    }

    /// Notes settings of the server that were accepted by name.
    pub(crate) async fn note_lossy(&self, settings: &[String]) -> Result<(), Error> {
        if settings.is_empty() {
            return Ok(());
        }
        let quoted: Vec<String> = settings.iter().map(|it| format!("\"{it}\"")).collect();
        let body = format!("{{\"settings\":[{}]}}", quoted.join(","));
        loop {
            let head = self.head(Uuid::nil()).await?;
            let actor = Actor::new("operator");
            let append = own_append(head.as_ref(), now_us(), actor, LOSSY, &body);
            match self.append(append).await {
                Err(Error::Conflict { .. }) => {}
                other => return other.map(|_| ()),
            }
        }
    }

    fn opened(&self) -> Result<(), Error> {
        if self.is_closed.load(Ordering::Acquire) {
            return Err(Error::Closed);
        }
        Ok(())
    }

    /// Runs a read on the threads of the connections.
    fn read_with<'j, T, R>(&'j self, read: impl FnOnce(Reading) -> R) -> BoxFuture<'j, Result<T, Error>>
    where
        T: Send + 'static,
        R: Future<Output = Result<T, Error>> + Send + 'static,
    {
        let reading = read(self.reading.clone());
        Box::pin(async move {
            self.opened()?;
            self.server.run(reading).await
        })
    }
}

impl Journal for PostgresJournal {
    fn append(&self, append: Append) -> BoxFuture<'_, Result<Head, Error>> {
        Box::pin(async move {
            self.opened()?;
            let writer = Arc::clone(self.writer.as_ref().ok_or(Error::ReadOnly)?);
            let admission = Admission::of(&append)?;
            writer.lease.check()?;
            let (reply, settled) = oneshot::channel();
            let known = writer.claims.epoch(append.session);
            let epoch = if known.is_some() || append.expected == 0 || append.session.is_nil() {
                known
            } else {
                let (server, claiming) = (Arc::clone(&self.server), Arc::clone(&writer));
                let (session, expected) = (append.session, append.expected);
                let asked = Append::new(session, expected, Vec::new());
                let claim = async move { claiming.epoch(&server, &asked).await };
                self.server.run(claim).await?
            };
            let job = Job {
                append,
                admission,
                epoch,
                reply,
            };
            writer.queue.put(job).map_err(|_| Error::Closed)?;
            settled.await.unwrap_or(Err(Error::Closed))
        })
    }

    fn read(
        &self,
        session: Uuid,
        from: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Line>, Error>> {
        self.read_with(|reading| reading.records(session, from, limit))
    }

    fn head(&self, session: Uuid) -> BoxFuture<'_, Result<Option<Head>, Error>> {
        self.read_with(|reading| reading.head(session))
    }

    fn sessions(
        &self,
        after: Option<Uuid>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<(Uuid, Head)>, Error>> {
        self.read_with(|reading| reading.sessions(after, limit))
    }

    fn open_work(
        &self,
        after: Option<(Uuid, u64)>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<OpenItem>, Error>> {
        self.read_with(|reading| reading.items(after, limit))
    }

    fn open_work_of_kinds<'j>(
        &'j self,
        kinds: &'j [&'j str],
        after: Option<(Uuid, u64)>,
        limit: usize,
    ) -> BoxFuture<'j, Result<Vec<OpenItem>, Error>> {
        let kinds = kinds.iter().map(ToString::to_string).collect();
        self.read_with(|reading| reading.items_of_kinds(kinds, after, limit))
    }

    fn open_work_of(&self, session: Uuid) -> BoxFuture<'_, Result<Vec<OpenItem>, Error>> {
        self.read_with(|reading| reading.items_of(session))
    }

    fn deadlines(
        &self,
        until_us: i64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<OpenItem>, Error>> {
        self.read_with(|reading| reading.due(until_us, limit))
    }

    fn request(&self, request: Uuid) -> BoxFuture<'_, Result<Option<(Uuid, u64)>, Error>> {
        self.read_with(|reading| reading.request(request))
    }

    fn object(&self, hash: Hash) -> BoxFuture<'_, Result<Option<Arc<[u8]>>, Error>> {
        self.read_with(|reading| reading.object(hash))
    }

    fn follow(&self, after: u64) -> BoxFuture<'_, Result<Commit, Error>> {
        let commits = Arc::clone(&self.commits);
        self.read_with(|_| async move { commits.after(after).await })
    }

    fn position(&self) -> BoxFuture<'_, Result<u64, Error>> {
        let sequencer = Arc::clone(&self.sequencer);
        self.read_with(|_| async move { sequencer.catch_up().await })
    }

    fn snapshot(&self, session: Uuid) -> BoxFuture<'_, Result<Option<Vec<u8>>, Error>> {
        self.read_with(|reading| reading.snapshot(session))
    }

    fn keep_snapshot(&self, session: Uuid, bytes: Vec<u8>) -> BoxFuture<'_, Result<(), Error>> {
        if self.writer.is_none() {
            return Box::pin(async { Ok(()) });
        }
        self.read_with(|reading| reading.keep_snapshot(session, bytes))
    }

    fn is_durable(&self) -> bool {
        true
    }

    fn close(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            if self.is_closed.swap(true, Ordering::AcqRel) {
                return Ok(());
            }
            let mut closed = Ok(());
            if let Some(writer) = &self.writer {
                writer.queue.close();
                let (server, writer) = (Arc::clone(&self.server), Arc::clone(writer));
                let end = async move {
                    for committer in std::mem::take(&mut *writer.committers.lock().await) {
                        // A committer that panicked has closed the replies of its callers.
                        let _ = committer.await;
                    }
                    let schema = server.address.quoted_schema();
                    let client = server.reader().await?;
                    lease::release(&client, &schema, writer.lease.node).await?;
                    writer.lease.lose("the journal is closed".to_owned());
                    Ok(())
                };
                let end = async move {
                    let ended = tokio::time::timeout(CLOSE_WITHIN, end).await;
                    ended.unwrap_or(Err(Error::Closed))
                };
                closed = self.server.run(end).await;
            }
            self.server.stop();
            closed
        })
    }
}

fn not_a_journal(error: NotAnAddress) -> Error {
    Error::Io {
        doing: "open the journal".to_owned(),
        source: std::io::Error::new(std::io::ErrorKind::InvalidInput, error),
    }
}

fn now_us() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_micros()).unwrap_or(i64::MAX)
}
