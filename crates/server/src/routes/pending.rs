//! The open confirmation requests, and the calls that wait for a result.

use axum::Json;
use recount::control::Waiting;
use recount::session::{OpenKind, Seq, SessionId};
use recount_journal::OpenItem;

use super::caller::Caller;
use super::listing::Listing;
use super::shapes::PendingShape;
use crate::catalogue::Known;
use crate::problems::{Code, Problem};
use crate::requests::{Cursor, Params, session};

/// The number of open items in one read of the index.
const READ: usize = 128;

/// Lists what waits for an answer from outside: confirmation requests, and paused calls.
///
/// Oldest session first. The cost of a page does not depend on the length of the journal.
#[utoipa::path(
    get,
    path = "/v1/pending",
    operation_id = "listPending",
    tag = "approvals",
    params(
        ("agent" = Option<String>, Query, description = "The agent"),
        ("label" = Option<Vec<String>>, Query,
            description = "NAME:VALUE; may be given several times, and all must fit"),
        ("session" = Option<String>, Query, description = "The id of the only session"),
        ("limit" = Option<u16>, Query, description = "1 to 1000, 50 by default",
            minimum = 1, maximum = 1000),
        ("cursor" = Option<String>, Query, description = "`next` of the page before"),
    ),
    responses(
        (status = 200, description = "The requests and calls", body = PendingShape),
    ),
)]
pub(crate) async fn list(
    caller: Caller,
    params: Params,
) -> Result<Json<Listing<Waiting>>, Problem> {
    params.only(&["agent", "label", "session", "limit", "cursor"])?;
    let selection = Selection::of(&params)?;
    let limit = params.limit()?;
    let after = match params.cursor()? {
        None => None,
        Some(Cursor::Item(session, seq)) => Some((session, seq)),
        Some(Cursor::Session(_)) => {
            let detail = "the cursor is of another listing";
            return Err(Problem::new(Code::BadRequest, detail));
        }
    };
    let page = snapshot(&caller, &selection, after, limit).await?;
    Ok(Json(page))
}

/// Returns a page of what waits after a place, as the caller sees it.
pub(super) async fn snapshot(
    caller: &Caller,
    selection: &Selection,
    after: Option<(SessionId, Seq)>,
    limit: usize,
) -> Result<Listing<Waiting>, Problem> {
    let (items, more) = open_items(caller, selection, after, limit).await?;
    let last = items.last().filter(|_| more);
    let next = last.map(|it| Cursor::Item(SessionId(it.session), Seq(it.item)));
    let waiting = waiting(caller, &items).await?;
    let Json(page) = Listing::page(waiting, next);
    Ok(page)
}

/// Returns what waits in the selected sessions, up to `limit`, and true if there is more.
pub(crate) async fn every(
    caller: &Caller,
    selection: &Selection,
    limit: usize,
) -> Result<(Vec<Waiting>, bool), Problem> {
    let (items, more) = open_items(caller, selection, None, limit).await?;
    Ok((waiting(caller, &items).await?, more))
}

/// The conditions of a listing.
#[derive(Default)]
pub(crate) struct Selection {
    pub(crate) agent: Option<String>,
    pub(crate) labels: Vec<(String, String)>,
    pub(crate) session: Option<SessionId>,
}

impl Selection {
    pub(super) fn of(params: &Params) -> Result<Selection, Problem> {
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        Ok(Selection {
            agent: params.one("agent")?.map(str::to_owned),
            labels: params.labels()?.into_iter().map(owned).collect(),
            session: params.one("session")?.map(session).transpose()?,
        })
    }
}

/// Returns the selected open items after a place, and true if more follow.
async fn open_items(
    caller: &Caller,
    selection: &Selection,
    after: Option<(SessionId, Seq)>,
    limit: usize,
) -> Result<(Vec<OpenItem>, bool), Problem> {
    let journal = caller.ledger().journal();
    let kinds = [OpenKind::Confirmation, OpenKind::Paused].map(OpenKind::as_str);
    let mut place = after.map(|(session, seq)| (session.0, seq.0));
    if place.is_none() {
        // The items of one session follow each other.
        place = selection.session.map(|it| (it.0, 0));
    }
    let mut items = Vec::new();
    loop {
        let page = journal.open_work_of_kinds(&kinds, place, READ).await?;
        let Some(last) = page.last() else {
            return Ok((items, false));
        };
        place = Some((last.session, last.item));
        for item in page {
            let session = SessionId(item.session);
            if selection.session.is_some_and(|only| only != session) {
                return Ok((items, false));
            }
            if !is_selected(caller, selection, session).await? {
                continue;
            }
            if items.len() == limit {
                return Ok((items, true));
            }
            items.push(item);
        }
    }
}

async fn is_selected(
    caller: &Caller,
    selection: &Selection,
    session: SessionId,
) -> Result<bool, Problem> {
    let agent = selection.agent.as_deref();
    let fits = |known: &Known| {
        let opened = known.opened.as_ref();
        let has = |(name, value): &(String, String)| {
            let found = opened.and_then(|it| it.labels.get(name));
            found.is_some_and(|found| found == value)
        };
        caller.reads(known)
            && agent.is_none_or(|it| known.agent() == Some(it))
            && selection.labels.iter().all(has)
    };
    let catalogue = &caller.service.catalogue;
    Ok(catalogue.session_if(session, fits).await?.is_some())
}

/// Reads the items. One that was answered meanwhile is left out.
async fn waiting(caller: &Caller, items: &[OpenItem]) -> Result<Vec<Waiting>, Problem> {
    let kind = OpenKind::Confirmation.as_str();
    let (asked, paused): (Vec<OpenItem>, Vec<OpenItem>) =
        items.iter().cloned().partition(|it| it.kind == kind);
    let asked = caller.service.catalogue.pending_of(&asked).await?;
    let paused = caller.ledger().paused_of(&paused).await?;
    let asked = asked.into_iter().map(|it| {
        let place = (it.session, it.call);
        (place, Waiting::Confirmation(Box::new(it)))
    });
    let paused = paused.into_iter().map(|it| {
        let place = (it.session, it.call);
        (place, Waiting::Paused(it))
    });
    let mut waiting: Vec<_> = asked.chain(paused).collect();
    waiting.sort_by_key(|(place, _)| *place);
    for ((session, _), _) in &waiting {
        caller.shows(*session);
    }
    Ok(waiting.into_iter().map(|(_, it)| it).collect())
}
