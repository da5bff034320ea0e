//! The results of earlier calls that may be used again.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::values::id::Seq;
use crate::values::object::ObjectHash;
use crate::values::scheduling::FunctionResponseScheduling;
use crate::values::time::Timestamp;

/// The results of a session that may be used again, and the calls that are about to give one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Cache {
    pub(crate) results: BTreeMap<ObjectHash, Cached>,
    pub(crate) running: BTreeMap<ObjectHash, Seq>,
    /// Who rests until the equal call that runs has ended or gives its result.
    pub(crate) waiting: BTreeMap<ObjectHash, BTreeSet<Seq>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Cached {
    pub(crate) of: Seq,
    pub(crate) at: Timestamp,
    pub(crate) contract: Option<ObjectHash>,
    pub(crate) scheduling: Option<FunctionResponseScheduling>,
}
