//! The records of a session, in pages.

use axum::Json;
use recount::control::LogItem;
use recount::session::Seq;
use serde::Serialize;

use super::caller::Caller;
use super::shapes::RecordsShape;
use crate::access::Role;
use crate::problems::Problem;
use crate::requests::{InPath, Params, session};

/// The number of records in one read. A page holds no more than these beyond its size.
const READ: usize = 4;

/// The size of a page from which no further records are added, in bytes. A record has up to 3 MiB.
const PAGE_BYTES: usize = 8 << 20;

/// A page of records.
#[derive(Serialize)]
pub(crate) struct Records {
    items: Vec<LogItem>,
    /// The first record of the next page. `None` at the end of the session.
    next: Option<Seq>,
}

/// Returns records of a session, each as it is stored.
///
/// A large page ends early; `next` says where the next one begins.
#[utoipa::path(
    get,
    path = "/v1/sessions/{id}/records",
    operation_id = "listRecords",
    tag = "sessions",
    params(
        ("id" = String, Path, description = "The id of the session"),
        ("from" = Option<u64>, Query, description = "The first record, 1 by default"),
        ("limit" = Option<u16>, Query, description = "1 to 1000, 50 by default",
            minimum = 1, maximum = 1000),
    ),
    responses(
        (status = 200, description = "The records", body = RecordsShape),
    ),
)]
pub(crate) async fn list(
    caller: Caller,
    InPath(id): InPath<String>,
    params: Params,
) -> Result<Json<Records>, Problem> {
    params.only(&["from", "limit"])?;
    let id = session(&id)?;
    caller.session(id, Role::Viewer).await?;
    let from = params.parsed::<u64>("from", "the seq of a record")?;
    let (mut next, limit) = (Seq(from.unwrap_or(1).max(1)), params.limit()?);
    let (mut items, mut bytes) = (Vec::new(), 0);
    while items.len() < limit && bytes < PAGE_BYTES {
        let wanted = (limit - items.len()).min(READ);
        let entries = caller.ledger().entries(id, next, wanted).await?;
        let Some(last) = entries.last() else {
            return Ok(Json(Records { items, next: None }));
        };
        next = last.seq.next();
        for entry in &entries {
            if bytes >= PAGE_BYTES {
                next = entry.seq;
                break;
            }
            let item = LogItem::of(entry)?;
            bytes += item.record.get().len() + item.body.as_ref().map_or(0, |it| it.get().len());
            items.push(item);
        }
    }
    let head = caller.ledger().journal().head(id.0).await?;
    let next = head.filter(|head| next.0 <= head.seq).map(|_| next);
    Ok(Json(Records { items, next }))
}
