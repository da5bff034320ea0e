//! What a server says of one tool, checked.

use std::collections::BTreeSet;

use rmcp::model::Tool;
use serde_json::Value;

use super::error::McpMistake;
use crate::session::ObjectHash;
use crate::session::object::canonical_json;
use crate::tool::{ArgumentCheck, is_name};

/// What a server says of one tool.
#[derive(Clone, Debug)]
pub(super) struct Definition {
    /// The name at the server.
    pub(super) own_name: String,
    /// The name for the model.
    pub(super) name: String,
    pub(super) description: String,
    pub(super) parameters: Value,
    /// The server calls it one that only reads, or one that may be repeated.
    pub(super) repeatable: bool,
    /// All that the server said of it, but decoration: icons, and what is for programs that know of it.
    pub(super) whole: Value,
}

impl Definition {
    pub(super) fn of(tool: &Tool, prefix: &str) -> Definition {
        let hints = tool.annotations.as_ref();
        let says = |hint: Option<bool>| hint == Some(true);
        Definition {
            own_name: tool.name.to_string(),
            name: format!("{prefix}{}", tool.name),
            description: described(tool),
            parameters: Value::Object((*tool.input_schema).clone()),
            repeatable: hints.is_some_and(|it| says(it.read_only_hint) || says(it.idempotent_hint)),
            whole: whole(tool),
        }
    }

    /// By which it is known whether the server still says the same.
    pub(super) fn hash(&self) -> ObjectHash {
        ObjectHash::of(&canonical_json(&self.whole))
    }
}

/// What a person approves, who sees neither icons nor `_meta`.
fn whole(tool: &Tool) -> Value {
    let mut whole = serde_json::to_value(tool).unwrap_or_default();
    if let Some(fields) = whole.as_object_mut() {
        fields.remove("_meta");
        fields.remove("icons");
    }
    whole
}

/// The description, or at least the title.
fn described(tool: &Tool) -> String {
    let title = tool
        .title
        .as_deref()
        .or_else(|| tool.annotations.as_ref()?.title.as_deref());
    tool.description
        .as_deref()
        .or(title)
        .unwrap_or_default()
        .to_owned()
}

/// Everything that keeps these from being offered to a model.
pub(super) fn mistakes(definitions: &[Definition]) -> Vec<McpMistake> {
    let mut names = BTreeSet::new();
    let mut found = Vec::new();
    for it in definitions {
        let tool = it.name.clone();
        if !is_name(&tool) {
            found.push(McpMistake::Name { tool: tool.clone() });
        }
        if !names.insert(&it.name) {
            found.push(McpMistake::Twice { tool: tool.clone() });
        }
        if let Err(reason) = ArgumentCheck::new(Some(&it.parameters)) {
            found.push(McpMistake::Schema { tool, reason });
        }
    }
    found
}
