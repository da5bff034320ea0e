//! The claim of a call that a client runs.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use recount::control::Refusal;
use recount::engine::{ClaimRequest, ClaimedCall, Error};
use recount::session::{Lease, Seq, SessionId};
use serde::Deserialize;
use tokio::time::{Instant, sleep_until};
use utoipa::ToSchema;

use super::known_tools::KnownTools;
use crate::access::{AgentScope, Grant};
use crate::driving::{may_be_claimable, wake_after};
use crate::problems::{Code, Problem};
use crate::requests::{Strict, wait_of};
use crate::routes::caller::{Caller, not_driving};
use crate::routes::shapes::ClaimedShape;

/// A claim: the calls that the client can run, and its lease.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewClaim {
    /// The id of the claim. The client chooses a new one for every claim.
    claim: String,
    /// The tools that the client can run. Empty: each that its grants allow.
    #[serde(default)]
    tools: BTreeSet<String>,
    /// The agents whose sessions the client serves. Empty: each that its grants allow.
    #[serde(default)]
    agents: BTreeSet<String>,
    /// The labels that a session must have.
    #[serde(default)]
    labels: BTreeMap<String, String>,
    /// The length of the lease, in milliseconds: 1 s to 24 h, 60 s by default.
    #[serde(default)]
    #[schema(minimum = 1000, maximum = 86_400_000)]
    lease_ms: Option<u64>,
    /// The session of the only call to claim, beside `call`.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    session: Option<SessionId>,
    /// The seq of the only call to claim.
    #[serde(default)]
    #[schema(value_type = Option<u64>)]
    call: Option<Seq>,
    /// The seconds to wait for a call, at most 60.
    #[serde(default)]
    wait: Option<u64>,
}

/// Claims the oldest ready call that the client can run.
///
/// Needs the role client or operator. The claim starts the call. The client renews it before
/// `until_us` and reports the end. Only calls are claimed that a grant covers: its agents, its
/// labels and its tools. With `wait` the response comes once there is such a call.
#[utoipa::path(
    post,
    path = "/v1/claims",
    operation_id = "claim",
    tag = "programs",
    request_body = NewClaim,
    responses(
        (status = 200, description = "The claimed call", body = ClaimedShape),
        (status = 204, description = "There is no such call"),
        (status = 404, description = "No agent has any of the tools", body = Problem,
            content_type = "application/problem+json"),
        (status = "4XX", description = "Refused", body = Problem,
            content_type = "application/problem+json"),
        (status = 503, description = "Not now", body = Problem,
            content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn claim(
    caller: Caller,
    Strict(new): Strict<NewClaim>,
) -> Result<Response, Problem> {
    let wait = wait_of(new.wait);
    let named = match (new.session, new.call) {
        (Some(session), Some(call)) => Some((session, call)),
        (None, None) => None,
        (Some(_), None) | (None, Some(_)) => {
            let detail = "expected both a session and a call, or neither";
            return Err(Problem::new(Code::BadRequest, detail));
        }
    };
    let request = ClaimRequest {
        lease: lease(new.lease_ms)?,
        claim: new.claim,
        tools: new.tools,
        agents: new.agents,
        labels: new.labels,
        call: named,
    };
    let claimed = match named {
        Some((session, call)) => Some(claim_one(&caller, session, call, &request).await?),
        None => {
            let _place = match wait.is_zero() {
                true => None,
                false => Some(caller.service.waits.take("waiting requests")?),
            };
            let requests = within_grants(&caller, &request)?;
            let known = KnownTools::of(&caller, &request, &requests);
            claim_within(&caller, &requests, wait, &known).await?
        }
    };
    Ok(match claimed {
        Some(claimed) => Json(claimed).into_response(),
        None => StatusCode::NO_CONTENT.into_response(),
    })
}

/// Parses the length of a lease, in milliseconds.
pub(super) fn lease(ms: Option<u64>) -> Result<Lease, Problem> {
    let Some(ms) = ms else {
        return Ok(Lease::DEFAULT);
    };
    Lease::from_millis(ms).map_err(|unfit| Problem::new(Code::BadRequest, unfit.to_string()))
}

/// Narrows a request to the grants of the caller, one request for each. Some may select nothing and
/// are left out.
fn within_grants(caller: &Caller, request: &ClaimRequest) -> Result<Vec<ClaimRequest>, Problem> {
    let mut grants = caller.principal.driving_grants().peekable();
    if grants.peek().is_none() {
        return Err(not_driving());
    }
    Ok(grants.filter_map(|it| narrowed(request, it)).collect())
}

/// The part of a request that a grant covers. `None` if it covers nothing of it.
fn narrowed(request: &ClaimRequest, grant: &Grant) -> Option<ClaimRequest> {
    let agents = match &grant.agents {
        AgentScope::Any => request.agents.clone(),
        AgentScope::Only(granted) => common(&request.agents, granted)?,
    };
    let tools = match &grant.tools {
        None => request.tools.clone(),
        Some(granted) => common(&request.tools, granted)?,
    };
    let mut labels = request.labels.clone();
    for (name, value) in &grant.labels {
        let given = labels.insert(name.clone(), value.clone());
        if given.is_some_and(|given| given != *value) {
            return None;
        }
    }
    Some(ClaimRequest {
        tools,
        agents,
        labels,
        ..request.clone()
    })
}

/// The names that are both given and granted. Without given names, all granted ones. `None` if
/// there is no such name, because no name would mean any.
fn common(given: &BTreeSet<String>, granted: &BTreeSet<String>) -> Option<BTreeSet<String>> {
    let both: BTreeSet<String> = match given.is_empty() {
        true => granted.clone(),
        false => given.intersection(granted).cloned().collect(),
    };
    (!both.is_empty()).then_some(both)
}

/// Claims the only call that a request names.
async fn claim_one(
    caller: &Caller,
    session: SessionId,
    call: Seq,
    request: &ClaimRequest,
) -> Result<ClaimedCall, Problem> {
    caller.driven(session, None).await?;
    let tool = caller.ledger().tool_of(session, call).await?;
    caller.driven(session, tool.as_deref()).await?;
    let claimed = caller.service.engine.claim(request, caller.actor()).await;
    let refusal = match claimed {
        Ok(Some(claimed)) => return Ok(claimed),
        Ok(None) => {
            return Err(Problem::new(
                Code::CallNotReady,
                "the call cannot start now",
            ));
        }
        Err(Error::Refused(rejection)) => rejection,
        Err(Error::RefusedElsewhere(refusal)) => return Err((*refusal).into()),
        Err(error) => return Err(error.into()),
    };
    Err(Refusal::of(caller.ledger(), session, &refusal).await.into())
}

/// Claims a call for one of the requests, if there is one.
async fn claim_any(
    caller: &Caller,
    requests: &[ClaimRequest],
) -> Result<Option<ClaimedCall>, Problem> {
    for request in requests {
        let claimed = caller.service.engine.claim(request, caller.actor()).await?;
        if claimed.is_some() {
            return Ok(claimed);
        }
    }
    Ok(None)
}

/// Claims a call for one of the requests, and waits for one.
///
/// An attempt is never cut off by the end of the time, because its claim might be on record then.
async fn claim_within(
    caller: &Caller,
    requests: &[ClaimRequest],
    wait: Duration,
    known: &KnownTools,
) -> Result<Option<ClaimedCall>, Problem> {
    let end = Instant::now() + wait;
    // Taken before the first look, so that no call becomes ready unnoticed.
    let mut position = caller.ledger().journal().position().await?;
    let mut is_last = wait.is_zero();
    loop {
        let claimed = claim_any(caller, requests).await?;
        if claimed.is_some() {
            return Ok(claimed);
        }
        known.expect_any()?;
        if is_last {
            return Ok(None);
        }
        tokio::select! {
            biased;
            () = caller.service.drained() => return Ok(None),
            next = wake_after(caller.ledger(), position, may_be_claimable) => position = next?,
            // A call may have become ready in a way that wakes no request.
            () = sleep_until(end) => is_last = true,
        }
        // A claim starts the call, which a token that was revoked meanwhile must not do.
        caller.check_again().await?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Role;

    fn grant() -> Grant {
        Grant::everywhere(Role::Client)
            .of_agent("shop")
            .of_tool("pack")
            .with_label("site", "berlin")
    }

    #[test]
    fn request_is_narrowed_to_the_grant() {
        let any = ClaimRequest::new("w");
        let expected = ClaimRequest::new("w").agent("shop").tool("pack");
        let expected = expected.label("site", "berlin");
        assert_eq!(narrowed(&any, &grant()), Some(expected.clone()));
        let more = ClaimRequest::new("w").tool("pack").tool("refund");
        assert_eq!(narrowed(&more, &grant()), Some(expected));
        let everywhere = Grant::everywhere(Role::Operator);
        assert_eq!(narrowed(&more, &everywhere), Some(more));
    }

    #[test]
    fn request_outside_the_grant_selects_nothing() {
        let any = || ClaimRequest::new("w");
        for outside in [
            any().tool("refund"),
            any().agent("billing"),
            any().label("site", "paris"),
        ] {
            assert_eq!(narrowed(&outside, &grant()), None, "{outside:?}");
        }
        let nothing = Grant {
            tools: Some(BTreeSet::new()),
            ..grant()
        };
        assert_eq!(narrowed(&any(), &nothing), None);
    }
}
