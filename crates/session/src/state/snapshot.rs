//! A folded session as bytes: a cache that spares a long session the full fold when it is opened.
//!
//! The caller stores with a snapshot which program made it and from which records. If these do not
//! match, the caller folds the records instead. The bytes are JSON for the version that wrote them
//! only. They contain the addresses of catalogs and policies, and nothing else that the folded
//! records do not contain.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::session::Session;
use super::terms::Terms;
use crate::record::observation::Gates;
use crate::state::library::Library;
use crate::values::id::Seq;
use crate::values::object::ObjectHash;

/// A snapshot that was read, before its catalogs and policies are restored.
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

/// The serialized form of a snapshot.
#[derive(Serialize)]
struct Written<'s> {
    terms: Option<NamedTerms>,
    objects: Vec<ObjectHash>,
    session: &'s Session,
}

/// The terms in force, as the addresses of their objects.
#[derive(Debug, Deserialize, Serialize)]
struct NamedTerms {
    catalog: ObjectHash,
    policies: ObjectHash,
    gates: Gates,
}

/// Serializes a session.
///
/// Returns `None` if the library does not contain the catalog in force, because a reader could not
/// restore the terms then.
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
    /// Parses the output of [`of`]. Returns `None` for bytes of an incompatible version.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Snapshot> {
        serde_json::from_slice(bytes).ok()
    }

    /// The seq of the last folded record.
    #[must_use]
    pub fn head(&self) -> Seq {
        self.session.head
    }

    /// The addresses of the catalogs and policies that the library must contain.
    #[must_use]
    pub fn objects(&self) -> &[ObjectHash] {
        &self.objects
    }

    /// Restores the session, with its catalogs and policies from `library`.
    ///
    /// Returns `None` if the library lacks the catalog or the policies in force.
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
