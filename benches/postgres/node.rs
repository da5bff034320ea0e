//! The journal of a node.

use std::sync::Arc;
use std::time::Duration;

use recount_postgres::PostgresJournal;

use crate::server::Schema;

/// A lease that a busy machine does not lose.
const LEASE: Duration = Duration::from_secs(60);

/// Opens the journal of a schema.
pub(crate) fn open(schema: &Schema<'_>) -> Arc<PostgresJournal> {
    let options = PostgresJournal::options(schema.address());
    Arc::new(options.lease(LEASE).open().expect("a journal"))
}
