//! The reads of sessions on record.

use axum::Json;
use recount::session::{SessionId, Timestamp};
use recount_reads::{OnRecord, Read, RecordedRead, Switch, latest};
use serde::Serialize;
use utoipa::ToSchema;

use crate::access::Role;
use crate::problems::Problem;
use crate::requests::{Params, session};
use crate::routes::caller::Caller;
use crate::routes::shapes::ActorShape;

/// The parameters of the listing.
pub(crate) const LIST: [&str; 4] = ["session", "reader", "until", "limit"];

/// The maximum number of records of the access journal that a listing looks at.
const DEPTH: usize = 100_000;

/// A page of reads.
#[derive(Serialize)]
pub(crate) struct Reads {
    /// True if this service records reads.
    recording: bool,
    items: Vec<ListedRead>,
    missed: Vec<ListedMissed>,
    switches: Vec<ListedSwitch>,
}

#[derive(Serialize)]
struct ListedRead {
    stream: uuid::Uuid,
    seq: u64,
    at_us: Timestamp,
    #[serde(flatten)]
    read: Read,
    repeats: u64,
    last_us: Timestamp,
}

#[derive(Serialize)]
struct ListedMissed {
    reads: u64,
    from_us: Timestamp,
    until_us: Timestamp,
    error: String,
}

#[derive(Serialize)]
struct ListedSwitch {
    at_us: Timestamp,
    recording: &'static str,
}

/// A page of reads, for the OpenAPI document.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the document reads the fields, no value has them")]
pub(crate) struct ReadsShape {
    /// True if this service records reads.
    recording: bool,
    /// The reads, newest first.
    items: Vec<ReadShape>,
    /// The reads among those looked at that were served without a record.
    missed: Vec<MissedShape>,
    /// The begins and ends of the recording.
    switches: Vec<SwitchShape>,
}

/// A read of sessions, or an attempt that was refused.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the document reads the fields, no value has them")]
pub(crate) struct ReadShape {
    /// The stream of the record in the access journal, one for each day.
    stream: String,
    /// The record in it.
    seq: u64,
    /// The time of the answer, in microseconds since 1970.
    at_us: i64,
    /// The reader.
    by: ActorShape,
    /// `token`, `jwt`, `proxy`, `embedder`, `login`, `login_with_token` or `control_token`.
    how: String,
    /// `http`, `pages` or `control`.
    door: String,
    /// The method and the pattern of the path.
    route: String,
    /// The sessions.
    sessions: Vec<String>,
    /// True if the answer is about every session that the reader may see.
    #[schema(required = false)]
    every_session: bool,
    /// `envelopes` or `bodies`.
    depth: String,
    /// The status of the answer.
    status: u16,
    /// The number of further reads of the same content soon after.
    repeats: u64,
    /// The time of the last of them.
    last_us: i64,
}

/// Reads that were served without a record.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the document reads the fields, no value has them")]
pub(crate) struct MissedShape {
    /// The number of reads.
    reads: u64,
    /// The time of the first one, in microseconds since 1970.
    from_us: i64,
    /// The time of the last one.
    until_us: i64,
    /// The error of the access journal.
    error: String,
}

/// A begin or an end of the recording.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the document reads the fields, no value has them")]
pub(crate) struct SwitchShape {
    /// The time, in microseconds since 1970.
    at_us: i64,
    /// `began`, `ended` or `off`.
    recording: String,
}

/// Lists who read sessions, newest first. Needs the role operator in all sessions.
///
/// The access journal has no bodies. Reads of every session, such as those of figures, are listed
/// for each session.
#[utoipa::path(
    get,
    path = "/v1/reads",
    operation_id = "listReads",
    tag = "reports",
    params(
        ("session" = Option<String>, Query, description = "The id of the only session"),
        ("reader" = Option<String>, Query, description = "The name of the only reader"),
        ("until" = Option<String>, Query,
            description = "Reads before this time: RFC 3339, or microseconds since 1970"),
        ("limit" = Option<u16>, Query, description = "1 to 1000, 50 by default",
            minimum = 1, maximum = 1000),
    ),
    responses((status = 200, description = "The reads", body = ReadsShape)),
)]
pub(crate) async fn list(caller: Caller, params: Params) -> Result<Json<Reads>, Problem> {
    params.only(&LIST)?;
    let recording = caller.service.reads.is_some();
    let found = found(&caller, &params).await?;
    Ok(Json(Reads {
        recording,
        items: found.reads.into_iter().map(listed).collect(),
        missed: found.missed.into_iter().map(listed_missed).collect(),
        switches: found.switches.into_iter().map(switch).collect(),
    }))
}

/// Returns the selected reads, newest first.
pub(crate) async fn found(caller: &Caller, params: &Params) -> Result<OnRecord, Problem> {
    caller.expect_everywhere(Role::Operator)?;
    let of = params.one("session")?.map(session).transpose()?;
    let (reader, until) = (params.one("reader")?, params.time("until")?);
    let limit = params.limit()?;
    let Some(recorder) = &caller.service.reads else {
        return Ok(OnRecord::default());
    };
    let wanted = |it: &RecordedRead| {
        of.is_none_or(|of| is_of(it, of))
            && reader.is_none_or(|name| it.read.by.name == name)
            && until.is_none_or(|until| it.at < until)
    };
    Ok(latest(&**recorder.journal(), (limit, DEPTH), wanted).await?)
}

fn is_of(it: &RecordedRead, session: SessionId) -> bool {
    it.read.every_session || it.read.sessions.contains(&session)
}

fn listed(it: RecordedRead) -> ListedRead {
    ListedRead {
        stream: it.stream,
        seq: it.seq,
        at_us: it.at,
        read: it.read,
        repeats: it.repeats,
        last_us: it.last,
    }
}

fn listed_missed(it: recount_reads::Missed) -> ListedMissed {
    ListedMissed {
        reads: it.reads,
        from_us: it.from,
        until_us: it.until,
        error: it.error,
    }
}

fn switch((at_us, switch): (Timestamp, Switch)) -> ListedSwitch {
    let recording = match switch {
        Switch::Began => "began",
        Switch::Ended => "ended",
        Switch::Off => "off",
    };
    ListedSwitch { at_us, recording }
}
