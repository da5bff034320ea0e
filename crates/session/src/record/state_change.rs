//! What was written to a session's state, by whom, and what the model was told of its phase.

use serde::{Deserialize, Serialize};

use crate::json::Json;
use crate::values::actor::Actor;
use crate::values::id::Seq;

/// `state_changed`: a set of changes that holds as a whole or not at all.
///
/// Changes of a tool count while its attempt runs; those of an attempt that is over are on record
/// and change nothing. Of two writers of one key the one recorded last wins.
///
/// ```json
/// {"changes":[{"key":"identity_verified","value":true}],"author":{"tool":{"call":5,"attempt":1}}}
/// {"changes":[{"key":"topic","value":"debt"}],"author":{"hook":"topic"}}
/// {"changes":[{"key":"user:name","value":null}],"author":{"program":{"name":"ada","authenticated_by":"embedder"}}}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateChanged {
    /// What was written, in the order in which it counts.
    pub changes: Vec<StateChange>,
    /// Who wrote it.
    pub author: Author,
}

/// One write.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateChange {
    /// The key, with the prefix that says how long the value lives; see [`Scope`](crate::Scope).
    pub key: String,
    /// The value; `null` removes the key.
    pub value: Json,
}

/// Who wrote to the state.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Author {
    /// A tool, while it ran.
    Tool {
        /// The call.
        call: Seq,
        /// Which start of it.
        attempt: u32,
    },
    /// A hook of the agent, by its name.
    Hook(String),
    /// The embedding program, or somebody through it.
    Program(Actor),
}

/// `instruction_sent`: the model was told the instruction of the phase it is in.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstructionSent {
    /// The connection it went to.
    pub epoch: Seq,
    /// The `phase_entered`.
    pub phase: Seq,
}
