//! Nodes whose lease ended long ago.

use std::time::Duration;

use deadpool_postgres::Object;
use recount_journal::Error;

use crate::server::{Server, query};

/// The time between two looks of a node.
const LOOK_AFTER: Duration = Duration::from_secs(600);

/// Removes former nodes from time to time.
pub(crate) async fn remove(server: &Server) {
    loop {
        let schema = server.address.quoted_schema();
        let removed = match server.reader().await {
            Ok(client) => remove_once(&client, &schema).await,
            Err(error) => Err(error),
        };
        if let Err(error) = removed {
            let error = &error as &dyn std::error::Error;
            tracing::debug!(error, "former nodes are not removed yet");
        }
        tokio::time::sleep(LOOK_AFTER).await;
    }
}

/// Removes the nodes whose lease ended an hour ago, and that own no stream and no request. A node
/// without a row counts as one whose lease has ended.
async fn remove_once(client: &Object, schema: &str) -> Result<(), Error> {
    let delete = format!(
        "DELETE FROM {schema}.node n WHERE n.until < clock_timestamp() - interval '1 hour'
             AND NOT EXISTS (SELECT FROM {schema}.head h WHERE h.owner = n.id)
             AND NOT EXISTS (SELECT FROM {schema}.command c
                 WHERE c.reply IS NULL AND c.taker = n.id)"
    );
    query(client, "remove former nodes", &delete, &[]).await?;
    Ok(())
}
