//! The maps of a session, in the form that a snapshot stores.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::calls::requests::{Answered, Asking, Request, RequestState};
use crate::calls::settled::Settled;
use crate::record::finding::FoundAs;
use crate::values::actor::Actor;
use crate::values::endings::{CancelReason, Outcome};
use crate::values::id::Seq;

/// The ends of calls as rows, because a session keeps one for every call.
pub(crate) mod settled {
    use super::*;

    type Row = (Seq, Outcome, u32, Seq, bool);

    pub(crate) fn serialize<S: Serializer>(
        settled: &BTreeMap<Seq, Settled>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let row = |(call, it): (&Seq, &Settled)| -> Row {
            (*call, it.outcome, it.attempts, it.at, it.made_by_program)
        };
        serializer.collect_seq(settled.iter().map(row))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<Seq, Settled>, D::Error> {
        let rows = Vec::<Row>::deserialize(deserializer)?;
        let settled = |(call, outcome, attempts, at, made_by_program)| {
            let settled = Settled {
                outcome,
                attempts,
                at,
                made_by_program,
            };
            (call, settled)
        };
        Ok(rows.into_iter().map(settled).collect())
    }
}

/// The calls by their wire ids, grouped by connection.
pub(crate) mod wire_ids {
    use super::*;

    type Ids = BTreeMap<(Seq, String), Seq>;

    pub(crate) fn serialize<S: Serializer>(ids: &Ids, serializer: S) -> Result<S::Ok, S::Error> {
        let mut connections: Vec<(Seq, Vec<(&str, Seq)>)> = Vec::new();
        for ((epoch, id), call) in ids {
            match connections.last_mut() {
                Some((last, calls)) if last == epoch => calls.push((id, *call)),
                Some(_) | None => connections.push((*epoch, vec![(id, *call)])),
            }
        }
        connections.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Ids, D::Error> {
        let connections = Vec::<(Seq, Vec<(String, Seq)>)>::deserialize(deserializer)?;
        let ids = connections.into_iter().flat_map(|(epoch, calls)| {
            let id = move |(id, call)| ((epoch, id), call);
            calls.into_iter().map(id)
        });
        Ok(ids.collect())
    }
}

/// The requests as rows, with a separate list of approvers.
///
/// A session keeps one row for every request but has few approvers.
pub(crate) mod requests {
    use super::*;

    /// A row whose last field is the index of the approver in `people`.
    type AnsweredRow = (Seq, Seq, u32, Seq, bool, Option<FoundAs>, usize);

    /// The requests by state. Each row starts with the request, its call, and its number of refused
    /// answers.
    #[derive(Default, Deserialize, Serialize)]
    struct Rows {
        people: Vec<Actor>,
        open: Vec<(Seq, Seq, u32)>,
        answered: Vec<AnsweredRow>,
        expired: Vec<(Seq, Seq, u32, Seq)>,
        /// The expired requests whose calls run without an answer.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        unanswered: BTreeSet<Seq>,
        withdrawn: Vec<(Seq, Seq, u32, Seq, CancelReason)>,
        superseded: Vec<(Seq, Seq, u32, Seq)>,
        /// The terms of the open requests that have some.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        asking: Vec<(Seq, Box<Asking>)>,
    }

    pub(crate) fn serialize<S: Serializer>(
        requests: &BTreeMap<Seq, Request>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let (mut rows, mut indexes) = (Rows::default(), BTreeMap::new());
        for (seq, it) in requests {
            let (seq, call, refused) = (*seq, it.call, it.refused);
            rows.asking.extend(it.asking.clone().map(|it| (seq, it)));
            match &it.state {
                RequestState::Open => rows.open.push((seq, call, refused)),
                RequestState::Answered(answered) => {
                    let Answered {
                        at,
                        confirmed,
                        found,
                        by,
                    } = answered;
                    let index = *indexes.entry(by).or_insert_with(|| {
                        rows.people.push(by.clone());
                        rows.people.len() - 1
                    });
                    rows.answered
                        .push((seq, call, refused, *at, *confirmed, *found, index));
                }
                RequestState::Expired { at, goes_on } => {
                    rows.expired.push((seq, call, refused, *at));
                    rows.unanswered.extend(goes_on.then_some(seq));
                }
                RequestState::Withdrawn { at, reason } => {
                    rows.withdrawn.push((seq, call, refused, *at, *reason));
                }
                RequestState::Superseded { by } => rows.superseded.push((seq, call, refused, *by)),
            }
        }
        rows.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<Seq, Request>, D::Error> {
        let rows = Rows::deserialize(deserializer)?;
        let request = |seq, call, refused, state| {
            let request = Request {
                call,
                state,
                refused,
                asking: None,
            };
            (seq, request)
        };
        let mut requests = Vec::with_capacity(rows.open.len() + rows.answered.len());
        for (seq, call, refused) in rows.open {
            requests.push(request(seq, call, refused, RequestState::Open));
        }
        for (seq, call, refused, at, confirmed, found, index) in rows.answered {
            let unknown = || D::Error::custom(format!("no actor at index {index}"));
            let answered = Answered {
                at,
                confirmed,
                found,
                by: rows.people.get(index).cloned().ok_or_else(unknown)?,
            };
            requests.push(request(
                seq,
                call,
                refused,
                RequestState::Answered(answered),
            ));
        }
        for (seq, call, refused, at) in rows.expired {
            let goes_on = rows.unanswered.contains(&seq);
            let state = RequestState::Expired { at, goes_on };
            requests.push(request(seq, call, refused, state));
        }
        for (seq, call, refused, at, reason) in rows.withdrawn {
            let state = RequestState::Withdrawn { at, reason };
            requests.push(request(seq, call, refused, state));
        }
        for (seq, call, refused, by) in rows.superseded {
            requests.push(request(seq, call, refused, RequestState::Superseded { by }));
        }
        let mut requests: BTreeMap<Seq, Request> = requests.into_iter().collect();
        for (seq, asking) in rows.asking {
            if let Some(request) = requests.get_mut(&seq) {
                request.asking = Some(asking);
            }
        }
        Ok(requests)
    }
}

/// Content that several sessions share, stored by value.
pub(crate) mod shared {
    use super::*;

    pub(crate) fn serialize<T: Serialize, S: Serializer>(
        shared: &Arc<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        T::serialize(shared, serializer)
    }

    pub(crate) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Arc<T>, D::Error> {
        T::deserialize(deserializer).map(Arc::new)
    }
}
