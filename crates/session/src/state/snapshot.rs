//! A folded session as bytes, so that the next opening of a long one need not fold it all again.
//!
//! A snapshot is a cache: whoever keeps one says by which program and of which records it was made,
//! and folds the records where that is not known, or not so any more. Its bytes are JSON that only
//! the version which wrote them reads; of catalogs and policies they hold the addresses. It holds
//! no more than the records do from which it was folded.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::session::Session;
use super::terms::Terms;
use crate::record::observation::Gates;
use crate::state::library::Library;
use crate::values::id::Seq;
use crate::values::object::ObjectHash;

/// What a session was folded to, before its catalogs and policies are there again.
///
/// ```
/// use recount_session::snapshot::{self, Snapshot};
/// use recount_session::testing::{history, toolbox};
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

/// The session as bytes; none where its terms are not those of a runner on record, so that they
/// cannot be found again.
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

    /// The session, with its catalogs and policies in `library`; nothing where one of those in
    /// force is missing.
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
