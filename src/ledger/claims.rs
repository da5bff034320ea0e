//! Calls that clients run: the listing of those to claim, and the form of a claimed one.

use std::collections::BTreeMap;

use recount_journal::OpenItem;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Error, Ledger};
use crate::session::{CallId, Json, OpenKind, Seq, SessionId, Timestamp};

/// The name of a claim, for everything that its client does with it.
///
/// ```json
/// {"session":"0199…","call":5,"attempt":1,"claim":"worker-7/0001"}
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimKey {
    /// The session.
    pub session: SessionId,
    /// The seq of the call's record.
    pub call: Seq,
    /// The number of the start. `None`: the newest start of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// The id of the claim.
    pub claim: String,
}

/// A call that a client claimed and may run now.
///
/// ```json
/// {"session":"0199…","call":5,"attempt":1,"claim":"worker-7/0001","call_id":"52ab…",
///  "agent":"shop","external_id":null,"labels":{"site":"berlin"},"tool":"pack_order",
///  "args":{"order":7},"idempotency_key":"8f…","until_us":1795190587112345}
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimedCall {
    /// The session.
    pub session: SessionId,
    /// The seq of the call's record.
    pub call: Seq,
    /// The number of the start.
    pub attempt: u32,
    /// The id of the claim.
    pub claim: String,
    /// The id of the call.
    #[serde(rename = "call_id")]
    pub id: CallId,
    /// The agent that serves the session.
    pub agent: String,
    /// The id that the embedding program chose for the session.
    pub external_id: Option<String>,
    /// The session's labels.
    pub labels: BTreeMap<String, String>,
    /// The tool.
    pub tool: String,
    /// The arguments with which to run it, with sealed values in clear.
    pub args: Json,
    /// The key that all starts of the call share.
    pub idempotency_key: String,
    /// The end of the lease.
    #[serde(rename = "until_us")]
    pub until: Timestamp,
    /// The approver's answer, if the tool is gated: `{"confirmed":true,"payload":…}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<Value>,
}

impl ClaimedCall {
    /// The name of the claim.
    pub fn key(&self) -> ClaimKey {
        ClaimKey {
            session: self.session,
            call: self.call,
            attempt: Some(self.attempt),
            claim: self.claim.clone(),
        }
    }
}

/// Returns the time from which a client may claim an open item of these kinds. `None`: not before
/// its session records something.
///
/// No task notices the end of a lease or the time of a retry in a session that nothing serves. So
/// an item whose deadline has passed is to be tried, too.
pub(crate) fn claimable_from(item: &OpenItem) -> Option<Timestamp> {
    if item.kind == OpenKind::Claimable.as_str() {
        return Some(Timestamp(i64::MIN));
    }
    item.deadline_us.map(Timestamp)
}

impl Ledger {
    /// Returns the open items that a client may claim now or later, oldest first.
    pub(crate) async fn items_for_clients(&self) -> Result<Vec<OpenItem>, Error> {
        let kinds = [OpenKind::Claimable, OpenKind::Claimed, OpenKind::Ready];
        let mut items = self.open_items_of(&kinds).await?;
        items.sort_by_key(|it| it.since_us);
        Ok(items)
    }
}
