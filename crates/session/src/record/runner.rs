//! The records of a runner's terms: it attaches with its tools, or changes them while it stays.

use serde::{Deserialize, Serialize};

use crate::values::object::ObjectHash;

/// `runner_attached`: from this record on, calls may start under these declarations, policies and
/// rules.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunnerAttached {
    /// The agent that the process runs.
    pub agent: String,
    /// The hash of the [`Catalog`](crate::Catalog) of its tools.
    pub catalog: ObjectHash,
    /// The hash of its [`PolicySet`](crate::PolicySet).
    pub policies: ObjectHash,
    /// The number of the rules that decide from this record on.
    pub rules: u32,
    /// The program and its version.
    pub program: String,
    /// The status of confirmation gates in this process.
    pub gates: Gates,
    /// True if the attached process continues with other terms. Its running calls are not cut off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub goes_on: bool,
}

/// The status of confirmation gates.
///
/// ```json
/// {"enforced":false,"reason":"no durable journal and no confirmation provider"}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gates {
    /// True if a gated call waits for an approver. Otherwise `gate_waived` records that it did not.
    pub enforced: bool,
    /// The reason why gates are not enforced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Gates {
    /// Gates are enforced.
    pub fn enforced() -> Gates {
        Gates {
            enforced: true,
            reason: None,
        }
    }

    /// Gates are not enforced, for this reason.
    pub fn waived(reason: impl Into<String>) -> Gates {
        Gates {
            enforced: false,
            reason: Some(reason.into()),
        }
    }
}

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
