//! Requests that look at sessions without changing them.

use super::message::Request;
use crate::session::{Actor, SessionId};

/// A request that reads sessions, before it is carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// The reader: the user of the service, whose token the client has shown.
    pub by: Actor,
    /// The name of the request, as in the message.
    pub request: &'static str,
    /// The only session of the answer. `None`: any session.
    pub session: Option<SessionId>,
    /// True if the answer has arguments, results or reasons, not only names, times and states.
    pub has_bodies: bool,
}

impl Request {
    /// The look that the request is. `None` for one that changes something, which is on record by
    /// itself.
    pub(crate) fn look(&self, by: Actor) -> Option<Look> {
        let (request, session, has_bodies) = match self {
            Request::Pending {} => ("pending", None, true),
            Request::Sessions { .. } => ("sessions", None, false),
            Request::Named { .. } => ("named", None, false),
            Request::Leaves {} => ("leaves", None, false),
            Request::Pauses {} => ("pauses", None, true),
            Request::Holds { .. } => ("holds", None, true),
            Request::Log { session, .. } => ("log", Some(*session), true),
            Request::Answer { .. }
            | Request::AnswerMany { .. }
            | Request::DenyAll { .. }
            | Request::Respond { .. }
            | Request::Reconcile { .. }
            | Request::Cancel { .. }
            | Request::Revoke { .. }
            | Request::Pause { .. }
            | Request::Unpause { .. }
            | Request::PlaceHold { .. }
            | Request::ReleaseHold { .. }
            | Request::Claim { .. }
            | Request::Renew { .. }
            | Request::Finish { .. }
            | Request::Yield { .. }
            | Request::Report { .. }
            | Request::EndClaim { .. }
            | Request::Reload {} => return None,
        };
        Some(Look {
            by,
            request,
            session,
            has_bodies,
        })
    }
}
