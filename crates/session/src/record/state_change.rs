//! Changes of a session's state, and instructions sent to the model.

use serde::{Deserialize, Serialize};

use crate::json::Json;
use crate::values::actor::Actor;
use crate::values::id::Seq;

/// `state_changed`: a set of changes that applies as a whole or not at all.
///
/// Changes of a tool count only while its attempt runs. Changes of an attempt that has ended are
/// recorded without effect. If two writers change one key, the change recorded last wins.
///
/// ```json
/// {"changes":[{"key":"identity_verified","value":true}],"author":{"tool":{"call":5,"attempt":1}}}
/// {"changes":[{"key":"topic","value":"debt"}],"author":{"hook":"topic"}}
/// {"changes":[{"key":"user:name","value":null}],
///  "author":{"program":{"name":"ada","authenticated_by":"embedder"}}}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateChanged {
    /// The changes, in the order in which they apply.
    pub changes: Vec<StateChange>,
    /// The author of the changes.
    pub author: Author,
}

/// A change of one key.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateChange {
    /// The key, with the prefix that sets the lifetime of the value; see [`Scope`](crate::Scope).
    pub key: String,
    /// The value; `null` removes the key.
    pub value: Json,
}

/// The author of a change of the state.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Author {
    /// A running tool.
    Tool {
        /// The call.
        call: Seq,
        /// The number of the start.
        attempt: u32,
    },
    /// A hook of the agent, by its name.
    Hook(String),
    /// The embedding program, or an actor through it.
    Program(Actor),
}

/// `instruction_sent`: the instruction of the current phase was sent to the model.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstructionSent {
    /// The connection that it was sent on.
    pub epoch: Seq,
    /// The `phase_entered`.
    pub phase: Seq,
}
