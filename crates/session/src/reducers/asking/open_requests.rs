//! The limits of open confirmation requests: of a session, and of a tool.
//!
//! A gated call beyond a limit is refused instead of asked about. Every open request counts,
//! whatever it asks. Only the first request about a call is limited:
//!
//! * A call in doubt needs a person, so a request about one is always made.
//! * A tool that asks has run already, so its question is always made.
//! * A call that was asked about before is asked about again, because its request replaces one.

use serde::Serialize;

use super::verdict_inputs::Inputs;
use crate::calls::call::{Call, Phase};
use crate::json::Json;
use crate::policies::policy::ToolPolicy;
use crate::record::decision::{Decision, PolicyDecided, Rule, Verdict};
use crate::state::session::Session;
use crate::values::id::Seq;

/// The number of open requests, as a verdict records it.
///
/// ```json
/// {"session":3,"tool":1}
/// ```
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct OpenRequests {
    session: u32,
    tool: u32,
}

/// The number of open requests, if their number is limited for a gated tool.
pub(crate) fn counted(session: &Session, policy: &ToolPolicy, tool: &str) -> Option<OpenRequests> {
    let of_session = session.terms.policies.max_open_requests;
    let limited = of_session.is_some() || policy.gate_terms.max_open_requests.is_some();
    // Without a limit, which is the default, no call is looked at.
    if !limited || !policy.confirm || session.terms.waive(policy) {
        return None;
    }
    // Each open request has a call that waits for it.
    let waiting = session.calls.values();
    let waiting = waiting.filter(|call| {
        matches!(call.phase, Phase::AwaitingConfirmation { .. }) || call.moot.is_some()
    });
    let mut open = OpenRequests {
        session: 0,
        tool: 0,
    };
    for call in waiting {
        open.session = open.session.saturating_add(1);
        open.tool = open.tool.saturating_add(u32::from(call.name == tool));
    }
    Some(open)
}

/// The reason for a refusal, if one more request about the tool would exceed a limit.
pub(crate) fn reached(session: &Session, tool: &str) -> Option<String> {
    let policies = &session.terms.policies;
    let policy = policies.of(tool);
    let open = counted(session, policy, tool)?;
    let of_tool = policy.gate_terms.max_open_requests;
    if let Some(max) = of_tool.filter(|max| open.tool >= *max) {
        return Some(format!(
            "{max} calls of {tool:?} may wait for approval at the same time, and do; it did not run"
        ));
    }
    let max = policies
        .max_open_requests
        .filter(|max| open.session >= *max)?;
    Some(format!(
        "{max} calls may wait for approval at the same time, and do; it did not run"
    ))
}

/// Refuses a call whose gate closed after its verdict, if a limit is reached by now.
pub(crate) fn refuse(session: &Session, seq: Seq, call: &Call) -> Option<Decision> {
    let reason = reached(session, &call.name)?;
    let asked_before = call.contract.is_some();
    if asked_before || !session.terms.catalog.tools.contains_key(&call.name) {
        return None;
    }
    let inputs = Inputs::of_open_requests(session, call);
    let refused = PolicyDecided {
        call: seq,
        verdict: Verdict::Refused,
        rule: Rule::Limit,
        reason: Some(reason),
        policies: session.terms.policies_hash,
        inputs: Some(Json::of_serialized(&inputs)),
    };
    Some(refused.into())
}

#[cfg(test)]
#[path = "open_requests_tests.rs"]
mod tests;
