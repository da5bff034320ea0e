//! The conversion of a server's answer to the result of a call.

use recount_session::Json;
use recount_tool::{ToolError, is_inexact};
use rmcp::ServiceError;
use rmcp::model::{CallToolResult, ContentBlock, ErrorCode};
use serde::Serialize;
use serde_json::Value;

use super::{raw_results, unanswered, unreadable};
use crate::words::causes;

/// Returns the result of a call: `{"content": [blocks], "structuredContent": value}`.
///
/// Blocks have the protocol's form without metadata: `{"type": "text", "text": …}`,
/// `{"type": "image", "mimeType": …, "data": base64}`,
/// `{"type": "resource_link", "uri": …, "name": …}`. If there is structured content, texts that
/// only repeat it are omitted. Empty members are omitted, too, except that a result always has
/// `content` or `structuredContent`.
///
/// The structured content is as the server wrote it, number for number.
pub(crate) fn outcome(result: CallToolResult) -> Result<Json, ToolError> {
    let structured = result.structured_content.as_ref().map(raw_results::content);
    if result.is_error == Some(true) {
        let structured = structured.and_then(Result::ok);
        return Err(ToolError::ExecutionFailed(failure(&result, structured)));
    }
    let structured = structured.transpose().map_err(|problem| {
        let what = "the structured content of the result is not JSON as Recount takes it";
        ToolError::UnknownOutcome(format!("the tool has run, but {what}: {problem}"))
    })?;
    let content: Vec<Value> = result
        .content
        .iter()
        .filter(|block| !repeats(block, structured.as_ref()))
        .map(block)
        .collect();
    let is_told = structured.is_none() || !content.is_empty();
    Ok(Json::of_serialized(&RecordedResult {
        content: is_told.then_some(content),
        structured_content: structured,
    }))
}

/// A result for the record.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RecordedResult {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<Vec<Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) structured_content: Option<Json>,
}

fn block(block: &ContentBlock) -> Value {
    let mut value = serde_json::to_value(block).unwrap_or_default();
    if let Some(fields) = value.as_object_mut() {
        fields.remove("_meta");
    }
    value
}

/// True for a text that repeats the structured content. Servers add it for clients that do not know
/// structured content.
fn repeats(block: &ContentBlock, structured: Option<&Json>) -> bool {
    let (ContentBlock::Text(text), Some(structured)) = (block, structured) else {
        return false;
    };
    Json::parse(&text.text).is_ok_and(|it| {
        let is_same = !is_inexact(structured) && it.to_value() == structured.to_value();
        is_same || it.canonical() == structured.canonical()
    })
}

/// Returns the tool's own text about its failure.
fn failure(result: &CallToolResult, structured: Option<Json>) -> String {
    let texts = result.content.iter().filter_map(|block| match block {
        ContentBlock::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    let texts: Vec<&str> = texts.collect();
    match (texts.is_empty(), structured) {
        (false, _) => texts.join("\n"),
        (true, Some(value)) => value.to_string(),
        (true, None) => "the tool failed and does not say why".to_owned(),
    }
}

/// Returns the error of a call. A request that was sent but not answered may have taken effect.
pub(crate) fn failed(error: ServiceError, server: &str) -> ToolError {
    match error {
        ServiceError::McpError(error) if error.code == ErrorCode::INVALID_PARAMS => {
            ToolError::InvalidArgs(error.message.into_owned())
        }
        ServiceError::McpError(error) if unreadable::is_of_unreadable(&error) => {
            ToolError::UnknownOutcome(format!(
                "the MCP server {server:?} sent {}; whether the call took effect is unknown",
                error.message
            ))
        }
        ServiceError::McpError(error) => ToolError::ExecutionFailed(format!(
            "the MCP server {server:?} answered with error {}: {}",
            error.code.0, error.message
        )),
        ServiceError::UnexpectedResponse => ToolError::UnknownOutcome(format!(
            "the MCP server {server:?} answered with something that is no result of a call; whether it took effect is unknown"
        )),
        none if unanswered::was_not_carried_out(&none) => {
            not_connected(server, &causes::of_request(&none))
        }
        lost => unknown(&lost, server),
    }
}

/// Returns the error of a repeated call after the server has asked for input. The first request may
/// have taken effect, even if the repeated one failed.
pub(crate) fn failed_after_questions(error: ServiceError, server: &str) -> ToolError {
    if unanswered::was_not_carried_out(&error) {
        return unknown(&error, server);
    }
    failed(error, server)
}

fn unknown(lost: &ServiceError, server: &str) -> ToolError {
    ToolError::UnknownOutcome(format!(
        "the MCP server {server:?} was lost during the call ({}); whether it took effect is unknown",
        causes::of_request(lost)
    ))
}

/// Returns the error of a call that was not sent.
pub(crate) fn not_connected(server: &str, reason: &str) -> ToolError {
    ToolError::NotAvailable(format!("the MCP server {server:?} is not there: {reason}"))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(result: Value) -> Result<Value, ToolError> {
        outcome(serde_json::from_value(result).unwrap()).map(|it| it.to_value())
    }

    #[test]
    fn blocks_are_unchanged_without_metadata() {
        let text = json!({"type": "text", "text": "a"});
        let noted = json!({"type": "text", "text": "a", "_meta": {"x": 1}});
        let others = [
            json!({"type": "image", "mimeType": "image/png", "data": "aGk="}),
            json!({"type": "resource_link", "uri": "file:///a", "name": "a"}),
        ];
        let of_text = |text: Value| [&[text][..], &others].concat();
        let (sent, blocks) = (of_text(noted), of_text(text));
        assert_eq!(of(json!({"content": sent})), Ok(json!({"content": blocks})));
        assert_eq!(of(json!({"content": []})), Ok(json!({"content": []})));
    }

    #[test]
    fn texts_that_repeat_structured_content_are_omitted() {
        let text = |text: &str| json!({"type": "text", "text": text});
        let sent =
            json!({"content": [text("{ \"a\": 1 }"), text("see")], "structuredContent": {"a": 1}});
        assert_eq!(
            of(sent),
            Ok(json!({"content": [text("see")], "structuredContent": {"a": 1}}))
        );
        let only = json!({"content": [text("{\"a\":1}")], "structuredContent": {"a": 1}});
        assert_eq!(of(only), Ok(json!({"structuredContent": {"a": 1}})));
    }

    #[test]
    fn tool_error_is_a_failure_with_its_text() {
        let failed = |result: Value| of(result).unwrap_err();
        let text = |text: &str| json!({"type": "text", "text": text});
        assert_eq!(
            failed(json!({"content": [text("no"), text("way")], "isError": true})),
            ToolError::ExecutionFailed("no\nway".into())
        );
        assert_eq!(
            failed(json!({"content": [], "structuredContent": {"code": 7}, "isError": true})),
            ToolError::ExecutionFailed("{\"code\":7}".into())
        );
    }

    #[test]
    fn an_unanswered_request_may_have_taken_effect() {
        let lost = failed(ServiceError::TransportClosed, "files");
        assert_eq!(lost.kind(), "unknown_outcome");
        let wrong = rmcp::ErrorData::invalid_params("no path", None);
        assert_eq!(
            failed(ServiceError::McpError(wrong), "files"),
            ToolError::InvalidArgs("no path".into())
        );
        let internal = rmcp::ErrorData::internal_error("kaput", None);
        let error = failed(ServiceError::McpError(internal), "files").to_string();
        assert_eq!(
            error,
            "the MCP server \"files\" answered with error -32603: kaput"
        );
    }
}
