//! The responses on their way to the model, by the seq of their `response_issued` record.
//!
//! A session may have thousands of deliveries, and every record causes lookups. So indexes answer
//! them: which were sent, which use another connection than the live one, which belong to a call.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Bound, Deref};

use serde::{Deserialize, Serialize, Serializer};

use crate::record::decision::Route;
use crate::values::endings::Outcome;
use crate::values::id::Seq;
use crate::values::scheduling::FunctionResponseScheduling;
use crate::values::time::Timestamp;

/// A response on its way to the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// The call that the response answers.
    pub call: Seq,
    /// The call's id on the wire.
    pub wire_id: Option<String>,
    /// The tool's name.
    pub name: String,
    /// The outcome of the call, or `Interim` while it is open.
    pub outcome: Outcome,
    /// The route of the response.
    pub route: Route,
    /// The value of `willContinue`: true if another response for the call follows. `None` if the
    /// call has only one.
    pub will_continue: Option<bool>,
    /// The scheduling of the response, if the model does not wait for it.
    pub scheduling: Option<FunctionResponseScheduling>,
    /// The content that is sent.
    pub wording: Wording,
    /// True if the response only acknowledges that the call waits. Such a response is dropped with
    /// its connection, because no other connection needs it.
    pub acknowledges: bool,
    /// The time since which the delivery needs a new connection, if there was none when it was
    /// issued.
    pub connects: Option<Timestamp>,
    /// True if the response was written to the socket. Only later traffic from the server proves
    /// that it arrived.
    pub sent: bool,
}

/// The content of a response that is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Wording {
    /// The response as issued.
    AsIssued,
    /// No content yet, because the hook has to see the response first.
    AwaitingHook,
    /// The content of this `hook_answered` record.
    Hooked(Seq),
}

/// The responses on their way to the model, readable as a map.
///
/// ```
/// use recount_session::{Session, SessionId};
/// let session = Session::new(SessionId(uuid::Uuid::nil()));
/// assert!(session.deliveries.is_empty());
/// ```
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(from = "BTreeMap<Seq, Delivery>")]
pub struct Deliveries {
    all: BTreeMap<Seq, Delivery>,
    /// The deliveries that were written to the socket. The list may contain deliveries that were
    /// removed or reset since.
    sent: Vec<Seq>,
    /// The deliveries that need a new connection.
    connects: BTreeSet<Seq>,
    /// The deliveries by the connection they use. `None` holds those that wait for a connection.
    by_connection: BTreeSet<(Option<Seq>, Seq)>,
    /// The pairs of a call and its response.
    by_call: BTreeSet<(Seq, Seq)>,
}

impl Deliveries {
    pub(crate) fn insert(&mut self, response: Seq, delivery: Delivery) {
        self.remove(response);
        if delivery.sent {
            self.sent.push(response);
        }
        if delivery.connects.is_some() {
            self.connects.insert(response);
        }
        self.add_to_index(response, connection_key(&delivery));
        self.by_call.insert((delivery.call, response));
        self.all.insert(response, delivery);
    }

    pub(crate) fn remove(&mut self, response: Seq) -> Option<Delivery> {
        let delivery = self.all.remove(&response)?;
        self.connects.remove(&response);
        self.remove_from_index(response, connection_key(&delivery));
        self.by_call.remove(&(delivery.call, response));
        Some(delivery)
    }

    pub(crate) fn clear(&mut self) {
        *self = Deliveries::default();
    }

    /// Changes the route of a delivery.
    pub(crate) fn reroute(&mut self, response: Seq, route: Route) {
        if let Some(delivery) = self.all.get_mut(&response) {
            let before = connection_key(delivery);
            delivery.route = route;
            let after = connection_key(delivery);
            if before != after {
                self.remove_from_index(response, before);
                self.add_to_index(response, after);
            }
        }
    }

    /// Removes the wire id of a delivery, after the model has cancelled its call.
    pub(crate) fn clear_wire_id(&mut self, response: Seq) {
        if let Some(delivery) = self.all.get_mut(&response) {
            delivery.wire_id = None;
        }
    }

    /// Sets the content that is sent for a delivery.
    pub(crate) fn set_wording(&mut self, response: Seq, wording: Wording) {
        if let Some(delivery) = self.all.get_mut(&response) {
            delivery.wording = wording;
        }
    }

    /// Marks a delivery as written to the socket.
    pub(crate) fn mark_sent(&mut self, response: Seq) {
        if let Some(delivery) = self.all.get_mut(&response)
            && !delivery.sent
        {
            delivery.sent = true;
            self.sent.push(response);
        }
    }

    /// Marks all deliveries as not sent, because there is a new connection.
    pub(crate) fn mark_all_unsent(&mut self) {
        self.sent.clear();
        for delivery in self.all.values_mut() {
            delivery.sent = false;
        }
    }

    /// Removes one of the sent deliveries and returns it.
    pub(crate) fn take_sent(&mut self) -> Option<Delivery> {
        while let Some(response) = self.sent.pop() {
            if self.all.get(&response).is_some_and(|it| it.sent) {
                return self.remove(response);
            }
        }
        None
    }

    /// The responses of a call, oldest first.
    pub(crate) fn of_call(&self, call: Seq) -> impl Iterator<Item = (Seq, &Delivery)> + '_ {
        let of_call = self.by_call.range((call, Seq(0))..=(call, Seq(u64::MAX)));
        of_call.filter_map(|(_, response)| Some((*response, self.all.get(response)?)))
    }

    /// The oldest delivery that waits for a connection, or that uses another one than `epoch`.
    pub(crate) fn first_stranded(&self, epoch: Seq) -> Option<(Seq, &Delivery)> {
        let (mut first, mut from) = (None::<Seq>, Bound::Unbounded);
        while let Some((key, oldest)) = self.by_connection.range((from, Bound::Unbounded)).next() {
            if *key != Some(epoch) {
                first = Some(first.map_or(*oldest, |it| it.min(*oldest)));
            }
            from = Bound::Excluded((*key, Seq(u64::MAX)));
        }
        let first = first?;
        Some((first, self.all.get(&first)?))
    }

    /// The deliveries that need a new connection, oldest first.
    pub(crate) fn connecting(&self) -> impl Iterator<Item = (&Seq, &Delivery)> + '_ {
        let all = self.connects.iter();
        all.filter_map(|response| Some((response, self.all.get(response)?)))
    }

    fn add_to_index(&mut self, response: Seq, key: Option<Option<Seq>>) {
        self.by_connection.extend(key.map(|key| (key, response)));
    }

    fn remove_from_index(&mut self, response: Seq, key: Option<Option<Seq>>) {
        if let Some(key) = key {
            self.by_connection.remove(&(key, response));
        }
    }
}

/// The index key of a delivery: its connection, or `Some(None)` while it waits for one. `None` if
/// it uses no connection.
fn connection_key(delivery: &Delivery) -> Option<Option<Seq>> {
    match delivery.route {
        Route::ToolResponse { epoch } | Route::Conversation { epoch } => Some(Some(epoch)),
        Route::Parked | Route::Connect => Some(None),
        Route::Caller | Route::Parent | Route::Notify => None,
    }
}

impl Deref for Deliveries {
    type Target = BTreeMap<Seq, Delivery>;

    fn deref(&self) -> &BTreeMap<Seq, Delivery> {
        &self.all
    }
}

impl<'a> IntoIterator for &'a Deliveries {
    type Item = (&'a Seq, &'a Delivery);
    type IntoIter = std::collections::btree_map::Iter<'a, Seq, Delivery>;

    fn into_iter(self) -> Self::IntoIter {
        self.all.iter()
    }
}

impl From<BTreeMap<Seq, Delivery>> for Deliveries {
    fn from(all: BTreeMap<Seq, Delivery>) -> Deliveries {
        let mut deliveries = Deliveries::default();
        for (response, delivery) in all {
            deliveries.insert(response, delivery);
        }
        deliveries
    }
}

impl PartialEq for Deliveries {
    /// Compares the deliveries only, because the indexes are derived from them.
    fn eq(&self, other: &Deliveries) -> bool {
        self.all == other.all
    }
}

impl Serialize for Deliveries {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.all.serialize(serializer)
    }
}
