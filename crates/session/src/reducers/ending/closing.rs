//! The end of a session that a tool asked for.
//!
//! ```text
//! tool_returned{ends_session} ─▶ response_issued ─┬─ responses_sent ──────────┬─▶ CloseSession is owed ─▶ session_closed
//!                                                 └─ the connection is gone ──┘
//! ```
//!
//! Where the tool was called by an agent, the reply is that of the agent, or of the one whose agent
//! called that: the close waits for it as long as that will come by itself and be heard: not where
//! somebody outside is waited for, a tool that is not there any more or one that may run without
//! end, nor where the connection is gone.
//!
//! The wish stands in the record of the tool's end, so a crash between the reply and the close
//! loses neither. The model hears the reply first, as far as it still can hear it on the connection
//! of now: nobody connects again to tell it that the conversation is over.

use crate::calls::call::{Phase, WaitsFor};
use crate::record::decision::Route;
use crate::record::observation::ToolReturned;
use crate::state::closing::Closing;
use crate::state::effect::Effect;
use crate::state::session::Session;
use crate::state::waiting;
use crate::values::actor::Actor;
use crate::values::id::Seq;

/// A tool that ended well wants the session to end; the first one counts.
pub(crate) fn asked_for(session: &mut Session, of: Seq, tool: String, it: &ToolReturned) {
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

/// Whether an agent that is still at work will reply by itself, to somebody who hears it.
fn is_going_to_reply(session: &Session, call: Seq) -> bool {
    let Some(outermost) = session.calls.get(&call) else {
        return false;
    };
    let is_heard = match outermost.made_by_program {
        true => session.runner.is_some(),
        false => session.connection.is_some(),
    };
    is_heard && waiting::outside(session, call).is_empty() && comes_to_an_end(session, call)
}

/// Whether nothing keeps this call open for ever: a tool that nobody has any more, or one that may
/// run without end.
fn comes_to_an_end(session: &Session, call: Seq) -> bool {
    let mut open = vec![call];
    while let Some(seq) = open.pop() {
        let Some(call) = session.calls.get(&seq) else {
            continue;
        };
        let ends = match call.phase.waits_for() {
            WaitsFor::Runner => session.terms.catalog.tools.contains_key(&call.name),
            // A run of an agent ends with what its model says.
            WaitsFor::Tool => call.agent.is_some() || has_deadline(&call.phase),
            WaitsFor::Calls => {
                open.extend(call.awaited());
                true
            }
            WaitsFor::Nothing
            | WaitsFor::Person
            | WaitsFor::Response
            | WaitsFor::Hook
            | WaitsFor::Time => true,
        };
        if !ends {
            return false;
        }
    }
    true
}

fn has_deadline(phase: &Phase) -> bool {
    matches!(
        phase,
        Phase::Running {
            deadline: Some(_),
            ..
        }
    )
}

pub(crate) fn owed(session: &Session, effects: &mut Vec<Effect>) {
    let Some(closing) = session.closing.as_ref().filter(|_| !session.closed) else {
        return;
    };
    if is_going_to_reply(session, closing.call) {
        return;
    }
    let mut replies = session.deliveries.of_call(closing.call);
    let on_its_way = replies.any(|(_, it)| match it.route {
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
