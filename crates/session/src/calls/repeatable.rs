//! The calls that a resumed connection might deliver again.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::calls::deliveries::Delivery;
use crate::values::id::Seq;
use crate::values::object::ObjectHash;

/// The calls since the handle by which the conversation can be resumed, by wire id.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Repeatable {
    /// Whether the live connection goes on with an earlier conversation.
    pub(crate) resumed: bool,
    pub(crate) calls: BTreeMap<String, Known>,
    /// The wire ids of those calls.
    pub(crate) ids: BTreeMap<Seq, String>,
    /// Those of which nothing is on its way any more, so that the next handle covers them.
    pub(crate) ended: BTreeSet<Seq>,
}

impl Repeatable {
    pub(crate) fn of_call(&mut self, call: Seq) -> Option<&mut Known> {
        self.calls.get_mut(self.ids.get(&call)?)
    }

    pub(crate) fn forget(&mut self, id: &str) {
        if let Some(known) = self.calls.remove(id) {
            self.ids.remove(&known.call);
            self.ended.remove(&known.call);
        }
    }
}

/// A call that may be delivered again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Known {
    pub(crate) call: Seq,
    /// Over its name and arguments.
    pub(crate) asks_for: ObjectHash,
    /// What was told of it first while it went on, and how.
    pub(crate) meanwhile: Option<(Seq, Delivery)>,
    /// Its end and how that was told, once it has ended.
    pub(crate) answer: Option<(Seq, Delivery)>,
    /// What was found out of it since, and how that is told.
    pub(crate) reconciled: Option<(Seq, Delivery)>,
}

impl Known {
    pub(crate) fn ends(&self) -> impl Iterator<Item = &(Seq, Delivery)> {
        self.reconciled.iter().chain(&self.answer)
    }
}
