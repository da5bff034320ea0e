//! What the engine owes the world because of a decision.
//!
//! A debt stays in [`owed`](crate::owed) until an event settles it:
//!
//! | effect | settled by |
//! |---|---|
//! | `RunTool` | `tool_returned`, `llm_replied` with calls, `tool_paused`, `tool_asked` unless in place, `deadline_passed` of that attempt; a later runner; the end of the call |
//! | `AskHook` | `hook_answered`; a later runner; the end of the call |
//! | `AskConfirmation` | `confirmation_answered`, `confirmation_expired`, `confirmation_withdrawn`, `confirmation_reopened` |
//! | `SendResponse` | `responses_sent`; the end of the connection |
//! | `SendInstruction` | `instruction_sent`; the next `phase_entered`; the end of the connection |
//! | `Connect` | `connected`; the end of the session |
//! | `CloseSession` | `session_closed` |
//! | `ArmTimer` | `deadline_passed`; whatever ends what it waits for |
//!
//! As JSON an effect names itself: `{"effect":"run_tool","call":5,"attempt":1,"runner":2}`,
//! `{"effect":"arm_timer","deadline":{"run":{"call":5,"attempt":1}},"due_us":1763700000000000}`.

use serde::Serialize;

use crate::record::hook::Hook;
use crate::record::observation::Deadline;
use crate::values::id::Seq;
use crate::values::time::Timestamp;

/// An order to the shell. It carries references; what they refer to stands in the journal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    /// Run the tool of a started call.
    RunTool {
        /// The call.
        call: Seq,
        /// Which start of it.
        attempt: u32,
        /// The runner that owes it; another one must not.
        runner: Seq,
    },
    /// Ask the embedding program's own code.
    AskHook {
        /// Which of it.
        hook: Hook,
        /// The call.
        call: Seq,
        /// The `response_issued` that it may change; without one it is asked about the call itself.
        of: Option<Seq>,
        /// The runner that owes it.
        runner: Seq,
    },
    /// Ask a person.
    AskConfirmation {
        /// The call.
        call: Seq,
        /// The request.
        request: Seq,
    },
    /// Send a response on the live connection.
    SendResponse {
        /// The response: the seq of its `response_issued`.
        response: Seq,
        /// The call.
        call: Seq,
        /// The connection.
        epoch: Seq,
        /// As text in the conversation, not as a `toolResponse`.
        as_conversation: bool,
    },
    /// Tell the model the instruction of the phase it is in.
    SendInstruction {
        /// The `phase_entered`.
        phase: Seq,
        /// The connection.
        epoch: Seq,
    },
    /// Open a connection for what ended while there was none.
    Connect,
    /// End the session, because a tool asked for it and the model has been sent its reply, or
    /// cannot be sent it any more.
    CloseSession {
        /// The `tool_returned` that says so, with the reason.
        of: Seq,
        /// The call whose tool it was.
        call: Seq,
    },
    /// Report when a time has come.
    ArmTimer {
        /// Whose.
        deadline: Deadline,
        /// When.
        due_us: Timestamp,
    },
}

impl Effect {
    /// The call that it is owed for, where it is one.
    ///
    /// ```
    /// use recount_session::{Effect, Seq};
    /// assert_eq!(Effect::AskConfirmation { call: Seq(5), request: Seq(7) }.call(), Some(Seq(5)));
    /// assert_eq!(Effect::Connect.call(), None);
    /// ```
    pub fn call(&self) -> Option<Seq> {
        match self {
            Effect::RunTool { call, .. }
            | Effect::AskHook { call, .. }
            | Effect::AskConfirmation { call, .. }
            | Effect::SendResponse { call, .. }
            | Effect::CloseSession { call, .. } => Some(*call),
            Effect::ArmTimer { deadline, .. } => match deadline {
                Deadline::Run { call, .. }
                | Deadline::Confirmation { call, .. }
                | Deadline::Retry { call, .. } => Some(*call),
            },
            Effect::SendInstruction { .. } | Effect::Connect => None,
        }
    }
}
