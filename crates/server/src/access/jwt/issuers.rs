//! The issuers whose JWTs a service takes, which may be replaced while it runs.

use std::sync::{Arc, PoisonError, RwLock};

use recount::session::Timestamp;

use super::refusals::Refusals;
use super::verifier::{Fault, Jwt};
use crate::access::entrance::unauthenticated;
use crate::access::principal::Principal;
use crate::problems::{Code, Problem};

/// The issuers. Clones share them.
#[derive(Clone, Default)]
pub(in crate::access) struct Jwts {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    issuers: RwLock<Arc<[Arc<Jwt>]>>,
    refusals: Refusals,
}

impl Jwts {
    /// These issuers and another one. Earlier clones do not get it.
    pub(in crate::access) fn with(&self, jwt: Jwt) -> Jwts {
        let issuers = self.issuers();
        let added = issuers.iter().cloned().chain([Arc::new(jwt)]);
        let shared = Shared {
            issuers: RwLock::new(added.collect()),
            refusals: Refusals::default(),
        };
        Jwts {
            shared: Arc::new(shared),
        }
    }

    /// Replaces all issuers, also those of clones.
    pub(in crate::access) fn replace(&self, jwts: impl IntoIterator<Item = Jwt>) {
        let all = jwts.into_iter().map(Arc::new).collect();
        let issuers = &self.shared.issuers;
        *issuers.write().unwrap_or_else(PoisonError::into_inner) = all;
    }

    /// The principal of a token. `None`: it is none of a known issuer.
    pub(in crate::access) async fn recognise(
        &self,
        token: &str,
        now: Timestamp,
    ) -> Result<Option<Principal>, Problem> {
        let issuers = self.issuers();
        let Some(jwt) = issuers.iter().find(|it| it.is_named_by(token)) else {
            return Ok(None);
        };
        let fault = match jwt.recognise(token, now).await {
            Ok(principal) => return Ok(Some(principal)),
            Err(fault) => fault,
        };
        self.shared.refusals.count(fault, now);
        if fault == Fault::NoKeys {
            let detail = "the keys of the issuer could not be fetched; try later";
            return Err(Problem::new(Code::IssuerKeys, detail));
        }
        Err(unauthenticated())
    }

    /// Counts a token that no way of the access admits as one of an unknown issuer.
    pub(in crate::access) fn refuse_unknown(&self, token: &str, now: Timestamp) {
        if !self.issuers().is_empty() {
            let fault = Jwt::fault_of_foreign(token);
            self.shared.refusals.count(fault, now);
        }
    }

    /// The number of issuers.
    pub(in crate::access) fn len(&self) -> usize {
        self.issuers().len()
    }

    /// The number of refused tokens by the word for their fault.
    pub(in crate::access) fn refused(&self) -> Vec<(&'static str, u64)> {
        self.shared.refusals.all()
    }

    fn issuers(&self) -> Arc<[Arc<Jwt>]> {
        // They are replaced in one step, so a panic elsewhere leaves a whole list.
        let issuers = self.shared.issuers.read();
        issuers.unwrap_or_else(PoisonError::into_inner).clone()
    }
}
