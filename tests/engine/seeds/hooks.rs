//! The chapters "Tool Call Handling" and "Intercepting Tool Responses".

use recount::prelude::*;
use recount::session::Seq;

use super::stage::Stage;

fn execute_weather(args: &Value) -> Value {
    json!({"city": args["city"], "temperature_c": 22})
}

fn verify(args: &Value) -> Value {
    json!({"verified": args["pin"] == "1234"})
}

/// Tools whose calls the hook answers.
fn declared() -> Toolset {
    let never = |name: &str| {
        T::simple(name, "Is answered by hand", |_| async {
            Err(ToolError::ExecutionFailed("it ran".into()))
        })
    };
    never("get_weather") | never("verify_identity") | never("other")
}

#[tokio::test]
async fn program_answers_calls_itself_and_writes_findings_to_state() {
    let builder = Live::builder().tools(declared());
    let builder = builder.on_tool_call(|calls, state| async move {
        let responses: Vec<FunctionResponse> = calls
            .iter()
            .map(|call| {
                let result = match call.name.as_str() {
                    "get_weather" => execute_weather(&call.args),
                    "verify_identity" => {
                        let result = verify(&call.args);
                        if result["verified"].as_bool() == Some(true) {
                            state.set("identity_verified", true); // promote to state
                        }
                        result
                    }
                    _ => json!({"error": "unknown tool"}),
                };
                FunctionResponse {
                    name: call.name.clone(),
                    response: result,
                    id: call.id.clone(),
                }
            })
            .collect();
        Some(responses)
    });
    let calls = [
        ("get_weather", json!({"city": "Oslo"})),
        ("verify_identity", json!({"pin": "1234"})),
        ("other", json!({})),
    ];
    let stage = Stage::set(builder, &calls).await;
    stage.play().await;
    assert_eq!(
        stage.answer("c1"),
        json!({"city": "Oslo", "temperature_c": 22})
    );
    assert_eq!(stage.answer("c2"), json!({"verified": true}));
    assert_eq!(stage.answer("c3"), json!({"error": "unknown tool"}));
    let state = stage.live.state().await.unwrap();
    assert_eq!(state.get::<bool>("identity_verified"), Some(true));
    assert_eq!(stage.count("call_started").await, 0);
}

fn redact_pii(response: &Value) -> Value {
    json!({"name": response["name"], "ssn": "[redacted]"})
}

#[tokio::test]
async fn hook_changes_responses_before_model_and_record() {
    let verifies = T::simple("verify_identity", "Verifies", |_| async {
        Ok(json!({"verified": true}))
    });
    let looks_up = T::simple("lookup_account", "Looks up", |_| async {
        Ok(json!({"name": "Ada", "ssn": "078-05-1120"}))
    });
    let builder = Live::builder().tools(verifies | looks_up);
    let builder = builder.before_tool_response(|responses, state| async move {
        responses
            .into_iter()
            .map(|mut r| {
                if r.name == "verify_identity" {
                    if r.response["verified"].as_bool() == Some(true) {
                        state.set("identity_verified", true);
                    }
                }
                if r.name == "lookup_account" {
                    r.response = redact_pii(&r.response);
                }
                r
            })
            .collect()
    });
    let calls = ["verify_identity", "lookup_account"].map(|name| (name, json!({})));
    let stage = Stage::set(builder, &calls).await;
    stage.play().await;
    assert_eq!(stage.answer("c1"), json!({"verified": true}));
    assert_eq!(
        stage.answer("c2"),
        json!({"name": "Ada", "ssn": "[redacted]"})
    );
    let state = stage.live.state().await.unwrap();
    assert_eq!(state.get::<bool>("identity_verified"), Some(true));
    let ledger = stage.live.engine().ledger();
    let facts = ledger.facts(stage.live.session_id(), Seq(1), 1000).await;
    for fact in facts.unwrap() {
        assert!(!fact.event.body().unwrap().contains("078-05-1120"));
    }
}
