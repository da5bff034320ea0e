//! The settings of a server under which an acknowledged append may vanish.

use recount_journal::Error;
use tokio_postgres::Client;

use crate::error::failed;

/// The values of `synchronous_commit` under which nothing is lost.
const COMMITS: [&str; 3] = ["on", "remote_apply", "remote_write"];

/// The settings of a connection that decide whether an acknowledged append may vanish.
pub(crate) struct Found {
    /// Those that may lose acknowledged appends, as `name = value`.
    pub(crate) lossy: Vec<String>,
    /// The value of `synchronous_commit`.
    pub(crate) commit: String,
}

/// Reads the settings that count.
///
/// `synchronous_commit = local` is safe on a server without synchronous standbys. With them, a
/// standby that is promoted may lack what was acknowledged.
pub(crate) async fn read(client: &Client) -> Result<Found, Error> {
    let select = "SELECT current_setting('fsync'), current_setting('full_page_writes'),
                         current_setting('synchronous_commit'),
                         current_setting('synchronous_standby_names') = ''";
    let row = client.query_one(select, &[]).await;
    let row = row.map_err(failed("read the settings"))?;
    let (fsync, pages, commit): (String, String, String) = (row.get(0), row.get(1), row.get(2));
    let is_alone: bool = row.get(3);
    let keeps = COMMITS.contains(&commit.as_str()) || (is_alone && commit == "local");
    let settings = [
        ("fsync", &fsync, fsync == "on"),
        ("full_page_writes", &pages, pages == "on"),
        ("synchronous_commit", &commit, keeps),
    ];
    let lossy = settings.into_iter().filter(|(.., is_safe)| !is_safe);
    Ok(Found {
        lossy: lossy
            .map(|(name, value, _)| format!("{name} = {value}"))
            .collect(),
        commit,
    })
}
