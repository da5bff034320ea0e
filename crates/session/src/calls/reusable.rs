//! The results of earlier calls that later calls may reuse.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::values::id::Seq;
use crate::values::object::ObjectHash;
use crate::values::scheduling::FunctionResponseScheduling;
use crate::values::time::Timestamp;

/// The reusable results of a session, and the running calls that are about to produce one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Cache {
    pub(crate) results: BTreeMap<ObjectHash, Cached>,
    pub(crate) running: BTreeMap<ObjectHash, Seq>,
    /// The calls that wait until the running equal call ends or returns its result.
    pub(crate) waiting: BTreeMap<ObjectHash, BTreeSet<Seq>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Cached {
    pub(crate) of: Seq,
    pub(crate) at: Timestamp,
    pub(crate) contract: Option<ObjectHash>,
    pub(crate) scheduling: Option<FunctionResponseScheduling>,
}
