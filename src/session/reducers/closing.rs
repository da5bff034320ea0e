//! The end of a session that a tool asked for.
//!
//! ```text
//! tool_returned{ends_session} ─▶ response_issued ─┬─ responses_sent ──────────┬─▶ CloseSession is owed ─▶ session_closed
//!                                                 └─ the connection is gone ──┘
//! ```
//!
//! Where the tool was called by an agent, the reply is that of the agent, or of the one whose agent called that: the close waits for it as long
//! as nobody outside is waited for.
//!
//! The wish stands in the record of the tool's end, so a crash between the reply and the close loses neither. The model hears the reply
//! first, as far as it still can hear it on the connection of now: nobody connects again to tell it that the conversation is over.

use serde::{Deserialize, Serialize};

use crate::session::actor::Actor;
use crate::session::decision::Route;
use crate::session::effect::Effect;
use crate::session::id::Seq;
use crate::session::observation::ToolReturned;
use crate::session::state::Session;
use crate::session::time::Timestamp;
use crate::session::waiting;

/// A session that is about to end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closing {
    /// The `tool_returned` that says so.
    pub of: Seq,
    /// The call whose reply goes first: of the tool, or of the agent in whose run it was called.
    pub call: Seq,
    /// When.
    pub since: Timestamp,
    /// Why, in the tool's words.
    pub reason: String,
    /// The tool, as who ends it.
    pub by: Actor,
}

/// A tool that ended well wants the session to end; the first one counts.
pub(in crate::session) fn asked_for(
    session: &mut Session,
    of: Seq,
    tool: String,
    it: &ToolReturned,
) {
    let Some(reason) = it.ends_session.clone().filter(|_| !it.failed) else {
        return;
    };
    let (since, call) = (session.at, outermost(session, it.call));
    session.closing.get_or_insert_with(|| Closing {
        of,
        call,
        since,
        reason,
        by: Actor::embedder(tool),
    });
}

/// The call that nobody's agent made, of those in whose runs this one was made.
fn outermost(session: &Session, mut call: Seq) -> Seq {
    while let Some(parent) = session.calls.get(&call).and_then(|it| it.parent) {
        call = parent;
    }
    call
}

pub(in crate::session) fn owed(session: &Session, effects: &mut Vec<Effect>) {
    let Some(closing) = session.closing.as_ref().filter(|_| !session.closed) else {
        return;
    };
    if session.calls.contains_key(&closing.call)
        && waiting::outside(session, closing.call).is_empty()
    {
        return;
    }
    let mut replies = session
        .deliveries
        .values()
        .filter(|it| it.call == closing.call);
    let on_its_way = replies.any(|it| match it.route {
        Route::ToolResponse { epoch } | Route::Conversation { epoch } => {
            !it.sent && session.connection == Some(epoch)
        }
        Route::Parked | Route::Connect | Route::Notify | Route::Caller | Route::Parent => false,
    });
    if !on_its_way {
        let Closing { of, call, .. } = *closing;
        effects.push(Effect::CloseSession { of, call });
    }
}

#[cfg(test)]
#[path = "closing_tests.rs"]
mod tests;
