//! The arguments that name a request or a call, by any id that the commands print.

use clap::Args;

use crate::failures::{Exit, Failure};
use crate::journal::{Source, ids};
use recount::control::Waiting;
use recount::session::{RequestId, Seq, SessionId};
use recount::tool::Ticket;

/// A confirmation request.
#[derive(Args)]
pub(super) struct NamedRequest {
    /// The id of the request, or a unique beginning of it; or the id of its session, before SEQ.
    request: String,
    /// The seq of the request's record, as `recount pending` and `recount log` show it.
    #[arg(value_parser = seq)]
    seq: Option<Seq>,
}

impl NamedRequest {
    pub(super) async fn find(&self, source: &mut Source) -> Result<RequestId, Failure> {
        match self.seq {
            Some(seq) => {
                let session = ids::session_at(source, &self.request).await?;
                Ok(session.request_id(seq))
            }
            None => ids::request(source, &self.request).await,
        }
    }
}

/// Returns the requests that the words name, each once, in the order given: ids of requests or
/// unique beginnings of them, or the id of a session and a seq. If one is unknown, none is
/// returned.
pub(super) async fn requests(
    source: &mut Source,
    words: &[String],
) -> Result<Vec<RequestId>, Failure> {
    if let [session, last] = words
        && let Ok(seq) = seq(last)
        && let Some(request) = request_at(source, session, seq, last).await?
    {
        return Ok(vec![request]);
    }
    let mut found = Vec::new();
    for word in words {
        let id = ids::request(source, word).await?;
        if !found.contains(&id) {
            found.push(id);
        }
    }
    Ok(found)
}

/// Returns the request of the session with this seq. Returns `None` if the first word names no
/// session and the last names a request, because all digits of an id may be decimal.
async fn request_at(
    source: &mut Source,
    session: &str,
    seq: Seq,
    last: &str,
) -> Result<Option<RequestId>, Failure> {
    match ids::session_at(source, session).await {
        Ok(session) => Ok(Some(session.request_id(seq))),
        Err(unknown) => match ids::request(source, last).await {
            Ok(_) => Ok(None),
            Err(_) => Err(unknown),
        },
    }
}

/// A call.
#[derive(Args)]
pub(super) struct NamedCall {
    /// The id of the call, or a unique beginning of it; the id of its open request; its ticket, as
    /// JSON; or the id of its session, before SEQ.
    call: String,
    /// The seq of the call's record, as `recount log` shows it.
    #[arg(value_parser = seq)]
    seq: Option<Seq>,
}

impl NamedCall {
    /// The session and the seq of the call.
    pub(super) async fn find(&self, source: &mut Source) -> Result<(SessionId, Seq), Failure> {
        match self.seq {
            Some(seq) => Ok((ids::session_at(source, &self.call).await?, seq)),
            None => ids::call(source, &self.call).await,
        }
    }
}

/// A call that waits for its result.
#[derive(Args)]
pub(super) struct NamedPausedCall {
    /// The id of the call, or a unique beginning of it; its ticket, as JSON; or the id of its
    /// session, before SEQ.
    call: String,
    /// The seq of the call's record, as `recount pending` and `recount log` show it.
    #[arg(value_parser = seq)]
    seq: Option<Seq>,
}

impl NamedPausedCall {
    pub(super) async fn find(&self, source: &mut Source) -> Result<Ticket, Failure> {
        let Some(seq) = self.seq else {
            return ids::paused_call(source, &self.call).await;
        };
        let session = ids::session_at(source, &self.call).await?;
        let mut waiting = source.pending().await?.into_iter();
        let found = waiting.find_map(|it| match it {
            Waiting::Paused(it) if (it.session, it.call) == (session, seq) => {
                Some(Ticket::from(&it))
            }
            Waiting::Paused(_) | Waiting::Confirmation(_) => None,
        });
        found.ok_or_else(|| {
            let what = format!("no paused call has the seq {seq} in session {session}");
            Failure::new("unknown-call", what)
                .exit(Exit::Failed)
                .advice("`recount pending PATH` lists the waiting calls")
        })
    }
}

/// Reads a seq, with or without the `#` that the commands print before it.
fn seq(text: &str) -> Result<Seq, std::num::ParseIntError> {
    text.strip_prefix('#').unwrap_or(text).parse().map(Seq)
}
