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
