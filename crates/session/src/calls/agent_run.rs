//! The run of an agent that was called as a tool: what its model was asked and replied, and the
//! calls that came of it.
//!
//! All of it is on record, so that a run goes on in another process where it stood: a turn whose
//! reply is on record is not paid for again, and a call that has ended is not made again.

use serde::{Deserialize, Serialize};

use crate::values::id::Seq;
use crate::values::object::ObjectHash;

/// How far the run of an agent has come: references to its records.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRun {
    /// The contract under which it started last.
    pub contract: Option<ObjectHash>,
    /// The `llm_asked` of the present start that has no reply yet.
    pub asked: Option<Seq>,
    /// The last `llm_asked` that has no reply, of whatever start.
    pub unanswered: Option<Seq>,
    /// The turns whose replies are on record.
    pub turns: Vec<AgentTurn>,
    /// How often its model could not be reached since the last reply.
    pub failures: u32,
    /// How much of its time limit is left while its model is not being asked, in microseconds.
    pub time_left_us: Option<i64>,
}

/// One turn of an agent's model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentTurn {
    /// The `llm_asked`.
    pub asked: Seq,
    /// The `llm_replied`.
    pub replied: Seq,
    /// How many calls it made.
    pub made: u32,
    /// Those of them that were received.
    pub calls: Vec<AgentCall>,
}

/// A call that an agent's model made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentCall {
    /// Its `function_call_received`.
    pub call: Seq,
    /// The `tool_yielded` of its last start, where its tool gives one result after another.
    pub gave: Vec<Seq>,
    /// What ended it: `response_issued` or `call_cancelled`.
    pub ended: Option<Seq>,
}
