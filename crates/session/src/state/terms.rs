//! The tools and policies in force, with the hashes that are needed often.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::declared::catalog::{Catalog, contract_hash, declaration_hash};
use crate::policies::policy::{PolicySet, ToolPolicy};
use crate::record::observation::Gates;
use crate::values::object::ObjectHash;

/// The tools and policies in force.
#[derive(Clone, Debug, PartialEq)]
pub struct Terms {
    /// The declared tools.
    pub catalog: Arc<Catalog>,
    /// The policies for the tools.
    pub policies: Arc<PolicySet>,
    /// The hash of the policies, once a runner has named them.
    pub policies_hash: Option<ObjectHash>,
    /// The setting that enforces or waives confirmation gates.
    pub gates: Gates,
    /// True if a policy sets a time for which waiting calls are not acknowledged. Most sets have
    /// none, and then no waiting call looks its policy up.
    pub(crate) delays_acknowledgements: bool,
    /// The precomputed hashes of gated and cached tools. Requests for gated tools contain them, and
    /// cached results are compared with them.
    hashes: BTreeMap<String, Hashes>,
}

/// The hashes of one tool.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Hashes {
    contract: ObjectHash,
    /// The hash of the declaration. Set for gated tools only, because only their requests contain
    /// it.
    declaration: Option<ObjectHash>,
}

impl Default for Terms {
    /// The terms of a session without a runner so far.
    fn default() -> Terms {
        Terms::new(Arc::default(), Arc::default(), None, Gates::enforced())
    }
}

impl Terms {
    pub(crate) fn new(
        catalog: Arc<Catalog>,
        policies: Arc<PolicySet>,
        policies_hash: Option<ObjectHash>,
        gates: Gates,
    ) -> Terms {
        let compared = |(_, policy): &(_, &ToolPolicy)| policy.confirm || policy.cache;
        let hashes = policies
            .tools
            .iter()
            .filter(compared)
            .filter_map(|(name, policy)| {
                let declared = catalog.tools.get(name)?;
                let hashes = Hashes {
                    contract: contract_hash(declared, policy),
                    declaration: policy.confirm.then(|| declaration_hash(declared, policy)),
                };
                Some((name.clone(), hashes))
            });
        let mut tools = policies.tools.values();
        let by_tool = tools.any(|policy| policy.acknowledge_after.is_some());
        Terms {
            hashes: hashes.collect(),
            delays_acknowledgements: policies.acknowledge_after.is_some() || by_tool,
            catalog,
            policies,
            policies_hash,
            gates,
        }
    }

    /// True if a gate of this policy is waived. A gate whose answers have terms is never waived.
    pub(crate) fn waive(&self, policy: &ToolPolicy) -> bool {
        !self.gates.enforced && !policy.gate_terms.restrict_answers()
    }

    /// The contract hash of a tool, if it is declared.
    pub fn contract(&self, name: &str) -> Option<ObjectHash> {
        let kept = self.hashes.get(name).map(|it| it.contract);
        kept.or_else(|| {
            let declared = self.catalog.tools.get(name)?;
            Some(contract_hash(declared, self.policies.of(name)))
        })
    }

    /// The hash of everything declared about a tool, if it is declared.
    pub(crate) fn declaration(&self, name: &str) -> Option<ObjectHash> {
        let kept = self.hashes.get(name).and_then(|it| it.declaration);
        kept.or_else(|| {
            let declared = self.catalog.tools.get(name)?;
            Some(declaration_hash(declared, self.policies.of(name)))
        })
    }
}
