//! The notices that a commit gives a sink.

use recount::ledger::{Error, Ledger};
use recount::session::{
    About, Decision, Event, Fact, Observation, Outcome, ResponseIssued, Route, Seq, SessionId,
    Timestamp,
};
use recount_journal::{Line, OpenItem, causes};

use crate::message::names_of;
use crate::routing::Names;
use crate::values::Occasion;

/// The kinds of records that give notices. The others are not read.
const KINDS: [&str; 6] = [
    "confirmation_requested",
    "confirmation_reopened",
    "confirmation_answered",
    "confirmation_expired",
    "confirmation_withdrawn",
    "response_issued",
];

/// A record that may give a notice.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) session: SessionId,
    pub(super) record: Seq,
    pub(super) at: Timestamp,
    /// `None` if the record cannot be read.
    pub(super) call: Option<Seq>,
    pub(super) names: Names,
    /// The occasions, the most specific one first. One notice is sent at most.
    pub(super) occasions: Vec<Occasion>,
    /// The request that waits from this record on, with its expiry.
    pub(super) opens: Option<Option<Timestamp>>,
    /// The request that does not wait any more.
    pub(super) closes: Option<(Seq, Close)>,
}

/// The end of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Close {
    Approved,
    Denied,
    Expired,
    /// It was withdrawn, or asked anew.
    Other,
}

/// Reads a record. `None` if it gives no notice.
///
/// A record that cannot be read, such as a sealed one without its key, has no names.
///
/// # Errors
/// The error of the journal itself.
pub(super) async fn seen(
    ledger: &Ledger,
    session: SessionId,
    line: &Line,
) -> Result<Option<Seen>, Error> {
    let Ok(record) = line.record() else {
        return Ok(None);
    };
    if !KINDS.contains(&record.kind) {
        return Ok(None);
    }
    let (seq, at) = (Seq(record.seq), Timestamp(record.at_us));
    let mut seen = Seen {
        session,
        record: seq,
        at,
        call: None,
        names: Names::default(),
        occasions: Vec::new(),
        opens: None,
        closes: None,
    };
    let fact = match ledger.fact(session, seq).await {
        Ok(Some(fact)) => fact,
        Ok(None) => return Ok(None),
        Err(error @ Error::Journal(_)) => return Err(error),
        Err(error) => {
            tracing::debug!(
                %session, %seq, error = %causes(&error),
                "a record gives a notice without names"
            );
            seen.occasions.extend(by_kind(record.kind));
            return Ok(Some(seen));
        }
    };
    let call = seen.take(&fact);
    if seen.occasions.is_empty() {
        return Ok(None);
    }
    seen.call = match (call, seen.closes) {
        (Some(call), _) => Some(call),
        (None, Some((request, _))) => {
            readable(session, call_of(ledger, session, request).await)?.flatten()
        }
        (None, None) => None,
    };
    if let Some(call) = seen.call {
        let names = names_of(ledger, session, call).await;
        seen.names = readable(session, names)?.unwrap_or_default();
    }
    Ok(Some(seen))
}

/// True if a request of a call still waits for an answer. The cost does not depend on the length
/// of the session.
///
/// # Errors
/// The error of the journal itself.
pub(super) async fn waits(
    ledger: &Ledger,
    session: SessionId,
    (request, call): (Seq, Seq),
) -> Result<bool, Error> {
    let before = (session.0, call.0.saturating_sub(1));
    let next = ledger.journal().open_work(Some(before), 1).await?;
    let id = session.request_id(request).0;
    let is_it = |it: &OpenItem| (it.session, it.item) == (session.0, call.0);
    Ok(next.iter().any(|it| is_it(it) && it.request == Some(id)))
}

/// Only an error of the journal itself ends the notifications of a sink.
pub(super) fn readable<T>(session: SessionId, read: Result<T, Error>) -> Result<Option<T>, Error> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(error @ Error::Journal(_)) => Err(error),
        Err(error) => {
            tracing::warn!(
                %session, error = %causes(&error),
                "a session cannot be read for its notifications"
            );
            Ok(None)
        }
    }
}

/// The occasion of a record whose body cannot be read. Ends of calls are not told apart then.
fn by_kind(kind: &str) -> Option<Occasion> {
    match kind {
        "confirmation_requested" | "confirmation_reopened" => Some(Occasion::Asked),
        "confirmation_answered" | "confirmation_expired" | "confirmation_withdrawn" => {
            Some(Occasion::Decided)
        }
        _ => None,
    }
}

/// The call of a request.
async fn call_of(ledger: &Ledger, session: SessionId, request: Seq) -> Result<Option<Seq>, Error> {
    let fact = ledger.fact(session, request).await?;
    let Some(Event::Decided(decision)) = fact.map(|it| it.event) else {
        return Ok(None);
    };
    Ok(decision.question().map(|it| it.call))
}

impl Seen {
    /// Takes the occasions of a fact. Returns its call, if the fact names it.
    fn take(&mut self, fact: &Fact) -> Option<Seq> {
        if let Event::Observed(Observation::ConfirmationAnswered(it)) = &fact.event {
            let close = match it.confirmed {
                true => Close::Approved,
                false => Close::Denied,
            };
            self.closes = Some((it.request, close));
            self.occasions.push(Occasion::Decided);
            return None;
        }
        let Event::Decided(decision) = &fact.event else {
            return None;
        };
        if let Some(question) = decision.question() {
            self.opens = Some(question.expires_at_us);
            if let Decision::ConfirmationReopened(it) = decision {
                self.closes = Some((it.request, Close::Other));
            }
            self.occasions.push(match question.about {
                About::Gate | About::Tool => Occasion::Asked,
                About::InDoubt => Occasion::InDoubt,
            });
            return Some(question.call);
        }
        if let Decision::ConfirmationExpired(it) = decision {
            self.closes = Some((it.request, Close::Expired));
            self.occasions.push(Occasion::Decided);
            return Some(it.call);
        }
        if let Decision::ConfirmationWithdrawn(it) = decision {
            self.closes = Some((it.request, Close::Other));
            self.occasions.push(Occasion::Decided);
            return Some(it.call);
        }
        if let Decision::ResponseIssued(it) = decision {
            self.occasions.extend(of_response(it));
            return Some(it.call);
        }
        None
    }
}

/// The occasions of a response: the end of a call with an unknown outcome, or without a client.
fn of_response(response: &ResponseIssued) -> Vec<Occasion> {
    let mut occasions = Vec::new();
    if response.outcome == Outcome::Unknown {
        occasions.push(Occasion::InDoubt);
    }
    let is_alone = match response.route {
        Route::Parked | Route::Connect | Route::Notify => true,
        Route::ToolResponse { .. } | Route::Conversation { .. } | Route::Caller | Route::Parent => {
            false
        }
    };
    if is_alone && response.outcome != Outcome::Interim {
        occasions.push(Occasion::Settled);
    }
    occasions
}
