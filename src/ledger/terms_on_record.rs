//! The check of the terms that a record names: their rules, and their fields.
//!
//! An older program that passes over a field of a policy may let a call run that the field holds.
//! So a session of newer rules is refused, and from rules 2 on every field must be known.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Error, Ledger};
use crate::session::{
    Catalog, ObjectHash, Observation, PolicySet, RULES, RULES_OF_STRICT_FIELDS, Seq, Session,
    SessionId,
};

/// Rejects an observation from which on newer rules decide. Under other rules, the folded state may
/// have another meaning.
pub(super) fn not_of_newer_rules(
    session: SessionId,
    seq: Seq,
    observation: &Observation,
) -> Result<(), Error> {
    match observation.rules().filter(|rules| *rules > RULES) {
        Some(rules) => Err(Error::NewerRules {
            session,
            seq,
            rules,
        }),
        None => Ok(()),
    }
}

/// The body of a record of an unknown kind, as far as every version writes it alike.
#[derive(Deserialize)]
struct Ruled {
    rules: Option<u64>,
}

/// Returns the rules that a body of an unknown kind names, if this program does not know them.
pub(super) fn newer_rules_in(body: &str) -> Option<u32> {
    rules_in(body).filter(|rules| *rules > RULES)
}

/// Returns the rules that a body names, of any kind.
pub(super) fn rules_in(body: &str) -> Option<u32> {
    // Most bodies name none, so they are not parsed.
    if !body.contains("\"rules\"") {
        return None;
    }
    let ruled: Ruled = serde_json::from_str(body).ok()?;
    Some(u32::try_from(ruled.rules?).unwrap_or(u32::MAX))
}

/// The kind of an object that a record names.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Role {
    Catalog,
    Policies,
}

impl Role {
    /// Returns the first unknown field of an object of this kind.
    fn unknown_field(self, content: &[u8]) -> serde_json::Result<Option<String>> {
        match self {
            Role::Catalog => Catalog::unknown_field(content),
            Role::Policies => PolicySet::unknown_field(content),
        }
    }
}

/// An object that a record names, where every field must be known.
#[derive(Clone, Copy, Debug)]
struct Strict {
    session: SessionId,
    seq: Seq,
    object: ObjectHash,
    role: Role,
}

/// Returns the objects of an observation whose fields must all be known. The rules of the
/// observation apply, or those in force in `session` before it.
fn strict(
    session: &Session,
    seq: Seq,
    observation: &Observation,
) -> impl Iterator<Item = Strict> + use<> {
    let rules = observation.rules().unwrap_or(session.rules);
    let named = observation.terms_named();
    let named = named.filter(|_| rules >= RULES_OF_STRICT_FIELDS);
    let objects =
        named.map(|(catalog, policies)| [(catalog, Role::Catalog), (policies, Role::Policies)]);
    let session = session.id;
    let objects = objects.into_iter().flatten();
    objects.map(move |(object, role)| Strict {
        session,
        seq,
        object,
        role,
    })
}

impl Strict {
    fn unknown(self, field: String) -> Error {
        Error::UnknownField {
            session: self.session,
            seq: self.seq,
            object: self.object,
            field,
        }
    }

    fn missing(self) -> Error {
        Error::MissingObject {
            session: self.session,
            hash: self.object,
        }
    }
}

impl Ledger {
    /// Rejects an observation that names terms with an unknown field, where every field must be
    /// known. `session` is the state before it.
    pub(super) async fn know_fields(
        &self,
        session: &Session,
        seq: Seq,
        observation: &Observation,
    ) -> Result<(), Error> {
        for it in strict(session, seq, observation) {
            let read = |content: &[u8]| it.role.unknown_field(content);
            match self.with_object(session.id, it.object, read).await? {
                Ok(None) => {}
                Ok(Some(field)) => return Err(it.unknown(field)),
                Err(_) => return Err(it.missing()),
            }
        }
        Ok(())
    }
}

/// The unknown fields of the objects of an import, which is not yet a journal.
#[derive(Debug, Default)]
pub(super) struct UnknownFields(BTreeMap<(ObjectHash, Role), String>);

impl UnknownFields {
    /// Notes the unknown field of an object, by each kind as which it can be read.
    pub(super) fn note(&mut self, hash: ObjectHash, content: &[u8]) {
        for role in [Role::Catalog, Role::Policies] {
            if let Ok(Some(field)) = role.unknown_field(content) {
                self.0.insert((hash, role), field);
            }
        }
    }

    /// Rejects an observation as [`Ledger::know_fields`] does. `session` has the objects.
    pub(super) fn check(
        &self,
        session: &Session,
        seq: Seq,
        observation: &Observation,
    ) -> Result<(), Error> {
        for it in strict(session, seq, observation) {
            let readable = match it.role {
                Role::Catalog => session.library().catalog(&it.object).is_some(),
                Role::Policies => session.library().policies(&it.object).is_some(),
            };
            if !readable {
                return Err(it.missing());
            }
            if let Some(field) = self.0.get(&(it.object, it.role)) {
                return Err(it.unknown(field.clone()));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "terms_on_record_tests.rs"]
mod tests;
