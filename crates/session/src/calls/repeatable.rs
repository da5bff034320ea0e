//! The calls that a resumed connection may deliver again.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::calls::deliveries::Delivery;
use crate::values::id::Seq;
use crate::values::object::ObjectHash;

/// The calls since the current resumption handle, by wire id.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Repeatable {
    /// True if the live connection resumed an earlier conversation.
    pub(crate) resumed: bool,
    pub(crate) calls: BTreeMap<String, Known>,
    /// The wire ids of the calls.
    pub(crate) ids: BTreeMap<Seq, String>,
    /// The ended calls without a delivery on its way. The next handle covers them.
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
    /// The hash of the call's name and arguments.
    pub(crate) asks_for: ObjectHash,
    /// The first interim response: the seq of its record, and the delivery.
    pub(crate) meanwhile: Option<(Seq, Delivery)>,
    /// The final response: the seq of its record, and the delivery.
    pub(crate) answer: Option<(Seq, Delivery)>,
    /// The reconciled outcome, if one was found later: the seq of its record, and the delivery.
    pub(crate) reconciled: Option<(Seq, Delivery)>,
}

impl Known {
    pub(crate) fn ends(&self) -> impl Iterator<Item = &(Seq, Delivery)> {
        self.reconciled.iter().chain(&self.answer)
    }
}
