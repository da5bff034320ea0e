//! Audio and video bypass the journal: they reach listeners however busy the tools are, and only
//! their amount is recorded.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use recount::engine::{Error, LiveEvent};
use recount::live::wire::{Blob, Content, Part, ServerContent, ServerMessage, Transcription};
use recount::prelude::*;
use recount::session::{Event, Frames, MediaCounted, Observation, Seq, Speaker};
use recount::testing::ScriptedModel;
use tokio::sync::{broadcast, mpsc};

const SCRIPT: &str = r#"
{"on": {"text": "go"}, "send": [{"call": [{"id": "c", "name": "listen"}]}]}
{"on": {"responses_to": ["c"]}, "send": [{"say": "Heard."}]}
{"on": "otherwise", "send": [{"say": "Yes."}]}
"#;

fn content(content: ServerContent) -> ServerMessage {
    ServerMessage {
        server_content: Some(content),
        ..ServerMessage::default()
    }
}

/// An audio frame of the model.
fn audio(bytes: &[u8]) -> ServerMessage {
    piece("audio/pcm;rate=24000", bytes)
}

fn piece(mime_type: &str, bytes: &[u8]) -> ServerMessage {
    let part = Part {
        inline_data: Some(Blob::of(mime_type, bytes)),
        ..Part::default()
    };
    content(ServerContent {
        model_turn: Some(Content {
            role: Some("model".to_owned()),
            parts: vec![part].into(),
            ..Content::default()
        }),
        ..ServerContent::default()
    })
}

fn interrupted() -> ServerMessage {
    content(ServerContent {
        interrupted: Some(true),
        ..ServerContent::default()
    })
}

fn spoken(text: &str) -> ServerMessage {
    let transcription = Transcription {
        text: Some(text.to_owned()),
        ..Transcription::default()
    };
    content(ServerContent {
        output_transcription: Some(transcription),
        ..ServerContent::default()
    })
}

async fn connected(live: recount::engine::LiveBuilder) -> (LiveHandle, ScriptedModel) {
    let model = ScriptedModel::parse(SCRIPT).unwrap();
    let live = live.model("m").connect_with(model.clone()).await.unwrap();
    (live, model)
}

async fn counted(live: &LiveHandle) -> Vec<MediaCounted> {
    let ledger = live.engine().ledger();
    let facts = ledger.facts(live.session_id(), Seq(1), 5000).await.unwrap();
    let counts = facts.into_iter().filter_map(|fact| match fact.event {
        Event::Observed(Observation::MediaCounted(it)) => Some(it),
        Event::Observed(_) | Event::Decided(_) => None,
    });
    counts.collect()
}

fn frames(frames: u64, bytes: u64) -> Frames {
    Frames { frames, bytes }
}

#[tokio::test]
async fn audio_is_delivered_in_order_and_only_its_amount_recorded() {
    let (live, model) = connected(Live::builder()).await;
    let (mut heard, mut updates) = (live.listen(), live.subscribe());
    for piece in [[1_u8; 4], [2; 4], [3; 4]] {
        model.send(&audio(&piece));
    }
    model.send(&spoken("Hello."));
    model.send(&ServerMessage::turn_complete());
    let mut said = Vec::new();
    loop {
        match heard.next().await.unwrap() {
            LiveEvent::Audio { mime_type, data } => {
                assert_eq!(&*mime_type, "audio/pcm;rate=24000");
                said.push(data[0]);
            }
            LiveEvent::Transcript { speaker, text } => {
                assert_eq!((speaker, &*text), (Speaker::Model, "Hello."));
            }
            LiveEvent::TurnComplete => break,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(said, [1, 2, 3]);
    let ended = updates.wait_for(|event| event.kind() == "turn_completed");
    assert!(ended.await.is_some());
    let counts = counted(&live).await;
    assert_eq!(counts.len(), 1);
    assert_eq!(counts[0].heard.audio, frames(3, 12));
    assert!(counts[0].sent.is_none());
    let ledger = live.engine().ledger();
    let facts = ledger.facts(live.session_id(), Seq(1), 1000).await.unwrap();
    let kinds: Vec<&str> = facts.iter().map(|fact| fact.event.kind()).collect();
    let end = [
        "connected",
        "transcript_received",
        "media_counted",
        "turn_completed",
    ];
    assert!(kinds.ends_with(&end), "{kinds:?}");
}

#[tokio::test]
async fn a_picture_that_the_model_shows_is_one_and_is_counted_as_one() {
    let (live, model) = connected(Live::builder()).await;
    let (mut heard, mut updates) = (live.listen(), live.subscribe());
    model.send(&piece("image/png", &[1; 9]));
    model.send(&ServerMessage::turn_complete());
    match heard.next().await.unwrap() {
        LiveEvent::Video { mime_type, data } => {
            assert_eq!((&*mime_type, data.len()), ("image/png", 9));
        }
        other => panic!("{other:?}"),
    }
    let ended = updates.wait_for(|event| event.kind() == "turn_completed");
    assert!(ended.await.is_some());
    let counts = counted(&live).await;
    assert_eq!(counts[0].heard.video, frames(1, 9));
    assert_eq!(counts[0].heard.audio, frames(0, 0));
}

#[tokio::test]
async fn user_media_reaches_model_in_order_and_is_counted() {
    let (live, model) = connected(Live::builder().manual_activity()).await;
    let mut updates = live.subscribe();
    live.activity_start().await.unwrap();
    live.send_audio(vec![1_u8; 640]).await.unwrap();
    live.send_audio(&[2_u8; 640][..]).await.unwrap();
    live.send_video("image/jpeg", vec![3_u8; 100])
        .await
        .unwrap();
    live.activity_end().await.unwrap();
    live.audio_stream_end().await.unwrap();
    live.send_text("Well?").await.unwrap();
    assert_eq!(updates.turn().await.as_deref(), Some("Yes."));
    let transcript = model.transcript();
    let inputs: Vec<Value> = transcript
        .received()
        .map(|(_, message)| serde_json::from_str(&message.encode()).unwrap())
        .collect();
    let setup = &inputs[0]["setup"]["realtimeInputConfig"];
    assert_eq!(
        setup,
        &json!({"automaticActivityDetection": {"disabled": true}})
    );
    let realtime = inputs.iter().filter_map(|it| it.get("realtimeInput"));
    let names: Vec<&str> = realtime
        .clone()
        .map(|it| it.as_object().unwrap().keys().next().unwrap().as_str())
        .collect();
    assert_eq!(
        names,
        [
            "activityStart",
            "audio",
            "audio",
            "video",
            "activityEnd",
            "audioStreamEnd"
        ]
    );
    let first = realtime.clone().nth(1).unwrap();
    assert_eq!(first["audio"]["mimeType"], "audio/pcm;rate=16000");
    let counts = counted(&live).await;
    assert_eq!(counts[0].sent.audio, frames(2, 1280));
    assert_eq!(counts[0].sent.video, frames(1, 100));
}

#[tokio::test]
async fn media_is_counted_per_turn_and_rest_at_connection_end() {
    let (live, model) = connected(Live::builder()).await;
    let mut updates = live.subscribe();
    for count in [2, 1] {
        for _ in 0..count {
            model.send(&audio(&[0; 10]));
        }
        model.send(&interrupted());
        model.send(&ServerMessage::turn_complete());
    }
    model.send(&audio(&[0; 7]));
    model.drop_connection(1011, "Internal error encountered.");
    let lost = updates.wait_for(|event| event.kind() == "disconnected");
    assert!(lost.await.is_some());
    let counts = counted(&live).await;
    let heard: Vec<Frames> = counts.iter().map(|it| it.heard.audio).collect();
    assert_eq!(heard, [frames(2, 20), frames(1, 10), frames(1, 7)]);
    let ledger = live.engine().ledger();
    let facts = ledger.facts(live.session_id(), Seq(1), 1000).await.unwrap();
    let kinds: Vec<&str> = facts.iter().map(|fact| fact.event.kind()).collect();
    // Each count precedes the record that ended its turn: the interruption, not the record after
    // it.
    let turn = ["media_counted", "turn_interrupted", "turn_completed"];
    let rest = ["media_counted", "disconnected", "reconnect_scheduled"];
    assert_eq!(kinds[3..], [&turn[..], &turn, &rest].concat());
}

#[tokio::test]
async fn without_a_connection_nothing_is_sent() {
    let (live, _) = connected(Live::builder()).await;
    live.disconnect().await.unwrap();
    let refused = live.send_audio(vec![0_u8; 640]).await;
    assert!(matches!(refused, Err(Error::NotConnected { .. })));
}

/// A tool that yields each input event until the user stops speaking.
struct Hears;

#[async_trait]
impl InputStreamingTool for Hears {
    fn name(&self) -> &str {
        "listen"
    }
    fn description(&self) -> &str {
        "Listens"
    }
    fn parameters(&self) -> Option<Value> {
        None
    }
    async fn run(
        &self,
        _: Value,
        mut input_rx: broadcast::Receiver<InputEvent>,
        yield_tx: mpsc::Sender<Value>,
    ) -> Result<(), ToolError> {
        let yield_tx = &yield_tx;
        let tell = |told: Value| async move {
            let told = yield_tx.send(told).await;
            told.map_err(|error| ToolError::ExecutionFailed(error.to_string()))
        };
        tell(json!("listening")).await?;
        while let Ok(event) = input_rx.recv().await {
            tell(json!(format!("{event:?}"))).await?;
            if event == InputEvent::ActivityEnd {
                break;
            }
        }
        Ok(())
    }
}

#[tokio::test]
async fn a_tool_hears_what_the_user_says_shows_writes_and_does() {
    let (live, model) = connected(Live::builder().tools(T::input_streaming(Arc::new(Hears)))).await;
    let mut updates = live.subscribe();
    live.send_text("go").await.unwrap();
    updates
        .wait_for(|event| event.kind() == "tool_yielded")
        .await;
    live.activity_start().await.unwrap();
    live.send_audio(vec![0_u8; 640]).await.unwrap();
    live.send_video("image/png", vec![0_u8; 9]).await.unwrap();
    live.send_text("This one.").await.unwrap();
    live.activity_end().await.unwrap();
    let heard = |event: &Event| {
        matches!(event,
        Event::Observed(Observation::ModelOutputReceived(it)) if it.text == "Heard.")
    };
    assert!(updates.wait_for(heard).await.is_some());
    let transcript = model.transcript();
    let told = transcript.answers().map(|(_, answer, _)| {
        let response: Value = answer.response.as_ref().unwrap().to().unwrap();
        response["output"].as_str().unwrap_or_default().to_owned()
    });
    let told: Vec<String> = told.collect();
    assert_eq!(
        told[1..6],
        [
            "ActivityStart",
            "Audio(audio/pcm;rate=16000, 640 bytes)",
            "Video(image/png, 9 bytes)",
            "Text(9 bytes)",
            "ActivityEnd"
        ]
    );
}

#[tokio::test]
async fn audio_passes_while_the_session_cannot_write_its_journal() {
    let journals = recount::testing::StuckJournal::new();
    let engine = Engine::in_memory().journal(journals.clone());
    let engine = engine.open().await.unwrap();
    let (live, model) = connected(Live::builder().engine(&engine)).await;
    let mut heard = live.listen();
    journals.stick();
    // More messages than any queue of the session holds. None is recorded before the audio is
    // delivered.
    for _ in 0..1000 {
        model.send(&spoken("and"));
    }
    // More audio than the session's inbox holds, which audio does not enter.
    for _ in 0..100 {
        model.send(&audio(&[0; 64 * 1024]));
    }
    model.send(&audio(&[7; 3]));
    loop {
        match heard.next().await.unwrap() {
            LiveEvent::Audio { data, .. } if data.len() > 3 => {}
            LiveEvent::Audio { data, .. } => break assert_eq!(data[..], [7; 3]),
            LiveEvent::Transcript { .. } | LiveEvent::Lagged(_) => {}
            other => panic!("{other:?}"),
        }
    }
    let mut updates = live.subscribe();
    journals.release();
    model.send(&ServerMessage::turn_complete());
    let ended = updates.wait_for(|event| event.kind() == "turn_completed");
    assert!(ended.await.is_some());
    let all = frames(101, 100 * 64 * 1024 + 3);
    assert_eq!(counted(&live).await[0].heard.audio, all);
}

#[tokio::test]
async fn callbacks_get_conversation_and_survive_a_panic() {
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let tell = |what: &'static str| {
        let told = told.clone();
        move |text: &str| told.lock().unwrap().push(format!("{what}: {text}"))
    };
    let (text, error) = (tell("text"), tell("error"));
    let (transcript, audio_said) = (tell("transcript"), tell("audio"));
    let (turn, interruption) = (tell("turn"), tell("interrupted"));
    let builder = Live::builder()
        .on_text(move |it| {
            text(it);
            assert_ne!(it, "Yes.", "the first text makes it panic");
        })
        .on_audio(move |it| audio_said(&it.len().to_string()))
        .on_transcript(move |speaker, it| transcript(&format!("{speaker:?} {it}")))
        .on_interrupted(move || interruption(""))
        .on_turn_complete(move || turn(""))
        .on_error(move |it| error(it));
    let (live, model) = connected(builder).await;
    let mut updates = live.subscribe();
    live.send_text("Hello").await.unwrap();
    updates.turn().await;
    model.send(&ServerMessage::text("More."));
    model.send(&audio(&[0; 5]));
    model.send(&spoken("aloud"));
    model.send(&interrupted());
    model.send(&ServerMessage::turn_complete());
    model.drop_connection(1011, "Internal error encountered.");
    let expected = [
        "text: Yes.",
        "turn: ",
        "text: More.",
        "audio: 5",
        "transcript: Model aloud",
        "interrupted: ",
        "turn: ",
        "error: the connection was lost with code 1011: Internal error encountered.",
    ];
    // A task of their own runs the callbacks.
    while told.lock().unwrap().len() < expected.len() {
        tokio::task::yield_now().await;
    }
    assert_eq!(*told.lock().unwrap(), expected);
}

#[tokio::test]
async fn lagging_listener_is_told_and_ends_with_session() {
    let (live, model) = connected(Live::builder()).await;
    let mut heard = live.listen();
    let mut updates = live.subscribe();
    for _ in 0..1000 {
        model.send(&audio(&[0; 2]));
    }
    model.send(&ServerMessage::turn_complete());
    updates
        .wait_for(|event| event.kind() == "turn_completed")
        .await;
    assert!(matches!(heard.next().await, Some(LiveEvent::Lagged(lost)) if lost > 0));
    live.engine()
        .shutdown(std::time::Duration::ZERO)
        .await
        .unwrap();
    while let Some(event) = heard.next().await {
        assert!(matches!(
            event,
            LiveEvent::Audio { .. } | LiveEvent::TurnComplete
        ));
    }
}
