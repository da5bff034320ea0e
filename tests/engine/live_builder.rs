//! The settings of a session builder reach the model, and mistakes are reported at once.

use recount::engine::{Error, LiveBuilder};
use recount::live::Modality;
use recount::prelude::*;
use recount::session::{Decision, Event, Seq};
use recount::simulator::{Script, Simulator};
use recount::testing::ScriptedModel;
use recount::tool::ToolExecutionMode;

async fn setup_of(builder: LiveBuilder) -> Value {
    let model = ScriptedModel::parse("").unwrap();
    let live = builder.model("m").connect_with(model.clone()).await;
    live.unwrap();
    let transcript = model.transcript();
    let (_, first) = transcript.received().next().unwrap();
    let sent: Value = serde_json::from_str(&first.encode()).unwrap();
    sent["setup"].clone()
}

#[tokio::test]
async fn voice_language_and_transcription_stand_in_the_setup() {
    let builder = Live::builder()
        .instruction("You are the support desk.")
        .voice("Kore")
        .language("de-DE")
        .transcription();
    let setup = setup_of(builder).await;
    assert_eq!(
        setup["generationConfig"],
        json!({
            "responseModalities": ["AUDIO"],
            "speechConfig": {
                "languageCode": "de-DE",
                "voiceConfig": {"prebuiltVoiceConfig": {"voiceName": "Kore"}},
            },
        })
    );
    assert_eq!(setup["inputAudioTranscription"], json!({}));
    assert_eq!(setup["outputAudioTranscription"], json!({}));
    let instruction = &setup["systemInstruction"]["parts"][0]["text"];
    assert_eq!(instruction, "You are the support desk.");
    let written = setup_of(Live::builder()).await;
    let text = json!({"responseModalities": ["TEXT"]});
    assert_eq!(written["generationConfig"], text);
    let aloud = setup_of(Live::builder().modality(Modality::Audio)).await;
    let audio = json!({"responseModalities": ["AUDIO"]});
    assert_eq!(aloud["generationConfig"], audio);
}

#[tokio::test]
async fn every_mistake_of_the_configuration_is_told_at_once() {
    let tool = |name: &str| T::simple(name, "Does something", |_| async { Ok(json!({})) });
    let refused = Live::builder()
        .tools(tool("search"))
        .tool_background("serach")
        .tool_background_with_scheduling("lookup", FunctionResponseScheduling::Silent)
        .voice("Kore")
        .modality(Modality::Text)
        .sealed()
        .connect_with(ScriptedModel::parse("").unwrap())
        .await;
    let told = refused.map(drop).unwrap_err().to_string();
    for mistake in [
        "\"serach\"",
        "\"lookup\"",
        "Kore",
        "no model",
        "no key store",
    ] {
        assert!(told.contains(mistake), "{mistake} in {told}");
    }
}

#[tokio::test]
async fn so_are_those_of_tools_modes_and_endpoint() {
    let tool = |name: &str| T::simple(name, "Does something", |_| async { Ok(json!({})) });
    let refused = Live::builder()
        .model("m")
        .tools(tool("search") | tool("search") | tool("no name"))
        .tool_execution_mode("lookup", ToolExecutionMode::Standard)
        .connect_vertex("", "us central", "token");
    let Err(Error::Configuration { mistakes }) = refused.await else {
        panic!("it takes everything");
    };
    assert_eq!(mistakes.len(), 5, "{mistakes:#?}");
    for (mistake, said) in mistakes.iter().zip([
        "\"lookup\", so nothing can be said of how it is executed; there are no name, search",
        "\"search\" is registered twice",
        "\"no name\": expected a name",
        "expected a location",
        "expected the id of a project",
    ]) {
        assert!(mistake.contains(said), "{said} in {mistake}");
    }
}

#[tokio::test]
async fn settings_of_given_engine_are_reported_with_other_mistakes() {
    let directory = tempfile::tempdir().unwrap();
    let engine = Engine::in_memory().open().await.unwrap();
    let described = || Live::builder().model("m").engine(&engine);
    let beside = directory.path().join("journal");
    let refused = described().journal(&beside).tool_background("search");
    let refused = refused.connect_to("nowhere").await.map(drop).unwrap_err();
    let told = refused.to_string();
    for mistake in ["leave out .journal(…)", "no tools", "wss://"] {
        assert!(told.contains(mistake), "{mistake} in {told}");
    }
    assert!(!beside.exists());
    let model = || ScriptedModel::parse("").unwrap();
    described().connect_with(model()).await.unwrap();
    let refused = described().connect_with(model()).await;
    let told = refused.map(drop).unwrap_err().to_string();
    assert!(told.contains("engine.session(\"live\")"), "{told}");
}

#[tokio::test]
async fn waived_gates_let_call_run_and_record_has_reason() {
    let directory = tempfile::tempdir().unwrap();
    let pay = || T::simple("pay", "Pays", |_| async { Ok(json!({"paid": true})) });
    let described = |journal: &str| {
        let builder = Live::builder().model("m").tools(T::confirm(pay(), "Pay?"));
        builder.journal(directory.path().join(journal))
    };
    let model = || ScriptedModel::parse("").unwrap();
    let live = described("chosen").unenforced_confirmations();
    let live = live.connect_with(model()).await.unwrap();
    assert_eq!(paid_or_asked(&live).await, Some(json!({"paid": true})));
    let facts = live.engine().ledger().facts(live.session_id(), Seq(1), 100);
    let facts = facts.await.unwrap();
    let waived = facts.iter().find_map(|fact| match &fact.event {
        Event::Decided(Decision::GateWaived(it)) => Some(it.reason.as_str()),
        Event::Decided(_) | Event::Observed(_) => None,
    });
    assert_eq!(
        waived,
        Some("the embedding program chose unenforced confirmations")
    );
    let live = described("default").connect_with(model()).await.unwrap();
    assert_eq!(paid_or_asked(&live).await, None);
}

/// The result of a call of `pay`, or `None` if an approver is asked first.
async fn paid_or_asked(live: &LiveHandle) -> Option<Value> {
    let mut updates = live.subscribe();
    let asked = |event: &Event| event.kind() == "confirmation_requested";
    tokio::select! {
        paid = live.call_function("pay", json!({}), Actor::embedder("pipeline")) => paid.ok(),
        _ = updates.wait_for(asked) => None,
    }
}

/// Set for a child that connects by environment variables, which hold for a whole process.
const CHILD: &str = "RECOUNT_CHILD_CONNECTS";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_environment_says_where_to_connect() {
    let script = Script::parse(r#"{"on": "any_text", "send": [{"say": "Hello."}]}"#).unwrap();
    let simulator = Simulator::start(script)
        .listen("127.0.0.1:0")
        .await
        .unwrap();
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child
        .args([
            "--exact",
            "live_builder::a_child_connects_by_its_environment",
        ])
        .env_remove("GOOGLE_GENAI_USE_VERTEXAI")
        .env("GOOGLE_API_KEY", "a-key")
        .env("GOOGLE_GEMINI_BASE_URL", simulator.url())
        .env(CHILD, "1");
    let ended = tokio::task::spawn_blocking(move || child.output()).await;
    let output = ended.unwrap().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}");
    assert_eq!(simulator.transcript().connections(), 1);
}

#[tokio::test]
async fn a_child_connects_by_its_environment() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let live = Live::builder().model("m").connect_from_env().await.unwrap();
    let mut updates = live.subscribe();
    live.send_text("Hi").await.unwrap();
    assert_eq!(updates.turn().await.as_deref(), Some("Hello."));
}
