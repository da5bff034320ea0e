//! The open work of a session, as the journal's index lists it.
//!
//! Entries hold ids, kinds and times but no arguments, because the index is never sealed.

use super::session::Session;
use crate::calls::call::{Call, Phase};
use crate::values::id::Seq;
use crate::values::time::Timestamp;

/// One open item of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenWork {
    /// The kind of the item.
    pub kind: OpenKind,
    /// The time since which the item waits.
    pub since: Timestamp,
    /// The open confirmation request, if there is one.
    pub request: Option<Seq>,
    /// The time at which the item moves without further input.
    pub deadline: Option<Timestamp>,
    /// True if the model has cancelled the call since.
    pub model_lost_interest: bool,
    /// True if the call waits inside its tool's run, so that it does not outlive that process.
    pub in_place: bool,
}

/// The kind of an open item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OpenKind {
    /// A session that is not closed.
    Session,
    /// A call that waits for a person.
    Confirmation,
    /// A call that waits for a result from outside.
    Paused,
    /// A call of an agent that waits for the calls it made.
    Calls,
    /// A call that starts as soon as a runner has it.
    Ready,
    /// A call whose tool or hook runs, or whose runner is gone.
    Running,
    /// A call that a client may claim, unless it waits for an equal call.
    Claimable,
    /// A call that a client runs. Its deadline is the end of the lease or of the time limit.
    Claimed,
    /// An outcome that needs a new connection, by the seq of its `response_issued` record.
    Untold,
    /// A pause of the session or of a tool in it, by the seq of its `paused` record.
    Pause,
    /// A standing leave in force, by the seq of the answer that gave it.
    Leave,
    /// The end of the session that a tool asked for, by the seq of its `tool_returned` record.
    Closing,
}

impl OpenKind {
    /// The kind as spelled in the index.
    pub const fn as_str(self) -> &'static str {
        match self {
            OpenKind::Session => "session",
            OpenKind::Confirmation => "confirmation",
            OpenKind::Paused => "paused",
            OpenKind::Calls => "calls",
            OpenKind::Ready => "ready",
            OpenKind::Running => "running",
            OpenKind::Claimable => "claimable",
            OpenKind::Claimed => "claimed",
            OpenKind::Untold => "untold",
            OpenKind::Pause => "pause",
            OpenKind::Leave => "leave",
            OpenKind::Closing => "closing",
        }
    }
}

/// True if a client may claim the call, unless it waits for an equal call.
fn is_claimable(session: &Session, call: &Call) -> bool {
    let declared = session.terms.catalog.tools.get(&call.name);
    let in_doubt = matches!(call.phase, Phase::InDoubt { .. });
    let starts = !in_doubt || session.terms.policies.of(&call.name).is_idempotent();
    starts && declared.is_some_and(|it| it.kind.runs_at_client())
}

/// An open call as an item of the index.
fn open_call(session: &Session, call: &Call) -> OpenWork {
    let (kind, request, deadline) = match call.phase {
        Phase::AwaitingConfirmation {
            request,
            expires_at,
            ..
        } => (OpenKind::Confirmation, Some(request), expires_at),
        Phase::Paused { .. } => (OpenKind::Paused, None, None),
        Phase::AwaitingCalls { open: 1.., .. } => (OpenKind::Calls, None, None),
        Phase::AwaitingCalls { open: 0, .. } => (OpenKind::Ready, None, None),
        Phase::Running { deadline, .. } => match call.held_claim() {
            Some(claim) => {
                let first = deadline.map_or(claim.until, |it| it.min(claim.until));
                (OpenKind::Claimed, None, Some(first))
            }
            None => (OpenKind::Running, None, deadline),
        },
        Phase::Ready { .. } | Phase::InDoubt { .. } if is_claimable(session, call) => {
            (OpenKind::Claimable, None, None)
        }
        Phase::AwaitingHook | Phase::AwaitingVerdict | Phase::InDoubt { .. } => {
            (OpenKind::Running, None, None)
        }
        Phase::Retrying { due, .. } => (OpenKind::Ready, None, Some(due)),
        // Other work that outlives a step waits for a runner. It is ready, or it is gated and no
        // agent declares its tool.
        Phase::Received
        | Phase::Refused { .. }
        | Phase::Gated
        | Phase::Asking { .. }
        | Phase::Withdrawn
        | Phase::Approved { .. }
        | Phase::Unanswered { .. }
        | Phase::Denied { .. }
        | Phase::Permitted { .. }
        | Phase::Ready { .. }
        | Phase::Returned { .. }
        | Phase::Supplied { .. }
        | Phase::Found { .. }
        | Phase::TimedOut { .. } => (OpenKind::Ready, None, None),
    };
    OpenWork {
        kind,
        since: call.since,
        request,
        deadline,
        model_lost_interest: call.model_lost_interest,
        in_place: call.in_place().is_some(),
    }
}

/// Lists the open items of a session, each with the seq that identifies it.
///
/// The session is identified by its first record, a call by its own. The items are sorted by seq,
/// and each seq occurs once.
pub fn open_work(session: &Session) -> Vec<(Seq, OpenWork)> {
    let mut open = Vec::new();
    if session.head > Seq(0) && !session.closed {
        let item = OpenWork {
            kind: OpenKind::Session,
            since: session.opened_at,
            request: None,
            deadline: None,
            model_lost_interest: false,
            in_place: false,
        };
        open.push((Seq(1), item));
    }
    for (seq, call) in session.calls.iter() {
        open.push((*seq, open_call(session, call)));
    }
    if let Some(closing) = session.closing.as_ref().filter(|_| !session.closed) {
        let item = OpenWork {
            kind: OpenKind::Closing,
            since: closing.since,
            request: None,
            deadline: None,
            model_lost_interest: false,
            in_place: false,
        };
        open.push((closing.of, item));
    }
    for pause in session.pauses.iter().filter(|_| !session.closed) {
        let item = OpenWork {
            kind: OpenKind::Pause,
            since: pause.since,
            request: None,
            deadline: None,
            model_lost_interest: false,
            in_place: false,
        };
        open.push((pause.at, item));
    }
    let leaves = session.leaves.iter().filter(|_| !session.closed);
    for (given, leave) in leaves.filter(|(_, it)| it.is_in_force(session.at)) {
        let item = OpenWork {
            kind: OpenKind::Leave,
            since: leave.since,
            request: None,
            deadline: leave.ends_at(),
            model_lost_interest: false,
            in_place: false,
        };
        open.push((*given, item));
    }
    let untold = session.deliveries.connecting().filter(|_| !session.closed);
    for (seq, since) in untold.filter_map(|(seq, it)| Some((seq, it.connects?))) {
        let item = OpenWork {
            kind: OpenKind::Untold,
            since,
            request: None,
            deadline: None,
            model_lost_interest: false,
            in_place: false,
        };
        open.push((*seq, item));
    }
    open.sort_by_key(|(seq, _)| *seq);
    // Items share a seq only in a made-up history where a call is the first record. Then the call
    // wins over the session.
    open.dedup_by(|later, earlier| {
        let is_same = later.0 == earlier.0;
        if is_same {
            std::mem::swap(later, earlier);
        }
        is_same
    });
    open
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;
    use crate::{Event, Fact, SessionId, evolve};

    #[test]
    fn call_as_first_record_replaces_session_item() {
        let session = Session::new(SessionId(uuid::Uuid::nil()));
        let call = r#"{"epoch":1,"id":"c1","name":"look_up"}"#;
        let fact = Fact {
            seq: Seq(1),
            at: Timestamp(1),
            cause: None,
            event: Event::decode("function_call_received", call).unwrap(),
        };
        let open = open_work(&evolve(session, &fact)).into_iter();
        let kinds: Vec<_> = open.map(|(seq, it)| (seq, it.kind)).collect();
        assert_eq!(kinds, [(Seq(1), OpenKind::Ready)]);
    }

    #[test]
    fn a_session_without_a_record_is_no_open_work() {
        assert!(open_work(&Session::new(SessionId(uuid::Uuid::nil()))).is_empty());
    }
}
