//! Checks of a session: its hash chain, and its decisions made again. Progress is streamed.

use axum::response::Response;
use recount::ledger::Ledger;
use recount::replay::verify_by;
use recount::session::{SessionId, decide};
use recount_journal::verify::Integrity;
use recount_journal::{Hash, Head, Line};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use utoipa::ToSchema;

use crate::access::Role;
use crate::problems::{Code, Problem};
use crate::requests::{InPath, StrictOrEmpty, session};
use crate::routes::caller::Caller;
use crate::streams::{Message, Source, json, start};

/// The number of records in one read. A record has up to 3 MiB.
const READ: usize = 16;

/// An empty object.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

/// Decides every observation of a session again, and compares the decisions with the record.
///
/// Nothing runs. Messages with the event `progress` have the records so far and their number. The
/// message `report` has the report of `recount replay --json`: `diverged` is null, or the first
/// difference.
#[utoipa::path(
    post,
    path = "/v1/sessions/{id}/replay",
    operation_id = "replaySession",
    tag = "reports",
    params(("id" = String, Path, description = "The id of the session")),
    request_body = Option<Nothing>,
    responses(
        (status = 200, description = "The progress and the report", body = String,
            content_type = "text/event-stream"),
    ),
)]
pub(crate) async fn replay(
    caller: Caller,
    InPath(id): InPath<String>,
    StrictOrEmpty(Nothing {}): StrictOrEmpty<Nothing>,
) -> Result<Response, Problem> {
    check(caller, &id, |ledger, session, records| async move {
        let told = |done| records.send_modify(|it| it.records = done);
        let report = verify_by(&ledger, session, decide, told).await?;
        json(&report)
    })
    .await
}

/// Verifies the hash chain of a session: no record is missing, changed or in another place.
///
/// The records are those that the service reads. It may have them in memory, or twice on disk, so
/// altered files may stay unseen until `recount verify` checks the stopped journal, or a backup.
/// Messages with the event `progress` have the records so far and their number. The message
/// `report` has the `verdict`, the hash of the last record, and the first problem, if there is one.
/// The verdict is `consistent` (and not anchored) or `damaged`.
#[utoipa::path(
    post,
    path = "/v1/sessions/{id}/verify",
    operation_id = "verifySession",
    tag = "reports",
    params(("id" = String, Path, description = "The id of the session")),
    request_body = Option<Nothing>,
    responses(
        (status = 200, description = "The progress and the report", body = String,
            content_type = "text/event-stream"),
    ),
)]
pub(crate) async fn verify(
    caller: Caller,
    InPath(id): InPath<String>,
    StrictOrEmpty(Nothing {}): StrictOrEmpty<Nothing>,
) -> Result<Response, Problem> {
    check(caller, &id, |ledger, session, records| async move {
        json(&verified(&ledger, session, &records).await?)
    })
    .await
}

/// The progress of a check.
#[derive(Clone, Copy, Debug, Serialize)]
struct Progress {
    records: u64,
    of: u64,
}

/// Starts a check in a task of its own, and streams its progress and its report.
async fn check<F>(
    caller: Caller,
    id: &str,
    run: impl FnOnce(Ledger, SessionId, watch::Sender<Progress>) -> F,
) -> Result<Response, Problem>
where
    F: Future<Output = Result<String, Problem>> + Send + 'static,
{
    let id = session(id)?;
    caller.session(id, Role::Viewer).await?;
    let ledger = caller.ledger().clone();
    let head = ledger.journal().head(id.0).await?;
    let of = head.map_or(0, |head| head.seq);
    let (sender, progress) = watch::channel(Progress { records: 0, of });
    let source = Check {
        progress,
        task: Some(Running(tokio::spawn(run(ledger, id, sender)))),
    };
    start(&caller.service, caller.proof(), source)
}

/// The task of a check. It ends with the stream.
struct Running(JoinHandle<Result<String, Problem>>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

struct Check {
    progress: watch::Receiver<Progress>,
    /// The task, until its report was sent.
    task: Option<Running>,
}

impl Source for Check {
    async fn next(&mut self) -> Result<Option<Message>, Problem> {
        let Some(task) = &mut self.task else {
            return Ok(None);
        };
        // Only the newest progress is sent, so a slow reader does not hold the check.
        if self.progress.changed().await.is_ok() {
            let data = json(&*self.progress.borrow_and_update())?;
            return Ok(Some(Message {
                event: "progress",
                id: None,
                data,
            }));
        }
        // The sender is gone, so the task has ended or is about to.
        let ended = (&mut task.0).await;
        self.task = None;
        let failed = |_| Problem::new(Code::Engine, "the check has ended without a report");
        let data = ended.map_err(failed)??;
        Ok(Some(Message {
            event: "report",
            id: None,
            data,
        }))
    }

    fn end(&self) -> &'static str {
        "done"
    }
}

/// The report of a verification.
#[derive(Debug, Serialize)]
pub(crate) struct Verified {
    session: SessionId,
    pub(crate) records: u64,
    /// The hash of the last record, as in the trailer of an export.
    pub(crate) head: Hash,
    /// `consistent` or `damaged`. Nothing from outside is given, so it is never `anchored`.
    verdict: Integrity,
    pub(crate) problem: Option<Flaw>,
}

/// The first problem of a hash chain.
#[derive(Debug, Serialize)]
pub(crate) struct Flaw {
    pub(crate) seq: u64,
    pub(crate) text: String,
}

/// Verifies the hash chain of a session, without telling its progress.
pub(crate) async fn verify_now(ledger: &Ledger, session: SessionId) -> Result<Verified, Problem> {
    let (told, _) = watch::channel(Progress { records: 0, of: 0 });
    verified(ledger, session, &told).await
}

async fn verified(
    ledger: &Ledger,
    session: SessionId,
    progress: &watch::Sender<Progress>,
) -> Result<Verified, Problem> {
    // Read first: records that are appended meanwhile come after it.
    let expected = ledger.journal().head(session.0).await?;
    let report = |records, head, problem: Option<Flaw>| Verified {
        session,
        records,
        head,
        verdict: match problem {
            None => Integrity::Consistent,
            Some(_) => Integrity::Damaged,
        },
        problem,
    };
    let (mut records, mut head) = (0, Hash::ZERO);
    loop {
        let lines = ledger.journal().read(session.0, records + 1, READ).await?;
        if lines.is_empty() {
            break;
        }
        for line in &lines {
            let seq = records + 1;
            if let Some(text) = flaw(line, session, seq, head) {
                return Ok(report(records, head, Some(Flaw { seq, text })));
            }
            (records, head) = (seq, line.leaf());
            if let Some(text) = flaw_of_head(expected, records, head) {
                return Ok(report(records, head, Some(Flaw { seq, text })));
            }
        }
        progress.send_modify(|it| it.records = records);
        tokio::task::yield_now().await;
    }
    let missing = expected.filter(|it| it.seq > records).map(|it| Flaw {
        seq: records + 1,
        text: format!("expected {} records, found {records}", it.seq),
    });
    Ok(report(records, head, missing))
}

/// The fault of the record at the head: the journal keeps its hash apart from its bytes, which no
/// later record of the chain names.
fn flaw_of_head(expected: Option<Head>, seq: u64, found: Hash) -> Option<String> {
    let expected = expected.filter(|it| it.seq == seq && it.hash != found)?;
    Some(format!(
        "the journal's head has the hash {}, the record has {found}",
        expected.hash
    ))
}

/// The fault of a record at this place of the chain.
fn flaw(line: &Line, session: SessionId, seq: u64, prev: Hash) -> Option<String> {
    let record = match line.record() {
        Ok(record) => record,
        Err(error) => return Some(error.to_string()),
    };
    if record.session != session.0 || record.seq != seq {
        let (other, at) = (record.session, record.seq);
        return Some(format!("the record is that of session {other} at seq {at}"));
    }
    (record.prev != prev).then(|| "its hash of the record before is another one".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_record_is_compared_with_the_head() {
        let head = |hash| Head {
            seq: 2,
            hash,
            at_us: 0,
        };
        let [one, other] = ["one", "other"].map(|it| Hash::of_object(it.as_bytes()));
        assert_eq!(flaw_of_head(Some(head(one)), 2, one), None);
        // Another record than the last is compared by the chain.
        assert_eq!(flaw_of_head(Some(head(one)), 1, other), None);
        let text = flaw_of_head(Some(head(one)), 2, other).unwrap();
        assert!(text.contains(&one.to_string()) && text.contains(&other.to_string()));
    }
}
