//! Answers to a call that the library cannot read. The tool has run, so the result keeps its
//! output.

use recount_session::Json;
use recount_tool::{ToolContext, ToolError};
use rmcp::ServiceError;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResponse, CallToolResult,
    CancelledNotificationParam, ClientRequest, RequestId, ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, RoleClient};
use serde_json::{Value, json};

use super::lost::Lost;
use super::raw_results;
use super::result::RecordedResult;
use crate::asking::asker::Asker;

/// The answer of a server to a call.
pub(crate) enum Called {
    /// An answer that the library can read.
    Known(CallToolResponse),
    /// Any other answer: the result or the error.
    Other(Result<Json, ToolError>),
}

/// Calls a tool once. Dropping the future cancels the call at the server.
///
/// Progress reports of the server go to the tool's `context` meanwhile.
pub(crate) async fn call(
    peer: &Peer<RoleClient>,
    (asker, lost): (&Asker, &Lost),
    params: CallToolRequestParams,
    context: Option<&ToolContext>,
) -> Result<Called, ServiceError> {
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
    let options = PeerRequestOptions::no_options();
    let mut lost = lost.listen();
    let handle = peer.send_cancellable_request(request, options).await?;
    let token = handle.progress_token.clone();
    let _reporting = context.map(|it| asker.register_progress(token, it));
    let mut waits = Waits {
        peer,
        id: Some(handle.id.clone()),
    };
    let answer = tokio::select! {
        biased;
        answer = handle.await_response() => {
            waits.id = None;
            answer
        }
        // The lost result may belong to another request, so the server is told that this one is
        // abandoned.
        error = lost.next() => Err(ServiceError::McpError(error)),
    };
    Ok(match answer? {
        ServerResult::CallToolResult(result) => Called::Known(CallToolResponse::Complete(result)),
        ServerResult::InputRequiredResult(asked) => {
            Called::Known(CallToolResponse::InputRequired(asked))
        }
        ServerResult::CreateTaskResult(task) => Called::Known(CallToolResponse::Task(task)),
        ServerResult::EmptyResult(_) | ServerResult::TaskAckResult(_) => {
            Called::Known(CallToolResponse::Complete(CallToolResult::default()))
        }
        ServerResult::CustomResult(said) => Called::Other(outcome(said.0)),
        _ => return Err(ServiceError::UnexpectedResponse),
    })
}

/// Reads a result that is newer than the library or invalid: its blocks unchanged, without
/// metadata.
pub(crate) fn outcome(said: Value) -> Result<Json, ToolError> {
    let unknown = |what: &str| {
        Err(ToolError::UnknownOutcome(format!(
            "the tool has run, and its server answered with {what}; what became of it is unknown"
        )))
    };
    let Value::Object(mut said) = said else {
        return unknown("something that is no result of a call");
    };
    let kind = said.get("resultType").and_then(Value::as_str);
    if kind.is_some_and(|it| it != "complete") {
        return unknown("a kind of result that is not known here");
    }
    let blocks = match said.remove("content") {
        Some(Value::Array(blocks)) => blocks,
        Some(Value::Null) | None => Vec::new(),
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) => {
            return unknown("content that is no list");
        }
    };
    let structured = said.remove("structuredContent");
    let structured = structured.map(|it| raw_results::content(&it)).transpose();
    let Ok(structured) = structured else {
        return unknown("structured content that is not JSON as Recount takes it");
    };
    if said
        .get("isError")
        .is_some_and(|it| !it.is_boolean() && !it.is_null())
    {
        return unknown("`isError` that is neither true nor false");
    }
    if said.get("isError") == Some(&Value::Bool(true)) {
        let texts = blocks.iter().filter_map(|it| it.get("text")?.as_str());
        let texts: Vec<&str> = texts.collect();
        return Err(ToolError::ExecutionFailed(match texts.is_empty() {
            false => texts.join("\n"),
            true => json!(blocks).to_string(),
        }));
    }
    let blocks = blocks.into_iter().map(|mut block| {
        if let Some(fields) = block.as_object_mut() {
            fields.remove("_meta");
        }
        block
    });
    let blocks: Vec<Value> = blocks.collect();
    let is_told = structured.is_none() || !blocks.is_empty();
    Ok(Json::of_serialized(&RecordedResult {
        content: is_told.then_some(blocks),
        structured_content: structured,
    }))
}

/// A guard for a waiting request, which sends a cancellation to the server when dropped.
struct Waits<'p> {
    peer: &'p Peer<RoleClient>,
    id: Option<RequestId>,
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        let (peer, reason) = (self.peer.clone(), "the call was cancelled".to_owned());
        runtime.spawn(async move {
            let given_up = CancelledNotificationParam::new(Some(id), Some(reason));
            // A closed connection needs no cancellation.
            let _ = peer.notify_cancelled(given_up).await;
        });
    }
}
