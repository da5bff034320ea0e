//! The calls of a session that wait for something outside, in the terms of ADK.

use super::session::Session;
use crate::calls::call::{Call, WaitsFor};
use crate::values::id::{CallId, Seq};

impl Session {
    /// The open calls that wait for a person or a result from outside, oldest first.
    ///
    /// ADK calls them long-running. Each can be answered by this id, or through its request.
    ///
    /// ```
    /// use recount_session::testing::{history, toolbox};
    /// use serde_json::json;
    ///
    /// let tools = toolbox().long_running("ship").plain("look");
    /// let history = history().opened("support").attached(&tools).connected();
    /// let paused = history.call("c1", "ship", json!({})).started().paused(None);
    /// let name = paused.session().id.call_id(paused.call_seq());
    /// assert_eq!(paused.session().long_running_tool_ids(), [name]);
    /// assert!(paused.session().should_pause());
    /// let looks = paused.call("c2", "look", json!({})).started();
    /// assert_eq!(looks.session().long_running_tool_ids(), [name]);
    /// assert!(!looks.session().should_pause());
    /// ```
    pub fn long_running_tool_ids(&self) -> Vec<CallId> {
        let waiting = self.calls.iter().filter(|(_, call)| waits_outside(call));
        waiting.map(|(seq, _)| self.id.call_id(*seq)).collect()
    }

    /// True if every open call waits for something outside, so that none moves by itself.
    ///
    /// False if no call is open.
    pub fn should_pause(&self) -> bool {
        !self.calls.is_empty() && self.calls.values().all(rests)
    }
}

/// An agent that waits for its calls counts as waiting outside, because those calls are open, too.
fn rests(call: &Call) -> bool {
    call.phase.waits_for() == WaitsFor::Calls || waits_outside(call)
}

/// The calls that need something from outside before this call can continue.
///
/// This is the call itself, or calls that its agent has made.
pub(crate) fn outside(session: &Session, call: Seq) -> Vec<Seq> {
    let (mut waiting, mut open) = (Vec::new(), vec![call]);
    while let Some(seq) = open.pop() {
        let Some(call) = session.calls.get(&seq) else {
            continue;
        };
        if waits_outside(call) {
            waiting.push(seq);
        } else if call.phase.waits_for() == WaitsFor::Calls {
            open.extend(call.awaited());
        }
    }
    waiting
}

fn waits_outside(call: &Call) -> bool {
    match call.phase.waits_for() {
        WaitsFor::Person | WaitsFor::Response => true,
        WaitsFor::Nothing
        | WaitsFor::Runner
        | WaitsFor::Tool
        | WaitsFor::Calls
        | WaitsFor::Hook
        | WaitsFor::Time => false,
    }
}
