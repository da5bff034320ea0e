//! Streams that tell a page when to look anew.
//!
//! A message has no content: the script fetches the page again, with the checks of the page.

use std::time::Duration;

use axum::http::HeaderMap;
use axum::response::Response;
use recount::session::{PauseScope, SessionId};
use recount_journal::{Commit, Line};
use serde::Deserialize;
use tokio::time::{Instant, sleep_until};

use crate::access::Role;
use crate::driving::{changes_operations, changes_pending, concerns};
use crate::problems::{Code, Problem};
use crate::requests::{Params, session};
use crate::routes::Caller;
use crate::routes::pauses::is_heard;
use crate::streams::{Message, Source, start};

/// The shortest time between two messages: twice a second.
const EVERY: Duration = Duration::from_millis(500);

/// The same for the operations, which every call changes and whose page reads all open work.
const EVERY_OF_OPERATIONS: Duration = Duration::from_secs(2);

/// The header with the id of the last message that the client has.
const LAST_EVENT_ID: &str = "last-event-id";

/// The records after which a page is fetched again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watched {
    /// Records that change open work, runners, pauses, leaves or erasures.
    Operations,
    /// Records that change what waits for an answer, in any session.
    Pending,
    /// Every record of a session.
    Session(SessionId),
}

impl Watched {
    /// The stream of the changes after a position of the journal.
    pub(super) fn stream(&self, position: u64) -> String {
        match self {
            Watched::Operations => format!("live?page=operations&after={position}"),
            Watched::Pending => format!("live?after={position}"),
            Watched::Session(session) => format!("live?session={session}&after={position}"),
        }
    }

    fn wakes(self, commit: &Commit) -> bool {
        match self {
            Watched::Operations => changes_operations(commit),
            Watched::Pending => changes_pending(commit),
            Watched::Session(session) => concerns(commit, session),
        }
    }

    /// The shortest time between two messages.
    fn every(self) -> Duration {
        match self {
            Watched::Operations => EVERY_OF_OPERATIONS,
            Watched::Pending | Watched::Session(_) => EVERY,
        }
    }
}

/// Streams a message `changed` after records that the page watches, at most twice a second.
///
/// Without a parameter, the page watches what waits for an answer.
pub(super) async fn changes(
    caller: Caller,
    params: Params,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    params.only(&["page", "session", "after"])?;
    let of_session = params.one("session")?.map(session).transpose()?;
    let watched = match (params.one("page")?, of_session) {
        (None, None) => Watched::Pending,
        (None, Some(id)) => {
            caller.session(id, Role::Viewer).await?;
            Watched::Session(id)
        }
        (Some("operations"), None) => {
            caller.expect_somewhere(Role::Operator)?;
            Watched::Operations
        }
        (Some(_), _) => {
            let detail = "page: expected operations, and no session beside it";
            return Err(Problem::new(Code::BadRequest, detail));
        }
    };
    let after = params.parsed::<u64>("after", "a position of the journal")?;
    let source = Changes {
        watched,
        position: last_event(&headers)?.or(after).unwrap_or_default(),
        due: Instant::now(),
        caller,
    };
    let (service, proof) = (source.caller.service.clone(), source.caller.proof());
    start(&service, proof, source)
}

/// The position of the last message that the client has.
fn last_event(headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    let Some(header) = headers.get(LAST_EVENT_ID) else {
        return Ok(None);
    };
    let parsed = header.to_str().ok().and_then(|it| it.trim().parse().ok());
    let unfit = || Problem::new(Code::BadRequest, "Last-Event-ID: expected a position");
    parsed.map(Some).ok_or_else(unfit)
}

impl Changes {
    /// True if the client may read a session of the commit. Others must not wake it: the rhythm of
    /// a foreign session is not its business.
    async fn sees(&self, commit: &Commit) -> Result<bool, Problem> {
        for (session, lines) in &commit.appends {
            let sees = match session.is_nil() {
                true => self.watched == Watched::Operations && self.hears(lines),
                false => self.caller.sees(SessionId(*session)).await?,
            };
            if sees {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// True if a record of the journal's own stream may concern sessions of the client.
    fn hears(&self, lines: &[Line]) -> bool {
        let principal = &self.caller.principal;
        if principal.role_over_everything() >= Some(Role::Viewer) {
            return true;
        }
        // Sessions of the client are not among the erased ones, whose agents are unknown.
        let mut records = lines.iter().filter_map(|line| line.record().ok());
        records.any(|record| {
            let scoped = serde_json::from_str::<Scoped>(record.body.get());
            scoped.is_ok_and(|it| is_heard(principal, &it.scope))
        })
    }
}

/// The scope of a pause, or of its end, in the journal's own stream.
#[derive(Deserialize)]
struct Scoped {
    scope: PauseScope,
}

/// The changes after a position.
struct Changes {
    caller: Caller,
    watched: Watched,
    /// The commit after which changes count.
    position: u64,
    /// The time before which no message is sent.
    due: Instant,
}

impl Source for Changes {
    async fn next(&mut self) -> Result<Option<Message>, Problem> {
        let watched = self.watched;
        loop {
            let journal = self.caller.ledger().journal();
            let commit = journal.follow(self.position).await?;
            self.position = commit.position;
            if watched.wakes(&commit) && self.sees(&commit).await? {
                break;
            }
        }
        sleep_until(self.due).await;
        // Later commits are part of the page that is fetched now.
        let position = self.caller.ledger().journal().position().await?;
        self.position = position;
        self.due = Instant::now() + watched.every();
        Ok(Some(Message {
            event: "changed",
            id: Some(position),
            data: "{}".to_owned(),
        }))
    }

    fn end(&self) -> &'static str {
        "done"
    }
}
