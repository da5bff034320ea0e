//! The responses on their way to the model, by the seq of their `response_issued`, and what a
//! decision asks about them.
//!
//! A session may have thousands of responses on their way. So the questions that each record asks
//! are answered from indexes: which have been sent, which go by a connection other than the live
//! one, which belong to a call.

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
    /// The call.
    pub call: Seq,
    /// The call's id on the wire.
    pub wire_id: Option<String>,
    /// The tool's name.
    pub name: String,
    /// How the call ended, or that it goes on.
    pub outcome: Outcome,
    /// How it travels.
    pub route: Route,
    /// Whether another response for the same call follows, where there are several.
    pub will_continue: Option<bool>,
    /// When the model should take it up, where it did not wait.
    pub scheduling: Option<FunctionResponseScheduling>,
    /// Which words are sent.
    pub wording: Wording,
    /// It only says that the call waits, to a model that may wait for it; another connection has no
    /// use for it.
    pub acknowledges: bool,
    /// Since when a connection is to be opened for it, where there was none when it was issued.
    pub connects: Option<Timestamp>,
    /// Whether it was written to the socket; only later traffic of the server proves that it
    /// arrived.
    pub sent: bool,
}

/// Which words of a response are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Wording {
    /// Those that were issued.
    AsIssued,
    /// None yet: a hook is to see them first.
    AwaitingHook,
    /// Those of this `hook_answered`.
    Hooked(Seq),
}

/// The responses on their way to the model. It reads as the map that it is.
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
    /// Those that were written to the socket; also such as are gone since, or were given back.
    sent: Vec<Seq>,
    /// Those for which a connection is to be opened.
    connects: BTreeSet<Seq>,
    /// Those that go by a connection, by its seq; under none those that wait for a connection.
    by_way: BTreeSet<(Option<Seq>, Seq)>,
    /// The calls and their responses.
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
        self.enter(response, way(&delivery));
        self.by_call.insert((delivery.call, response));
        self.all.insert(response, delivery);
    }

    pub(crate) fn remove(&mut self, response: Seq) -> Option<Delivery> {
        let delivery = self.all.remove(&response)?;
        self.connects.remove(&response);
        self.leave(response, way(&delivery));
        self.by_call.remove(&(delivery.call, response));
        Some(delivery)
    }

    pub(crate) fn clear(&mut self) {
        *self = Deliveries::default();
    }

    /// Gives a delivery another route.
    pub(crate) fn reroute(&mut self, response: Seq, route: Route) {
        if let Some(delivery) = self.all.get_mut(&response) {
            let before = way(delivery);
            delivery.route = route;
            let after = way(delivery);
            if before != after {
                self.leave(response, before);
                self.enter(response, after);
            }
        }
    }

    /// The delivery of this response without its id, which the model has taken back.
    pub(crate) fn take_id(&mut self, response: Seq) {
        if let Some(delivery) = self.all.get_mut(&response) {
            delivery.wire_id = None;
        }
    }

    /// Gives a delivery the words that are sent.
    pub(crate) fn word(&mut self, response: Seq, wording: Wording) {
        if let Some(delivery) = self.all.get_mut(&response) {
            delivery.wording = wording;
        }
    }

    /// The response was written to the socket.
    pub(crate) fn note_sent(&mut self, response: Seq) {
        if let Some(delivery) = self.all.get_mut(&response)
            && !delivery.sent
        {
            delivery.sent = true;
            self.sent.push(response);
        }
    }

    /// Nothing counts as sent any more, because the connection is another one.
    pub(crate) fn unsend(&mut self) {
        self.sent.clear();
        for delivery in self.all.values_mut() {
            delivery.sent = false;
        }
    }

    /// Removes one of those that were sent, and returns it.
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

    /// The oldest that waits for a connection, or goes by another one than `epoch`.
    pub(crate) fn first_stranded(&self, epoch: Seq) -> Option<(Seq, &Delivery)> {
        let (mut first, mut from) = (None::<Seq>, Bound::Unbounded);
        while let Some((way, oldest)) = self.by_way.range((from, Bound::Unbounded)).next() {
            if *way != Some(epoch) {
                first = Some(first.map_or(*oldest, |it| it.min(*oldest)));
            }
            from = Bound::Excluded((*way, Seq(u64::MAX)));
        }
        let first = first?;
        Some((first, self.all.get(&first)?))
    }

    /// Those for which a connection is to be opened, oldest first.
    pub(crate) fn connecting(&self) -> impl Iterator<Item = (&Seq, &Delivery)> + '_ {
        let all = self.connects.iter();
        all.filter_map(|response| Some((response, self.all.get(response)?)))
    }

    fn enter(&mut self, response: Seq, way: Option<Option<Seq>>) {
        self.by_way.extend(way.map(|way| (way, response)));
    }

    fn leave(&mut self, response: Seq, way: Option<Option<Seq>>) {
        if let Some(way) = way {
            self.by_way.remove(&(way, response));
        }
    }
}

/// The connection that a delivery goes by, or none where it waits for one; nothing where it leaves
/// by none.
fn way(delivery: &Delivery) -> Option<Option<Seq>> {
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
    /// Compares the deliveries; the indexes follow from them.
    fn eq(&self, other: &Deliveries) -> bool {
        self.all == other.all
    }
}

impl Serialize for Deliveries {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.all.serialize(serializer)
    }
}
