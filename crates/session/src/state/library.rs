//! The catalogs and policies that the records of a session name.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::declared::catalog::Catalog;
use crate::policies::policy::PolicySet;
use crate::values::object::ObjectHash;

/// The catalogs and policies that events of this session may name.
///
/// The caller adds them before the fold, because folding reads no journal.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Library {
    catalogs: BTreeMap<ObjectHash, Arc<Catalog>>,
    policies: BTreeMap<ObjectHash, Arc<PolicySet>>,
}

impl Library {
    /// Adds a catalog under its address in the records: its own hash, or the hash of its sealed
    /// form.
    pub fn add_catalog(&mut self, address: ObjectHash, catalog: Arc<Catalog>) {
        self.catalogs.insert(address, catalog);
    }

    /// Adds the bytes of an object as a catalog, as policies, or as both if they parse as both.
    /// Returns false if they parse as neither.
    ///
    /// The address is the hash of the bytes, because a later version may have written fields that
    /// this version ignores.
    pub fn adopt(&mut self, hash: ObjectHash, bytes: &[u8]) -> bool {
        let (catalog, policies) = (Catalog::from_bytes(bytes), PolicySet::from_bytes(bytes));
        let readable = catalog.is_ok() || policies.is_ok();
        if let Ok(catalog) = catalog {
            self.catalogs.insert(hash, Arc::new(catalog));
        }
        if let Ok(policies) = policies {
            self.policies.insert(hash, Arc::new(policies));
        }
        readable
    }

    /// Adds a policy set under its address, like [`add_catalog`](Library::add_catalog).
    pub fn add_policies(&mut self, address: ObjectHash, policies: Arc<PolicySet>) {
        self.policies.insert(address, policies);
    }

    /// The address of this catalog instance, if the library contains it.
    pub(super) fn address_of(&self, catalog: &Arc<Catalog>) -> Option<ObjectHash> {
        let mut all = self.catalogs.iter();
        let (address, _) = all.find(|(_, it)| Arc::ptr_eq(it, catalog))?;
        Some(*address)
    }

    /// The addresses of all objects in the library.
    pub(super) fn addresses(&self) -> BTreeSet<ObjectHash> {
        let catalogs = self.catalogs.keys();
        catalogs.chain(self.policies.keys()).copied().collect()
    }

    /// Returns the catalog with this address.
    pub fn catalog(&self, address: &ObjectHash) -> Option<&Arc<Catalog>> {
        self.catalogs.get(address)
    }

    /// Returns the policies with this address.
    pub fn policies(&self, address: &ObjectHash) -> Option<&Arc<PolicySet>> {
        self.policies.get(address)
    }

    /// The hashes among `named` that the library does not contain.
    pub fn missing(&self, named: &[ObjectHash]) -> Vec<ObjectHash> {
        let known = |hash: &&ObjectHash| {
            !self.catalogs.contains_key(*hash) && !self.policies.contains_key(*hash)
        };
        named.iter().filter(known).copied().collect()
    }
}
