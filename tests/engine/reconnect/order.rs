//! Texts and live input between two connections are sent in their original order.

use std::sync::Arc;

use async_trait::async_trait;
use recount::engine::Error;
use recount::live::{ConnectError, Connection, ConnectionLost, Connector, FrameSender};
use recount::prelude::*;
use recount::simulator::Event as Heard;
use recount::testing::ScriptedModel;
use tokio::sync::Mutex;

use crate::nothing_left::settle;
use crate::reconnect::stage::Stage;

const TALK: &str = r#"
{"on": {"text": "go"}, "send": [{"say": "Going."}]}
{"on": "otherwise", "once": false, "send": []}
"#;

/// The texts and the live input on a connection, one word each; for audio its first byte.
fn came(model: &ScriptedModel, connection: u32) -> Vec<String> {
    let transcript = model.transcript();
    let on = |it: &&recount::simulator::Entry| it.connection.0 == connection;
    let mut came = Vec::new();
    for entry in transcript.entries().iter().filter(on) {
        let Heard::Received { message, .. } = &entry.event else {
            continue;
        };
        if message.client_content.is_some() {
            let said: Value = serde_json::from_str(&message.encode()).unwrap();
            let parts = &said["clientContent"]["turns"][0]["parts"];
            came.push(parts[0]["text"].as_str().unwrap().to_owned());
        }
        if let Some(input) = &message.realtime_input {
            let audio = input.audio.as_ref().and_then(|it| it.bytes());
            let text = input.text.clone();
            came.extend(text.or_else(|| audio.map(|it| it[0].to_string())));
        }
    }
    came
}

async fn speak(live: &LiveHandle, number: u8) {
    live.send_audio(vec![number; 4]).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn audio_and_words_between_connections_keep_their_order() {
    let stage = Stage::new(TALK, |agent| agent).await;
    let live = stage.gone().await;
    stage.model.drop_connection(1006, "gone");
    settle().await;
    let sent = async {
        speak(&live, 1).await;
        speak(&live, 2).await;
        let said = tokio::join!(live.send_text("first"), speak(&live, 3));
        said.0.unwrap();
        let said = tokio::join!(live.send_text("second"), speak(&live, 4));
        said.0.unwrap();
    };
    tokio::join!(sent, stage.pass(1_000));
    settle().await;
    // The history for the fresh conversation is sent first.
    let all = ["go", "1", "2", "first", "3", "second", "4"];
    assert_eq!(came(&stage.model, 2), all);
    stage.end(live).await;
}

#[tokio::test(start_paused = true)]
async fn several_words_between_connections_keep_their_places() {
    let stage = Stage::new(TALK, |agent| agent).await;
    let live = stage.gone().await;
    stage.model.drop_connection(1006, "gone");
    settle().await;
    let first = async {
        speak(&live, 1).await;
        live.send_text("first").await.unwrap();
    };
    let second = async {
        speak(&live, 2).await;
        live.send_text("second").await.unwrap();
    };
    tokio::join!(first, second, speak(&live, 3), stage.pass(1_000));
    settle().await;
    let all = ["go", "1", "first", "2", "second", "3"];
    assert_eq!(came(&stage.model, 2), all);
    stage.end(live).await;
}

#[tokio::test(start_paused = true)]
async fn words_of_a_clients_message_keep_their_place() {
    let stage = Stage::new(TALK, |agent| agent).await;
    let live = stage.gone().await;
    stage.model.drop_connection(1006, "gone");
    settle().await;
    let message = json!({"content": {"role": "user", "parts": [{"text": "first"}]}}).to_string();
    let sent = async {
        speak(&live, 1).await;
        let said = live.receive_client_message(Actor::embedder("ada"), &message);
        tokio::join!(said, speak(&live, 2)).0.unwrap();
    };
    tokio::join!(sent, stage.pass(1_000));
    settle().await;
    assert_eq!(came(&stage.model, 2), ["go", "1", "first", "2"]);
    stage.end(live).await;
}

/// The model has not ended its turn when `goAway` arrives.
const LEAVES: &str = r#"
{"on": {"text": "go"}, "connection": 1, "send": [{"serverContent": {"modelTurn": {"role": "model", "parts": [{"text": "Wait"}]}}}, {"go_away": "10s"}]}
{"on": "otherwise", "once": false, "send": []}
"#;

#[tokio::test(start_paused = true)]
async fn audio_behind_words_waits_with_them_for_the_next_connection() {
    let stage = Stage::new(LEAVES, |agent| agent).await;
    let live = stage.gone().await;
    speak(&live, 1).await;
    settle().await;
    let (said, (), ()) = tokio::join!(
        live.send_text("And me?"),
        speak(&live, 2),
        stage.pass(8_000)
    );
    said.unwrap();
    settle().await;
    assert_eq!(came(&stage.model, 1), ["go", "1"]);
    assert_eq!(came(&stage.model, 2), ["go", "And me?", "2"]);
    stage.end(live).await;
}

#[tokio::test(start_paused = true)]
async fn audio_that_waits_is_refused_once_no_connection_comes() {
    let stage = Stage::new(TALK, |agent| agent).await;
    let live = stage.gone().await;
    stage.model.drop_connection(1006, "gone");
    settle().await;
    for number in 0..32 {
        speak(&live, number).await;
    }
    let (refused, disconnected) = tokio::join!(live.send_audio([9; 4]), live.disconnect());
    disconnected.unwrap();
    assert!(matches!(refused, Err(Error::NotConnected { .. })));
    let refused = live.send_audio([9; 4]).await;
    assert!(matches!(refused, Err(Error::NotConnected { .. })));
    stage.end(live).await;
}

/// A connector whose frames wait for a lock.
#[derive(Clone)]
struct Slow(ScriptedModel, Arc<Mutex<()>>);

struct SlowSender(Box<dyn FrameSender>, Arc<Mutex<()>>);

#[async_trait]
impl Connector for Slow {
    fn endpoint(&self) -> String {
        "scripted".to_owned()
    }

    async fn connect(&self) -> Result<Connection, ConnectError> {
        let Connection { sender, receiver } = self.0.connect().await?;
        let sender = Box::new(SlowSender(sender, self.1.clone()));
        Ok(Connection { sender, receiver })
    }
}

#[async_trait]
impl FrameSender for SlowSender {
    async fn send(&mut self, frame: String) -> Result<(), ConnectionLost> {
        drop(self.1.lock().await);
        self.0.send(frame).await
    }

    async fn close(&mut self) {
        self.0.close().await;
    }
}

async fn slow() -> (LiveHandle, ScriptedModel, Arc<Mutex<()>>) {
    let model = ScriptedModel::parse(TALK).unwrap();
    let line = Arc::<Mutex<()>>::default();
    let live = Live::builder().model("m");
    let live = live.connect_with(Slow(model.clone(), line.clone())).await;
    (live.unwrap(), model, line)
}

#[tokio::test(start_paused = true)]
async fn words_do_not_overtake_audio_that_a_slow_line_has_not_taken() {
    let (live, model, line) = slow().await;
    let held = line.lock().await;
    for number in 1..=5 {
        speak(&live, number).await;
        settle().await;
    }
    live.send_text("behind").await.unwrap();
    speak(&live, 6).await;
    drop(held);
    settle().await;
    assert_eq!(came(&model, 1), ["1", "2", "3", "4", "5", "behind", "6"]);
}

#[tokio::test(start_paused = true)]
async fn audio_that_was_taken_leaves_before_its_connection_is_closed() {
    let (live, model, line) = slow().await;
    let held = line.lock().await;
    for number in 1..=5 {
        speak(&live, number).await;
    }
    let (disconnected, ()) = tokio::join!(live.disconnect(), async {
        settle().await;
        drop(held);
    });
    disconnected.unwrap();
    settle().await;
    assert_eq!(came(&model, 1), ["1", "2", "3", "4", "5"]);
}
