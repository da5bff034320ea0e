//! The tasks that commit appends, and what becomes of an append whose outcome is unknown.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use recount_journal::{Error, causes};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::batch;
use crate::claims::{Claims, OwnedHead, signed};
use crate::error::{changed_nothing, error_text, failed, is_full, may_be_repeated};
use crate::node::Lease;
use crate::queue::{Job, Queue};
use crate::server::Server;
use crate::statements::Statements;

/// The transactions in flight. With one, the server waits while this program prepares the next.
pub(crate) const COMMITTERS: usize = 2;

/// The pauses between two attempts to connect: the first, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// A task that commits batches on a connection of its own.
pub(crate) struct Committer {
    pub(crate) server: Arc<Server>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) lease: Arc<Lease>,
    pub(crate) claims: Arc<Claims>,
}

/// The epoch of a stream's first owner.
const FIRST_EPOCH: i64 = 1;

/// A connection that can append.
pub(crate) struct AppendConnection {
    client: Client,
    statements: Statements,
}

/// The end of one attempt to commit a batch.
enum Attempt {
    /// The jobs that are left of the batch may be tried again.
    Settled,
    /// The connection was lost, and the outcome of the batch is unknown.
    Lost,
    /// The server changed nothing.
    Failed(Error),
}

impl Committer {
    /// Commits batches until the queue is closed.
    pub(crate) async fn run(self, line: AppendConnection) {
        let mut line = Some(line);
        while let Some(jobs) = self.queue.take().await {
            let sessions: Vec<Uuid> = jobs.iter().map(|job| job.append.session).collect();
            self.settle(jobs, &mut line).await;
            self.queue.settled(&sessions);
        }
    }

    /// Commits a batch, and answers each of its callers.
    async fn settle(&self, mut jobs: Vec<Job>, line: &mut Option<AppendConnection>) {
        let mut is_lost = false;
        while !jobs.is_empty() {
            let attempt = tokio::select! {
                attempt = self.attempt(&mut jobs, line, is_lost) => attempt,
                ended = self.lease.lost() => {
                    fail(jobs, &ended);
                    // The statement may still be under way.
                    *line = None;
                    return;
                }
            };
            is_lost = match attempt {
                Attempt::Settled => false,
                Attempt::Lost => {
                    *line = None;
                    for job in &mut jobs {
                        job.was_lost = true;
                    }
                    true
                }
                // Another append may be at fault, so each is tried by itself.
                Attempt::Failed(_) if jobs.len() > 1 => {
                    for job in jobs {
                        Box::pin(self.settle(vec![job], line)).await;
                    }
                    return;
                }
                Attempt::Failed(error) => return fail(jobs, &error),
            };
        }
    }

    /// Commits a batch once. Those that are settled leave it.
    async fn attempt(
        &self,
        jobs: &mut Vec<Job>,
        line: &mut Option<AppendConnection>,
        is_lost: bool,
    ) -> Attempt {
        let open = self.open(line).await;
        let health = &self.server.health;
        if is_lost && let Err(error) = health.watched(self.resolve(&open.client, jobs)).await {
            tracing::warn!(error = %causes(&error), "the outcome of appends is still unknown");
            tokio::time::sleep(PAUSES.0).await;
            return Attempt::Lost;
        }
        let node = self.lease.node;
        let commit = batch::commit(&open.client, &open.statements, node, jobs);
        let refused = match self.server.health.watched(commit).await {
            Ok(refused) => refused,
            Err(error) if may_be_repeated(&error) => return Attempt::Settled,
            Err(error) if is_full(&error) => {
                self.server.health.refused(&error);
                return Attempt::Failed(Error::NoSpace { free: 0, floor: 0 });
            }
            Err(error) if changed_nothing(&error) => {
                self.server.health.refused(&error);
                return Attempt::Failed(failed("append")(error));
            }
            Err(error) => {
                tracing::warn!(
                    error = error_text(&error),
                    "an append's outcome is unknown yet"
                );
                return Attempt::Lost;
            }
        };
        self.server.health.accepted();
        // After the commit: a caller may start a tool on this answer.
        if let Err(ended) = self.lease.check() {
            fail(std::mem::take(jobs), &ended);
            return Attempt::Settled;
        }
        let is_refused = |job: &Job| refused.contains(&job.append.session);
        let (left, done): (Vec<Job>, _) = std::mem::take(jobs).into_iter().partition(is_refused);
        *jobs = left;
        for job in done {
            self.done(job);
        }
        match self.examine(&open.client, jobs).await {
            Ok(()) => Attempt::Settled,
            Err(error) => Attempt::Failed(error),
        }
    }

    fn done(&self, job: Job) {
        // A stream that began has its first owner.
        if job.epoch.is_none() && !job.append.session.is_nil() {
            self.claims.note(job.append.session, FIRST_EPOCH);
        }
        // The caller may have gone; its append is stored all the same.
        let _ = job.reply.send(Ok(job.admission.head));
    }

    /// Answers the callers whose append was refused, or is stored by a statement that was lost. The
    /// others stay.
    async fn examine(&self, client: &Client, jobs: &mut Vec<Job>) -> Result<(), Error> {
        if jobs.is_empty() {
            return Ok(());
        }
        let heads = self.heads(client, jobs).await?;
        let stored = self.stored(client, jobs, &heads).await?;
        for mut job in std::mem::take(jobs) {
            let session = job.append.session;
            let found = heads.get(&session);
            if stored.contains(&session) {
                if let Some(found) = found.filter(|it| it.owner == Some(self.lease.node)) {
                    self.claims.note(session, found.epoch);
                }
                let _ = job.reply.send(Ok(job.admission.head));
            } else if let Some(error) = self.refusal(&mut job, found) {
                let _ = job.reply.send(Err(error));
            } else {
                jobs.push(job);
            }
        }
        Ok(())
    }

    /// Returns why an append was refused. `None` if it would be admitted now.
    fn refusal(&self, job: &mut Job, found: Option<&OwnedHead>) -> Option<Error> {
        let session = job.append.session;
        if let Err(error) = job.admission.follows(found.map(|it| &it.head)) {
            return Some(error);
        }
        let found = found.filter(|_| !session.is_nil())?;
        if found.owner == Some(self.lease.node) {
            // Its epoch has grown since the append was queued.
            self.claims.note(session, found.epoch);
            job.epoch = Some(found.epoch);
            return None;
        }
        let held = job.epoch.unwrap_or_default();
        self.claims.forget_epoch(session, held);
        Some(Error::Fenced {
            session,
            held: held.unsigned_abs(),
            current: found.epoch.unsigned_abs(),
        })
    }

    /// Finds out which appends of a lost transaction were committed, and answers their callers. The
    /// others stay.
    ///
    /// The new epoch ends the lost transaction: its statement waits no longer for the row, or finds
    /// an epoch that is not its own.
    async fn resolve(&self, client: &Client, jobs: &mut Vec<Job>) -> Result<(), Error> {
        let schema = self.server.address.quoted_schema();
        let sessions: Vec<Uuid> = jobs.iter().map(|job| job.append.session).collect();
        let update = format!(
            "WITH locked AS MATERIALIZED (
                 SELECT session FROM {schema}.head WHERE session = ANY ($1)
                 ORDER BY session FOR NO KEY UPDATE)
             UPDATE {schema}.head h SET epoch = h.epoch + 1 FROM locked l
             WHERE h.session = l.session AND h.owner IS NOT DISTINCT FROM $2"
        );
        let update = client
            .execute(&update, &[&sessions, &self.lease.node])
            .await;
        update.map_err(failed("end a lost append"))?;
        self.examine(client, jobs).await
    }

    /// Returns the streams whose append is stored already: it is the last one, or, for a statement
    /// that was lost, it stands where it belongs.
    async fn stored(
        &self,
        client: &Client,
        jobs: &[Job],
        heads: &HashMap<Uuid, OwnedHead>,
    ) -> Result<HashSet<Uuid>, Error> {
        let schema = self.server.address.quoted_schema();
        let select = format!("SELECT lines FROM {schema}.append WHERE session = $1 AND first = $2");
        let mut stored = HashSet::new();
        for job in jobs.iter().filter(|job| job.was_lost) {
            let session = job.append.session;
            let head = heads.get(&session).map(|it| it.head.hash);
            let first = signed(job.append.expected + 1);
            let is_stored = head == Some(job.admission.head.hash) || {
                let row = client.query_opt(&select, &[&session, &first]).await;
                let row = row.map_err(failed("look for a lost append"))?;
                row.is_some_and(|row| row.get::<_, &[u8]>(0) == batch::joined(&job.append.lines))
            };
            if is_stored {
                stored.insert(session);
            }
        }
        Ok(stored)
    }

    async fn heads(
        &self,
        client: &Client,
        jobs: &[Job],
    ) -> Result<HashMap<Uuid, OwnedHead>, Error> {
        let schema = self.server.address.quoted_schema();
        let sessions: Vec<Uuid> = jobs.iter().map(|job| job.append.session).collect();
        let select = format!(
            "SELECT session, seq, hash, at_us, owner, epoch FROM {schema}.head
             WHERE session = ANY ($1)"
        );
        let rows = client.query(&select, &[&sessions]).await;
        let rows = rows.map_err(failed("read heads"))?;
        rows.iter()
            .map(|row| Ok((row.get(0), OwnedHead::of(row, 1)?)))
            .collect()
    }

    /// Returns the connection, opened again as often as that takes. The lease bounds the wait.
    async fn open<'l>(&self, line: &'l mut Option<AppendConnection>) -> &'l AppendConnection {
        let mut pause = PAUSES.0;
        loop {
            match line.take().filter(|it| !it.client.is_closed()) {
                Some(open) => return line.insert(open),
                None => match self.connect().await {
                    Ok(open) => return line.insert(open),
                    Err(error) => {
                        tracing::warn!(
                            error = error_text(&error),
                            "the database cannot be reached"
                        );
                        tokio::time::sleep(pause).await;
                        pause = (pause * 2).min(PAUSES.1);
                    }
                },
            }
        }
    }

    pub(crate) async fn connect(&self) -> Result<AppendConnection, tokio_postgres::Error> {
        let client = self.server.connect(|_| ()).await?;
        let address = &self.server.address;
        let statements = Statements::new(address.quoted_schema(), address.channel());
        Ok(AppendConnection { client, statements })
    }
}

/// Answers all callers with an error.
fn fail(jobs: Vec<Job>, error: &Error) {
    for job in jobs {
        let _ = job.reply.send(Err(again(error)));
    }
}

/// The error for another caller.
fn again(error: &Error) -> Error {
    match error {
        Error::NoSpace { free, floor } => Error::NoSpace {
            free: *free,
            floor: *floor,
        },
        Error::Poisoned { cause } => Error::Poisoned {
            cause: cause.clone(),
        },
        Error::Io { doing, source } => Error::Io {
            doing: doing.clone(),
            source: std::io::Error::other(source.to_string()),
        },
        other => Error::Poisoned {
            cause: other.to_string(),
        },
    }
}
