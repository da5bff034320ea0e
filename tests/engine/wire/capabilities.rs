//! Fields that a model does not support are left off the wire, and the omission is recorded.

#![cfg(feature = "testing")]

use std::sync::Arc;

use async_trait::async_trait;
use recount::engine::{LiveBuilder, SessionConfig};
use recount::live::wire::{ClientMessage, FunctionResponse};
use recount::live::{Capabilities, ConnectError, Connection, Connector, Limits, Platform};
use recount::prelude::*;
use recount::session::{Connected, Event, Observation, Seq};
use recount::testing::ScriptedModel;
use recount::tool::DefaultResultFormatter;

const SCRIPT: &str = r#"
{"on": {"text": "go"}, "send": [{"call": [{"id": "c", "name": "search", "args": {"query": "rust"}}]}]}
{"on": {"text": "three pages"}, "send": [{"say": "Done."}]}
{"on": {"responses_to": ["c"]}, "send": [{"say": "Done."}]}
"#;

/// A scripted model behind another platform.
#[derive(Clone)]
struct Served(Platform, ScriptedModel);

#[async_trait]
impl Connector for Served {
    fn endpoint(&self) -> String {
        self.1.endpoint()
    }

    fn platform(&self) -> Platform {
        self.0
    }

    async fn connect(&self) -> Result<Connection, ConnectError> {
        self.1.connect().await
    }
}

fn heard_of_the_result(model: &ScriptedModel) -> bool {
    let transcript = model.transcript();
    let as_conversation = transcript
        .told()
        .any(|(_, words)| words.contains("three pages"));
    as_conversation || transcript.answers().count() == 2
}

/// One conversation with a background tool, up to its result.
struct Held {
    received: Vec<ClientMessage>,
    connected: Connected,
}

impl Held {
    async fn with(platform: Platform, model: &str) -> Held {
        let script = ScriptedModel::parse(SCRIPT).unwrap();
        let search = T::simple("search", "Searches", |_| async { Ok(json!("three pages")) });
        let ping = T::simple("ping", "Answers", |_| async { Ok(json!("pong")) });
        let live = Live::builder()
            .model(model)
            .tools(search | ping)
            .tool_background_with_scheduling("search", FunctionResponseScheduling::Interrupt)
            .connect_with(Served(platform, script.clone()))
            .await
            .unwrap();
        let mut updates = live.subscribe();
        live.send_text("go").await.unwrap();
        Held::until_heard(&live, &mut updates, &script).await
    }

    /// A conversation in which `search` is approved once the model knows that the call waits.
    async fn gated(platform: Platform, model: &str, described: LiveBuilder) -> Held {
        let script = ScriptedModel::parse(SCRIPT).unwrap();
        let live = described.model(model).strict();
        let live = live.connect_with(Served(platform, script.clone())).await;
        let live = live.unwrap();
        let mut updates = live.subscribe();
        live.send_text("go").await.unwrap();
        while script.transcript().answers().count() == 0 {
            updates.next().await.unwrap();
        }
        let request = live.pending().await.unwrap().remove(0).id;
        let (yes, ada) = (ToolConfirmation::confirmed(), Actor::embedder("ada"));
        live.answer(request, yes, ada).await.unwrap();
        Held::until_heard(&live, &mut updates, &script).await
    }

    async fn until_heard(live: &LiveHandle, updates: &mut Updates, script: &ScriptedModel) -> Held {
        // A record follows every message that is sent.
        while !heard_of_the_result(script) {
            updates.next().await.unwrap();
        }
        let ledger = live.engine().ledger();
        let facts = ledger.facts(live.session_id(), Seq(1), 100).await.unwrap();
        let connected = facts.into_iter().find_map(|fact| match fact.event {
            Event::Observed(Observation::Connected(it)) => Some(it),
            Event::Observed(_) | Event::Decided(_) => None,
        });
        let transcript = script.transcript();
        Held {
            received: transcript.received().map(|(_, it)| it.clone()).collect(),
            connected: connected.unwrap(),
        }
    }

    /// Each declared function, and its declared behavior.
    fn behaviors(&self) -> Vec<(String, Option<String>)> {
        let setup = self.received[0].setup.as_ref().unwrap();
        let declared = setup.tools[0].function_declarations.iter();
        declared
            .map(|it| (it.name.clone(), it.behavior.clone()))
            .collect()
    }

    fn responses(&self) -> Vec<FunctionResponse> {
        let sent = self
            .received
            .iter()
            .filter_map(|it| it.tool_response.as_ref());
        sent.flat_map(|it| it.function_responses.to_vec()).collect()
    }

    fn words(&self) -> String {
        let sent = self.received.iter().map(ClientMessage::encode);
        sent.filter(|it| !it.contains("toolResponse")).collect()
    }
}

#[tokio::test]
async fn a_model_with_async_tools_is_told_everything() {
    for (platform, model) in [
        (Platform::GoogleAi, "gemini-live-2.5-flash"),
        (Platform::GoogleAi, "gemini-3.8-live"),
        (Platform::Vertex, "gemini-3.8-live"),
    ] {
        let held = Held::with(platform, model).await;
        let said = |name: &str, behavior: &str| (name.to_owned(), Some(behavior.to_owned()));
        assert_eq!(
            held.behaviors(),
            [said("ping", "BLOCKING"), said("search", "NON_BLOCKING")]
        );
        let [running, result] = &held.responses()[..] else {
            panic!("{:?}", held.responses())
        };
        assert_eq!(
            (running.will_continue, &running.scheduling),
            (Some(true), &None)
        );
        assert_eq!(result.will_continue, Some(false));
        assert_eq!(result.scheduling.as_deref(), Some("INTERRUPT"));
        assert_eq!(
            held.connected.capabilities,
            Some(Capabilities::of(platform, model))
        );
        assert_eq!(held.connected.non_blocking, ["search"]);
    }
}

#[tokio::test]
async fn model_without_async_tools_gets_background_result_as_text() {
    for (platform, model, spoken_to) in [
        (Platform::Vertex, "gemini-live-2.5-flash", "clientContent"),
        (
            Platform::GoogleAi,
            "gemini-3.1-flash-live-preview",
            "realtimeInput",
        ),
    ] {
        let held = Held::with(platform, model).await;
        let unsaid = |name: &str| (name.to_owned(), None);
        assert_eq!(held.behaviors(), [unsaid("ping"), unsaid("search")]);
        let [running] = &held.responses()[..] else {
            panic!("{:?}", held.responses())
        };
        assert_eq!((running.will_continue, &running.scheduling), (None, &None));
        let told = running.response.as_ref().unwrap().to_string();
        assert_eq!(told, r#"{"status":"running","tool":"search"}"#);
        let words = held.words();
        assert!(
            words.contains(spoken_to) && words.contains("three pages"),
            "{words}"
        );
        let recorded = held.connected.capabilities.unwrap();
        assert!(!recorded.supports_async_tools() && !recorded.will_continue);
        assert!(held.connected.non_blocking.is_empty());
    }
}

fn gated_search() -> Toolset {
    let search = T::simple("search", "Searches", |_| async { Ok(json!("three pages")) });
    T::confirm(search, "Search?")
}

#[tokio::test]
async fn gated_call_is_acknowledged_and_outcome_is_a_response() {
    let described = Live::builder().tools(gated_search());
    let held = Held::gated(Platform::GoogleAi, "gemini-live-2.5-flash", described).await;
    let declared = ("search".to_owned(), Some("NON_BLOCKING".to_owned()));
    assert_eq!(held.behaviors(), [declared]);
    let [waits, outcome] = &held.responses()[..] else {
        panic!("{:?}", held.responses())
    };
    assert_eq!(
        waits.response.as_ref().unwrap().to_string(),
        r#"{"status":"awaiting_confirmation","tool":"search"}"#
    );
    assert_eq!(
        (waits.will_continue, outcome.will_continue),
        (Some(true), Some(false))
    );
    assert_eq!(held.connected.non_blocking, ["search"]);
}

#[tokio::test]
async fn model_without_async_tools_gets_gated_outcome_as_text() {
    for (platform, model, spoken_to) in [
        (Platform::Vertex, "gemini-live-2.5-flash", "clientContent"),
        (
            Platform::GoogleAi,
            "gemini-3.1-flash-live-preview",
            "realtimeInput",
        ),
    ] {
        let described = Live::builder().tools(gated_search());
        let held = Held::gated(platform, model, described).await;
        assert_eq!(held.behaviors(), [("search".to_owned(), None)]);
        let [waits] = &held.responses()[..] else {
            panic!("{:?}", held.responses())
        };
        assert_eq!((waits.will_continue, &waits.scheduling), (None, &None));
        assert_eq!(waits.id.as_deref(), Some("c"));
        let told = waits.response.as_ref().unwrap().to_string();
        assert_eq!(
            told,
            r#"{"status":"awaiting_confirmation","tool":"search"}"#
        );
        let words = held.words();
        assert!(
            words.contains(spoken_to) && words.contains("three pages"),
            "{words}"
        );
        assert!(held.connected.non_blocking.is_empty());
    }
}

/// A formatter with its own text for a call that waits.
struct Patient;

impl ResultFormatter for Patient {
    fn format_running(&self, call: &FunctionCall) -> Value {
        DefaultResultFormatter.format_running(call)
    }

    fn format_awaiting(&self, tool: &str) -> Value {
        json!({"status": "a colleague looks at it", "of": tool})
    }

    fn format_result(&self, call: &FunctionCall, result: Result<Value, ToolError>) -> Value {
        DefaultResultFormatter.format_result(call, result)
    }

    fn format_cancelled(&self, call_id: &str) -> Value {
        DefaultResultFormatter.format_cancelled(call_id)
    }
}

#[tokio::test]
async fn waiting_notice_uses_words_of_formatter_or_policy() {
    let in_background = ToolExecutionMode::Background {
        formatter: Some(Arc::new(Patient)),
        scheduling: None,
    };
    let by_formatter = || {
        let described = Live::builder().tools(gated_search());
        described.tool_execution_mode("search", in_background.clone())
    };
    let words = json!({"status": "one moment"});
    let by_policy = || Live::builder().tools(T::acknowledge(gated_search(), words.clone()));
    for (platform, more) in [(Platform::GoogleAi, Some(true)), (Platform::Vertex, None)] {
        for (described, expected) in [
            (
                by_formatter(),
                r#"{"of":"search","status":"a colleague looks at it"}"#,
            ),
            (by_policy(), r#"{"status":"one moment"}"#),
        ] {
            let held = Held::gated(platform, "gemini-live-2.5-flash", described).await;
            let waits = &held.responses()[0];
            let told = waits.response.as_ref().unwrap().to_string();
            assert_eq!((told.as_str(), waits.will_continue), (expected, more));
        }
    }
}

/// A scripted model whose messages may nest only four levels deep.
struct Shallow(ScriptedModel);

#[async_trait]
impl Connector for Shallow {
    fn endpoint(&self) -> String {
        self.0.endpoint()
    }

    fn limits(&self) -> Limits {
        Limits {
            json_depth_max: 4,
            ..Limits::default()
        }
    }

    async fn connect(&self) -> Result<Connection, ConnectError> {
        self.0.connect().await
    }
}

#[tokio::test]
async fn too_deeply_nested_frame_is_recorded_and_session_continues() {
    let script = r#"{"on": {"text": "go"}, "send": [{"say": "Too deep for words."}]}"#;
    let script = ScriptedModel::parse(script).unwrap();
    let live = Live::builder().model("m").connect_with(Shallow(script));
    let live = live.await.unwrap();
    let mut updates = live.subscribe();
    live.send_text("go").await.unwrap();
    let mut problems = Vec::new();
    loop {
        match &updates.next().await.unwrap().fact.event {
            Event::Observed(Observation::FrameRejected(it)) => problems.push(it.problem.clone()),
            Event::Observed(Observation::TurnCompleted(_)) => break,
            Event::Observed(_) | Event::Decided(_) => {}
        }
    }
    assert_eq!(
        problems,
        [
            "serverContent.modelTurn.parts[0]: expected at most 4 levels of objects and lists, \
            found more"
        ]
    );
}

#[test]
fn configuration_knows_if_model_continues_during_tool_run() {
    let model = ScriptedModel::parse(SCRIPT).unwrap();
    for (platform, supported) in [(Platform::GoogleAi, true), (Platform::Vertex, false)] {
        let connector = Served(platform, model.clone());
        let config = SessionConfig::new("gemini-live-2.5-flash", connector);
        assert_eq!(config.supports_async_tools(), supported);
    }
}
