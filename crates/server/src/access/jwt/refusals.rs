//! The refused tokens: counted by their fault, and logged now and then.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use recount::session::Timestamp;

use super::verifier::Fault;

/// The time between two lines of the log about one fault, in microseconds. Clients that repeat an
/// expired token must not fill the log.
const LOGGED_EVERY_US: i64 = 60 * 1_000_000;

/// The refused tokens since the start of the service.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    by_fault: Mutex<BTreeMap<Fault, Refused>>,
}

/// The refused tokens of one fault.
#[derive(Debug, Default)]
struct Refused {
    tokens: u64,
    logged_at: Option<Timestamp>,
}

impl Refusals {
    /// Counts a refused token. Nothing of the token is logged.
    pub(super) fn count(&self, fault: Fault, now: Timestamp) {
        let mut by_fault = self.by_fault();
        let refused = by_fault.entry(fault).or_default();
        refused.tokens += 1;
        let is_recent = |at: Timestamp| now.0.abs_diff(at.0) < LOGGED_EVERY_US.unsigned_abs();
        if !refused.logged_at.is_some_and(is_recent) {
            refused.logged_at = Some(now);
            let refused_so_far = refused.tokens;
            tracing::warn!(%fault, refused_so_far, "a JWT is refused");
        }
    }

    /// The number of refused tokens by the word for their fault.
    pub(super) fn all(&self) -> Vec<(&'static str, u64)> {
        let by_fault = self.by_fault();
        let all = by_fault.iter();
        all.map(|(fault, it)| (fault.as_str(), it.tokens)).collect()
    }

    fn by_fault(&self) -> MutexGuard<'_, BTreeMap<Fault, Refused>> {
        // Each change is one step, so a panic elsewhere leaves a whole table.
        self.by_fault.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
