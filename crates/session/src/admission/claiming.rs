//! Commands of clients that run calls, and the reasons for which they are refused.

use std::fmt;

use crate::json::Json;
use crate::values::actor::Actor;
use crate::values::id::Seq;
use crate::values::time::Timestamp;

/// The maximum length of the id of a claim, in bytes. It is repeated in every record of the claim.
pub const CLAIM_BYTES_MAX: usize = 200;

/// A request of a client that runs calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimCommand {
    /// The call.
    pub call: Seq,
    /// The number of the start. `None`: the next start for [`ClaimAction::Claim`], and the newest
    /// start for other requests.
    pub attempt: Option<u32>,
    /// The id that the client chose for its claim, unique among its claims.
    pub claim: String,
    /// The client, as the entry point knows it.
    pub by: Actor,
    /// The request.
    pub action: ClaimAction,
}

/// The kinds of requests of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimAction {
    /// Claims the next start of a call.
    Claim {
        /// The end of the lease.
        until_us: Timestamp,
    },
    /// Renews the lease.
    Renew {
        /// The new end of the lease.
        until_us: Timestamp,
    },
    /// Ends the claim without a result.
    End {
        /// The reason.
        reason: Option<String>,
        /// True if the client has not begun to run the call.
        not_begun: bool,
    },
    /// Reports the end of the run.
    Return {
        /// The tool that was called, as recorded.
        name: String,
        /// The response for the model.
        response: Json,
        /// The reason of a failure. `None` for a result.
        failed: Option<String>,
    },
    /// Reports one of several results.
    Yield {
        /// The response for the model.
        response: Json,
    },
    /// Reports an event for the embedding program, such as progress.
    Report {
        /// The name of the event.
        name: String,
        /// The data of the event.
        data: Json,
    },
}

/// The reason why a request of a client was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimRejection {
    /// The tool of the call is not run by clients.
    NotForClients {
        /// The call.
        call: Seq,
        /// The tool.
        tool: String,
    },
    /// The call cannot start now.
    NotReady {
        /// The call.
        call: Seq,
        /// The phase of the call, or `held by a pause`.
        phase: &'static str,
    },
    /// A client holds the call.
    AlreadyClaimed {
        /// The call.
        call: Seq,
        /// The number of the start.
        attempt: u32,
        /// The client.
        by: Actor,
        /// The end of its lease.
        until: Timestamp,
    },
    /// The request is for an older start, or for one that does not exist yet.
    StaleAttempt {
        /// The call.
        call: Seq,
        /// The start in the request.
        attempt: u32,
        /// The newest start of the call.
        newest: u32,
    },
    /// The claim belongs to another client or has another id.
    NotTheHolder {
        /// The call.
        call: Seq,
    },
    /// The claim has ended: its lease passed, or the client ended it.
    ClaimEnded {
        /// The call.
        call: Seq,
        /// The number of the start.
        attempt: u32,
    },
    /// The id of the claim cannot be recorded.
    UnfitClaim {
        /// The problem.
        problem: &'static str,
    },
}

impl ClaimRejection {
    /// Returns a short stable code.
    pub fn code(&self) -> &'static str {
        match self {
            ClaimRejection::NotForClients { .. } => "not_for_clients",
            ClaimRejection::NotReady { .. } => "call_not_ready",
            ClaimRejection::AlreadyClaimed { .. } => "already_claimed",
            ClaimRejection::StaleAttempt { .. } => "stale_attempt",
            ClaimRejection::NotTheHolder { .. } => "not_the_holder",
            ClaimRejection::ClaimEnded { .. } => "claim_ended",
            ClaimRejection::UnfitClaim { .. } => "unfit_claim",
        }
    }
}

impl fmt::Display for ClaimRejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClaimRejection::NotForClients { call, tool } => {
                write!(f, "call {call} is to {tool:?}, which clients do not run")
            }
            ClaimRejection::NotReady { call, phase } => {
                write!(f, "call {call} cannot start now: it is {phase}")
            }
            ClaimRejection::AlreadyClaimed {
                call,
                attempt,
                by,
                until,
            } => write!(
                f,
                "start {attempt} of call {call} is claimed by {} until {}",
                by.in_short(),
                until.utc()
            ),
            ClaimRejection::StaleAttempt {
                call,
                attempt,
                newest,
            } => write!(
                f,
                "start {attempt} of call {call} does not count, the newest is {newest}"
            ),
            ClaimRejection::NotTheHolder { call } => {
                write!(f, "call {call} is not claimed by this client with this id")
            }
            ClaimRejection::ClaimEnded { call, attempt } => {
                write!(f, "the claim of start {attempt} of call {call} has ended")
            }
            ClaimRejection::UnfitClaim { problem } => {
                write!(f, "the id of the claim does not do: {problem}")
            }
        }
    }
}

impl std::error::Error for ClaimRejection {}
