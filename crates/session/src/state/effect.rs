//! The effects that the engine owes because of decisions.
//!
//! An effect stays in [`owed`](crate::owed) until an event settles it:
//!
//! * `RunTool`: `tool_returned`, `llm_replied` with calls, `tool_paused`, `tool_asked` unless in
//!   place, `deadline_passed` of that attempt; a later runner; the end of the call
//! * `AskHook`: `hook_answered`; a later runner; the end of the call
//! * `AskConfirmation`: `confirmation_answered`, `confirmation_expired`, `confirmation_withdrawn`,
//!   `confirmation_reopened`
//! * `SendResponse`: `responses_sent`; the end of the connection
//! * `SendInstruction`: `instruction_sent`; the next `phase_entered`; the end of the connection
//! * `Connect`: `connected`; the end of the session
//! * `CloseSession`: `session_closed`
//! * `ArmTimer`: `deadline_passed`; any event that ends the wait for it
//!
//! The JSON form of an effect names its kind:
//! `{"effect":"run_tool","call":5,"attempt":1,"runner":2}`,
//! `{"effect":"arm_timer","deadline":{"run":{"call":5,"attempt":1}},"due_us":1763700000000000}`.

use serde::Serialize;

use crate::record::hook::Hook;
use crate::record::observation::Deadline;
use crate::values::id::Seq;
use crate::values::time::Timestamp;

/// An instruction to the engine. An effect carries references to records, not their content.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    /// Run the tool of a started call.
    RunTool {
        /// The call.
        call: Seq,
        /// The number of the start.
        attempt: u32,
        /// The runner that owes the effect. No other runner may perform it.
        runner: Seq,
    },
    /// Call a hook of the embedding program.
    AskHook {
        /// The hook.
        hook: Hook,
        /// The call.
        call: Seq,
        /// The `response_issued` record that the hook may change. `None` if the hook is asked about
        /// the call itself.
        of: Option<Seq>,
        /// The runner that owes the effect.
        runner: Seq,
    },
    /// Ask a person for a confirmation.
    AskConfirmation {
        /// The call.
        call: Seq,
        /// The confirmation request.
        request: Seq,
    },
    /// Send a response on the live connection.
    SendResponse {
        /// The `response_issued` record.
        response: Seq,
        /// The call.
        call: Seq,
        /// The connection, by its epoch.
        epoch: Seq,
        /// True to send the response as text in the conversation, false to send a `toolResponse`.
        as_conversation: bool,
    },
    /// Send the model the instruction of the current phase.
    SendInstruction {
        /// The `phase_entered` record.
        phase: Seq,
        /// The connection, by its epoch.
        epoch: Seq,
    },
    /// Open a connection for outcomes that were issued while there was none.
    Connect,
    /// Close the session, because a tool asked for it. The model has received the response, or can
    /// no longer receive it.
    CloseSession {
        /// The `tool_returned` record that asks for the end and contains the reason.
        of: Seq,
        /// The call that the closing waits for: the tool's own call, or the outermost agent call
        /// around it.
        call: Seq,
    },
    /// Report when a time has passed.
    ArmTimer {
        /// The deadline.
        deadline: Deadline,
        /// The time at which the deadline passes.
        due_us: Timestamp,
    },
}

impl Effect {
    /// The call that the effect belongs to, if it belongs to one.
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
                | Deadline::Retry { call, .. }
                | Deadline::Lease { call, .. }
                | Deadline::Acknowledgement { call } => Some(*call),
            },
            Effect::SendInstruction { .. } | Effect::Connect => None,
        }
    }
}
