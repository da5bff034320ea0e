//! Claims: a client holds one attempt of a call until its lease passes.

use serde::{Deserialize, Serialize};

use crate::values::actor::{Actor, Authentication};
use crate::values::id::Seq;
use crate::values::time::Timestamp;

/// The last claim of a client on a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The `call_claimed` record.
    pub at: Seq,
    /// The number of the start that the claim is for.
    pub attempt: u32,
    /// The id that the client chose for the claim.
    pub claim: String,
    /// The client.
    pub by: Actor,
    /// The end of the lease.
    pub until: Timestamp,
    /// The state of the claim.
    pub state: ClaimState,
}

/// The state of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClaimState {
    /// The client runs the call.
    Held,
    /// The client did not report a result in time. A late result still counts while nothing else
    /// has decided the outcome.
    Lapsed,
    /// The client returned a result, or gave the call back.
    Done,
}

impl Claim {
    /// True if this party holds, or held, the claim. Roles and groups may differ, because they may
    /// change during a lease.
    #[must_use]
    pub fn is_by(&self, by: &Actor) -> bool {
        fn key(it: &Actor) -> (&str, Authentication, Option<&str>) {
            (&it.name, it.authenticated_by, it.issuer())
        }
        key(&self.by) == key(by)
    }
}
