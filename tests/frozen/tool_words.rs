//! The errors of tools, and the default texts of background runs.

use std::fmt::Write as _;
use std::time::Duration;

use recount::tool::{DefaultResultFormatter, FunctionCall, ResultFormatter, ToolError};
use serde_json::json;

use crate::pinned::assert_pinned;

#[test]
fn tool_errors_are_told_as_they_were() {
    let mut text = String::new();
    let first = ToolError::ExecutionFailed("kaput".into());
    for error in std::iter::successors(Some(first), after) {
        writeln!(text, "{} {}", error.kind(), error.to_response()).unwrap();
    }
    assert_pinned("tool_errors.txt", &text);
}

#[test]
fn default_formatter_says_what_it_said() {
    let call = FunctionCall {
        id: Some("fc_123".into()),
        name: "search_kb".into(),
        args: json!({"q": 1}),
    };
    let told = [
        DefaultResultFormatter.format_running(&call),
        DefaultResultFormatter.format_result(&call, Ok(json!({"found": 3}))),
        DefaultResultFormatter.format_result(&call, Err(ToolError::NotFound("x".into()))),
        DefaultResultFormatter.format_cancelled("fc_123"),
    ];
    let told = told.map(|it| format!("{it}\n"));
    assert_pinned("formatter.txt", &told.concat());
}

fn after(error: &ToolError) -> Option<ToolError> {
    let text = || "in its own words".to_owned();
    match error {
        ToolError::ExecutionFailed(_) => Some(ToolError::NotFound("fly".into())),
        ToolError::NotFound(_) => Some(ToolError::InvalidArgs(text())),
        ToolError::InvalidArgs(_) => Some(ToolError::Timeout(Duration::from_millis(1500))),
        ToolError::Timeout(_) => Some(ToolError::Cancelled(text())),
        ToolError::Cancelled(_) => Some(ToolError::NotAvailable(text())),
        ToolError::NotAvailable(_) => Some(ToolError::LimitReached(text())),
        ToolError::LimitReached(_) => Some(ToolError::UnknownOutcome(text())),
        ToolError::UnknownOutcome(_) => Some(ToolError::LlmUnavailable(text())),
        ToolError::LlmUnavailable(_) => Some(ToolError::Other(text())),
        // The type is non-exhaustive outside of its crate.
        _ => None,
    }
}
