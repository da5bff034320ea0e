//! The requests and replies of generateContent.

use std::fmt;

use recount_session::Json;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::models::llm::{LlmContent, LlmError, LlmReply, LlmRequest, LlmSaid, LlmTool};

/// A `GenerateContentRequest`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<Content<'a>>,
    contents: Vec<Content<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    generation_config: Option<Value>,
}

#[derive(Serialize)]
struct Content<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    parts: Vec<Part<'a>>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_call: Option<Function<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_response: Option<Function<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<&'a str>,
}

/// A `FunctionCall` or a `FunctionResponse`.
#[derive(Serialize)]
struct Function<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<&'a Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response: Option<&'a Json>,
}

/// Returns the body of a request.
pub(super) fn request(request: &LlmRequest, temperature: Option<f32>) -> String {
    let instruction = request.instruction.as_deref();
    let functions: Vec<Value> = request.tools.iter().map(declaration).collect();
    let body = Request {
        system_instruction: instruction.map(|text| Content {
            role: None,
            parts: vec![words(text, None)],
        }),
        contents: request.contents.iter().map(content).collect(),
        tools: match functions.is_empty() {
            true => Vec::new(),
            false => vec![json!({ "functionDeclarations": functions })],
        },
        generation_config: temperature.map(|it| json!({ "temperature": it })),
    };
    // Strings and parsed JSON always serialize.
    serde_json::to_string(&body).unwrap_or_default()
}

fn declaration(tool: &LlmTool) -> Value {
    let mut declared = json!({"name": tool.name, "description": tool.description});
    if let (Some(schema), Value::Object(declared)) = (&tool.parameters, &mut declared) {
        declared.insert("parametersJsonSchema".to_owned(), schema.clone());
    }
    declared
}

fn content(content: &LlmContent) -> Content<'_> {
    let (role, parts) = match content {
        LlmContent::User { text } => ("user", vec![words(text, None)]),
        LlmContent::Model { said } => ("model", said.iter().map(part).collect()),
        LlmContent::Tools { answers } => {
            let parts = answers.iter().map(|answer| Part {
                function_response: Some(Function {
                    id: answer.id.as_deref(),
                    name: &answer.name,
                    args: None,
                    response: Some(&answer.response),
                }),
                ..Part::default()
            });
            ("user", parts.collect())
        }
    };
    let role = Some(role);
    Content { role, parts }
}

fn words<'a>(text: &'a str, signature: Option<&'a str>) -> Part<'a> {
    Part {
        text: Some(text),
        thought_signature: signature,
        ..Part::default()
    }
}

fn part(said: &LlmSaid) -> Part<'_> {
    match said {
        LlmSaid::Text { text, signature } => words(text, signature.as_deref()),
        LlmSaid::Call {
            id,
            name,
            args,
            signature,
        } => Part {
            function_call: Some(Function {
                id: id.as_deref(),
                name,
                args: Some(args),
                response: None,
            }),
            thought_signature: signature.as_deref(),
            ..Part::default()
        },
    }
}

/// The part of a `GenerateContentResponse` that an agent needs.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reply {
    #[serde(default)]
    candidates: Vec<Candidate>,
    prompt_feedback: Option<Feedback>,
    usage_metadata: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    content: Option<ReplyContent>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    block_reason: Option<String>,
}

#[derive(Deserialize)]
struct ReplyContent {
    #[serde(default)]
    parts: Vec<ReplyPart>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReplyPart {
    text: Option<String>,
    #[serde(default)]
    thought: bool,
    function_call: Option<Called>,
    thought_signature: Option<String>,
}

#[derive(Deserialize)]
struct Called {
    id: Option<String>,
    name: String,
    args: Option<Box<RawValue>>,
}

/// A problem with a reply.
pub(super) enum Failure {
    /// The reply is not valid JSON.
    NotJson,
    /// The reply has neither text nor calls; the reason.
    Nothing(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::NotJson => {
                f.write_str("expected a GenerateContentResponse, found something else")
            }
            Failure::Nothing(why) => write!(f, "expected words or calls, found none: {why}"),
        }
    }
}

/// Reads the body of a reply.
pub(super) fn reply(text: &str) -> Result<LlmReply, LlmError> {
    let unread = |_| LlmError::Unavailable(Failure::NotJson.to_string());
    let reply: Reply = serde_json::from_str(text).map_err(unread)?;
    let blocked = reply.prompt_feedback.and_then(|it| it.block_reason);
    let first = reply.candidates.into_iter().next();
    let reason = first.as_ref().and_then(|it| it.finish_reason.clone());
    let parts = first.and_then(|it| it.content).map(|it| it.parts);
    let mut said = Vec::new();
    for part in parts.into_iter().flatten() {
        said.extend(read_part(part)?);
    }
    if said.is_empty() {
        let reason = reason
            .or(blocked)
            .unwrap_or_else(|| "no reason given".to_owned());
        let message = Failure::Nothing(reason.clone()).to_string();
        // With these reasons a repeated request may succeed.
        let slip = matches!(
            reason.as_str(),
            "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL"
        );
        return Err(match slip {
            true => LlmError::Unavailable(message),
            false => LlmError::Refused(message),
        });
    }
    let usage = reply.usage_metadata;
    Ok(LlmReply { said, usage })
}

fn read_part(part: ReplyPart) -> Result<Option<LlmSaid>, LlmError> {
    let signature = part.thought_signature;
    if let Some(call) = part.function_call {
        let args = match call.args {
            Some(args) => Json::parse(args.get()).map_err(|problem| {
                LlmError::Unavailable(format!("the arguments of {:?} are {problem}", call.name))
            })?,
            None => Json::empty_object(),
        };
        return Ok(Some(LlmSaid::Call {
            id: call.id,
            name: call.name,
            args,
            signature,
        }));
    }
    // A summary of the model's thoughts is no part of its answer.
    let text = part.text.filter(|_| !part.thought);
    Ok(text.map(|text| LlmSaid::Text { text, signature }))
}

/// Returns the service's error text for a failed request.
pub(super) fn failure(text: &str) -> Option<String> {
    let body: Value = serde_json::from_str(text).ok()?;
    let message = body.pointer("/error/message")?.as_str()?;
    Some(message.chars().take(500).collect())
}

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]
mod tests {
    use super::*;

    #[test]
    fn arguments_keep_digits_and_thoughts_are_skipped() {
        let text = r#"{"candidates":[{"content":{"role":"model","parts":[
            {"text":"hm","thought":true},
            {"functionCall":{"id":"a1","name":"pay","args":{"cents":9007199254740993,"rate":1.10}},"thoughtSignature":"c2ln"},
            {"text":"Done."}]},"finishReason":"STOP"}],"usageMetadata":{"totalTokenCount":9}}"#;
        let reply = reply(text).unwrap();
        assert_eq!(reply.usage, Some(json!({"totalTokenCount": 9})));
        let expected = LlmSaid::Call {
            id: Some("a1".to_owned()),
            name: "pay".to_owned(),
            args: Json::parse(r#"{"cents":9007199254740993,"rate":1.10}"#).unwrap(),
            signature: Some("c2ln".to_owned()),
        };
        assert_eq!(reply.said, [expected, LlmSaid::text("Done.")]);
        let back = LlmRequest {
            contents: vec![LlmContent::Model { said: reply.said }],
            ..LlmRequest::default()
        };
        let sent = request(&back, None);
        assert!(
            sent.contains(r#""args":{"cents":9007199254740993,"rate":1.10}"#),
            "{sent}"
        );
        assert!(sent.contains(r#""thoughtSignature":"c2ln""#), "{sent}");
    }

    #[test]
    fn a_reply_without_words_or_calls_says_why() {
        for (text, message) in [
            (
                r#"{"promptFeedback":{"blockReason":"SAFETY"}}"#,
                LlmError::Refused("expected words or calls, found none: SAFETY".into()),
            ),
            (
                r#"{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL"}]}"#,
                LlmError::Unavailable(
                    "expected words or calls, found none: MALFORMED_FUNCTION_CALL".into(),
                ),
            ),
            (
                "<html>",
                LlmError::Unavailable(
                    "expected a GenerateContentResponse, found something else".into(),
                ),
            ),
        ] {
            assert_eq!(reply(text), Err(message));
        }
        let body =
            r#"{"error":{"code":429,"message":"Quota exceeded","status":"RESOURCE_EXHAUSTED"}}"#;
        assert_eq!(failure(body).as_deref(), Some("Quota exceeded"));
    }
}
