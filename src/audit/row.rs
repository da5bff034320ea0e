//! The rows of the audit as JSON lines.

use serde::Serialize;

use super::audited_call::AuditedCall;
use super::catalog_note::CatalogNote;
use super::journal_note::JournalNote;
use super::totals::Totals;
use super::unread_session::UnreadSession;

/// A row of the audit, as `recount audit decisions --json` and the HTTP API print it. `row` is its
/// kind.
///
/// ```json
/// {"row":"call","session":"0199…","call":6,"tool":"refund","verdict":"approved",…}
/// {"row":"totals","calls":1,…}
/// ```
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(tag = "row", rename_all = "snake_case")]
pub enum Row<'a> {
    /// A call.
    Call(&'a AuditedCall),
    /// A session that cannot be read.
    Unread(&'a UnreadSession),
    /// A change of tools while a session lived.
    Catalog(&'a CatalogNote),
    /// A record of the journal about itself.
    Note(&'a JournalNote),
    /// The counts of all calls: the last row.
    Totals(&'a Totals),
}
