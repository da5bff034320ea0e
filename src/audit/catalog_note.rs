//! A change of a session's tools while it lived, as a line of the audit.

use serde::Serialize;

use super::moment;
use crate::session::{Catalog, Fact, Seq, SessionId, Timestamp};

/// A change of a session's tools while it lived, from its `catalog_changed`.
///
/// ```json
/// {"session":"0199…","seq":9,"at":"2026-11-20T14:03:07.112345Z","added":["open_page"],
///  "removed":[],"changed":["refund"]}
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CatalogNote {
    /// The session.
    pub session: SessionId,
    /// The seq of the record.
    pub seq: Seq,
    /// The time of the record.
    #[serde(serialize_with = "moment::text")]
    pub at: Timestamp,
    /// The tools that came.
    pub added: Vec<String>,
    /// The tools that went.
    pub removed: Vec<String>,
    /// The tools that are declared otherwise. A policy may have changed without that.
    pub changed: Vec<String>,
}

impl CatalogNote {
    /// Compares the catalogs before and after a record.
    pub(super) fn of(
        session: SessionId,
        fact: &Fact,
        before: &Catalog,
        after: &Catalog,
    ) -> CatalogNote {
        let missing = |from: &Catalog, of: &Catalog| {
            let names = of.tools.keys().filter(|name| from.get(name).is_none());
            names.cloned().collect()
        };
        let differs = |(name, tool): &(&String, _)| before.get(name).is_some_and(|it| it != *tool);
        let changed = after.tools.iter().filter(differs);
        CatalogNote {
            session,
            seq: fact.seq,
            at: fact.at,
            added: missing(before, after),
            removed: missing(after, before),
            changed: changed.map(|(name, _)| name.clone()).collect(),
        }
    }

    /// Returns the change in words.
    ///
    /// ```
    /// use recount::audit::CatalogNote;
    /// use recount::session::{Seq, SessionId, Timestamp};
    ///
    /// let note = CatalogNote {
    ///     session: SessionId(uuid::Uuid::nil()),
    ///     seq: Seq(9),
    ///     at: Timestamp(0),
    ///     added: vec!["look".to_owned(), "ship".to_owned()],
    ///     removed: Vec::new(),
    ///     changed: vec!["pay".to_owned()],
    /// };
    /// assert_eq!(note.in_words(), "tools changed: added look, ship; changed pay");
    /// ```
    #[must_use]
    pub fn in_words(&self) -> String {
        let parts = [
            ("added", &self.added),
            ("removed", &self.removed),
            ("changed", &self.changed),
        ];
        let parts = parts.into_iter().filter(|(_, names)| !names.is_empty());
        let parts: Vec<String> = parts
            .map(|(what, names)| format!("{what} {}", names.join(", ")))
            .collect();
        if parts.is_empty() {
            return "policies of the tools changed".to_owned();
        }
        format!("tools changed: {}", parts.join("; "))
    }
}
