//! Gemini's generateContent over HTTP, against a small server of the test: requests, replies and
//! retries.
//!
//! The requests are kept in `generate_content.jsonl` of the target's temporary directory, where the
//! vendor's own library reads them in CI.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode, Uri};
use recount::prelude::*;
use recount::session::Json;
use recount::testing::ManualClock;
use recount::tool::{
    BaseLlm, GeminiLlm, LlmAgent, LlmAnswer, LlmContent, LlmError, LlmReply, LlmRequest, LlmSaid,
    LlmTool,
};
use tokio::net::TcpListener;

const KEY: &str = "AIza-the-key";

/// The requests that the server received, and its replies.
#[derive(Clone, Default)]
struct Service {
    asked: Arc<Mutex<Vec<(Uri, HeaderMap, String)>>>,
    replies: Arc<Mutex<VecDeque<(u16, String)>>>,
}

impl Service {
    /// Starts a service with these replies, and returns its address.
    async fn start(replies: impl IntoIterator<Item = (u16, String)>) -> (Service, String) {
        let service = Service::default();
        service.replies.lock().unwrap().extend(replies);
        let own = service.clone();
        let answer = move |uri: Uri, headers: HeaderMap, body: Bytes| {
            let body = String::from_utf8(body.to_vec()).unwrap();
            own.asked.lock().unwrap().push((uri, headers, body));
            let (status, reply) = own.replies.lock().unwrap().pop_front().unwrap();
            async move { (StatusCode::from_u16(status).unwrap(), reply) }
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(answer);
        tokio::spawn(async move { axum::serve(listener, router).await });
        (service, address)
    }

    fn bodies(&self) -> Vec<String> {
        let asked = self.asked.lock().unwrap();
        asked.iter().map(|(_, _, body)| body.clone()).collect()
    }
}

fn model(address: &str) -> GeminiLlm {
    let model = GeminiLlm::new("gemini-2.5-flash", KEY).unwrap();
    model.at(address).unwrap()
}

fn says(parts: Value) -> (u16, String) {
    let content = json!({"role": "model", "parts": parts});
    let reply = json!({
        "candidates": [{"content": content, "finishReason": "STOP"}],
        "usageMetadata": {"totalTokenCount": 42},
    });
    (200, reply.to_string())
}

fn refuses(status: u16, message: &str) -> (u16, String) {
    let error = json!({"error": {"code": status, "message": message}});
    (status, error.to_string())
}

/// A request with every member.
fn everything() -> LlmRequest {
    let args = Json::parse(r#"{"cents":9007199254740993}"#).unwrap();
    LlmRequest {
        instruction: Some("Verify the caller.".to_owned()),
        contents: vec![
            LlmContent::User {
                text: "Who is it?".to_owned(),
            },
            LlmContent::Model {
                said: vec![
                    LlmSaid::text("Let me see."),
                    LlmSaid::Call {
                        id: Some("a1".to_owned()),
                        name: "look_up".to_owned(),
                        args,
                        signature: Some("c2ln".to_owned()),
                    },
                ],
            },
            LlmContent::Tools {
                answers: vec![LlmAnswer {
                    id: Some("a1".to_owned()),
                    name: "look_up".to_owned(),
                    response: Json::of(&json!({"name": "Ada"})),
                }],
            },
        ],
        tools: vec![
            LlmTool {
                name: "look_up".to_owned(),
                description: "Finds a customer".to_owned(),
                parameters: Some(json!({
                    "type": "object",
                    "properties": {"number": {"type": ["integer", "null"]}},
                    "required": ["number"],
                    "additionalProperties": false,
                })),
            },
            LlmTool {
                name: "end".to_owned(),
                description: String::new(),
                parameters: None,
            },
        ],
    }
}

#[tokio::test]
async fn request_matches_service_format_and_key_is_only_in_header() {
    let (service, address) = Service::start([says(json!([{"text": "It is Ada."}]))]).await;
    let reply = model(&address)
        .temperature(0.5)
        .generate(everything())
        .await;
    let said = vec![LlmSaid::text("It is Ada.")];
    let usage = Some(json!({"totalTokenCount": 42}));
    assert_eq!(reply, Ok(LlmReply { said, usage }));
    let (uri, headers, body) = service.asked.lock().unwrap()[0].clone();
    assert_eq!(
        uri.to_string(),
        "/v1beta/models/gemini-2.5-flash:generateContent"
    );
    assert_eq!(headers["x-goog-api-key"], KEY);
    assert!(!body.contains(KEY));
    let sent: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        sent["systemInstruction"],
        json!({"parts": [{"text": "Verify the caller."}]})
    );
    let roles: Vec<&Value> = sent["contents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["role"])
        .collect();
    assert_eq!(roles, ["user", "model", "user"]);
    let called = concat!(
        r#"{"functionCall":{"id":"a1","name":"look_up","args":{"cents":9007199254740993}},"#,
        r#""thoughtSignature":"c2ln"}"#,
    );
    assert!(body.contains(called), "{body}");
    assert_eq!(
        sent["contents"][2]["parts"][0],
        json!({"functionResponse": {"id": "a1", "name": "look_up", "response": {"name": "Ada"}}}),
    );
    let declared = &sent["tools"][0]["functionDeclarations"];
    assert_eq!(
        declared[0]["parametersJsonSchema"]["required"],
        json!(["number"])
    );
    assert_eq!(declared[1], json!({"name": "end", "description": ""}));
    assert_eq!(sent["generationConfig"], json!({"temperature": 0.5}));
    let mut kept = String::new();
    for body in service.bodies() {
        writeln!(kept, "{body}").unwrap();
    }
    let place = concat!(env!("CARGO_TARGET_TMPDIR"), "/generate_content.jsonl");
    std::fs::write(place, kept).unwrap();
}

#[tokio::test]
async fn failures_are_transient_or_permanent_and_never_hold_key() {
    let quoted = format!("no such key: {KEY}");
    let all = [
        (
            refuses(429, "Quota exceeded"),
            true,
            "429 Too Many Requests: Quota exceeded",
        ),
        (
            refuses(503, "Overloaded"),
            true,
            "503 Service Unavailable: Overloaded",
        ),
        ((502, "<html>".to_owned()), true, "502 Bad Gateway"),
        (
            refuses(400, &quoted),
            false,
            "400 Bad Request: no such key: [hidden]",
        ),
        (
            refuses(404, "no such model"),
            false,
            "404 Not Found: no such model",
        ),
        ((307, String::new()), false, "307 Temporary Redirect"),
    ];
    let (service, address) = Service::start(all.iter().map(|it| it.0.clone())).await;
    let model = model(&address);
    for (_, passes, told) in &all {
        let told = format!("the model gemini-2.5-flash answered {told}");
        let expected = match passes {
            true => LlmError::Unavailable(told),
            false => LlmError::Refused(told),
        };
        assert_eq!(model.generate(everything()).await, Err(expected));
    }
    assert_eq!(service.bodies().len(), all.len());
    assert!(!format!("{model:?}").contains(KEY));
}

#[tokio::test]
async fn unreachable_address_is_transient_and_plain_http_is_rejected() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let Err(LlmError::Unavailable(told)) = model(&address).generate(everything()).await else {
        panic!("the address is closed");
    };
    assert!(told.starts_with("the model cannot be reached: "), "{told}");
    assert!(
        !told.contains(KEY) && !told.contains("127.0.0.1:0"),
        "{told}"
    );
    let model = GeminiLlm::new("models/gemini-2.5-flash", KEY).unwrap();
    assert_eq!(model.model(), "gemini-2.5-flash");
    for wrong in ["http://example.com", "ftp://127.0.0.1", "nowhere"] {
        let refused = model.clone().at(wrong).map(drop);
        assert!(matches!(refused, Err(LlmError::Refused(_))), "{wrong}");
    }
    for (name, key) in [
        ("../gemini", KEY),
        ("", KEY),
        ("gemini", ""),
        ("gemini", "two words"),
    ] {
        let refused = GeminiLlm::new(name, key).map(drop);
        let Err(LlmError::Refused(told)) = refused else {
            panic!("{name:?} and {key:?}");
        };
        assert!(!told.contains("two words"));
    }
}

#[tokio::test]
async fn an_agent_goes_on_after_the_service_had_too_much_to_do() {
    let call = json!([{"functionCall": {"name": "look_up", "args": {"number": 17}}}]);
    let (service, address) = Service::start([
        refuses(429, "Quota exceeded"),
        says(call),
        says(json!([{"text": "It is Ada."}])),
    ])
    .await;
    let look_up = T::simple("look_up", "Finds a customer", |_| async {
        Ok(json!({"name": "Ada"}))
    });
    let agent = LlmAgent::new("verifier", model(&address)).tools(look_up);
    let agent = Agent::new()
        .model("m")
        .agent_tool("verify_identity", "Verifies", agent);
    let clock = ManualClock::new();
    let engine = Engine::in_memory().clock(clock.clone()).agent("a", agent);
    let engine = engine.open().await.unwrap();
    let live = Arc::new(engine.session("a").open().await.unwrap());
    let mut updates = live.subscribe();
    let caller = live.clone();
    let called = tokio::spawn(async move {
        let by = Actor::embedder("pipeline");
        let args = json!({"request": "Who is it?"});
        caller.call_function("verify_identity", args, by).await
    });
    let scheduled = updates.wait_for(|event| event.kind() == "retry_scheduled");
    scheduled.await.unwrap();
    clock.advance(std::time::Duration::from_millis(500));
    assert_eq!(called.await.unwrap(), Ok(json!({"output": "It is Ada."})));
    let bodies = service.bodies();
    assert_eq!(bodies[0], bodies[1]);
    assert!(
        bodies[2].contains(r#""functionResponse":{"name":"look_up","response":{"name":"Ada"}}"#)
    );
}
