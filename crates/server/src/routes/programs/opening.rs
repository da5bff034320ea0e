//! The opening of sessions that a program drives.

use std::collections::BTreeMap;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::IntoResponse;
use recount::engine::Error;
use recount::session::SessionId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::problems::{Code, Problem};
use crate::requests::Strict;
use crate::routes::caller::{Caller, not_driving};

/// The maximum size of the agent, the ids and the labels of a session, in bytes. The catalogue
/// keeps them in memory, and every listing contains them.
const TEXTS_BYTES_MAX: usize = 4 << 10;

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
/// Needs the role client or operator for the agent and the labels.
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
    Strict(new): Strict<NewSession>,
) -> Result<impl IntoResponse, Problem> {
    new.expect_short()?;
    if !caller.principal.knows_agent(&new.agent) {
        return Err(unknown_agent(&new.agent));
    }
    if !caller.principal.may_drive(&new.agent, &new.labels, None) {
        return Err(not_driving());
    }
    let mut opening = caller.service.engine.session(&new.agent);
    if let Some(id) = &new.external_id {
        opening = opening.external_id(id);
    }
    if let Some(name) = &new.on_behalf_of {
        opening = opening.on_behalf_of(name);
    }
    for (name, value) in &new.labels {
        opening = opening.label(name, value);
    }
    let handle = opening.open().await.map_err(|error| match error {
        // The same words as for an agent outside every grant.
        Error::UnknownAgent { name, .. } => unknown_agent(&name),
        error => error.into(),
    })?;
    let session = handle.session_id();
    caller.service.held.hold(handle);
    let opened = Opened {
        session,
        agent: new.agent,
        external_id: new.external_id,
        on_behalf_of: new.on_behalf_of,
        labels: new.labels,
    };
    let location = location(&format!("sessions/{session}"))?;
    Ok((
        StatusCode::CREATED,
        [(header::LOCATION, location)],
        Json(opened),
    ))
}

/// A path relative to that of the request, because the service may be mounted under any prefix.
pub(super) fn location(path: &str) -> Result<HeaderValue, Problem> {
    HeaderValue::from_str(path).map_err(|_| Problem::new(Code::Broken, "a path is no header value"))
}

fn unknown_agent(name: &str) -> Problem {
    let detail = format!("there is no agent {name:?}");
    Problem::new(Code::UnknownAgent, detail)
}
