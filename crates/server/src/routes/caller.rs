//! The caller of a route: its principal, and the sessions that exist for it.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::Method;
use axum::http::request::Parts;
use recount::ledger::{KnownRequest, Ledger};
use recount::session::{Actor, RequestId, Seq, SessionId};

use crate::access::{Credentials, Principal, Proof, Role};
use crate::catalogue::Known;
use crate::driving::Place;
use crate::problems::{Code, Problem};
use crate::reading::Reading;
use crate::requests::CallName;
use crate::service::Service;

/// The number of derived ids after which other tasks of the thread can run.
const IDS_AT_ONCE: u64 = 4096;

/// The time for which a request waits until it can fold a session.
const PROJECTING_WAIT: Duration = Duration::from_secs(10);

/// The service, as one principal sees it.
///
/// A session outside the scope of the principal does not exist for it: every method answers as for
/// an unknown id.
pub(crate) struct Caller {
    pub(crate) service: Service,
    pub(crate) principal: Principal,
    credentials: Credentials,
    /// The read of the request, if reads are recorded.
    reading: Option<Reading>,
}

impl FromRequestParts<Service> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, service: &Service) -> Result<Caller, Problem> {
        let principal = Principal::from_request_parts(parts, service).await?;
        let credentials = Credentials::from_request_parts(parts, service).await?;
        let reading = parts.extensions.get::<Reading>().cloned();
        let has_parameters = parts.uri.query().is_some_and(|it| !it.is_empty());
        if parts.method == Method::POST && has_parameters {
            let detail = "expected no parameters: a POST has a body";
            return Err(Problem::new(Code::BadRequest, detail));
        }
        let changes = !matches!(parts.method, Method::GET | Method::HEAD);
        if changes && service.is_draining() {
            let detail = "the service is shutting down; repeat the request at the next one";
            return Err(Problem::new(Code::Draining, detail));
        }
        let mut service = service.clone();
        service.waits = service.waits.of(&principal);
        service.streams = service.streams.of(&principal);
        service.projections = service.projections.of(&principal);
        Ok(Caller {
            service,
            principal,
            credentials,
            reading,
        })
    }
}

impl Caller {
    pub(crate) fn ledger(&self) -> &Ledger {
        self.service.engine.ledger()
    }

    /// The actor of what the caller does.
    pub(crate) fn actor(&self) -> Actor {
        self.principal.actor().clone()
    }

    /// The proof of the caller, which a response that lasts checks again.
    pub(crate) fn proof(&self) -> Proof {
        Proof {
            access: self.service.access.clone(),
            credentials: self.credentials.clone(),
            principal: self.principal.clone(),
            reading: self.reading.clone(),
        }
    }

    /// Notes that the answer has something of a session, or that the request names it. Every route
    /// that shows something of a session calls it, so that the read goes on record.
    pub(crate) fn shows(&self, session: SessionId) {
        if let Some(reading) = &self.reading {
            reading.shows(session);
        }
    }

    /// Notes that the answer is about every session that the caller may read.
    pub(crate) fn shows_every_session(&self) {
        if let Some(reading) = &self.reading {
            reading.shows_every_session();
        }
    }

    /// Checks after a wait that the caller is still admitted.
    pub(crate) async fn check_again(&self) -> Result<(), Problem> {
        self.proof().check_again().await
    }

    /// Takes a place to fold a session for its calls, and waits for it.
    pub(crate) async fn projecting(&self) -> Result<Place, Problem> {
        let places = &self.service.projections;
        places.wait("listings of calls", PROJECTING_WAIT).await
    }

    /// The caller's role in a session. `None`: the session does not exist for the caller.
    pub(crate) fn role_in(&self, session: &Known) -> Option<Role> {
        match &session.opened {
            Some(opened) => self.principal.role_in(&opened.agent, &opened.labels),
            // The agent and the labels of a sealed session are unknown here.
            None => self.principal.role_over_everything(),
        }
    }

    /// True if the caller may read the session.
    pub(crate) fn reads(&self, session: &Known) -> bool {
        self.role_in(session) >= Some(Role::Viewer)
    }

    /// True if the caller may read the session of this id.
    pub(crate) async fn sees(&self, id: SessionId) -> Result<bool, Problem> {
        let catalogue = &self.service.catalogue;
        let known = catalogue.session_if(id, |it| self.reads(it)).await?;
        Ok(known.is_some())
    }

    /// The tool of a call, to be shown. Empty if the session cannot be read here.
    pub(crate) async fn tool_shown(
        &self,
        session: SessionId,
        call: Seq,
    ) -> Result<String, Problem> {
        match self.ledger().tool_of(session, call).await {
            Ok(tool) => Ok(tool.unwrap_or_default()),
            Err(error) if error.is_of_one_session() => Ok(String::new()),
            Err(error) => Err(error.into()),
        }
    }

    /// True if the caller may call and claim this tool in the session, or any tool without a name.
    pub(crate) fn drives(&self, session: &Known, tool: Option<&str>) -> bool {
        match &session.opened {
            Some(opened) => self
                .principal
                .may_drive(&opened.agent, &opened.labels, tool),
            // Without its key, no tool of a sealed session runs here.
            None => self
                .principal
                .role_over_everything()
                .is_some_and(Role::may_drive),
        }
    }

    /// Returns a session in which the caller may call and claim the tool.
    pub(crate) async fn driven(
        &self,
        id: SessionId,
        tool: Option<&str>,
    ) -> Result<Arc<Known>, Problem> {
        let known = self.session(id, Role::Client).await?;
        if !self.drives(&known, tool) {
            return Err(match tool {
                Some(_) => not_driving_the_tool(),
                None => not_driving(),
            });
        }
        Ok(known)
    }

    /// Returns a session in which the caller has the role.
    pub(crate) async fn session(&self, id: SessionId, needed: Role) -> Result<Arc<Known>, Problem> {
        let unknown = || Problem::new(Code::UnknownSession, format!("there is no session {id}"));
        self.shows(id);
        let known = self.service.catalogue.session(id).await?;
        let known = known.ok_or_else(unknown)?;
        let role = self.role_in(&known).ok_or_else(unknown)?;
        expect(role, needed)?;
        Ok(known)
    }

    /// Returns a confirmation request in whose session the caller has the role.
    pub(crate) async fn request(
        &self,
        id: RequestId,
        needed: Role,
    ) -> Result<KnownRequest, Problem> {
        let unknown = || {
            let detail = format!("there is no confirmation request {id}");
            Problem::new(Code::UnknownRequest, detail)
        };
        let known = self.ledger().request(id).await?.ok_or_else(unknown)?;
        self.shows(known.session);
        let session = self.service.catalogue.session(known.session).await?;
        let role = session.and_then(|it| self.role_in(&it));
        expect(role.ok_or_else(unknown)?, needed)?;
        Ok(known)
    }

    /// Checks that the caller has the role in all sessions of the journal.
    pub(crate) fn expect_everywhere(&self, needed: Role) -> Result<(), Problem> {
        match self.principal.role_over_everything() {
            Some(role) => expect(role, needed),
            None => Err(missing(needed)),
        }
    }

    /// Checks that the caller has the role in some sessions.
    pub(crate) fn expect_somewhere(&self, needed: Role) -> Result<(), Problem> {
        let mut grants = self.principal.grants().iter();
        if grants.any(|it| it.role >= needed) {
            return Ok(());
        }
        let detail = format!("this needs the role {needed}");
        Err(Problem::new(Code::RoleMissing, detail))
    }

    /// Checks that the caller has the role in all sessions of an agent.
    pub(crate) fn expect_over_agent(&self, agent: &str, needed: Role) -> Result<(), Problem> {
        if !self.principal.knows_agent(agent) {
            let detail = format!("there is no agent {agent:?}");
            return Err(Problem::new(Code::UnknownAgent, detail));
        }
        match self.principal.role_over_agent(agent) {
            Some(role) => expect(role, needed),
            None => Err(missing(needed)),
        }
    }

    /// Returns the seq of a call that a path names.
    pub(crate) async fn call(&self, session: SessionId, name: CallName) -> Result<Seq, Problem> {
        let id = match name {
            CallName::Seq(seq) => return Ok(seq),
            CallName::Id(id) => id,
        };
        let head = self.ledger().journal().head(session.0).await?;
        // An id is derived from the seq of its call, so the ids of all seqs are derived again.
        for seq in 1..=head.map_or(0, |head| head.seq) {
            if session.call_id(Seq(seq)) == id {
                return Ok(Seq(seq));
            }
            if seq % IDS_AT_ONCE == 0 {
                tokio::task::yield_now().await;
            }
        }
        let detail = format!("the session has no call {id}");
        Err(Problem::new(Code::UnknownCall, detail))
    }
}

/// The problem of a caller that may not call or claim.
pub(crate) fn not_driving() -> Problem {
    let detail = "this needs the role client or operator there";
    Problem::new(Code::RoleMissing, detail)
}

/// The problem of a caller that may not call or claim this tool. It does not name the tool, which
/// may be one that only a record names.
pub(crate) fn not_driving_the_tool() -> Problem {
    let detail = "this needs the role client or operator there, for the tool of the call";
    Problem::new(Code::RoleMissing, detail)
}

fn expect(role: Role, needed: Role) -> Result<(), Problem> {
    if role < needed {
        return Err(missing(needed));
    }
    Ok(())
}

fn missing(needed: Role) -> Problem {
    let detail = format!("this needs the role {needed} there");
    Problem::new(Code::RoleMissing, detail)
}
