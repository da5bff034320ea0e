//! Observations about calls that clients run.

use serde::{Deserialize, Serialize};

use crate::values::actor::Actor;
use crate::values::id::Seq;
use crate::values::time::Timestamp;

/// `call_claimed`: a client runs this attempt of a call until its lease passes.
///
/// ```json
/// {"call":5,"attempt":1,"claim":"w7-0001",
///  "by":{"name":"warehouse","authenticated_by":"token"},
///  "until_us":1763700060000000,"rules":2}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallClaimed {
    /// The call.
    pub call: Seq,
    /// The number of the start.
    pub attempt: u32,
    /// The id that the client chose for the claim.
    pub claim: String,
    /// The client.
    pub by: Actor,
    /// The end of the lease.
    pub until_us: Timestamp,
    /// The number of the rules that a reader of this record must know.
    pub rules: u32,
}

/// `lease_renewed`: the client of a claimed call showed that it still runs the call.
///
/// ```json
/// {"call":5,"attempt":1,"claim":"w7-0001",
///  "by":{"name":"warehouse","authenticated_by":"token"},
///  "until_us":1763700120000000,"rules":2}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseRenewed {
    /// The call.
    pub call: Seq,
    /// The number of the start.
    pub attempt: u32,
    /// The id of the claim.
    pub claim: String,
    /// The client.
    pub by: Actor,
    /// The end of the lease. An earlier end than before has no effect.
    pub until_us: Timestamp,
    /// The number of the rules that a reader of this record must know.
    pub rules: u32,
}

/// `claim_ended`: a claim ended without a result.
///
/// ```json
/// {"call":5,"attempt":1,"claim":"w7-0001","reason":"the printer is out of paper",
///  "by":{"name":"warehouse","authenticated_by":"token"},"rules":2}
/// {"call":5,"attempt":1,"claim":"w7-0001","not_begun":true,
///  "by":{"name":"warehouse","authenticated_by":"token"},"rules":2}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimEnded {
    /// The call.
    pub call: Seq,
    /// The number of the start.
    pub attempt: u32,
    /// The id of the claim.
    pub claim: String,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// True if the client had not begun to run the call. The call is then ready again, and not in
    /// doubt.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_begun: bool,
    /// The actor that ended it: the client, or an operator.
    pub by: Actor,
    /// The number of the rules that a reader of this record must know.
    pub rules: u32,
}
