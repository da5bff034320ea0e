//! The status of the checkpoints of a journal and of its anchors, for operators.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use recount::session::Timestamp;
use serde::Serialize;

/// The status of the checkpoints of a journal.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct EvidenceStatus {
    /// The name of the journal in its checkpoints.
    pub origin: String,
    /// The last checkpoint of this process or, until it makes one, on record.
    pub last: Option<LastCheckpoint>,
    /// The number of records that no checkpoint covers yet, without its own.
    pub records_since: u64,
    /// The time since which a checkpoint lacks a signature.
    #[serde(rename = "failing_since_us")]
    pub failing_since: Option<Timestamp>,
    /// The last error of a signer. `None` if the last checkpoint has every signature.
    pub error: Option<String>,
    /// The reason why the folder `tree` of the journal is not written, so each start reads the
    /// whole log. `None` if all is well.
    pub tree_error: Option<String>,
    /// The anchors, in the order of the configuration.
    pub anchors: Vec<AnchorStatus>,
}

/// The last checkpoint.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct LastCheckpoint {
    /// The number of records that it is about.
    pub size: u64,
    /// The time at which it was made.
    #[serde(rename = "at_us")]
    pub at: Timestamp,
    /// The names of the keys that signed it.
    pub signers: Vec<String>,
}

/// The status of an anchor.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct AnchorStatus {
    /// The name.
    pub name: String,
    /// `directory`, `command` or `timestamp`.
    pub kind: &'static str,
    /// The number of records of the last checkpoint that it took in this process, 0 before the
    /// first.
    pub size: u64,
    /// The number of checkpoints on record that it has not taken.
    pub behind: u64,
    /// The time since which no attempt has succeeded.
    #[serde(rename = "failing_since_us")]
    pub failing_since: Option<Timestamp>,
    /// The last error. `None` if the last attempt succeeded.
    pub error: Option<String>,
}

/// The status that the tasks of a journal write and operators read. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct StatusBoard(Arc<Mutex<EvidenceStatus>>);

impl StatusBoard {
    /// Returns the status now.
    pub fn read(&self) -> EvidenceStatus {
        self.lock().clone()
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, EvidenceStatus> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an anchor, and returns its number.
    pub(crate) fn add(&self, anchor: AnchorStatus) -> usize {
        let anchors = &mut self.lock().anchors;
        anchors.push(anchor);
        anchors.len() - 1
    }

    /// Changes the status of an anchor.
    pub(crate) fn change(&self, anchor: usize, change: impl FnOnce(&mut AnchorStatus)) {
        if let Some(anchor) = self.lock().anchors.get_mut(anchor) {
            change(anchor);
        }
    }
}
