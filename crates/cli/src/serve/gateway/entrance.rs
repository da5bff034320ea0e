//! The entrance of a gateway whose clients have tokens of the service.

use std::net::IpAddr;

use recount_gateway::{Admitted, Allowed, Entrance, Permission, Refused};
use recount_server::{Access, AgentScope, Code, Grant, Peer, Problem};

/// The entrance with the tokens of an access. A client needs a token with which it may open
/// sessions; its failures count as those of the HTTP API.
pub(super) struct TokenEntrance(pub(super) Access);

impl Entrance for TokenEntrance {
    fn admit(&self, credential: Option<&str>, peer: Option<IpAddr>) -> Result<Admitted, Refused> {
        let Some(token) = credential else {
            return Err(Refused::Unauthenticated);
        };
        let principal = self.0.admit_token(token, peer.map(Peer::Address));
        let principal = principal.map_err(|problem| refused(&problem))?;
        let driving = principal.grants().iter().filter(|it| it.role.may_drive());
        let mut admitted = Admitted::new(principal.actor().clone(), token);
        let mut may_open = false;
        for grant in driving {
            may_open = true;
            admitted = admitted.with(permission(grant));
        }
        match may_open {
            true => Ok(admitted),
            false => Err(Refused::Forbidden {
                what: "a client: its role is neither client, operator nor admin".to_owned(),
            }),
        }
    }

    fn is_valid(&self, admitted: &Admitted) -> bool {
        self.0.has_token(admitted.fingerprint())
    }
}

fn refused(problem: &Problem) -> Refused {
    match problem.code() {
        Code::TooManyRequests => Refused::TooMany {
            retry_after: problem.wait(),
        },
        _ => Refused::Unauthenticated,
    }
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
