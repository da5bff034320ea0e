//! The messages between an operator's program and the service, one JSON value each.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::{Error as _, IgnoredAny};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::reply::Problem;
use crate::ledger::{ClaimKey, HoldTarget, PauseTarget};
use crate::session::{Finding, Json, RequestId, Seq, SessionId, UnfitAnswer};
use crate::tool::{AnswerMembers, Ticket, ToolConfirmation, malformed};

/// The maximum size of a request, in bytes: the largest record and the JSON around it.
pub(super) const REQUEST_BYTES_MAX: usize = 4 << 20;

/// A request from an operator. Unknown keys are rejected.
///
/// ```json
/// {"pending":{}}
/// {"sessions":{}}
/// {"named":{"digits":"7c6f"}}
/// {"answer":{"request":"7c6f…","answer":{"confirmed":true,"reason":"fine"}}}
/// {"answer":{"request":"7c6f…","answer":{"confirmed":false},"as":"ada"}}
/// {"answer":{"request":"7c6f…","answer":{"found":{"done":{"receipt":17}}}}}
/// {"answer_many":{"requests":["7c6f…","81d0…"],"answer":{"confirmed":true}}}
/// {"deny_all":{"session":"0199…","reason":"the customer hung up"}}
/// {"respond":{"ticket":{"session":"0199…","call":5,"tool":"pay"},"response":{"receipt":17}}}
/// {"respond":{"ticket":{"session":"0199…","call":5,"tool":"pay"},"response":{"sent":1},
///  "interim":true}}
/// {"reconcile":{"session":"0199…","call":5,"found":{"failed":"the bank refused it"}}}
/// {"cancel":{"session":"0199…","call":5,"reason":"ordered twice"}}
/// {"leaves":{}}
/// {"revoke":{"session":"0199…","leave":9,"reason":"end of the shift"}}
/// {"pauses":{}}
/// {"pause":{"target":{"session":"0199…"},"reason":"wrong prices","cancel_running":true}}
/// {"unpause":{"target":"everything","reason":"the bank is back"}}
/// {"holds":{}}
/// {"place_hold":{"target":{"session":"0199…"},"reason":"letter of counsel"}}
/// {"release_hold":{"hold":7,"reason":"settled"}}
/// {"claim":{"claim":"w7-1","tools":["pack"],"lease_ms":60000}}
/// {"renew":{"key":{"session":"0199…","call":5,"attempt":1,"claim":"w7-1"},"lease_ms":60000}}
/// {"finish":{"key":{"session":"0199…","call":5,"attempt":1,"claim":"w7-1"},"result":{"n":1}}}
/// {"log":{"session":"0199…","from":1,"follow":true}}
/// {"reload":{}}
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Lists the requests and calls that wait for an answer from outside. Each item is a
    /// [`Waiting`](super::Waiting).
    Pending {},
    /// Lists all sessions. Each item is a [`SessionSummary`](crate::ledger::SessionSummary).
    Sessions {
        /// True to read the rules number of each session, too.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        rules: bool,
    },
    /// Lists the confirmation requests and calls, open or not, whose ids begin with the digits.
    /// Each item is a [`NamedId`](super::NamedId).
    Named {
        /// The digits: 4 to 32 lower-case hexadecimal digits, without hyphens.
        digits: String,
    },
    /// Answers a confirmation request. The reply is an [`OnRecord`](super::OnRecord).
    Answer {
        /// The request.
        request: RequestId,
        /// The answer, as [`confirmation`] reads it. A malformed answer is recorded as refused, and
        /// the request stays open.
        answer: Box<RawValue>,
        /// The name of the approver if it is not the user of the service. The name is not
        /// authenticated.
        #[serde(rename = "as", default, skip_serializing_if = "Option::is_none")]
        claimed: Option<String>,
    },
    /// Gives one answer to several confirmation requests. Each item is a
    /// [`OneAnswer`](super::OneAnswer). Each answer is recorded on its own, and an id that is given
    /// twice is answered once.
    AnswerMany {
        /// The requests.
        requests: Vec<RequestId>,
        /// The answer, as [`confirmation`] reads it.
        answer: Box<RawValue>,
        /// The name of the approver, as for an answer.
        #[serde(rename = "as", default, skip_serializing_if = "Option::is_none")]
        claimed: Option<String>,
    },
    /// Denies every confirmation request that is open in a session now. Each item is a
    /// [`OneAnswer`](super::OneAnswer).
    DenyAll {
        /// The session.
        session: SessionId,
        /// The reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The name of the approver, as for an answer.
        #[serde(rename = "as", default, skip_serializing_if = "Option::is_none")]
        claimed: Option<String>,
    },
    /// Supplies the result of a paused call. The reply is an [`OnRecord`](super::OnRecord).
    Respond {
        /// The call. The ticket must have its three keys and no other.
        #[serde(deserialize_with = "strict_ticket")]
        ticket: Ticket,
        /// The result: a JSON object.
        response: Box<RawValue>,
        /// True if the result is interim. The call stays paused, and more results follow.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        interim: bool,
        /// The name of the operator, as for an answer.
        #[serde(rename = "as", default, skip_serializing_if = "Option::is_none")]
        claimed: Option<String>,
    },
    /// Records what a call did whose outcome was unknown when it ended. The reply is an
    /// [`OnRecord`](super::OnRecord).
    Reconcile {
        /// The session.
        session: SessionId,
        /// The seq of the call's record.
        call: Seq,
        /// The outcome, as [`finding`] reads it.
        found: Box<RawValue>,
        /// The name of the operator, as for an answer.
        #[serde(rename = "as", default, skip_serializing_if = "Option::is_none")]
        claimed: Option<String>,
    },
    /// Cancels an open call. The reply is an [`OnRecord`](super::OnRecord).
    Cancel {
        /// The session.
        session: SessionId,
        /// The seq of the call's record.
        call: Seq,
        /// The reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The name of the operator, as for an answer.
        #[serde(rename = "as", default, skip_serializing_if = "Option::is_none")]
        claimed: Option<String>,
    },
    /// Lists the standing leaves in force. Each item is a
    /// [`LeaveInForce`](crate::ledger::LeaveInForce).
    Leaves {},
    /// Revokes a standing leave. The reply is an [`OnRecord`](super::OnRecord).
    Revoke {
        /// The session.
        session: SessionId,
        /// The leave: the seq of the answer that gave it.
        leave: Seq,
        /// The reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The name of the operator, as for an answer.
        #[serde(rename = "as", default, skip_serializing_if = "Option::is_none")]
        claimed: Option<String>,
    },
    /// Lists the pauses in force. Each item is a [`ListedPause`](crate::ledger::ListedPause).
    Pauses {},
    /// Pauses a session, a tool in it, an agent, or everything. The reply is an
    /// [`OnRecord`](super::OnRecord).
    Pause {
        /// The sessions and tools to pause.
        target: PauseTarget,
        /// The reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// True to cancel the calls that run.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cancel_running: bool,
        /// The name of the operator, as for an answer.
        #[serde(rename = "as", default, skip_serializing_if = "Option::is_none")]
        claimed: Option<String>,
    },
    /// Ends a pause. The reply is an [`OnRecord`](super::OnRecord).
    Unpause {
        /// The paused sessions and tools.
        target: PauseTarget,
        /// The reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The name of the operator, as for an answer.
        #[serde(rename = "as", default, skip_serializing_if = "Option::is_none")]
        claimed: Option<String>,
    },
    /// Lists the legal holds in force, or with `all` every hold on record. Each item is a
    /// [`Hold`](crate::ledger::Hold).
    Holds {
        /// True to list released holds, too.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        all: bool,
    },
    /// Places a legal hold. The reply is an [`OnRecord`](super::OnRecord).
    PlaceHold {
        /// The sessions to keep.
        target: HoldTarget,
        /// The reason.
        reason: String,
        /// The name of the operator, as for an answer.
        #[serde(rename = "as", default, skip_serializing_if = "Option::is_none")]
        claimed: Option<String>,
    },
    /// Releases a legal hold. The reply is an [`OnRecord`](super::OnRecord).
    ReleaseHold {
        /// The hold.
        hold: Seq,
        /// The reason.
        reason: String,
        /// The name of the operator, as for an answer.
        #[serde(rename = "as", default, skip_serializing_if = "Option::is_none")]
        claimed: Option<String>,
    },
    /// Claims the oldest ready call that a client can run. The item, if there is one, is a
    /// [`ClaimedCall`](crate::ledger::ClaimedCall).
    Claim {
        /// The id of the claim, a new one for every claim.
        claim: String,
        /// The tools that the client can run. Empty: any tool.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        tools: BTreeSet<String>,
        /// The agents whose sessions the client serves. Empty: any agent.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        agents: BTreeSet<String>,
        /// The labels that a session must have.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        labels: BTreeMap<String, String>,
        /// The length of the lease, in milliseconds.
        lease_ms: u64,
        /// The session of the only call to claim, beside `call`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<SessionId>,
        /// The seq of the only call to claim.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<Seq>,
        /// The name of the client, as for an answer.
        #[serde(rename = "as", default, skip_serializing_if = "Option::is_none")]
        claimed: Option<String>,
    },
    /// Renews the lease of a claim. The reply is an [`OnRecord`](super::OnRecord).
    Renew {
        /// The claim.
        key: ClaimKey,
        /// The length of the lease from now on, in milliseconds.
        lease_ms: u64,
        /// The name of the client, as for an answer.
        #[serde(rename = "as", default, skip_serializing_if = "Option::is_none")]
        claimed: Option<String>,
    },
    /// Reports the end of a claimed call's run: a result or the reason of a failure. The reply is
    /// an [`OnRecord`](super::OnRecord).
    Finish {
        /// The claim.
        key: ClaimKey,
        /// The result.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<Box<RawValue>>,
        /// The reason of the failure.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failed: Option<String>,
        /// The name of the client, as for an answer.
        #[serde(rename = "as", default, skip_serializing_if = "Option::is_none")]
        claimed: Option<String>,
    },
    /// Reports one of several results of a claimed call. The reply is an
    /// [`OnRecord`](super::OnRecord).
    Yield {
        /// The claim.
        key: ClaimKey,
        /// The result.
        response: Box<RawValue>,
        /// The name of the client, as for an answer.
        #[serde(rename = "as", default, skip_serializing_if = "Option::is_none")]
        claimed: Option<String>,
    },
    /// Reports an event of a claimed call, such as progress. The reply is an
    /// [`OnRecord`](super::OnRecord).
    Report {
        /// The claim.
        key: ClaimKey,
        /// The name of the event.
        name: String,
        /// The data of the event.
        data: Box<RawValue>,
        /// The name of the client, as for an answer.
        #[serde(rename = "as", default, skip_serializing_if = "Option::is_none")]
        claimed: Option<String>,
    },
    /// Ends a claim without a result. The reply is an [`OnRecord`](super::OnRecord).
    EndClaim {
        /// The claim.
        key: ClaimKey,
        /// The reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// True if the client has not begun to run the call.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        not_begun: bool,
        /// The name of the client, as for an answer.
        #[serde(rename = "as", default, skip_serializing_if = "Option::is_none")]
        claimed: Option<String>,
    },
    /// Lists the records of a session. Each item is a [`LogItem`](super::LogItem).
    Log {
        /// The session.
        session: SessionId,
        /// The first record. Defaults to 1.
        #[serde(default = "first")]
        from: Seq,
        /// True to continue with each new record until the connection ends.
        #[serde(default)]
        follow: bool,
    },
    /// Reads the configuration of the service anew. The reply is a [`Reloaded`](super::Reloaded).
    Reload {},
}

impl Request {
    /// Parses a message strictly: an object with one object in it, and no unknown key.
    pub(super) fn read(text: &str) -> Result<Request, serde_json::Error> {
        // The derived deserializer also accepts arrays as structs, so this line requires objects.
        let _: BTreeMap<String, BTreeMap<String, IgnoredAny>> = serde_json::from_str(text)?;
        serde_json::from_str(text)
    }
}

fn strict_ticket<'de, D: Deserializer<'de>>(reader: D) -> Result<Ticket, D::Error> {
    let given = Box::<RawValue>::deserialize(reader)?;
    ticket(given.get()).map_err(D::Error::custom)
}

/// Parses a ticket strictly: an object with exactly its three keys.
///
/// An additional `id` could name another call. A named actor would be a claim, because the service
/// derives the actor from the connection.
pub fn ticket(text: &str) -> Result<Ticket, serde_json::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Strict {
        session: SessionId,
        call: Seq,
        tool: String,
    }
    let _: BTreeMap<String, IgnoredAny> = serde_json::from_str(text)?;
    let Strict {
        session,
        call,
        tool,
    } = serde_json::from_str(text)?;
    Ok(Ticket {
        session,
        call,
        tool,
    })
}

fn first() -> Seq {
    Seq(1)
}

/// Reads a person's answer strictly.
///
/// An answer has `confirmed`, a boolean. To a call in doubt it has `found` instead, without other
/// keys. Optional keys:
///
/// - `reason`: a string
/// - `payload`: a value for the tool
/// - `args`: arguments that replace the model's
/// - `request_hash`: the hash of the request that the approver saw
/// - `hint`: the text that was shown
/// - `allow_for`: the bound of a standing leave, `{"count":5}` or `{"until_us":1795190587112345}`
///
/// Other keys and `null` are rejected; absent values are omitted. A number in `payload` or `args`
/// that would lose digits as a [`Value`](serde_json::Value) is rejected, too.
///
/// ```json
/// {"confirmed":true,"payload":{"days":3},"request_hash":"9f86…"}
/// {"confirmed":true,"args":{"amount":40,"to":"bob"}}
/// {"confirmed":true,"allow_for":{"count":5}}
/// {"confirmed":false,"reason":"too much"}
/// {"found":{"done":{"receipt":17}}}
/// {"found":{"failed":"the bank refused it"}}
/// ```
///
/// # Errors
/// [`UnfitAnswer::Malformed`] if the answer is neither a yes nor a no, or has an unknown key. A
/// service records that, and the request stays open.
pub fn confirmation(answer: &RawValue) -> Result<ToolConfirmation, UnfitAnswer> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Settled {
        found: Finding,
    }
    let checked = Json::parse(answer.get()).map_err(|problem| malformed(&problem.to_string()))?;
    let members = AnswerMembers::of(&checked)?;
    if members.has("found") {
        let settled = serde_json::from_str(checked.as_str());
        let Settled { found } =
            settled.map_err(|error: serde_json::Error| malformed(&error.to_string()))?;
        return Ok(match found {
            Finding::Failed(reason) => ToolConfirmation::settled_as_failed(reason),
            // Keeps each number exactly as it was written.
            Finding::Done(_) => ToolConfirmation::found(found),
        });
    }
    members.strict()
}

/// Reads a finding strictly: `done` with the call's result or `failed` with the reason.
///
/// ```json
/// {"done":{"receipt":17}}
/// ```
///
/// # Errors
/// A [`Problem`] that describes the fault.
pub fn finding(found: &RawValue) -> Result<Finding, Problem> {
    let bad = |error: serde_json::Error| Problem::new("bad_answer", error.to_string());
    serde_json::from_str(checked(found)?.as_str()).map_err(bad)
}

/// Checks JSON from outside against the rules for recorded JSON.
///
/// # Errors
/// A [`Problem`] if the JSON nests too deeply or repeats a key.
pub fn checked(json: &RawValue) -> Result<Json, Problem> {
    Json::parse(json.get()).map_err(|problem| Problem::new("bad_json", problem.to_string()))
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
