//! The run of an agent that was called as a tool: its model turns and the calls they made.
//!
//! Every turn is on record, so another process can continue the run. It does not pay again for a
//! recorded turn and does not repeat a call that has ended.

use serde::{Deserialize, Serialize};

use crate::values::id::Seq;
use crate::values::object::ObjectHash;

/// The progress of an agent's run, as references to its records.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRun {
    /// The agent's contract at its last start.
    pub contract: Option<ObjectHash>,
    /// The `llm_asked` record of the current start, while it has no reply.
    pub asked: Option<Seq>,
    /// The last `llm_asked` record without a reply, of any start.
    pub unanswered: Option<Seq>,
    /// The turns whose replies are on record.
    pub turns: Vec<AgentTurn>,
    /// The number of failed attempts to reach the model since the last reply.
    pub failures: u32,
    /// The rest of the time limit, in microseconds, while the model is not running a turn.
    pub time_left_us: Option<i64>,
}

/// One turn of an agent's model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentTurn {
    /// The `llm_asked` record.
    pub asked: Seq,
    /// The `llm_replied` record.
    pub replied: Seq,
    /// The number of calls that the reply made.
    pub made: u32,
    /// The calls of this turn that were received so far.
    pub calls: Vec<AgentCall>,
}

/// A call that an agent's model made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentCall {
    /// The call's `function_call_received` record.
    pub call: Seq,
    /// The `tool_yielded` records of the last start, for a tool that streams its results.
    pub gave: Vec<Seq>,
    /// The record that ended the call: `response_issued` or `call_cancelled`.
    pub ended: Option<Seq>,
}
