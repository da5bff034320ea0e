//! The positions of batches in the order that all readers see.

use std::sync::Arc;

use futures_util::future;
use recount_journal::Error;
use tokio::sync::Mutex;
use tokio_postgres::Client;

use crate::claims::unsigned;
use crate::error::{may_be_repeated, may_not_write, told};
use crate::server::Server;

/// The maximum number of batches in a turn.
const TURN: usize = 1000;

/// Gives positions to the batches that have none, behind their commit.
///
/// The row of `sequencer` is locked for a turn, so one node at a time gives positions, whichever it
/// is. A batch is seen only after its commit, and its number agrees with every stream. So no
/// position is given before one that a reader has passed.
pub(crate) struct Sequencer {
    server: Arc<Server>,
    client: Mutex<Option<Client>>,
}

impl Sequencer {
    pub(crate) fn new(server: Arc<Server>) -> Self {
        Self {
            server,
            client: Mutex::default(),
        }
    }

    /// Gives positions to all batches that are committed by now, and returns the last position.
    pub(crate) async fn catch_up(&self) -> Result<u64, Error> {
        let mut known = self.client.lock().await;
        loop {
            let client = match known.take().filter(|it| !it.is_closed()) {
                Some(client) => client,
                None => {
                    let connected = self.server.connect(|_| ()).await;
                    connected.map_err(crate::error::failed("connect"))?
                }
            };
            let turn = self.turn(&client).await;
            let (given, last) = match turn {
                Ok(turn) => turn,
                Err(error) if may_be_repeated(&error) => continue,
                // A standby, or a reader without rights, takes the positions that others give.
                Err(error) if may_not_write(&error) => {
                    tracing::debug!(error = told(&error), "positions are given by others");
                    return self.last(&client).await;
                }
                Err(error) => return Err(crate::error::failed("give positions")(error)),
            };
            *known = Some(client);
            if given < TURN {
                return Ok(last);
            }
        }
    }

    async fn turn(&self, client: &Client) -> Result<(usize, u64), tokio_postgres::Error> {
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
        let turn = future::try_join4(
            client.batch_execute("BEGIN"),
            client.batch_execute(&lock),
            client.query_one(&give, &[]),
            client.batch_execute("COMMIT"),
        );
        match turn.await {
            Ok(((), (), row, ())) => {
                let given = usize::try_from(row.get::<_, i64>(0)).unwrap_or(0);
                Ok((given, unsigned(row.get(1))))
            }
            Err(error) => {
                // The transaction is over either way; an error here is that of the connection.
                let _ = client.batch_execute("ROLLBACK").await;
                Err(error)
            }
        }
    }

    async fn last(&self, client: &Client) -> Result<u64, Error> {
        let schema = self.server.address.quoted_schema();
        let select = format!("SELECT position FROM {schema}.sequencer");
        let row = client.query_one(&select, &[]).await;
        let row = row.map_err(crate::error::failed("read the last position"))?;
        Ok(unsigned(row.get(0)))
    }
}
