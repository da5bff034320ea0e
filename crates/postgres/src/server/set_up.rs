//! The settings of every connection that this program opens.

use tokio_postgres::Client;

/// The settings of a connection.
///
/// The plans never depend on statistics, which lag behind a growing table, and no statement is
/// planned or compiled when it is run. The memory keeps a full batch out of temporary files.
///
/// A role or a database may have defaults that are made for other programs. A timeout would end
/// statements of a node that wait for each other as they should, and a search path may lead to
/// functions of another role.
const SETTINGS: &str = "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off;
    SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off; SET work_mem = '32MB';
    SET default_transaction_isolation = 'read committed'; SET search_path = pg_catalog, pg_temp";

/// The timeouts that could end the other settings. `set_config` looks through all settings, and may
/// take longer.
const FIRST: &str = "SET statement_timeout = 0; SET lock_timeout = 0";

/// The other timeouts that are switched off. Not every version of PostgreSQL has all of them.
const TIMEOUTS: &str = "SELECT set_config(name, '0', false) FROM pg_catalog.pg_settings
    WHERE name IN ('transaction_timeout', 'idle_session_timeout')";

/// The end of a connection whose program is silent. The server would otherwise keep the locks of a
/// node that is cut off within a transaction, and all others would wait for them.
///
/// A node is never idle within a transaction for long. The keepalive finds a peer that is gone, and
/// the last timeout one that does not acknowledge a reply; over a Unix socket there is neither.
const SILENCE: &str = "SET idle_in_transaction_session_timeout = '3s';
    SET tcp_user_timeout = '10s';
    SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3";

/// Sets up a new connection. With `commit`, that is its `synchronous_commit`, so that a later
/// change of the server's default loses no append.
pub(crate) async fn set_up(
    client: &Client,
    commit: Option<&str>,
) -> Result<(), tokio_postgres::Error> {
    client.batch_execute(FIRST).await?;
    client
        .batch_execute(&format!("{TIMEOUTS}; {SILENCE}; {SETTINGS}"))
        .await?;
    if let Some(value) = commit {
        let set = "SELECT set_config('synchronous_commit', $1, false)";
        client.query(set, &[&value]).await?;
    }
    Ok(())
}
