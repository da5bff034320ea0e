//! Streams that tell a page when to look anew.
//!
//! A message has no content: the script fetches the page again, with the checks of the page.

use std::time::Duration;

use axum::http::HeaderMap;
use axum::response::Response;
use recount::session::{PauseScope, SessionId};
use recount_journal::{Commit, Line};
use serde::Deserialize;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::access::{Principal, Role};
use crate::driving::{Changed, PendingChanges, changes_operations};
use crate::problems::{Code, Problem};
use crate::requests::{Params, session};
use crate::routes::Caller;
use crate::routes::pauses::is_heard;
use crate::routes::sinks::letters;
use crate::streams::{self, Message, start};

/// The shortest time between two messages: twice a second.
const EVERY: Duration = Duration::from_millis(500);

/// The same for the operations, which every call changes and whose page reads all open work.
const EVERY_OF_OPERATIONS: Duration = Duration::from_secs(2);

/// The header with the id of the last message that the client has.
const LAST_EVENT_ID: &str = "last-event-id";

/// The records after which a page is fetched again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watched {
    /// Records that change open work, runners, pauses, leaves or erasures, and the dead letters of
    /// sinks, whose changes the page has up to this number.
    Operations { letters: u64 },
    /// Records that change what waits for an answer, in any session.
    Pending,
    /// Every record of a session.
    Session(SessionId),
}

impl Watched {
    /// The stream of the changes after a position of the journal.
    pub(super) fn stream(&self, position: u64) -> String {
        match self {
            Watched::Operations { letters } => {
                format!("live?page=operations&letters={letters}&after={position}")
            }
            Watched::Pending => format!("live?after={position}"),
            Watched::Session(session) => format!("live?session={session}&after={position}"),
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
    params.only(&["page", "session", "letters", "after"])?;
    let of_session = params.one("session")?.map(session).transpose()?;
    let source = match (params.one("page")?, of_session) {
        (None, None) => Source::Pending {
            changes: caller.service.pending.subscribe().await?,
            unseen: None,
        },
        (None, Some(session)) => {
            caller.session(session, Role::Viewer).await?;
            let head = head(&caller, session).await?;
            Source::Session { session, head }
        }
        (Some("operations"), None) => {
            caller.expect_somewhere(Role::Operator)?;
            let position = caller.ledger().journal().position().await?;
            let letters = letters(&caller);
            Source::Operations { position, letters }
        }
        (Some(_), _) => {
            let detail = "page: expected operations, and no session beside it";
            return Err(Problem::new(Code::BadRequest, detail));
        }
    };
    let shown = params.parsed::<u64>("letters", "a number of changes")?;
    let has_letters = source.letters().is_some_and(|it| shown != Some(it));
    let after = params.parsed::<u64>("after", "a position of the journal")?;
    let after = last_event(&headers)?.or(after).unwrap_or_default();
    let is_behind = caller.ledger().journal().position().await? != after || has_letters;
    let source = Changes {
        source,
        is_behind,
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

/// Returns the seq of the session's last record.
async fn head(caller: &Caller, session: SessionId) -> Result<u64, Problem> {
    let head = caller.ledger().journal().head(session.0).await?;
    Ok(head.map_or(0, |it| it.seq))
}

/// The source of the changes.
enum Source {
    /// Those of the operations, after the commit with this position, and those of dead letters.
    Operations {
        position: u64,
        letters: Option<watch::Receiver<u64>>,
    },
    /// Those of what waits. `unseen` are those that were received and not yet judged.
    Pending {
        changes: PendingChanges,
        unseen: Option<Changed>,
    },
    /// Those of a session, which has this last record in the page.
    Session { session: SessionId, head: u64 },
}

/// The changes of a page.
struct Changes {
    caller: Caller,
    source: Source,
    /// True if records were appended since the page was read. They may be those that it shows.
    is_behind: bool,
    /// The time before which nothing is compared.
    due: Instant,
}

impl Changes {
    async fn changed(&mut self) -> Result<(), Problem> {
        loop {
            sleep_until(self.due).await;
            self.due = Instant::now() + self.source.every();
            let is_changed = match &mut self.source {
                Source::Operations { position, letters } => {
                    let journal = self.caller.ledger().journal().clone();
                    // A dropped look at the journal loses nothing: the position is kept.
                    let commit = tokio::select! {
                        biased;
                        () = changed(letters) => return Ok(()),
                        commit = journal.follow(*position) => commit?,
                    };
                    let is_changed =
                        changes_operations(&commit) && concerns(&self.caller, &commit).await?;
                    *position = match is_changed {
                        // Later commits are part of the page that is fetched now.
                        true => self.caller.ledger().journal().position().await?,
                        false => commit.position,
                    };
                    if !is_changed {
                        self.due = Instant::now();
                    }
                    is_changed
                }
                Source::Pending { changes, unseen } => {
                    if unseen.is_none() {
                        *unseen = Some(changes.next().await?);
                    }
                    let sees = match unseen {
                        Some(changed) => sees(&self.caller, changed).await?,
                        None => false,
                    };
                    *unseen = None;
                    sees
                }
                Source::Session {
                    session,
                    head: last,
                } => {
                    // Taken first, so that no record is missed.
                    let position = self.caller.ledger().journal().position().await?;
                    let found = head(&self.caller, *session).await?;
                    if found == *last {
                        self.caller.ledger().journal().follow(position).await?;
                    }
                    let is_changed = found != *last;
                    *last = found;
                    is_changed
                }
            };
            if is_changed {
                return Ok(());
            }
        }
    }
}

/// Waits for a change of dead letters.
async fn changed(letters: &mut Option<watch::Receiver<u64>>) {
    let is_changed = match letters {
        Some(letters) => letters.changed().await.is_ok(),
        None => false,
    };
    if !is_changed {
        std::future::pending().await
    }
}

impl Source {
    /// The number of changes of dead letters up to now. `None` if the page has none.
    fn letters(&self) -> Option<u64> {
        match self {
            Source::Operations { letters, .. } => letters.as_ref().map(|it| *it.borrow()),
            Source::Pending { .. } | Source::Session { .. } => None,
        }
    }

    /// The shortest time between two messages.
    fn every(&self) -> Duration {
        match self {
            Source::Operations { .. } => EVERY_OF_OPERATIONS,
            Source::Pending { .. } | Source::Session { .. } => EVERY,
        }
    }
}

/// The scope of a pause, or of its end, in the journal's own stream.
#[derive(Deserialize)]
struct Scoped {
    scope: PauseScope,
}

/// True if the commit has records of a session that the caller may read, or pauses that may hold
/// such a session.
async fn concerns(caller: &Caller, commit: &Commit) -> Result<bool, Problem> {
    for (session, lines) in &commit.appends {
        let concerns = match session.is_nil() {
            true => hears(&caller.principal, lines),
            false => caller.sees(SessionId(*session)).await?,
        };
        if concerns {
            return Ok(true);
        }
    }
    Ok(false)
}

/// True if a record of the journal's own stream may concern sessions of the principal.
fn hears(principal: &Principal, lines: &[Line]) -> bool {
    if principal.role_over_everything() >= Some(Role::Viewer) {
        return true;
    }
    // The agents of erased sessions are unknown, so they are no sessions of a narrow principal.
    let mut records = lines.iter().filter_map(|line| line.record().ok());
    records.any(|record| {
        let scoped = serde_json::from_str::<Scoped>(record.body.get());
        scoped.is_ok_and(|it| is_heard(principal, &it.scope))
    })
}

/// True if the caller may read one of the sessions. Others must not wake it: the rhythm of a
/// foreign session is not its business.
async fn sees(caller: &Caller, changed: &Changed) -> Result<bool, Problem> {
    let Changed::Sessions(sessions) = changed else {
        return Ok(true);
    };
    for session in sessions {
        if caller.sees(*session).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

impl streams::Source for Changes {
    async fn next(&mut self) -> Result<Option<Message>, Problem> {
        if !self.is_behind {
            self.changed().await?;
        }
        self.is_behind = false;
        let position = self.caller.ledger().journal().position().await?;
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
