//! The positions of batches in the order that all readers see.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future;
use recount_journal::{Error, causes};
use tokio::sync::Mutex;
use tokio_postgres::{Client, Statement};

use crate::claims::unsigned;
use crate::error::{error_text, failed, failed_for, may_be_repeated, may_not_write};
use crate::server::Server;

/// The maximum number of batches in a turn.
const TURN: usize = 1000;

/// The time after which a node gives positions, also if none of its readers asks.
const KEEP_UP_AFTER: Duration = Duration::from_secs(2);

/// The number of times that a reader without rights looks for missing positions, and the time
/// between them: longer than nodes take to give them.
const LOOKS: u32 = 50;
const LOOK_AFTER: Duration = Duration::from_millis(200);

/// Gives positions to the batches that have none, behind their commit.
///
/// The row of `sequencer` is locked for a turn, so one node at a time gives positions, whichever it
/// is. A batch is seen only after its commit, and its number agrees with every stream. So no
/// position is given before one that a reader has passed.
pub(crate) struct Sequencer {
    server: Arc<Server>,
    line: Mutex<Option<TurnConnection>>,
}

/// A connection with the statements of a turn. They are prepared before: a turn is sent as a whole,
/// so that nothing of it runs outside of its transaction.
struct TurnConnection {
    client: Client,
    lock: Statement,
    give: Statement,
}

impl Sequencer {
    pub(crate) fn new(server: Arc<Server>) -> Self {
        Self {
            server,
            line: Mutex::default(),
        }
    }

    /// Gives positions to all batches that are committed by now, and returns the last position.
    pub(crate) async fn catch_up(&self) -> Result<u64, Error> {
        let mut known = self.line.lock().await;
        loop {
            let line = match known.take().filter(|it| !it.client.is_closed()) {
                Some(line) => line,
                None => self.open().await.map_err(failed("connect"))?,
            };
            let (given, last) = match line.turn().await {
                Ok(turn) => turn,
                Err(error) if may_be_repeated(&error) => continue,
                // A standby, or a reader without rights, takes the positions that others give.
                Err(error) if may_not_write(&error) => {
                    tracing::debug!(error = error_text(&error), "positions are given by others");
                    let last = self.given_by_others(&line.client).await;
                    *known = Some(line);
                    return last;
                }
                Err(error) => return Err(failed("give positions")(error)),
            };
            *known = Some(line);
            let last = last.ok_or_else(no_sequencer)?;
            if given < TURN {
                return Ok(last);
            }
        }
    }

    /// Gives positions from time to time, for readers that cannot.
    pub(crate) async fn keep_up(&self) {
        loop {
            tokio::time::sleep(KEEP_UP_AFTER).await;
            if let Err(error) = self.catch_up().await {
                tracing::debug!(error = %causes(&error), "commits have no positions yet");
            }
        }
    }

    async fn open(&self) -> Result<TurnConnection, tokio_postgres::Error> {
        let client = self.server.connect(|_| ()).await?;
        let schema = self.server.address.quoted_schema();
        let lock = format!("SELECT position FROM {schema}.sequencer FOR UPDATE");
        // A statement of its own, so that it sees what the last turn did.
        let give = format!(
            "WITH next AS MATERIALIZED (
                 SELECT id, row_number() OVER (ORDER BY id) AS n FROM {schema}.batch
                 WHERE position IS NULL ORDER BY id LIMIT {TURN}
             ), given AS (
                 UPDATE {schema}.batch b SET position = s.position + n.n
                 FROM next n, {schema}.sequencer s WHERE b.id = n.id RETURNING b.id
             ), moved AS (
                 UPDATE {schema}.sequencer s SET position = s.position + g.given
                 FROM (SELECT count(*) AS given FROM given) g WHERE g.given > 0
                 RETURNING s.position, pg_notify('{}', '')
             )
             SELECT (SELECT count(*) FROM given), COALESCE(
                 (SELECT position FROM moved), (SELECT position FROM {schema}.sequencer))",
            self.server.address.channel()
        );
        let (lock, give) = (client.prepare(&lock).await?, client.prepare(&give).await?);
        Ok(TurnConnection { client, lock, give })
    }

    /// Returns the last position when every commit of now has one.
    ///
    /// A commit without a position is missing in what is read by position, so it is waited for.
    /// Later commits are not: under load there is always one.
    async fn given_by_others(&self, client: &Client) -> Result<u64, Error> {
        let doing = "read the last position";
        let schema = self.server.address.quoted_schema();
        let newest = format!("SELECT max(id) FROM {schema}.batch WHERE position IS NULL");
        let newest = client
            .query_one(&newest, &[])
            .await
            .map_err(failed(doing))?;
        let newest: Option<i64> = newest.get(0);
        let select = format!(
            "SELECT position, EXISTS (
                 SELECT FROM {schema}.batch WHERE position IS NULL AND id <= $1)
             FROM {schema}.sequencer"
        );
        for _ in 0..LOOKS {
            let row = client.query_opt(&select, &[&newest]).await;
            let row = row.map_err(failed(doing))?.ok_or_else(no_sequencer)?;
            if !row.get::<_, bool>(1) {
                return Ok(unsigned(row.get(0)));
            }
            tokio::time::sleep(LOOK_AFTER).await;
        }
        let missing = "commits have no position yet; a running node gives them, or a role that may \
                       write";
        Err(failed_for(doing, missing))
    }
}

/// The error for tables without the last position. It is not made up from the batches: a reader may
/// have passed positions that were given to batches which are gone.
fn no_sequencer() -> Error {
    Error::Damaged {
        session: None,
        seq: None,
        what: "the table sequencer has no row".to_owned(),
    }
}

impl TurnConnection {
    /// Returns the number of positions that were given, and the last one, if the tables have it.
    async fn turn(&self) -> Result<(usize, Option<u64>), tokio_postgres::Error> {
        let client = &self.client;
        let turn = future::try_join4(
            client.batch_execute("BEGIN"),
            client.execute(&self.lock, &[]),
            client.query_one(&self.give, &[]),
            client.batch_execute("COMMIT"),
        );
        match turn.await {
            Ok(((), _, row, ())) => {
                let given = usize::try_from(row.get::<_, i64>(0)).unwrap_or(0);
                Ok((given, row.get::<_, Option<i64>>(1).map(unsigned)))
            }
            Err(error) => {
                // The transaction is over either way; an error here is that of the connection.
                let _ = client.batch_execute("ROLLBACK").await;
                Err(error)
            }
        }
    }
}
