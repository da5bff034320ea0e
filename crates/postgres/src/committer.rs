//! The tasks that commit appends, and what becomes of an append whose outcome is unknown.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use recount_journal::{Error, Hash};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::batch;
use crate::claims::{Claims, OwnedHead};
use crate::error::{changed_nothing, failed, is_full, may_be_repeated, told};
use crate::lease::Lease;
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

/// A connection that can append.
pub(crate) struct Line {
    client: Client,
    statements: Statements,
}

impl Committer {
    /// Commits batches until the queue is closed.
    pub(crate) async fn run(self, line: Line) {
        let mut line = Some(line);
        while let Some(jobs) = self.queue.take().await {
            let sessions: Vec<Uuid> = jobs.iter().map(|job| job.append.session).collect();
            self.settle(jobs, &mut line).await;
            self.queue.settled(&sessions);
        }
    }

    /// Commits a batch, and answers each of its callers.
    async fn settle(&self, mut jobs: Vec<Job>, line: &mut Option<Line>) {
        let mut is_unknown = false;
        while !jobs.is_empty() {
            let attempt = async {
                let open = self.open(line).await;
                if is_unknown {
                    self.resolve(&open.client, &mut jobs).await?;
                    is_unknown = false;
                }
                let node = self.lease.node;
                batch::commit(&open.client, &open.statements, node, &jobs).await
            };
            let attempt = tokio::select! {
                attempt = attempt => attempt,
                lost = self.lease.lost() => {
                    fail(jobs, &lost);
                    // The statement may still be under way.
                    *line = None;
                    return;
                }
            };
            let refused = match attempt {
                Ok(refused) => refused,
                Err(error) if may_be_repeated(&error) => continue,
                Err(error) if is_full(&error) => {
                    let full = Error::NoSpace { free: 0, floor: 0 };
                    return fail(jobs, &full);
                }
                Err(error) if changed_nothing(&error) => {
                    return fail(jobs, &failed("append")(error));
                }
                Err(error) => {
                    tracing::warn!(error = told(&error), "an append's outcome is unknown yet");
                    (*line, is_unknown) = (None, true);
                    continue;
                }
            };
            // Behind the commit: a caller may start a tool on this answer.
            if let Err(lost) = self.lease.check() {
                return fail(jobs, &lost);
            }
            let is_refused = |job: &Job| refused.contains(&job.append.session);
            let (left, done): (Vec<Job>, _) = jobs.into_iter().partition(is_refused);
            jobs = left;
            for job in done {
                self.done(job);
            }
            if let (false, Some(open)) = (jobs.is_empty(), &*line) {
                match self.examine(&open.client, &mut jobs).await {
                    Ok(()) => {}
                    Err(error) => return fail(jobs, &error),
                }
            }
        }
    }

    fn done(&self, job: Job) {
        // A stream that began has its first owner.
        if job.epoch.is_none() && !job.append.session.is_nil() {
            self.claims.note(job.append.session, 1);
        }
        // The caller may have gone; its append is stored all the same.
        let _ = job.reply.send(Ok(job.admission.head));
    }

    /// Answers the callers whose append was refused. Those that would be admitted now stay.
    async fn examine(&self, client: &Client, jobs: &mut Vec<Job>) -> Result<(), Error> {
        let heads = self
            .heads(client, jobs)
            .await
            .map_err(failed("read heads"))?;
        for job in std::mem::take(jobs) {
            let found = heads.get(&job.append.session);
            match self.refusal(&job, found) {
                Some(error) => {
                    let _ = job.reply.send(Err(error));
                }
                None => jobs.push(job),
            }
        }
        Ok(())
    }

    /// Returns why an append was refused.
    fn refusal(&self, job: &Job, found: Option<&OwnedHead>) -> Option<Error> {
        let session = job.append.session;
        if let Err(error) = job.admission.follows(found.map(|it| &it.head)) {
            return Some(error);
        }
        let found = found.filter(|_| !session.is_nil())?;
        if found.owner == Some(self.lease.node) && Some(found.epoch) == job.epoch {
            return None;
        }
        let held = job.epoch.unwrap_or_default();
        self.claims.forget(session);
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
    async fn resolve(
        &self,
        client: &Client,
        jobs: &mut Vec<Job>,
    ) -> Result<(), tokio_postgres::Error> {
        let schema = self.server.address.quoted_schema();
        let sessions: Vec<Uuid> = jobs.iter().map(|job| job.append.session).collect();
        let update = format!(
            "WITH locked AS MATERIALIZED (
                 SELECT session FROM {schema}.head WHERE session = ANY ($1)
                 ORDER BY session FOR NO KEY UPDATE)
             UPDATE {schema}.head h SET epoch = h.epoch + 1 FROM locked l
             WHERE h.session = l.session AND h.owner = $2 RETURNING h.session, h.epoch"
        );
        let rows = client
            .query(&update, &[&sessions, &self.lease.node])
            .await?;
        let epochs: HashMap<Uuid, i64> = rows.iter().map(|it| (it.get(0), it.get(1))).collect();
        let heads = self.heads(client, jobs).await?;
        for mut job in std::mem::take(jobs) {
            let session = job.append.session;
            let found = heads.get(&session);
            let hash = found.map(|it| it.head.hash);
            if let Some(epoch) = epochs.get(&session) {
                self.claims.note(session, *epoch);
                job.epoch = Some(*epoch);
            }
            if self.is_ours(client, &job, hash).await? {
                let _ = job.reply.send(Ok(job.admission.head));
            } else if let Some(error) = self.refusal(&job, found) {
                let _ = job.reply.send(Err(error));
            } else {
                jobs.push(job);
            }
        }
        Ok(())
    }

    /// True if the bytes of an append are in the database: it is the last one, or, in a stream with
    /// several writers, it was.
    async fn is_ours(
        &self,
        client: &Client,
        job: &Job,
        head: Option<Hash>,
    ) -> Result<bool, tokio_postgres::Error> {
        if head == Some(job.admission.head.hash) {
            return Ok(true);
        }
        if !job.append.session.is_nil() {
            return Ok(false);
        }
        let schema = self.server.address.quoted_schema();
        let select = format!("SELECT lines FROM {schema}.append WHERE session = $1 AND first = $2");
        let first = crate::claims::signed(job.append.expected + 1);
        let row = client
            .query_opt(&select, &[&job.append.session, &first])
            .await?;
        Ok(row.is_some_and(|row| row.get::<_, &[u8]>(0) == batch::joined(&job.append.lines)))
    }

    async fn heads(
        &self,
        client: &Client,
        jobs: &[Job],
    ) -> Result<HashMap<Uuid, OwnedHead>, tokio_postgres::Error> {
        let schema = self.server.address.quoted_schema();
        let sessions: Vec<Uuid> = jobs.iter().map(|job| job.append.session).collect();
        let select = format!(
            "SELECT session, seq, hash, at_us, owner, epoch FROM {schema}.head
             WHERE session = ANY ($1)"
        );
        let rows = client.query(&select, &[&sessions]).await?;
        let read = |row: &tokio_postgres::Row| Some((row.get(0), OwnedHead::of(row, 1).ok()?));
        Ok(rows.iter().filter_map(read).collect())
    }

    /// Returns the connection, opened again as often as that takes. The lease bounds the wait.
    async fn open<'l>(&self, line: &'l mut Option<Line>) -> &'l Line {
        let mut pause = PAUSES.0;
        loop {
            match line.take().filter(|it| !it.client.is_closed()) {
                Some(open) => return line.insert(open),
                None => match self.connect().await {
                    Ok(open) => return line.insert(open),
                    Err(error) => {
                        tracing::warn!(error = told(&error), "the database cannot be reached");
                        tokio::time::sleep(pause).await;
                        pause = (pause * 2).min(PAUSES.1);
                    }
                },
            }
        }
    }

    pub(crate) async fn connect(&self) -> Result<Line, tokio_postgres::Error> {
        let client = self.server.connect(|_| ()).await?;
        let address = &self.server.address;
        let (schema, channel) = (address.quoted_schema(), address.channel());
        let statements = Statements::prepare(&client, &schema, &channel).await?;
        Ok(Line { client, statements })
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
