//! The requests of clients that run calls, to a running engine.

use super::requests::{Failed, actor};
use crate::control::{Items, Problem, Refusal, Reply, Request, checked};
use crate::engine::error::Error;
use crate::engine::operations::claims::claiming::{ClaimRequest, ClientAction};
use crate::engine::operations::operation::Operation;
use crate::engine::serving::engine::Engine;
use crate::session::Lease;

impl Engine {
    /// Carries out a request of a client.
    pub(super) async fn request_of_client(
        &self,
        request: Request,
        items: &Items,
    ) -> Result<Reply, Failed> {
        let (key, action, claimed) = match request {
            Request::Claim {
                claim,
                tools,
                agents,
                labels,
                lease_ms,
                session,
                call,
                claimed,
            } => {
                let call = match (session, call) {
                    (Some(session), Some(call)) => Some((session, call)),
                    (None, None) => None,
                    (Some(_), None) | (None, Some(_)) => {
                        return Err(bad("expected both a session and a call, or neither").into());
                    }
                };
                let request = ClaimRequest {
                    claim,
                    lease: lease(lease_ms)?,
                    tools,
                    agents,
                    labels,
                    call,
                };
                return self.claim_for(&request, claimed, items).await;
            }
            Request::Renew {
                key,
                lease_ms,
                claimed,
            } => (key, ClientAction::Renew(lease(lease_ms)?), claimed),
            Request::Finish {
                key,
                result,
                failed,
                claimed,
            } => {
                let result = match (result, failed) {
                    (Some(result), None) => Ok(checked(&result)?),
                    (None, Some(reason)) => Err(reason),
                    (Some(_), Some(_)) | (None, None) => {
                        return Err(bad("expected either a result or a failure").into());
                    }
                };
                (key, ClientAction::Return(result), claimed)
            }
            Request::Yield {
                key,
                response,
                claimed,
            } => (key, ClientAction::Yield(checked(&response)?), claimed),
            Request::Report {
                key,
                name,
                data,
                claimed,
            } => {
                let data = checked(&data)?;
                (key, ClientAction::Report { name, data }, claimed)
            }
            Request::EndClaim {
                key,
                reason,
                not_begun,
                claimed,
            } => (key, ClientAction::End { reason, not_begun }, claimed),
            Request::Pending {}
            | Request::Sessions { .. }
            | Request::Named { .. }
            | Request::Answer { .. }
            | Request::AnswerMany { .. }
            | Request::DenyAll { .. }
            | Request::Pauses {}
            | Request::Leaves {}
            | Request::Revoke { .. }
            | Request::Pause { .. }
            | Request::Unpause { .. }
            | Request::Holds { .. }
            | Request::PlaceHold { .. }
            | Request::ReleaseHold { .. }
            | Request::Respond { .. }
            | Request::Reconcile { .. }
            | Request::Cancel { .. }
            | Request::Reload {}
            | Request::Log { .. } => return Err(bad("expected a request of a client").into()),
        };
        self.operated(Operation::Client { key, action }, claimed)
            .await
    }

    /// Claims a call for a client, which gets it as the only item.
    async fn claim_for(
        &self,
        request: &ClaimRequest,
        claimed: Option<String>,
        items: &Items,
    ) -> Result<Reply, Failed> {
        let by = actor(claimed).await?;
        match self.claim(request, by).await {
            Ok(claimed) => {
                if let Some(claimed) = claimed {
                    items.send(&claimed).await?;
                }
                Ok(Reply::done(&serde_json::Map::new()))
            }
            Err(Error::Refused(rejection)) => Ok(match request.call {
                Some((session, _)) => {
                    Reply::Refused(Refusal::of(self.ledger(), session, &rejection).await)
                }
                None => Reply::Error(bad(&rejection.to_string())),
            }),
            Err(Error::RefusedElsewhere(refusal)) => Ok(Reply::Refused(*refusal)),
            Err(error) => Err(error.into()),
        }
    }
}

fn lease(ms: u64) -> Result<Lease, Problem> {
    Lease::from_millis(ms).map_err(|unfit| bad(&unfit.to_string()))
}

fn bad(text: &str) -> Problem {
    Problem::new("bad_request", text)
}
