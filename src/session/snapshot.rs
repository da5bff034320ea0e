//! A folded session as bytes, so that the next opening of a long one need not fold it all again.
//!
//! A snapshot is a cache: whoever keeps one says by which program and of which records it was made, and folds the records where that is
//! not known, or not so any more. Its bytes are JSON that only the version which wrote them reads; of catalogs and policies they hold the
//! addresses. It holds no more than the records do from which it was folded.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Actor;
use super::command::Answered;
use super::decision::{CancelReason, Outcome};
use super::finding::FoundAs;
use super::id::Seq;
use super::object::ObjectHash;
use super::observation::Gates;
use super::reducers::repeats;
use super::state::{Library, Request, RequestState, Session, Settled};
use super::terms::Terms;

/// What a session was folded to, before its catalogs and policies are there again.
///
/// ```
/// use recount::session::snapshot::{self, Snapshot};
/// use recount::testing::{history, toolbox};
///
/// let told = history().opened("support").attached(&toolbox().plain("pay")).connected();
/// let bytes = snapshot::of(told.session()).unwrap();
/// let read = Snapshot::read(&bytes).unwrap();
/// assert_eq!(read.objects().len(), 2);
/// let library = told.session().library().clone();
/// assert_eq!(read.restored(library).as_ref(), Some(told.session()));
/// ```
#[derive(Debug, Deserialize)]
pub struct Snapshot {
    terms: Option<NamedTerms>,
    objects: Vec<ObjectHash>,
    session: Session,
}

/// A snapshot as it is written.
#[derive(Serialize)]
struct Written<'s> {
    terms: Option<NamedTerms>,
    objects: Vec<ObjectHash>,
    session: &'s Session,
}

/// The terms in force, by the addresses of what they are made of.
#[derive(Debug, Deserialize, Serialize)]
struct NamedTerms {
    catalog: ObjectHash,
    policies: ObjectHash,
    gates: Gates,
}

/// The session as bytes; none where its terms are not those of a runner on record, so that they cannot be found again.
#[must_use]
pub fn of(session: &Session) -> Option<Vec<u8>> {
    let terms = match session.terms.policies_hash {
        None => None,
        Some(policies) => Some(NamedTerms {
            catalog: session.library.address_of(&session.terms.catalog)?,
            policies,
            gates: session.terms.gates.clone(),
        }),
    };
    let written = Written {
        terms,
        objects: session.library.addresses().into_iter().collect(),
        session,
    };
    serde_json::to_vec(&written).ok()
}

impl Snapshot {
    /// Reads what [`of`] wrote; nothing where this version would have written it otherwise.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Snapshot> {
        serde_json::from_slice(bytes).ok()
    }

    /// The last record that was folded.
    #[must_use]
    pub fn head(&self) -> Seq {
        self.session.head
    }

    /// The addresses of the catalogs and policies that the library must have.
    #[must_use]
    pub fn objects(&self) -> &[ObjectHash] {
        &self.objects
    }

    /// The session, with its catalogs and policies in `library`; nothing where one of those in force is missing.
    #[must_use]
    pub fn restored(self, library: Library) -> Option<Session> {
        let mut session = self.session;
        if let Some(named) = self.terms {
            let catalog = Arc::clone(library.catalog(&named.catalog)?);
            let policies = Arc::clone(library.policies(&named.policies)?);
            session.terms = Terms::new(catalog, policies, Some(named.policies), named.gates);
        }
        session.library = library;
        Some(session)
    }
}

/// A [`Settled`] as a row: one is kept of every call.
pub(super) type SettledRow = (Outcome, u32, Seq, bool);

impl From<Settled> for SettledRow {
    fn from(it: Settled) -> SettledRow {
        (it.outcome, it.attempts, it.at, it.made_by_program)
    }
}

impl From<SettledRow> for Settled {
    fn from((outcome, attempts, at, made_by_program): SettledRow) -> Settled {
        Settled {
            outcome,
            attempts,
            at,
            made_by_program,
        }
    }
}

/// A map as a list of pairs: JSON has text keys only, and a sorted list is a map at once.
pub(super) mod pairs {
    use super::*;

    pub(in crate::session) fn serialize<K: Serialize, V: Serialize, S: Serializer>(
        map: &BTreeMap<K, V>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(map)
    }

    pub(in crate::session) fn deserialize<'de, K, V, D>(
        deserializer: D,
    ) -> Result<BTreeMap<K, V>, D::Error>
    where
        K: Deserialize<'de> + Ord,
        V: Deserialize<'de>,
        D: Deserializer<'de>,
    {
        let pairs = Vec::<(K, V)>::deserialize(deserializer)?;
        Ok(pairs.into_iter().collect())
    }
}

/// What became of the requests, as rows, and apart from them who answered: one row is kept of every request, and those who
/// answer are few.
pub(super) mod requests {
    use super::*;

    #[derive(Deserialize, Serialize)]
    struct Rows {
        people: Vec<Actor>,
        rows: Vec<(Seq, Seq, u32, StateRow)>,
    }

    /// A [`RequestState`] with the place of whoever answered.
    #[derive(Deserialize, Serialize)]
    enum StateRow {
        Open,
        Answered(Seq, bool, Option<FoundAs>, usize),
        Expired(Seq),
        Withdrawn(Seq, CancelReason),
        Superseded(Seq),
    }

    pub(in crate::session) fn serialize<S: Serializer>(
        requests: &BTreeMap<Seq, Request>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let (mut people, mut places) = (Vec::new(), BTreeMap::new());
        let rows = requests.iter().map(|(seq, it)| {
            let state = match &it.state {
                RequestState::Open => StateRow::Open,
                RequestState::Answered(answered) => {
                    let place = *places.entry(&answered.by).or_insert_with(|| {
                        people.push(answered.by.clone());
                        people.len() - 1
                    });
                    StateRow::Answered(answered.at, answered.confirmed, answered.found, place)
                }
                RequestState::Expired { at } => StateRow::Expired(*at),
                RequestState::Withdrawn { at, reason } => StateRow::Withdrawn(*at, *reason),
                RequestState::Superseded { by } => StateRow::Superseded(*by),
            };
            (*seq, it.call, it.refused, state)
        });
        let rows = rows.collect();
        Rows { people, rows }.serialize(serializer)
    }

    pub(in crate::session) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<Seq, Request>, D::Error> {
        let Rows { people, rows } = Rows::deserialize(deserializer)?;
        let requests = rows.into_iter().map(|(seq, call, refused, state)| {
            let state = match state {
                StateRow::Open => RequestState::Open,
                StateRow::Answered(at, confirmed, found, place) => {
                    let by = people.get(place).cloned();
                    let nobody = || D::Error::custom(format!("nobody stands at {place}"));
                    RequestState::Answered(Answered {
                        at,
                        confirmed,
                        found,
                        by: by.ok_or_else(nobody)?,
                    })
                }
                StateRow::Expired(at) => RequestState::Expired { at },
                StateRow::Withdrawn(at, reason) => RequestState::Withdrawn { at, reason },
                StateRow::Superseded(by) => RequestState::Superseded { by },
            };
            let request = Request {
                call,
                state,
                refused,
            };
            Ok((seq, request))
        });
        requests.collect()
    }
}

/// What several sessions share, as its content.
pub(super) mod shared {
    use super::*;

    pub(in crate::session) fn serialize<T: Serialize, S: Serializer>(
        shared: &Arc<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        T::serialize(shared, serializer)
    }

    pub(in crate::session) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Arc<T>, D::Error> {
        T::deserialize(deserializer).map(Arc::new)
    }
}

/// A kind of [`REFUSAL_KINDS`]. Named, because serde would borrow a bare `&str` from what it reads.
pub(super) type RefusalKind = &'static str;

/// The kinds of error under which a model hears of a refusal.
const REFUSAL_KINDS: [&str; 7] = [
    "not_found",
    "invalid_args",
    "not_available",
    "limit_reached",
    repeats::PENDING,
    "refused",
    "hook_failed",
];

pub(super) fn refusal_kind<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<RefusalKind, D::Error> {
    let kind = String::deserialize(deserializer)?;
    let known = REFUSAL_KINDS.into_iter().find(|it| *it == kind);
    known.ok_or_else(|| D::Error::custom(format!("no refusal is of kind {kind:?}")))
}
