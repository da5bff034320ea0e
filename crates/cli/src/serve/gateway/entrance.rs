//! The entrance of a gateway whose clients have tokens of the service.

use std::net::IpAddr;

use async_trait::async_trait;
use futures_util::FutureExt;
use recount_gateway::{Admitted, Allowed, Entrance, Permission, Refused};
use recount_server::{Access, AgentScope, Code, Grant, Peer, Principal, Problem, TokenStore};

/// The entrance with the bearer tokens of an access: its own ones, and JWTs. A client needs one
/// with which it may open sessions; its failures count as those of the HTTP API.
pub(super) struct TokenEntrance(pub(super) Access);

#[async_trait]
impl Entrance for TokenEntrance {
    async fn admit(
        &self,
        credential: Option<&str>,
        peer: Option<IpAddr>,
    ) -> Result<Admitted, Refused> {
        let Some(token) = credential else {
            return Err(Refused::Unauthenticated);
        };
        let principal = self.0.admit_bearer(token, peer.map(Peer::Address)).await;
        let principal = principal.map_err(|problem| refused(&problem))?;
        admitted(&principal, token).ok_or_else(|| Refused::Forbidden {
            what: "a client: its role is neither client, operator nor admin".to_owned(),
        })
    }

    fn is_valid(&self, client: &Admitted) -> bool {
        let Some(token) = client.credential() else {
            return false;
        };
        // It waits for nothing but keys of an issuer, which are then fetched without it: the token
        // counts until the next look.
        match self.0.recognise_bearer(token).now_or_never() {
            Some(Ok(principal)) => admitted(&principal, token).as_ref() == Some(client),
            // A gap of the issuer ends no conversation.
            Some(Err(problem)) => problem.code() == Code::IssuerKeys,
            None => true,
        }
    }
}

/// The client, if it may open sessions.
fn admitted(principal: &Principal, token: &str) -> Option<Admitted> {
    let actor = principal.actor().clone();
    let client = match actor.issuer() {
        None | Some(TokenStore::ISSUER) => Admitted::new(actor, token),
        Some(_) => Admitted::renewable(actor),
    };
    let driving = principal.grants().iter().filter(|it| it.role.may_drive());
    let mut permissions = driving.map(permission).peekable();
    permissions.peek()?;
    Some(permissions.fold(client.keeping(token), Admitted::with))
}

fn refused(problem: &Problem) -> Refused {
    if problem.code() == Code::TooManyRequests {
        let retry_after = problem.wait();
        return Refused::TooMany { retry_after };
    }
    if problem.code() == Code::IssuerKeys {
        let what = "the keys of its issuer could not be fetched".to_owned();
        return Refused::Unchecked { what };
    }
    Refused::Unauthenticated
}

fn permission(grant: &Grant) -> Permission {
    let of = |names: &Option<std::collections::BTreeSet<String>>| match names {
        None => Allowed::Any,
        Some(names) => Allowed::Only(names.clone()),
    };
    Permission {
        agents: match &grant.agents {
            AgentScope::Any => Allowed::Any,
            AgentScope::Only(agents) => Allowed::Only(agents.clone()),
        },
        models: of(&grant.models),
        labels: grant.labels.clone(),
        tools: of(&grant.tools),
    }
}

#[cfg(test)]
#[path = "entrance_tests.rs"]
mod tests;
