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
    if problem.code() == Code::TooManyRequests {
        let retry_after = problem.wait();
        return Refused::TooMany { retry_after };
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
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::net::Ipv4Addr;
    use std::sync::Arc;

    use super::*;
    use recount::engine::{Clock, SystemClock};
    use recount_server::{NewToken, Rates, Role, TokenStore};

    /// An entrance, its store, and the directory of the store.
    fn entrance() -> (TokenEntrance, Arc<TokenStore>, tempfile::TempDir) {
        let directory = tempfile::tempdir().unwrap();
        let store = TokenStore::open(directory.path().join("tokens.json")).unwrap();
        let store = Arc::new(store);
        let rates = Rates {
            failures_per_minute: 2,
            ..Rates::default()
        };
        let access = Access::none().with_tokens(store.clone()).with_rates(rates);
        (TokenEntrance(access), store, directory)
    }

    /// A new token with this grant, and its id.
    fn made(store: &TokenStore, grant: Grant) -> (String, String) {
        let new = NewToken::new("shop").grant(grant);
        let (secret, info) = store.create(new, SystemClock.now()).unwrap();
        (secret.expose().to_owned(), info.id)
    }

    #[test]
    fn client_may_use_what_its_token_grants() {
        let (entrance, store, _directory) = entrance();
        let grant = Grant::everywhere(Role::Client);
        let grant = grant.of_agent("support").of_model("live").of_tool("pack");
        let (token, _) = made(&store, grant);
        let client = entrance.admit(Some(&token), None).unwrap();
        assert_eq!(client.actor().name, "shop");
        let none = Default::default();
        assert!(client.may_use("support", &none, Some("models/live")));
        assert!(!client.may_use("support", &none, Some("models/pro")));
        assert!(!client.may_use("billing", &none, None));
        assert!(client.may_run("support", &none, "pack"));
        assert!(!client.may_run("support", &none, "refund"));
    }

    #[test]
    fn revoked_token_is_valid_no_more() {
        let (entrance, store, _directory) = entrance();
        let (token, id) = made(&store, Grant::everywhere(Role::Client));
        let client = entrance.admit(Some(&token), None).unwrap();
        assert!(entrance.is_valid(&client));
        store.revoke(&id, SystemClock.now()).unwrap();
        assert!(!entrance.is_valid(&client));
        let refused = entrance.admit(Some(&token), None);
        assert_eq!(refused, Err(Refused::Unauthenticated));
    }

    #[test]
    fn token_that_may_not_open_sessions_is_forbidden() {
        let (entrance, store, _directory) = entrance();
        for role in [Role::Viewer, Role::Approver] {
            let (token, _) = made(&store, Grant::everywhere(role));
            let refused = entrance.admit(Some(&token), None);
            assert!(
                matches!(refused, Err(Refused::Forbidden { .. })),
                "{refused:?}"
            );
        }
    }

    #[test]
    fn failures_count_by_address() {
        let (entrance, store, _directory) = entrance();
        let (token, _) = made(&store, Grant::everywhere(Role::Client));
        let from = |last| Some(IpAddr::V4(Ipv4Addr::new(192, 0, 2, last)));
        for _ in 0..2 {
            let refused = entrance.admit(Some("AIza-the-vendors"), from(1));
            assert_eq!(refused, Err(Refused::Unauthenticated));
        }
        let refused = entrance.admit(Some("rct_wrong"), from(1));
        assert!(
            matches!(refused, Err(Refused::TooMany { .. })),
            "{refused:?}"
        );
        let other = entrance.admit(Some("rct_wrong"), from(2));
        assert_eq!(other, Err(Refused::Unauthenticated));
        assert!(
            entrance.admit(Some(&token), from(1)).is_ok(),
            "a valid token is admitted"
        );
        for _ in 0..3 {
            // A client without a token has failed at nothing.
            assert_eq!(entrance.admit(None, from(3)), Err(Refused::Unauthenticated));
        }
    }
}
