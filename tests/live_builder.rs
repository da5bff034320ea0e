//! What is said while a session is described reaches the model, and what is wrong with it is told at once.
#![cfg(feature = "testing")]
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]

use recount::engine::LiveBuilder;
use recount::live::Modality;
use recount::prelude::*;
use recount::simulator::{Script, Simulator};
use recount::testing::ScriptedModel;

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

/// What the environment says counts for this process only, so a child of it connects.
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
        .args(["--exact", "a_child_connects_by_its_environment"])
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
