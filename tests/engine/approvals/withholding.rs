//! Withheld input: if an agent wants it, a model that waits for a response gets no live input.
//!
//! The tests read what the scripted model received.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use recount::engine::{Listener, LiveBuilder, LiveEvent};
use recount::live::wire::ServerMessage;
use recount::live::{ConnectError, Connection, ConnectionLost, Connector, FrameSender};
use recount::prelude::*;
use recount::session::{Event, Frames, MediaCounted, Observation, Seq};
use recount::simulator::Event as Heard;
use recount::testing::{ManualClock, ScriptedModel};
use tokio::sync::{Mutex, Notify, mpsc};

/// A model that makes calls, and tools that end when a test says so.
struct Stage {
    model: ScriptedModel,
    /// The lock of the line to the model. While it is held, no frame is sent.
    line: Arc<Mutex<()>>,
    live: LiveHandle,
    heard: Listener,
    release: Arc<Notify>,
    found: Arc<Notify>,
    step: Arc<Notify>,
}

const CALLS: &str = r#"
{"on": {"text": "go"}, "connection": 1, "send": [{"call": [{"id": "p", "name": "pay"}]}]}
{"on": {"responses_to": ["p"]}, "send": [{"say": "Paid."}]}
{"on": {"text": "look"}, "send": [{"call": [{"id": "s", "name": "search"}]}]}
{"on": {"text": "watch"}, "send": [{"call": [{"id": "w", "name": "watch"}, {"id": "p", "name": "pay"}]}]}
{"on": {"text": "both"}, "send": [{"call": [{"id": "s", "name": "search"}, {"id": "p", "name": "pay"}]}]}
{"on": "otherwise", "once": false, "send": [{"say": "Well."}]}
"#;

impl Stage {
    async fn new(model_name: &str, with: impl FnOnce(LiveBuilder) -> LiveBuilder) -> Stage {
        let [release, found, step] = [(); 3].map(|()| Arc::new(Notify::new()));
        let (paid, searched) = (release.clone(), found.clone());
        let pay = T::simple("pay", "Pays, as soon as it is told to", move |_| {
            let paid = paid.clone();
            async move {
                paid.notified().await;
                Ok(json!({"paid": true}))
            }
        });
        let search = T::simple("search", "Searches until it is told to end", move |_| {
            let searched = searched.clone();
            async move {
                searched.notified().await;
                Ok(json!({"pages": 3}))
            }
        });
        let watch = T::streaming(Arc::new(Watch(step.clone())));
        let model = ScriptedModel::parse(CALLS).unwrap();
        let line: Arc<Mutex<()>> = Arc::default();
        let live = Live::builder()
            .model(model_name)
            .tools(pay | search | watch);
        let live = with(live.tool_background("search"));
        let live = live.connect_with(Line(model.clone(), line.clone()));
        let live = live.await.unwrap();
        Stage {
            heard: live.listen(),
            model,
            line,
            live,
            release,
            found,
            step,
        }
    }

    async fn withholding(model_name: &str) -> Stage {
        Stage::new(model_name, LiveBuilder::withhold_input_during_calls).await
    }

    async fn say(&self, text: &str) {
        self.live.send_text(text).await.unwrap();
        settle().await;
    }

    async fn speak(&self, pieces: usize) {
        for _ in 0..pieces {
            self.live.send_audio(vec![0_u8; 640]).await.unwrap();
        }
        settle().await;
    }

    async fn release(&self) {
        self.release.notify_one();
        settle().await;
    }

    /// Makes `watch` yield its next result.
    async fn step(&self) {
        self.step.notify_one();
        settle().await;
    }

    async fn take_back(&self, id: &str) {
        self.model.send(&ServerMessage::cancel([id]));
        settle().await;
    }

    /// The messages between the model and the engine, one word each; a text is kept whole.
    fn passed(&self) -> Vec<String> {
        let transcript = self.model.transcript();
        let entries = transcript.entries().iter();
        let words = entries.filter_map(|entry| match &entry.event {
            Heard::Received { message, .. } => {
                let message: Value = serde_json::from_str(&message.encode()).unwrap();
                let (kind, body) = message.as_object().unwrap().iter().next().unwrap();
                let field = body.as_object().unwrap().iter().next().unwrap();
                match (kind.as_str(), field.0.as_str()) {
                    ("realtimeInput", "text") => Some(field.1.as_str().unwrap().to_owned()),
                    ("realtimeInput", field) => Some(field.to_owned()),
                    ("toolResponse", _) => Some(format!("response to {}", field.1[0]["id"])),
                    _ => None,
                }
            }
            Heard::Sent(message) => message.tool_call.as_ref().map(|_| "call".to_owned()),
            Heard::Connected
            | Heard::Unreadable { .. }
            | Heard::SentRaw(_)
            | Heard::Closed { .. } => None,
        });
        words.collect()
    }

    /// The withholding events of the listener: `true` where it started, `false` where it ended.
    async fn told(&mut self) -> Vec<bool> {
        let mut told = Vec::new();
        let soon = Duration::from_millis(1);
        while let Ok(Some(event)) = tokio::time::timeout(soon, self.heard.next()).await {
            if event == LiveEvent::InputWithheld {
                told.push(true);
            } else if event == LiveEvent::InputResumed {
                told.push(false);
            }
        }
        told
    }

    async fn counted(&self) -> Vec<MediaCounted> {
        let ledger = self.live.engine().ledger();
        let facts = ledger.facts(self.live.session_id(), Seq(1), 1000).await;
        let counts = facts
            .unwrap()
            .into_iter()
            .filter_map(|fact| match fact.event {
                Event::Observed(Observation::MediaCounted(it)) => Some(it),
                Event::Observed(_) | Event::Decided(_) => None,
            });
        counts.collect()
    }
}

/// A tool that yields a result at each notification.
struct Watch(Arc<Notify>);

#[async_trait]
impl StreamingTool for Watch {
    fn name(&self) -> &str {
        "watch"
    }
    fn description(&self) -> &str {
        "Tells what it sees"
    }
    fn parameters(&self) -> Option<Value> {
        None
    }
    async fn run(&self, _: Value, yield_tx: mpsc::Sender<Value>) -> Result<(), ToolError> {
        for seen in 1.. {
            self.0.notified().await;
            let told = yield_tx.send(json!({ "seen": seen })).await;
            told.map_err(|error| ToolError::ExecutionFailed(error.to_string()))?;
        }
        Ok(())
    }
}

/// A connector whose frames wait for a lock.
struct Line(ScriptedModel, Arc<Mutex<()>>);

#[async_trait]
impl Connector for Line {
    fn endpoint(&self) -> String {
        self.0.endpoint()
    }

    async fn connect(&self) -> Result<Connection, ConnectError> {
        let Connection { sender, receiver } = self.0.connect().await?;
        let sender = Box::new(OverLine(sender, self.1.clone()));
        Ok(Connection { sender, receiver })
    }
}

struct OverLine(Box<dyn FrameSender>, Arc<Mutex<()>>);

#[async_trait]
impl FrameSender for OverLine {
    async fn send(&mut self, frame: String) -> Result<(), ConnectionLost> {
        let _free = self.1.lock().await;
        self.0.send(frame).await
    }

    async fn close(&mut self) {
        self.0.close().await;
    }
}

/// Yields until all tasks are idle.
async fn settle() {
    for _ in 0..500 {
        tokio::task::yield_now().await;
    }
}

fn frames(frames: u64, bytes: u64) -> Frames {
    Frames { frames, bytes }
}

const OLDER: &str = "gemini-2.5-flash-native-audio";
const SYNCHRONOUS: &str = "gemini-3.1-flash-live-preview";

#[tokio::test(start_paused = true)]
async fn input_between_call_and_response_is_dropped_and_counted() {
    let mut stage = Stage::withholding(OLDER).await;
    stage.speak(1).await;
    stage.say("go").await;
    assert!(stage.live.withholds_input());
    stage.speak(3).await;
    stage.live.send_video("image/jpeg", [0; 9]).await.unwrap();
    settle().await;
    stage.release().await;
    assert!(!stage.live.withholds_input());
    stage.speak(2).await;
    let around = ["audio", "call", "response to \"p\"", "audio", "audio"];
    assert_eq!(stage.passed(), around);
    assert_eq!(stage.told().await, [true, false]);
    let counts = stage.counted().await;
    assert_eq!(counts[0].sent.audio, frames(1, 640));
    assert_eq!(counts[0].withheld.audio, frames(3, 1920));
    assert_eq!(counts[0].withheld.video, frames(1, 9));
}

#[tokio::test(start_paused = true)]
async fn input_is_not_withheld_by_default() {
    let mut stage = Stage::new(OLDER, |live| live).await;
    stage.say("go").await;
    stage.speak(1).await;
    assert!(!stage.live.withholds_input());
    assert_eq!(stage.passed(), ["call", "audio"]);
    assert!(stage.told().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_call_in_the_background_keeps_nothing_away() {
    let mut stage = Stage::withholding(OLDER).await;
    stage.say("look").await;
    stage.speak(1).await;
    assert_eq!(stage.passed().last().unwrap(), "audio");
    assert!(stage.told().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_acknowledgement_is_the_response_to_a_model_that_takes_one() {
    let stage = Stage::withholding(SYNCHRONOUS).await;
    stage.say("look").await;
    stage.speak(1).await;
    assert_eq!(stage.passed()[1..], ["call", "response to \"s\"", "audio"]);
}

#[tokio::test(start_paused = true)]
async fn started_activity_ends_and_next_activity_starts_late() {
    let manual = |live: LiveBuilder| live.manual_activity().withhold_input_during_calls();
    let stage = Stage::new(OLDER, manual).await;
    stage.live.activity_start().await.unwrap();
    stage.speak(1).await;
    stage.say("go").await;
    stage.live.activity_end().await.unwrap();
    stage.live.activity_start().await.unwrap();
    stage.speak(1).await;
    stage.release().await;
    stage.speak(1).await;
    stage.live.activity_end().await.unwrap();
    settle().await;
    let passed = [
        "activityStart",
        "audio",
        "call",
        "activityEnd",
        "response to \"p\"",
        "activityStart",
        "audio",
        "activityEnd",
    ];
    assert_eq!(stage.passed(), passed);
}

#[tokio::test(start_paused = true)]
async fn audio_end_during_withholding_is_sent_afterwards() {
    for speaks_on in [false, true] {
        let stage = Stage::withholding(OLDER).await;
        stage.speak(1).await;
        stage.say("go").await;
        stage.live.audio_stream_end().await.unwrap();
        settle().await;
        assert_eq!(stage.passed(), ["audio", "call"]);
        if speaks_on {
            stage.speak(1).await;
        }
        stage.release().await;
        let ended = ["audio", "call", "response to \"p\"", "audioStreamEnd"];
        assert_eq!(stage.passed(), ended);
        stage.speak(1).await;
        stage.live.audio_stream_end().await.unwrap();
        settle().await;
        assert_eq!(stage.passed()[4..], ["audio", "audioStreamEnd"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_time_is_up_keeps_nothing_away_any_more() {
    let model = ScriptedModel::parse(CALLS).unwrap();
    let clock = ManualClock::new();
    let pay = T::simple("pay", "Never ends", |_| std::future::pending());
    let agent = Agent::new()
        .model(OLDER)
        .tools(T::timeout(pay, Duration::from_secs(5)))
        .withhold_input_during_calls()
        .connect_to(model.clone());
    let engine = Engine::in_memory().clock(clock.clone()).agent("a", agent);
    let engine = engine.open().await.unwrap();
    let live = engine.session("a").connect().await.unwrap();
    live.send_text("go").await.unwrap();
    settle().await;
    live.send_audio(vec![0_u8; 640]).await.unwrap();
    settle().await;
    assert!(live.withholds_input());
    clock.advance(Duration::from_secs(6));
    settle().await;
    assert!(!live.withholds_input());
    live.send_audio(vec![1_u8; 640]).await.unwrap();
    settle().await;
    let transcript = model.transcript();
    let received = transcript
        .entries()
        .iter()
        .filter_map(|it| match &it.event {
            Heard::Received { message, .. } => Some(message.encode()),
            Heard::Connected
            | Heard::Unreadable { .. }
            | Heard::Sent(_)
            | Heard::SentRaw(_)
            | Heard::Closed { .. } => None,
        });
    let received: Vec<String> = received.collect();
    let [.., answer, audio] = &received[..] else {
        unreachable!("both were received");
    };
    assert!(answer.contains(r#""kind":"timeout""#), "{received:?}");
    assert!(audio.contains(r#""audio""#), "{received:?}");
    assert_eq!(
        received
            .iter()
            .filter(|it| it.contains("audio/pcm"))
            .count(),
        1
    );
}

#[tokio::test(start_paused = true)]
async fn withheld_text_about_cancelled_call_is_not_sent() {
    for taken_back in [false, true] {
        let stage = Stage::withholding(SYNCHRONOUS).await;
        stage.say("watch").await;
        // The model accepts one response only, the first; the second result waits as text.
        stage.step().await;
        stage.step().await;
        let waits = ["watch", "call", "response to \"w\""];
        assert_eq!(stage.passed(), waits);
        if taken_back {
            stage.take_back("w").await;
        }
        stage.release().await;
        let passed = stage.passed();
        assert_eq!(passed[3], "response to \"p\"");
        let said = passed[4..].iter().any(|it| it.contains("\"seen\":2"));
        assert_eq!(said, !taken_back, "{passed:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn outcome_in_flight_at_cancellation_is_sent_as_text() {
    let stage = Stage::withholding(SYNCHRONOUS).await;
    stage.say("watch").await;
    let line = stage.line.clone();
    let busy = line.lock().await;
    stage.release().await;
    stage.take_back("p").await;
    drop(busy);
    settle().await;
    // The response left too late, so the model ignored it. Later output of the service does not
    // prove otherwise.
    assert_eq!(stage.passed(), ["watch", "call", "response to \"p\""]);
    stage.model.send(&ServerMessage::text("And"));
    settle().await;
    stage.step().await;
    let passed = stage.passed();
    assert_eq!(passed[3], "response to \"w\"");
    assert!(passed[4].contains("\"paid\":true"), "{passed:?}");
    assert_eq!(passed.len(), 5, "it is said once");
}

#[tokio::test(start_paused = true)]
async fn words_wait_for_the_response_where_they_are_live_input() {
    let stage = Stage::withholding(SYNCHRONOUS).await;
    stage.say("both").await;
    stage.found.notify_one();
    settle().await;
    let words = stage.live.send_text("Hurry.");
    let release = async {
        settle().await;
        assert_eq!(stage.passed(), ["both", "call", "response to \"s\""]);
        stage.release().await;
    };
    tokio::join!(async { words.await.unwrap() }, release);
    settle().await;
    let passed = stage.passed();
    assert_eq!(passed[3], "response to \"p\"");
    assert!(passed[4].starts_with("[tool outcome]"), "{passed:?}");
    assert_eq!(passed[5], "Hurry.");
    let session = stage.live.session().await.unwrap();
    assert!(session.deliveries.is_empty(), "the outcome was delivered");
}

#[tokio::test(start_paused = true)]
async fn user_text_may_interrupt_model_that_takes_turns_between_calls() {
    let stage = Stage::withholding(OLDER).await;
    stage.say("go").await;
    stage.say("Stop!").await;
    let transcript = stage.model.transcript();
    assert!(transcript.told().any(|(_, text)| text == "Stop!"));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_the_model_takes_back_keeps_nothing_away_any_more() {
    let mut stage = Stage::withholding(OLDER).await;
    stage.say("go").await;
    let taken_back = r#"{"toolCallCancellation": {"ids": ["p"]}}"#;
    let taken_back = ServerMessage::decode(taken_back).unwrap();
    stage.model.send(&taken_back);
    settle().await;
    stage.speak(1).await;
    assert_eq!(stage.passed(), ["call", "audio"]);
    assert_eq!(stage.told().await, [true, false]);
}

#[tokio::test(start_paused = true)]
async fn on_the_next_connection_nothing_is_withheld() {
    let mut stage = Stage::withholding(OLDER).await;
    stage.say("go").await;
    stage
        .model
        .drop_connection(1008, "The operation was aborted.");
    settle().await;
    assert!(!stage.live.withholds_input());
    let mut updates = stage.live.subscribe();
    updates.wait_for(|event| event.kind() == "connected").await;
    settle().await;
    stage.speak(1).await;
    assert_eq!(stage.passed(), ["call", "audio"]);
    assert_eq!(stage.told().await, [true, false]);
}

#[tokio::test(start_paused = true)]
async fn withholding_starts_when_call_is_read_despite_busy_session() {
    let journals = recount::testing::StuckJournal::new();
    let engine = Engine::in_memory().journal(journals.clone());
    let engine = engine.open().await.unwrap();
    let with = |live: LiveBuilder| live.withhold_input_during_calls().engine(&engine);
    let stage = Stage::new(OLDER, with).await;
    journals.stick();
    for _ in 0..300 {
        stage.model.send(&ServerMessage::text("and"));
    }
    let call = r#"{"toolCall": {"functionCalls": [{"id": "p", "name": "pay"}]}}"#;
    stage.model.send(&ServerMessage::decode(call).unwrap());
    settle().await;
    assert!(stage.live.withholds_input());
    stage.speak(1).await;
    journals.release();
    settle().await;
    stage.release().await;
    stage.speak(1).await;
    assert_eq!(stage.passed(), ["response to \"p\"", "audio"]);
}

#[tokio::test(start_paused = true)]
async fn withheld_texts_are_returned_on_final_disconnect() {
    let model = ScriptedModel::parse(CALLS).unwrap();
    let pay = T::simple("pay", "Pays", |_| std::future::pending());
    let agent = Agent::new()
        .model(SYNCHRONOUS)
        .tools(pay)
        .withhold_input_during_calls()
        .reconnects(recount::engine::Reconnects::never())
        .connect_to(model.clone());
    let engine = Engine::in_memory().agent("a", agent).open().await.unwrap();
    let live = engine.session("a").connect().await.unwrap();
    live.send_text("go").await.unwrap();
    settle().await;
    assert!(live.withholds_input());
    let words = tokio::time::timeout(Duration::from_secs(600), live.send_text("Hurry."));
    let lose = async {
        settle().await;
        model.drop_connection(1011, "gone");
    };
    let (said, ()) = tokio::join!(words, lose);
    assert!(said.unwrap().is_err());
}

#[tokio::test(start_paused = true)]
async fn withheld_outcome_does_not_delay_shutdown() {
    let model = ScriptedModel::parse(CALLS).unwrap();
    let found = Arc::new(Notify::new());
    let searched = found.clone();
    let search = T::simple("search", "Searches", move |_| {
        let searched = searched.clone();
        async move {
            searched.notified().await;
            Ok(json!({"pages": 3}))
        }
    });
    let pay = T::simple("pay", "Pays", |_| std::future::pending());
    let agent = Agent::new()
        .model(SYNCHRONOUS)
        .tools(T::background(search) | pay)
        .withhold_input_during_calls()
        .connect_to(model.clone());
    let clock = ManualClock::new();
    let engine = Engine::in_memory()
        .journal(crate::surviving::SurvivingJournal::new())
        .clock(clock.clone())
        .agent("a", agent)
        .open()
        .await
        .unwrap();
    let live = engine.session("a").connect().await.unwrap();
    live.send_text("both").await.unwrap();
    settle().await;
    found.notify_one();
    settle().await;
    assert!(live.withholds_input());
    let ends = engine.shutdown(Duration::from_secs(20));
    let ended = tokio::time::timeout(Duration::from_secs(600), ends);
    let passes = async {
        settle().await;
        clock.advance(Duration::from_secs(20));
    };
    let (ended, ()) = tokio::join!(ended, passes);
    ended.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn nothing_is_withheld_once_model_knows_call_waits() {
    let model = ScriptedModel::parse(CALLS).unwrap();
    let found = Arc::new(Notify::new());
    let searched = found.clone();
    let search = T::simple("search", "Searches", move |_| {
        let searched = searched.clone();
        async move {
            searched.notified().await;
            Ok(json!({"pages": 3}))
        }
    });
    let pay = T::confirm(
        T::simple("pay", "Pays", |_| async { Ok(json!({})) }),
        "Pay?",
    );
    let agent = Agent::new()
        .model(SYNCHRONOUS)
        .tools(T::background(search) | pay)
        .withhold_input_during_calls()
        .connect_to(model.clone());
    let engine = Engine::in_memory()
        .journal(crate::surviving::SurvivingJournal::new())
        .clock(recount::testing::ManualClock::new())
        .agent("a", agent)
        .open()
        .await
        .unwrap();
    let live = engine.session("a").connect().await.unwrap();
    live.send_text("both").await.unwrap();
    settle().await;
    assert!(!live.withholds_input());
    found.notify_one();
    settle().await;
    let transcript = model.transcript();
    let told: Vec<String> = transcript.told().map(|(_, text)| text).collect();
    assert!(told.iter().any(|it| it.contains("pages")), "{told:?}");
}
