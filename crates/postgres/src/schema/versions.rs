//! The tables of a journal, and their versions.

use std::path::PathBuf;

use recount_journal::Error;
use tokio_postgres::{Client, GenericClient};

use crate::address::Address;
use crate::error::failed;

/// The statements that lead from each version to the next; those at index 0 make version 1.
const MIGRATIONS: [&str; 3] = [
    include_str!("1.sql"),
    include_str!("2.sql"),
    include_str!("3.sql"),
];

/// The newest version that this program knows.
const VERSION: usize = MIGRATIONS.len();

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
pub(crate) async fn bring_up_to_date(client: &mut Client, address: &Address) -> Result<(), Error> {
    match version(client, address).await? {
        Some(found) if found == VERSION => return Ok(()),
        Some(found) if found > VERSION => return Err(newer(address, found)),
        Some(_) | None => {}
    }
    let doing = || failed("make the tables of the journal");
    let change = client.transaction().await.map_err(doing())?;
    let lock = "SELECT pg_advisory_xact_lock(hashtextextended($1, 42))";
    let lock = change.execute(lock, &[&address.channel()]).await;
    lock.map_err(doing())?;
    let found = version(&change, address).await?.unwrap_or(0);
    if found > VERSION {
        return Err(newer(address, found));
    }
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
    change.batch_execute(&statements).await.map_err(doing())?;
    change.commit().await.map_err(doing())?;
    tracing::info!(from = found, to = VERSION, "made the tables of the journal");
    Ok(())
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
