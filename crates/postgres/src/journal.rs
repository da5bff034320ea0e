//! The journal in a database.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_channel::oneshot;
use recount_journal::{
    Actor, Admission, Append, BoxFuture, Commit, Error, Hash, Head, Journal, Line, OpenItem,
    Sharing, Span, own_append,
};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use uuid::Uuid;

use crate::claims::Claims;
use crate::commits::{Commits, Damage};
use crate::news::News;
use crate::node::{self, Lease};
use crate::queue::{Job, Queue};
use crate::reading::Reading;
use crate::sequencer::Sequencer;
use crate::server::Server;

/// The time for which a close waits for the database.
const CLOSE_WITHIN: Duration = Duration::from_secs(10);

/// The kind of the record about settings that may lose appends.
const LOSSY: &str = "lossy_settings_allowed";

/// A journal in a PostgreSQL database, opened by its [`Options`](crate::Options).
///
/// Appends of many streams share a transaction. A durable and a buffered append are acknowledged
/// alike, after their commit. The journal has threads of its own, so its methods work in any
/// runtime, or in none.
pub struct PostgresJournal {
    pub(crate) server: Arc<Server>,
    reading: Reading,
    commits: Arc<Commits>,
    sequencer: Arc<Sequencer>,
    pub(crate) news: Arc<News>,
    pub(crate) writer: Option<Arc<Writer>>,
    is_closed: AtomicBool,
}

/// The parts of a journal that appends.
pub(crate) struct Writer {
    queue: Arc<Queue>,
    pub(crate) lease: Arc<Lease>,
    pub(crate) claims: Arc<Claims>,
    committers: Mutex<Vec<JoinHandle<()>>>,
    /// The requests of other nodes that this one carries out.
    under_way: std::sync::Mutex<HashSet<Uuid>>,
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
            under_way: std::sync::Mutex::default(),
        }
    }

    /// The ids of the requests that this node carries out.
    pub(crate) fn under_way(&self) -> Vec<Uuid> {
        self.requests().iter().copied().collect()
    }

    /// Notes that requests are carried out.
    pub(crate) fn begun(&self, ids: impl Iterator<Item = Uuid>) {
        self.requests().extend(ids);
    }

    /// Notes that a request was replied to, or put back.
    pub(crate) fn ended(&self, id: Uuid) {
        self.requests().remove(&id);
    }

    fn requests(&self) -> MutexGuard<'_, HashSet<Uuid>> {
        let under_way = self.under_way.lock();
        under_way.unwrap_or_else(PoisonError::into_inner)
    }
}

impl PostgresJournal {
    pub(crate) fn new(
        (server, sequencer): (Arc<Server>, Arc<Sequencer>),
        writer: Option<Arc<Writer>>,
        damage: Damage,
    ) -> Self {
        let news = Arc::new(News::new(Arc::clone(&server)));
        let (ordered, told) = (Arc::clone(&sequencer), Arc::clone(&news));
        Self {
            reading: Reading::new(Arc::clone(&server)),
            commits: Arc::new(Commits::new(Arc::clone(&server), ordered, (told, damage))),
            sequencer,
            news,
            writer,
            is_closed: AtomicBool::new(false),
            server,
        }
    }

    /// Returns the epoch for an append, and claims its stream if this node does not own it.
    async fn epoch(&self, writer: &Writer, append: &Append) -> Result<Option<i64>, Error> {
        let session = append.session;
        let known = writer.claims.epoch(session);
        // A new stream is claimed by its first append.
        if known.is_some() || append.expected == 0 || session.is_nil() {
            return Ok(known);
        }
        loop {
            if !self.claim(vec![session]).await?.is_empty() {
                return Ok(writer.claims.epoch(session));
            }
            match self.owner(session).await? {
                Some(owner) => return Err(Error::Owned { session, owner }),
                // No such stream: its append is a conflict.
                None if self.head(session).await?.is_none() => return Ok(None),
                // Its owner has just released it.
                None => {}
            }
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
    fn read_with<'j, T, R>(
        &'j self,
        read: impl FnOnce(Reading) -> R,
    ) -> BoxFuture<'j, Result<T, Error>>
    where
        T: Send + 'static,
        R: Future<Output = Result<T, Error>> + Send + 'static,
    {
        let reading = read(self.reading.clone());
        Box::pin(async move {
            self.opened()?;
            let read = self.server.run(reading).await;
            // Its error is the end of the connections.
            if read.is_err() {
                self.opened()?;
            }
            read
        })
    }
}

impl Drop for PostgresJournal {
    /// Ends the connections. The sessions of this node are free when its lease ends.
    fn drop(&mut self) {
        self.server.stop();
    }
}

impl Journal for PostgresJournal {
    fn append(&self, append: Append) -> BoxFuture<'_, Result<Head, Error>> {
        Box::pin(async move {
            self.opened()?;
            let writer = Arc::clone(self.writer.as_ref().ok_or(Error::ReadOnly)?);
            let admission = Admission::of(&append)?;
            writer.lease.check()?;
            let epoch = self.epoch(&writer, &append).await?;
            let (reply, settled) = oneshot::channel();
            let job = Job {
                append,
                admission,
                epoch,
                was_lost: false,
                reply,
            };
            writer.queue.put(job);
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

    fn read_each(&self, spans: Vec<Span>) -> BoxFuture<'_, Result<Vec<Vec<Line>>, Error>> {
        self.read_with(|reading| reading.spans(spans))
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

    /// A node without a lease can record nothing. One whose server may lose what it acknowledges
    /// takes no new work, as it would not have been opened.
    fn room(&self) -> Result<(), Error> {
        self.opened()?;
        self.lease()?;
        self.server.health.check_settings()
    }

    fn sharing(&self) -> Option<&dyn Sharing> {
        self.writer.as_ref().map(|_| self as &dyn Sharing)
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
                    let address = &server.address;
                    let (schema, channel) = (address.quoted_schema(), address.channel());
                    let client = server.reader().await?;
                    // First, so that nothing starts here once another node may own the sessions.
                    writer.lease.lose("the journal is closed".to_owned());
                    node::release(&client, (&schema, &channel), writer.lease.node).await
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

fn now_us() -> i64 {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(now.as_micros()).unwrap_or(i64::MAX)
}
