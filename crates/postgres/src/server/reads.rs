//! Reads that outlive the loss of a connection.

use std::time::Duration;

use deadpool_postgres::{HookError, PoolError};
use recount_journal::Error;
use tokio::time::{Instant, sleep};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::Server;
use crate::error::{failed, failed_for, lost_connection};

/// The time for which a read is tried again. A server that restarts or is replaced is mostly back
/// by then.
const AGAIN_WITHIN: Duration = Duration::from_secs(5);

/// The time between two tries.
const AGAIN_AFTER: Duration = Duration::from_millis(50);

/// The end of a read that failed.
struct Failed {
    error: Error,
    /// True if another connection may do better.
    is_lost: bool,
}

impl Server {
    /// Runs a statement that reads. One whose connection is lost is run again on another: the
    /// session that needs it would stop otherwise. `doing` is for the error, such as
    /// "read records".
    pub(crate) async fn read(
        &self,
        doing: &str,
        statement: &str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Error> {
        let until = Instant::now() + AGAIN_WITHIN;
        loop {
            match self.read_once(doing, statement, parameters).await {
                Ok(rows) => return Ok(rows),
                Err(failed) if failed.is_lost && Instant::now() < until => {
                    sleep(AGAIN_AFTER).await;
                }
                Err(failed) => return Err(failed.error),
            }
        }
    }

    async fn read_once(
        &self,
        doing: &str,
        statement: &str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Failed> {
        let told = |doing: &str, error: tokio_postgres::Error| Failed {
            is_lost: lost_connection(&error),
            error: failed(doing)(error),
        };
        let client = self.pool().get().await.map_err(|error| match error {
            PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => {
                told("connect", error)
            }
            PoolError::Closed => Failed {
                error: Error::Closed,
                is_lost: false,
            },
            error => Failed {
                error: failed_for("connect", error),
                is_lost: false,
            },
        })?;
        let statement = client.prepare_cached(statement).await;
        let statement = statement.map_err(|error| told(doing, error))?;
        let rows = client.query(&statement, parameters).await;
        rows.map_err(|error| told(doing, error))
    }
}
