//! The opening of sessions that a program drives.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use recount::engine::{self, Clock, Engine, Error, SystemClock};
use recount::session::SessionId;
use recount_journal::{Commit, Opening};
use serde::{Deserialize, Serialize};
use tokio::time::timeout;
use utoipa::ToSchema;

use crate::driving::{concerns, wake_after};
use crate::problems::{Code, Problem};
use crate::requests::{REPLAYED, Repeatable, RepeatableKey, Strict, other_body};
use crate::routes::caller::{Caller, not_driving};

/// The maximum size of the agent, the ids and the labels of a session, in bytes. The catalogue
/// keeps them in memory, and every listing contains them.
const TEXTS_BYTES_MAX: usize = 4 << 10;

/// The time for the session of the first request with a key to get its first record. Two nodes that
/// open it at the same time would both log that one of them failed.
const FIRST_OPENS_WITHIN: Duration = Duration::from_secs(2);

/// A session to open. Its texts have at most 4 KiB together.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewSession {
    /// The agent, with whose tools and policies the session begins.
    agent: String,
    /// An id of the client's own, which every listing contains.
    #[serde(default)]
    external_id: Option<String>,
    /// The person or account for whom the agent acts. Approvers see it.
    #[serde(default)]
    on_behalf_of: Option<String>,
    /// The labels. They must fit a grant of the caller.
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

impl NewSession {
    fn expect_short(&self) -> Result<(), Problem> {
        let texts = [
            Some(&self.agent),
            self.external_id.as_ref(),
            self.on_behalf_of.as_ref(),
        ];
        let labels = self.labels.iter().flat_map(|(name, value)| [name, value]);
        let bytes: usize = texts
            .into_iter()
            .flatten()
            .chain(labels)
            .map(String::len)
            .sum();
        if bytes <= TEXTS_BYTES_MAX {
            return Ok(());
        }
        let detail = format!(
            "the agent, the ids and the labels: expected {TEXTS_BYTES_MAX} bytes at most, \
             found {bytes}"
        );
        Err(Problem::new(Code::TooLarge, detail))
    }
}

/// An opened session.
#[derive(Serialize, ToSchema)]
pub(crate) struct Opened {
    /// The id.
    #[schema(value_type = String)]
    session: SessionId,
    /// The agent.
    agent: String,
    /// The id that the client chose.
    external_id: Option<String>,
    /// The person or account for whom the agent acts.
    on_behalf_of: Option<String>,
    /// The labels.
    labels: BTreeMap<String, String>,
}

/// Opens a session without a model, for calls that the client makes itself.
///
/// Needs the role client or operator for the agent and the labels. In a database, an
/// `Idempotency-Key` opens one session at all nodes, also after a restart, for a week.
#[utoipa::path(
    post,
    path = "/v1/sessions",
    operation_id = "openSession",
    tag = "programs",
    request_body = NewSession,
    responses(
        (status = 201, description = "The session is open; Location has its path", body = Opened),
        (status = 503, description = "Not now", body = Problem,
            content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn open(
    caller: Caller,
    RepeatableKey(key): RepeatableKey,
    Strict(new): Strict<NewSession>,
) -> Result<Response, Problem> {
    new.expect_short()?;
    if !caller.principal.knows_agent(&new.agent) {
        return Err(unknown_agent(&new.agent));
    }
    if !caller.principal.may_drive(&new.agent, &new.labels, None) {
        return Err(not_driving());
    }
    let named = match key {
        Some(key) => session_of(&caller, key).await?,
        None => None,
    };
    if let Some(id) = named
        && is_open(&caller, id).await?
    {
        return new.opened(id, true);
    }
    let handle = new.opening(&caller.service.engine, named).open().await;
    let handle = match (handle, named) {
        (Ok(handle), _) => handle,
        // Another node got the same request, and was faster.
        (Err(_), Some(id)) if is_open(&caller, id).await? => return new.opened(id, true),
        // The same words as for an agent outside every grant.
        (Err(Error::UnknownAgent { name, .. }), _) => return Err(unknown_agent(&name)),
        (Err(error), _) => return Err(error.into()),
    };
    let session = handle.session_id();
    caller.service.held.hold(handle);
    new.opened(session, false)
}

impl NewSession {
    fn opening(&self, engine: &Engine, id: Option<SessionId>) -> engine::NewSession {
        let mut opening = engine.session(&self.agent);
        if let Some(id) = id {
            opening = opening.id(id);
        }
        if let Some(id) = &self.external_id {
            opening = opening.external_id(id);
        }
        if let Some(name) = &self.on_behalf_of {
            opening = opening.on_behalf_of(name);
        }
        for (name, value) in &self.labels {
            opening = opening.label(name, value);
        }
        opening
    }

    /// The answer with the session, which an earlier request may have opened.
    fn opened(self, session: SessionId, is_replayed: bool) -> Result<Response, Problem> {
        let location = location(&format!("sessions/{session}"))?;
        let opened = Opened {
            session,
            agent: self.agent,
            external_id: self.external_id,
            on_behalf_of: self.on_behalf_of,
            labels: self.labels,
        };
        let headers = [(header::LOCATION, location)];
        let mut response = (StatusCode::CREATED, headers, Json(opened)).into_response();
        if is_replayed {
            let replayed = HeaderValue::from_static("true");
            response.headers_mut().insert(REPLAYED, replayed);
        }
        Ok(response)
    }
}

/// The session that a request with a key opens, at any node of the journal. `None` in a journal
/// with one writer, whose service has the first answer itself.
async fn session_of(caller: &Caller, key: Repeatable) -> Result<Option<SessionId>, Problem> {
    let journal = caller.ledger().journal();
    let Some(sharing) = journal.sharing() else {
        return Ok(None);
    };
    let (session, request) = (SystemClock.new_session().0, key.request_hash);
    let opening = Opening { session, request };
    let first = sharing.opening(key.key, opening).await?;
    if first.request != request {
        return Err(other_body());
    }
    let id = SessionId(first.session);
    if first.session != session {
        // After that time, the node that was first is taken to be gone. If it is not, one of both
        // opens the session.
        let _ = timeout(FIRST_OPENS_WITHIN, until_open(caller, id)).await;
    }
    Ok(Some(id))
}

/// Waits until a session has a record.
async fn until_open(caller: &Caller, session: SessionId) -> Result<(), Problem> {
    // Taken before the first look, so that no record is missed.
    let mut position = caller.ledger().journal().position().await?;
    while !is_open(caller, session).await? {
        let its = |commit: &Commit| concerns(commit, session);
        position = wake_after(caller.ledger(), position, its).await?;
    }
    Ok(())
}

/// True if the session has a record.
async fn is_open(caller: &Caller, session: SessionId) -> Result<bool, Problem> {
    Ok(caller.ledger().journal().head(session.0).await?.is_some())
}

/// A path relative to that of the request, because the service may be mounted under any prefix.
pub(super) fn location(path: &str) -> Result<HeaderValue, Problem> {
    HeaderValue::from_str(path).map_err(|_| Problem::new(Code::Broken, "a path is no header value"))
}

fn unknown_agent(name: &str) -> Problem {
    let detail = format!("there is no agent {name:?}");
    Problem::new(Code::UnknownAgent, detail)
}
