//! Lists of tools with unreadable definitions, which do not affect the other tools.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::unreadable::repeated;
use crate::definitions::definition::UNREADABLE;

/// Replaces each unreadable definition in a list by the reason; `None` if all are readable.
pub(super) fn without_unreadable(text: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Message<'a> {
        #[serde(borrow)]
        result: Option<List<'a>>,
    }
    #[derive(Deserialize)]
    struct List<'a> {
        #[serde(borrow)]
        tools: Option<Vec<&'a RawValue>>,
    }
    let message: Message<'_> = serde_json::from_str(text).ok()?;
    let (mut list, mut end) = (String::new(), 0);
    for tool in message.result?.tools? {
        let tool = tool.get();
        let Some(problem) = problem(tool) else {
            continue;
        };
        // The slice is borrowed from the text, so it starts within it.
        let start = (tool.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
        list.push_str(text.get(end..start)?);
        list.push_str(&json!({"name": name(tool), UNREADABLE: problem}).to_string());
        end = start + tool.len();
    }
    if end == 0 {
        return None;
    }
    list.push_str(text.get(end..)?);
    Some(list)
}

/// Returns the reason why a definition cannot be read at its place in the frame.
fn problem(tool: &str) -> Option<String> {
    let within = serde_json::from_str::<Value>(&format!("[[[{tool}]]]"));
    within
        .err()
        .map(|it| it.to_string())
        .or_else(|| repeated(tool))
}

fn name(tool: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Named {
        name: Option<String>,
    }
    let named: Named = serde_json::from_str(tool).ok()?;
    named.name
}
