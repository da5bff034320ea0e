//! Sessions: their listing, one of them, its state, and its end.

use axum::Json;
use axum::response::IntoResponse;
use recount::engine::Operation;
use recount::ledger::{ListedPause, SessionSummary};
use recount::replay::{state_at, state_json};
use recount::session::{Json as RawJson, Seq, SessionId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::caller::Caller;
use super::listing::Listing;
use super::shapes::{OnRecordShape, SessionShape, SessionsShape, StateShape};
use crate::access::Role;
use crate::catalogue::{Filter, Known, State};
use crate::problems::{Code, Problem};
use crate::requests::{Cursor, InPath, Params, Strict, session};

/// The parameters of the listing.
pub(crate) const LIST: [&str; 8] = [
    "agent", "label", "state", "since", "until", "text", "limit", "cursor",
];

/// A session in a listing.
#[derive(Serialize)]
pub(crate) struct ListedSession {
    #[serde(flatten)]
    pub(crate) summary: SessionSummary,
    pub(crate) closed: bool,
    /// The pauses that hold the session. Empty for a closed session.
    pub(crate) paused: Vec<ListedPause>,
}

/// A session as of one of its records.
#[derive(Serialize)]
pub(crate) struct StateAt {
    session: SessionId,
    seq: Seq,
    /// The kind of that record. `None` before the first record.
    kind: Option<&'static str>,
    /// The length of the session.
    records: u64,
    state: RawJson,
}

/// The end of a session.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Close {
    /// The reason.
    reason: String,
}

/// Lists sessions, newest first.
///
/// Needs any role in a session. So a client finds the session again that it opened.
#[utoipa::path(
    get,
    path = "/v1/sessions",
    operation_id = "listSessions",
    tag = "sessions",
    params(
        ("agent" = Option<String>, Query, description = "The agent"),
        ("label" = Option<Vec<String>>, Query,
            description = "NAME:VALUE; may be given several times, and all must fit"),
        ("state" = Option<String>, Query, description = "`open` or `closed`"),
        ("since" = Option<String>, Query,
            description = "Sessions with a record at this time or later: RFC 3339, or \
                           microseconds since 1970"),
        ("until" = Option<String>, Query, description = "Sessions opened before this time"),
        ("text" = Option<String>, Query,
            description = "A part of the id, the agent, a label, the external id or \
                           `on_behalf_of`, in any case"),
        ("limit" = Option<u16>, Query, description = "1 to 1000, 50 by default",
            minimum = 1, maximum = 1000),
        ("cursor" = Option<String>, Query, description = "`next` of the page before"),
    ),
    responses(
        (status = 200, description = "The sessions", body = SessionsShape),
    ),
)]
pub(crate) async fn list(
    caller: Caller,
    params: Params,
) -> Result<Json<Listing<ListedSession>>, Problem> {
    let (items, next) = selected(&caller, &params).await?;
    Ok(Listing::page(items, next))
}

/// Returns a page of the selected sessions, and the cursor of the next page.
pub(crate) async fn selected(
    caller: &Caller,
    params: &Params,
) -> Result<(Vec<ListedSession>, Option<Cursor>), Problem> {
    params.only(&LIST)?;
    let (filter, limit) = (filter_of(params)?, params.limit()?);
    let before = match params.cursor()? {
        None => None,
        Some(Cursor::Session(session)) => Some(session),
        Some(Cursor::Item(..)) => {
            let detail = "the cursor is of another listing";
            return Err(Problem::new(Code::BadRequest, detail));
        }
    };
    let is_visible = |session: &_| caller.role_in(session).is_some();
    let catalogue = &caller.service.catalogue;
    let page = catalogue.page(&filter, is_visible, before, limit).await?;
    let pauses = caller.ledger().pauses().await?;
    let items = page.sessions.into_iter().inspect(|it| caller.shows(it.id));
    let items = items.map(|it| listed(it, &pauses)).collect();
    Ok((items, page.next.map(Cursor::Session)))
}

fn filter_of(params: &Params) -> Result<Filter, Problem> {
    let state = match params.one("state")? {
        None => None,
        Some("open") => Some(State::Open),
        Some("closed") => Some(State::Closed),
        Some(found) => {
            let detail = format!("state: expected open or closed, found {found:?}");
            return Err(Problem::new(Code::BadRequest, detail));
        }
    };
    let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    Ok(Filter {
        agent: params.one("agent")?.map(str::to_owned),
        labels: params.labels()?.into_iter().map(owned).collect(),
        state,
        since: params.time("since")?,
        until: params.time("until")?,
        text: params.one("text")?.map(str::to_lowercase),
    })
}

fn listed(summary: SessionSummary, pauses: &[ListedPause]) -> ListedSession {
    let closed = summary.is_closed();
    let holds = |it: &&ListedPause| !closed && it.holds(summary.id, &summary.agent, None);
    ListedSession {
        paused: pauses.iter().filter(holds).cloned().collect(),
        closed,
        summary,
    }
}

/// Returns a session. Needs any role in it.
#[utoipa::path(
    get,
    path = "/v1/sessions/{id}",
    operation_id = "getSession",
    tag = "sessions",
    params(("id" = String, Path, description = "The id of the session")),
    responses(
        (status = 200, description = "The session", body = SessionShape),
    ),
)]
pub(crate) async fn get(
    caller: Caller,
    InPath(id): InPath<String>,
    params: Params,
) -> Result<Json<ListedSession>, Problem> {
    params.only(&[])?;
    let id = session(&id)?;
    let known = caller.session(id, Role::Client).await?;
    one(&caller, id, &known).await.map(Json)
}

/// Returns a known session with its pauses.
pub(crate) async fn one(
    caller: &Caller,
    id: SessionId,
    known: &Known,
) -> Result<ListedSession, Problem> {
    let summary = caller.service.catalogue.summary_of(id, known).await?;
    let pauses = caller.ledger().pauses().await?;
    Ok(listed(summary, &pauses))
}

/// Returns a session as of one of its records.
#[utoipa::path(
    get,
    path = "/v1/sessions/{id}/state",
    operation_id = "getState",
    tag = "sessions",
    params(
        ("id" = String, Path, description = "The id of the session"),
        ("at" = Option<u64>, Query,
            description = "The seq of the record, from 0, which is before the first one; the \
                           last one by default"),
    ),
    responses(
        (status = 200, description = "The state", body = StateShape),
    ),
)]
pub(crate) async fn state(
    caller: Caller,
    InPath(id): InPath<String>,
    params: Params,
) -> Result<Json<StateAt>, Problem> {
    params.only(&["at"])?;
    let id = session(&id)?;
    caller.session(id, Role::Viewer).await?;
    let at = params.parsed::<u64>("at", "the seq of a record")?.map(Seq);
    let ledger = caller.ledger();
    let head = ledger.journal().head(id.0).await?;
    let state = state_at(ledger, id, at).await?;
    let seq = state.head;
    let kind = match seq {
        Seq(0) => None,
        seq => ledger.fact(id, seq).await?.map(|fact| fact.event.kind()),
    };
    Ok(Json(StateAt {
        session: id,
        seq,
        kind,
        // The session may have grown meanwhile.
        records: head.map_or(0, |head| head.seq).max(seq.0),
        state: state_json(&state),
    }))
}

/// Closes a session, which cancels its open calls. Needs the role operator.
#[utoipa::path(
    post,
    path = "/v1/sessions/{id}/close",
    operation_id = "closeSession",
    tag = "sessions",
    params(("id" = String, Path, description = "The id of the session")),
    request_body = Close,
    responses(
        (status = 200, description = "The session is closed", body = OnRecordShape),
    ),
)]
pub(crate) async fn close(
    caller: Caller,
    InPath(id): InPath<String>,
    Strict(Close { reason }): Strict<Close>,
) -> Result<impl IntoResponse, Problem> {
    let session = session(&id)?;
    caller.session(session, Role::Operator).await?;
    let done = caller.operate(Operation::Close { session, reason }).await;
    caller.service.held.forget(session);
    done
}
