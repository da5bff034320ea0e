//! The look after the health of a node, each time its lease was renewed.

use std::time::Duration;

use tokio_postgres::Client;

use crate::error::error_text;
use crate::server::Server;
use crate::server::settings::{self, Found};

/// Looks whether the server still keeps what it acknowledges, and whether this node has the rights
/// that it needs.
pub(crate) async fn look_after(
    server: &Server,
    client: Option<&Client>,
    (allowed, lease): (&[String], Duration),
) {
    let Some(client) = client else {
        return;
    };
    match settings::read(client).await {
        Ok(Found { mut lossy, .. }) => {
            lossy.retain(|it| !allowed.contains(it));
            note_lossy(server, &lossy);
        }
        // The next renewal tells.
        Err(error) => tracing::warn!(%error, "the settings of the database are not known"),
    }
    let missing = match missing_rights(client, &server.address.quoted_schema()).await {
        Ok(missing) => missing,
        // The next renewal tells.
        Err(error) if error.code().is_none() => return,
        // Such as a table that is gone.
        Err(error) => Some(error_text(&error)),
    };
    // A disk that is full has rights, too: a refusal counts for a while at least.
    if missing.is_none() && server.health.refused_before(lease) {
        server.health.accepted();
    }
    match (server.health.note_missing_rights(missing.clone()), missing) {
        (false, _) => {}
        (true, Some(missing)) => {
            tracing::warn!(
                missing,
                "this node lacks rights to the tables of the journal"
            );
        }
        (true, None) => tracing::info!("this node has all rights to its tables again"),
    }
}

fn note_lossy(server: &Server, lossy: &[String]) {
    if !server.health.note_lossy(lossy) {
        return;
    }
    let settings = lossy.join(", ");
    if lossy.is_empty() {
        tracing::info!("the settings of the database lose no acknowledged append any more");
    } else {
        tracing::error!(
            settings,
            "the database may lose acknowledged appends now; this node takes no new requests"
        );
    }
}

/// The rights that a node needs. An insert that may update needs both.
const RIGHTS: [(&str, &[&str]); 11] = [
    ("head", &["SELECT", "INSERT", "UPDATE"]),
    ("append", &["SELECT", "INSERT"]),
    ("batch", &["SELECT", "INSERT", "UPDATE"]),
    ("sequencer", &["SELECT", "UPDATE"]),
    ("object", &["SELECT", "INSERT"]),
    ("work", &["SELECT", "INSERT", "UPDATE", "DELETE"]),
    ("request", &["SELECT", "INSERT", "UPDATE"]),
    ("command", &["SELECT", "INSERT", "UPDATE", "DELETE"]),
    ("opening", &["SELECT", "INSERT", "DELETE"]),
    ("node", &["SELECT", "INSERT", "UPDATE", "DELETE"]),
    ("key_store", &["SELECT"]),
];

/// Returns the rights that a node lacks, such as `INSERT on command`. Nothing is locked, unlike by
/// a statement that would need the rights.
async fn missing_rights(
    client: &Client,
    schema: &str,
) -> Result<Option<String>, tokio_postgres::Error> {
    let needed = RIGHTS.iter().flat_map(|(table, rights)| {
        let row = move |right: &&str| format!("('{table}', '{right}')");
        rights.iter().map(row)
    });
    let needed: Vec<String> = needed.collect();
    let select = format!(
        "SELECT string_agg(lacks, ', ') FROM (
             SELECT format('%s on %s', r, t) AS lacks FROM (VALUES {}) AS needed(t, r)
             WHERE NOT CASE r WHEN 'DELETE' THEN has_table_privilege('{schema}.' || t, r)
                 ELSE has_any_column_privilege('{schema}.' || t, r) END
             UNION ALL SELECT 'USAGE on batch_id'
             WHERE NOT has_sequence_privilege('{schema}.batch_id', 'USAGE')) m",
        needed.join(", ")
    );
    Ok(client.query_one(&select, &[]).await?.get(0))
}
