//! The end of a session that a tool asked for.
//!
//! ```text
//! tool_returned{ends_session} ─▶ response_issued ─┬─ responses_sent ─────────┐
//!                                                 └─ the connection is gone ─┴─▶ CloseSession is
//!                                                                owed ─▶ session_closed
//! ```
//!
//! If an agent called the tool, the response of the outermost agent call is sent first. The close
//! waits for that response while it will come by itself and can be received. It does not wait for a
//! person or for a result from outside. It does not wait for an undeclared tool or for a run
//! without a time limit, nor after the connection is gone.
//!
//! The request to close is part of the record of the tool's end, so a crash between response and
//! close loses neither. The model receives the response first, if it still can on the current
//! connection. No new connection is opened to say that the conversation is over.

use crate::calls::call::{Phase, WaitsFor};
use crate::record::decision::Route;
use crate::record::observation::ToolReturned;
use crate::state::closing::Closing;
use crate::state::effect::Effect;
use crate::state::session::Session;
use crate::state::waiting;
use crate::values::actor::Actor;
use crate::values::id::Seq;

/// Folds a tool's request to end the session. A failed tool cannot request it, and the first
/// request counts.
pub(crate) fn close_requested(session: &mut Session, of: Seq, tool: String, it: &ToolReturned) {
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

/// The outermost call around this one, which no agent made.
fn outermost(session: &Session, mut call: Seq) -> Seq {
    while let Some(parent) = session.calls.get(&call).and_then(|it| it.parent) {
        call = parent;
    }
    call
}

/// True if an agent that still runs will reply by itself, and its caller can receive the reply.
fn will_reply(session: &Session, call: Seq) -> bool {
    let Some(outermost) = session.calls.get(&call) else {
        return false;
    };
    let is_heard = match outermost.made_by_program {
        true => session.runner.is_some(),
        false => session.connection.is_some(),
    };
    is_heard && waiting::outside(session, call).is_empty() && ends_by_itself(session, call)
}

/// True if nothing keeps this call open forever.
///
/// A tool that is no longer declared would, and so would a run without a time limit.
fn ends_by_itself(session: &Session, call: Seq) -> bool {
    let mut open = vec![call];
    while let Some(seq) = open.pop() {
        let Some(call) = session.calls.get(&seq) else {
            continue;
        };
        let ends = match call.phase.waits_for() {
            // No client may ever claim a call, but every lease passes.
            WaitsFor::Runner => {
                let declared = session.terms.catalog.tools.get(&call.name);
                declared.is_some_and(|it| !it.kind.runs_at_client())
            }
            // An agent's run ends with the replies of its model, so it needs no deadline.
            WaitsFor::Tool => {
                call.agent.is_some() || call.held_claim().is_some() || has_deadline(&call.phase)
            }
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
    if will_reply(session, closing.call) {
        return;
    }
    let mut replies = session.deliveries.of_call(closing.call);
    let is_unsent = replies.any(|(_, it)| match it.route {
        Route::ToolResponse { epoch } | Route::Conversation { epoch } => {
            !it.sent && session.connection == Some(epoch)
        }
        Route::Parked | Route::Connect | Route::Notify | Route::Caller | Route::Parent => false,
    });
    if !is_unsent {
        let Closing { of, call, .. } = *closing;
        effects.push(Effect::CloseSession { of, call });
    }
}

#[cfg(test)]
#[path = "closing_tests.rs"]
mod tests;
