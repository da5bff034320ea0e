//! The look after the health of a node, each time its lease was renewed.

use std::time::Duration;

use tokio_postgres::Client;

use crate::error::error_text;
use crate::server::Server;
use crate::server::settings::{self, Found};

/// Looks whether the server still keeps what it acknowledges, and takes appends again if it refused
/// the last one.
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
    // A probe finds missing rights, but not a full disk: the refusal counts for a while at least.
    if server.health.refused_before(lease) {
        match client
            .batch_execute(&probe(&server.address.quoted_schema()))
            .await
        {
            Ok(()) => server.health.accepted(),
            Err(error) => {
                tracing::warn!(error = error_text(&error), "the database takes no appends")
            }
        }
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

/// Returns statements that write nothing, and fail if an append may not be written.
fn probe(schema: &str) -> String {
    let tables = ["head", "append", "batch", "object", "work", "request"];
    let inserts = tables.map(|table| {
        format!("INSERT INTO {schema}.{table} SELECT * FROM {schema}.{table} WHERE false;")
    });
    format!(
        "{} UPDATE {schema}.head SET seq = seq WHERE false; DELETE FROM {schema}.work WHERE false",
        inserts.concat()
    )
}
