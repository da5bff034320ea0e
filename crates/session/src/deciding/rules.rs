//! The number of the decision rules.
//!
//! A change that alters any decision in the corpus of old journals gets a new number. The old
//! branch stays as long as the corpus needs it. A term also gets a new number if an older program
//! would overlook it, and let a call run that the term holds.
//!
//! A session records the lowest number that it needs, so that an older program still serves a
//! session without newer terms. The number is recorded when a session opens and when a runner
//! attaches, and `decide` reads it from the session.

use crate::declared::catalog::Catalog;
use crate::policies::policy::PolicySet;
use crate::state::session::Session;

/// The highest rules number that this program knows.
pub const RULES: u32 = 2;

/// The rules number of a session that uses no term of later rules.
pub const RULES_MIN: u32 = 1;

/// The first rules under which unknown fields of a catalog or of policies are an error.
pub const RULES_OF_STRICT_FIELDS: u32 = 2;

/// The first rules under which a call may have an idempotency key.
///
/// An older program would overlook the key, and run a repeated call again.
pub const RULES_OF_KEYS: u32 = 2;

/// Returns the lowest rules number that this catalog and these policies need.
///
/// ```
/// use recount_session::catalog::Catalog;
/// use recount_session::policy::PolicySet;
/// use recount_session::{RULES_MIN, rules_needed};
/// assert_eq!(rules_needed(&Catalog::default(), &PolicySet::default()), RULES_MIN);
/// ```
#[must_use]
pub fn rules_needed(catalog: &Catalog, policies: &PolicySet) -> u32 {
    let tools = catalog.tools.values().any(|tool| tool.needs_rules_2());
    if tools || policies.needs_rules_2() {
        2
    } else {
        RULES_MIN
    }
}

impl Session {
    /// Returns the lowest rules number with which this session may continue under these terms.
    ///
    /// It is that of [`rules_needed`], or more if a call of the session has an idempotency key.
    ///
    /// ```
    /// use recount_session::{Catalog, PolicySet, RULES_MIN, Session, SessionId};
    /// let session = Session::new(SessionId(uuid::Uuid::nil()));
    /// let rules = session.rules_needed(&Catalog::default(), &PolicySet::default());
    /// assert_eq!(rules, RULES_MIN);
    /// ```
    #[must_use]
    pub fn rules_needed(&self, catalog: &Catalog, policies: &PolicySet) -> u32 {
        let keyed = if self.keys.is_empty() {
            RULES_MIN
        } else {
            RULES_OF_KEYS
        };
        rules_needed(catalog, policies).max(keyed)
    }
}
