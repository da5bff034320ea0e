//! `getContext`: how the conversation stands, and of the state what the program allows.

use async_trait::async_trait;
use recount_session::Speaker;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::ready_made::ReadyMade;
use crate::run::context::ToolContext;
use crate::run::error::ToolError;
use crate::run::tool_event::ToolEvent;

/// The name of the tool that tells how the conversation stands, and of its event.
pub const GET_CONTEXT: &str = "getContext";

/// How many turns are given unless the model says how many, and at most.
const TURNS: usize = 6;
const TURNS_MAX: usize = 20;

/// The model was given the context: how much of it, and none of what it says.
///
/// ```json
/// {"keys":["plan"],"turns":6}
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextGiven {
    /// The keys of the state whose values it was given.
    pub keys: Vec<String>,
    /// How many turns it was given.
    pub turns: usize,
}

impl ToolEvent for ContextGiven {
    const NAME: &'static str = GET_CONTEXT;
}

pub(super) struct Tool {
    /// The keys whose values the model may have.
    pub(super) keys: Vec<String>,
}

#[derive(Deserialize)]
pub(super) struct Arguments {
    turns: Option<usize>,
}

#[async_trait]
impl ReadyMade for Tool {
    const NAME: &'static str = GET_CONTEXT;
    const DESCRIPTION: &'static str = "Tells how the conversation stands: its phase, what is known, what was said last, and which calls have not ended.";
    type Arguments = Arguments;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "turns": {
                    "type": "integer",
                    "minimum": 0,
                    "maximum": TURNS_MAX,
                    "description": "How many of the last turns to tell",
                },
            },
        })
    }

    async fn done(&self, args: Arguments, context: ToolContext) -> Result<Value, ToolError> {
        let Arguments { turns } = args;
        let found = context
            .look_back(turns.unwrap_or(TURNS).min(TURNS_MAX))
            .await?;
        let allowed = self.keys.iter();
        let state: Map<String, Value> = allowed
            .filter_map(|key| Some((key.clone(), context.state.get_json(key)?.to_value())))
            .collect();
        context.emit(&ContextGiven {
            keys: state.keys().cloned().collect(),
            turns: found.turns.len(),
        })?;
        let open_calls = found.open_calls.into_iter();
        let open_calls: Vec<Value> = open_calls
            .map(|(_, name, status)| json!({"name": name, "status": status}))
            .collect();
        let turns = found.turns.into_iter();
        let turns: Vec<Value> = turns
            .map(|(speaker, text)| json!({"speaker": word_of(speaker), "text": text}))
            .collect();
        Ok(json!({
            "success": true,
            "state": state,
            "phase": found.phase,
            "open_calls": open_calls,
            "turns": turns,
        }))
    }
}

fn word_of(speaker: Speaker) -> &'static str {
    match speaker {
        Speaker::User => "user",
        Speaker::Model => "model",
    }
}
