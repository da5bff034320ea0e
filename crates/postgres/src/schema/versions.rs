//! The tables of a journal, and their versions.

use std::path::PathBuf;
use std::time::Duration;

use recount_journal::Error;
use tokio::time::sleep;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, GenericClient};

use crate::address::Address;
use crate::error::{error_text, failed};

/// The statements that lead from each version to the next; those at index 0 make version 1.
const MIGRATIONS: [&str; 5] = [
    include_str!("1.sql"),
    include_str!("2.sql"),
    include_str!("3.sql"),
    include_str!("4.sql"),
    include_str!("5.sql"),
];

/// The newest version that this program knows.
const VERSION: usize = MIGRATIONS.len();

/// The wait of a change of the tables for each lock, the number of tries, and the pause between
/// two. A lease can be renewed in that pause.
const LOCKED_WITHIN: &str = "100ms";
const TRIES_MAX: u32 = 200;
const TRY_AFTER: Duration = Duration::from_millis(200);

/// Checks that the tables are there and of a known version, without a change.
pub(crate) async fn check(client: &Client, address: &Address) -> Result<(), Error> {
    match version(client, address).await? {
        Some(found) if found == VERSION => Ok(()),
        Some(found) if found < VERSION => Err(Error::NotAJournal {
            path: path(address),
            found: format!(
                "its tables have version {found}, and this program reads {VERSION}; opening it \
                 once to write brings them up to date"
            ),
        }),
        Some(found) => Err(newer(address, found)),
        None => Err(Error::Missing {
            path: path(address),
        }),
    }
}

/// Makes the tables, or brings them up to date. Other nodes that do so wait for the first one.
///
/// Other statements on a table queue behind a change that waits for its lock, also the renewals of
/// leases. So a change waits only shortly for what reads the table for long, such as a backup, and
/// is tried again.
pub(crate) async fn bring_up_to_date(client: &mut Client, address: &Address) -> Result<(), Error> {
    for tries in 1.. {
        match change(client, address).await {
            Ok(()) => break,
            Err(Undone::Locked(error)) if tries < TRIES_MAX => {
                if tries == 1 {
                    tracing::warn!(
                        error = error_text(&error),
                        "the tables cannot be changed while others use them; waiting for them"
                    );
                }
                sleep(TRY_AFTER).await;
            }
            Err(Undone::Locked(error)) => {
                let doing = "change the tables while others use them, as pg_stat_activity shows,";
                return Err(failed(doing)(error));
            }
            Err(Undone::Failed(error)) => return Err(error),
        }
    }
    Ok(())
}

async fn change(client: &mut Client, address: &Address) -> Result<(), Undone> {
    match version(client, address).await? {
        Some(found) if found == VERSION => return Ok(()),
        Some(found) if found > VERSION => return Err(newer(address, found).into()),
        Some(_) | None => {}
    }
    let change = client.transaction().await.map_err(undone)?;
    let wait = format!("SET LOCAL lock_timeout = '{LOCKED_WITHIN}'");
    change.batch_execute(&wait).await.map_err(undone)?;
    let lock = "SELECT pg_advisory_xact_lock(hashtextextended($1, 42))";
    let lock = change.execute(lock, &[&address.channel()]).await;
    lock.map_err(undone)?;
    let found = version(&change, address).await?.unwrap_or(0);
    if found > VERSION {
        return Err(newer(address, found).into());
    }
    let statements = statements_from(found, address);
    change.batch_execute(&statements).await.map_err(undone)?;
    change.commit().await.map_err(undone)?;
    tracing::info!(from = found, to = VERSION, "made the tables of the journal");
    Ok(())
}

/// The statements that lead from a version to the newest.
fn statements_from(found: usize, address: &Address) -> String {
    let schema = address.quoted_schema();
    let mut statements = String::new();
    if found == 0 {
        statements.push_str(&format!("CREATE SCHEMA IF NOT EXISTS {schema};\n"));
    }
    for migration in MIGRATIONS.iter().skip(found) {
        statements.push_str(&migration.replace("{schema}", &schema));
    }
    let program = concat!("recount ", env!("CARGO_PKG_VERSION"));
    statements.push_str(&format!(
        "INSERT INTO {schema}.format (version, written_by) VALUES ({VERSION}, '{program}')
         ON CONFLICT (one) DO UPDATE SET version = {VERSION}, written_by = '{program}';"
    ));
    statements
}

/// Why the tables were not changed.
enum Undone {
    /// Others use them.
    Locked(tokio_postgres::Error),
    Failed(Error),
}

fn undone(error: tokio_postgres::Error) -> Undone {
    if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) {
        return Undone::Locked(error);
    }
    Undone::Failed(failed("make the tables of the journal")(error))
}

impl From<Error> for Undone {
    fn from(error: Error) -> Self {
        Undone::Failed(error)
    }
}

async fn version(client: &impl GenericClient, address: &Address) -> Result<Option<usize>, Error> {
    let doing = || failed("read the version of the journal's tables");
    let schema = address.quoted_schema();
    let table = format!("{schema}.format");
    let exists = client
        .query_one("SELECT to_regclass($1) IS NOT NULL", &[&table])
        .await;
    if !exists.map_err(doing())?.get::<_, bool>(0) {
        return Ok(None);
    }
    let select = format!("SELECT version FROM {schema}.format");
    let row = client.query_opt(&select, &[]).await.map_err(doing())?;
    Ok(row.map(|it| usize::try_from(it.get::<_, i32>(0)).unwrap_or(0)))
}

fn newer(address: &Address, found: usize) -> Error {
    Error::NewerFormat {
        path: path(address),
        found: found as u64,
        known: VERSION as u64,
    }
}

/// The address in the place where errors name a directory.
pub(crate) fn path(address: &Address) -> PathBuf {
    PathBuf::from(address.to_string())
}
