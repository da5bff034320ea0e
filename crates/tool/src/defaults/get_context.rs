//! `getContext`: the status of the conversation, and the state values that the program allows.

use async_trait::async_trait;
use recount_session::Speaker;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::ready_made::ReadyMade;
use crate::run::context::ToolContext;
use crate::run::error::ToolError;
use crate::run::tool_event::ToolEvent;

/// The name of the tool that reports the status of the conversation, and of its event.
pub const GET_CONTEXT: &str = "getContext";

/// The default and the maximum number of turns in the result.
const TURNS: usize = 6;
const TURNS_MAX: usize = 20;

/// The event of a `getContext` call, with the amount of data but not the data.
///
/// ```json
/// {"keys":["plan"],"turns":6}
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextGiven {
    /// The state keys whose values the model received.
    pub keys: Vec<String>,
    /// The number of turns that the model received.
    pub turns: usize,
}

impl ToolEvent for ContextGiven {
    const NAME: &'static str = GET_CONTEXT;
}

pub(super) struct Tool {
    /// The state keys whose values the model may read.
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
