//! The Rust crate `gemini-live` holds conversations with the simulator.

use std::time::Duration;

use gemini_live::types::*;
use gemini_live::{
    Auth, Endpoint, ReconnectPolicy, Session, SessionConfig, SessionError, TransportConfig,
};
use recount_simulator::{ConnectionId, Running, Script, Simulator, Standing};
use serde_json::json;

const FOREIGN: &str = include_str!("../../../fixtures/scripts/foreign.jsonl");

async fn start(script: &str) -> Running {
    Simulator::start(Script::parse(script).unwrap())
        .listen("127.0.0.1:0")
        .await
        .unwrap()
}

fn declaration(name: &str, behavior: Option<FunctionBehavior>) -> FunctionDeclaration {
    FunctionDeclaration {
        name: name.to_owned(),
        description: format!("Does {name}."),
        parameters: json!({"type": "OBJECT", "properties": {"city": {"type": "STRING"}}}),
        scheduling: None,
        behavior,
    }
}

fn config(simulator: &Running, change: impl FnOnce(&mut SetupConfig)) -> SessionConfig {
    let mut setup = SetupConfig {
        model: "models/gemini-live-test".to_owned(),
        generation_config: Some(GenerationConfig {
            response_modalities: Some(vec![Modality::Text]),
            temperature: Some(0.5),
            ..GenerationConfig::default()
        }),
        tools: Some(vec![Tool::FunctionDeclarations(vec![
            declaration("get_weather", None),
            declaration("get_time", Some(FunctionBehavior::NonBlocking)),
        ])]),
        session_resumption: Some(SessionResumptionConfig::default()),
        ..SetupConfig::default()
    };
    change(&mut setup);
    let path = "ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent";
    SessionConfig {
        transport: TransportConfig {
            endpoint: Endpoint::Custom(format!("{}//{path}", simulator.url())),
            auth: Auth::ApiKey("test-key".to_owned()),
            ..TransportConfig::default()
        },
        setup,
        reconnect: ReconnectPolicy {
            base_backoff: Duration::from_millis(1),
            max_backoff: Duration::from_millis(5),
            ..ReconnectPolicy::default()
        },
    }
}

async fn connect(simulator: &Running) -> Session {
    Session::connect(config(simulator, |_| {})).await.unwrap()
}

/// The parts of one turn of the model.
#[derive(Debug, Default)]
struct Turn {
    text: String,
    calls: Vec<FunctionCallRequest>,
    cancelled: Vec<String>,
    sound: Vec<u32>,
    interrupted: bool,
}

/// Receives until the model's turn is complete, or until `enough`.
async fn turn(session: &mut Session, enough: impl Fn(&Turn) -> bool) -> Turn {
    let mut turn = Turn::default();
    while let Some(event) = session.next_event().await {
        match event {
            ServerEvent::ModelText(text) => turn.text += &text,
            ServerEvent::ModelAudio(sound) => {
                turn.sound.push(u32::from_le_bytes(sound[..4].try_into().unwrap()));
            }
            ServerEvent::ToolCall(calls) => turn.calls.extend(calls),
            ServerEvent::ToolCallCancellation(ids) => turn.cancelled.extend(ids),
            ServerEvent::Interrupted => turn.interrupted = true,
            ServerEvent::TurnComplete => return turn,
            other => drop(other),
        }
        if enough(&turn) {
            return turn;
        }
    }
    panic!("the session ended: {turn:?}");
}

async fn whole_turn(session: &mut Session) -> Turn {
    turn(session, |_| false).await
}

#[tokio::test]
async fn client_gets_calls_and_audio() {
    let simulator = start(FOREIGN).await;
    let mut session = connect(&simulator).await;
    session.send_text("What's the weather, and the time?").await.unwrap();
    let asked = turn(&mut session, |turn| !turn.calls.is_empty()).await;
    let ids: Vec<&str> = asked.calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["w1", "t1"]);
    assert_eq!(asked.calls[0].args, json!({"city": "Paris", "days": 3}));
    for call in asked.calls.iter().rev() {
        let response = FunctionResponse {
            id: call.id.clone(),
            name: call.name.clone(),
            response: json!({"output": "fine"}),
        };
        session.send_tool_response(vec![response]).await.unwrap();
    }
    let told = whole_turn(&mut session).await;
    assert_eq!(told.text, "That is what I could find out about Paris.");
    let transcript = simulator.transcript();
    assert!(transcript.answers().all(|(_, _, standing)| standing == Standing::Accepted));
    assert_eq!(transcript.answers().count(), 2);

    session.send_text("Sing.").await.unwrap();
    assert_eq!(whole_turn(&mut session).await.sound, [0, 1, 2, 3, 4]);
    for _ in 0..3 {
        session.send_audio(&[0; 640]).await.unwrap();
    }
    let heard = whole_turn(&mut session).await;
    assert_eq!(heard.text, "I heard three frames.");
    session.close().await.unwrap();
    simulator.until_all_closed().await;
}

#[tokio::test]
async fn client_interrupts_and_its_call_is_cancelled() {
    let simulator = start(FOREIGN).await;
    let mut session = connect(&simulator).await;
    session.send_text("Do something slow.").await.unwrap();
    turn(&mut session, |turn| !turn.calls.is_empty()).await;
    session.send_text("Never mind.").await.unwrap();
    let cut = whole_turn(&mut session).await;
    assert_eq!(cut.cancelled, ["s1"]);
    assert!(cut.interrupted);

    session.send_text("Tell me a story.").await.unwrap();
    let begun = turn(&mut session, |turn| !turn.text.is_empty()).await;
    assert_eq!(begun.text, "And then 1. ");
    session.send_text("Stop!").await.unwrap();
    let cut = whole_turn(&mut session).await;
    assert!(cut.interrupted && !cut.text.contains("The end."));
}

#[tokio::test]
async fn client_resumes_with_newest_handle_after_go_away_and_close() {
    let simulator = start(
        r#"{"service": {"strict": true, "issues_handles": true}}
           {"on": {"text": "first"}, "send": [{"go_away": "5s"}]}
           {"on": {"text": "second"}, "send": [{"close": {"code": 1011, "reason": "Internal error encountered."}}]}
           {"on": {"setup": "resumed"}, "once": false, "send": [{"say": "Welcome back."}]}
           {"expect": {"no_handle": true}, "connection": 1}
           {"expect": {"handle": "handle-1"}, "connection": 2}
           {"expect": {"handle": "handle-3"}, "connection": 3}"#,
    )
    .await;
    let mut session = connect(&simulator).await;
    for said in ["The first thing.", "The second thing."] {
        session.send_text(said).await.unwrap();
        assert_eq!(whole_turn(&mut session).await.text, "Welcome back.");
        simulator
            .until(|transcript| {
                let newest = u32::try_from(transcript.connections()).unwrap();
                (1..newest).all(|old| transcript.is_closed(ConnectionId(old)))
            })
            .await;
    }
    assert!(simulator.unmet().is_empty(), "{:?}", simulator.unmet());
    session.close().await.unwrap();
    simulator.until_all_closed().await;
}

#[tokio::test]
async fn client_is_rejected_for_unknown_model_and_handle() {
    let simulator = start(FOREIGN).await;
    for (config, part) in [
        (
            config(&simulator, |setup| setup.model = "models/no-such-model".to_owned()),
            "is not found",
        ),
        (
            config(&simulator, |setup| {
                setup.session_resumption = Some(SessionResumptionConfig {
                    handle: Some("nobody-issued-this".to_owned()),
                });
            }),
            "invalid argument",
        ),
    ] {
        let refused = Session::connect(config).await;
        let Err(SessionError::SetupFailed(reason) | SessionError::Api(reason)) = refused else {
            panic!("expected a refusal");
        };
        assert!(reason.contains(part), "{reason}");
    }
}
