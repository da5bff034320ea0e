//! The change of a session's catalog while its runner stays.

use serde::{Deserialize, Serialize};

use crate::values::object::ObjectHash;

/// `catalog_changed`: from this record on, calls start under these declarations and policies. The
/// runner stays, and so do its running calls.
///
/// An older program must not overlook the record, so `rules` is at least 2.
///
/// ```json
/// {"catalog":"6f1e…","policies":"0b42…","rules":2}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CatalogChanged {
    /// The hash of the [`Catalog`](crate::Catalog) of the runner's tools from now on.
    pub catalog: ObjectHash,
    /// The hash of the [`PolicySet`](crate::PolicySet) from now on.
    pub policies: ObjectHash,
    /// The number of the rules that decide from this record on.
    pub rules: u32,
}
