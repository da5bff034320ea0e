//! The steps outside of the script: the user, the approver, the clock, and the events to wait for.

use std::time::Duration;

use recount::engine::LiveEvent;
use recount::live::wire::ServerMessage;
use recount::prelude::*;
use recount::simulator::{ConnectionId, Transcript};
use tokio::time::advance;

use crate::faults::scene::{SETUP_TIMEOUT, Scene};

/// One action, or one event to wait for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// The user sends this text.
    Say(&'static str),
    /// Waits for the next event of this kind.
    Record(&'static str),
    /// Waits until the service has received a message that contains this text.
    Received(&'static str),
    /// The waiting tool ends.
    Release,
    /// The approver confirms the open request.
    Approve,
    /// The warehouse supplies an interim result for the order.
    Update(&'static str),
    /// The warehouse supplies the final result.
    Respond(&'static str),
    /// This number of milliseconds passes.
    Pass(u64),
    /// This number of days passes, for the sockets too.
    Days(u64),
    /// The service cancels a call by its id.
    TakeBack(&'static str),
    /// The service reads again.
    ReadOn,
    /// Waits until this connection has sent its setup, then lets the setup timeout pass.
    SetupUnanswered(u32),
    /// This number of audio frames arrives, one every 20 ms.
    Hear(u32),
    /// The user sends this number of audio frames, one every 20 ms.
    Speak(u32),
    /// The user sends more audio than any buffer holds. A tool ends meanwhile, then the service
    /// reads again.
    TalkUntilItReads,
}

impl Scene {
    pub(crate) async fn step(&mut self, live: &LiveHandle, step: Step) {
        match step {
            Step::Say(text) => live.send_text(text).await.unwrap(),
            Step::Record(kind) => self.record(kind).await,
            Step::Received(text) => self.received(text).await,
            Step::Release => self.till.release(),
            Step::Approve => {
                let request = live.pending().await.unwrap()[0].id;
                let agreed = ToolConfirmation::confirmed();
                let by = Actor::embedder("ada");
                live.answer(request, agreed, by).await.unwrap();
            }
            Step::Update(said) => {
                let (ticket, news) = ordered(live, said).await;
                let taken = live.engine().update(&ticket, news, warehouse()).await;
                taken.unwrap();
            }
            Step::Respond(said) => {
                let (ticket, result) = ordered(live, said).await;
                let taken = live.engine().respond(&ticket, result, warehouse()).await;
                taken.unwrap();
            }
            Step::Pass(ms) => self.clock.advance(Duration::from_millis(ms)),
            Step::Days(days) => {
                let days = Duration::from_secs(days * 24 * 60 * 60);
                self.clock.advance(days);
                advance(days).await;
            }
            Step::TakeBack(id) => {
                assert!(self.simulator.send(ServerMessage::cancel([id])));
            }
            Step::ReadOn => assert!(self.simulator.read_on()),
            Step::SetupUnanswered(connection) => self.setup_unanswered(connection).await,
            Step::Hear(frames) => self.hear(frames).await,
            Step::Speak(frames) => speak(live, frames).await,
            Step::TalkUntilItReads => self.talk_until_it_reads(live).await,
        }
    }

    /// Waits until the service has received the text in any message except a setup.
    async fn received(&self, text: &str) {
        let has_come = |transcript: &Transcript| {
            let mut said = transcript.received().filter(|it| it.1.setup.is_none());
            said.any(|(_, message)| message.encode().contains(text))
        };
        self.simulator.until(has_come).await;
    }

    pub(crate) async fn setup_unanswered(&self, connection: u32) {
        let is_set_up = |transcript: &Transcript| {
            let mut received = transcript.received_on(ConnectionId(connection));
            received.next().is_some()
        };
        self.simulator.until(is_set_up).await;
        advance(SETUP_TIMEOUT).await;
    }

    /// Receives the frames in order, each when its time has come.
    async fn hear(&mut self, frames: u32) {
        let heard = self.heard.as_mut().unwrap();
        for frame in 0..frames {
            match heard.next().await.unwrap() {
                LiveEvent::Audio { data, .. } => assert_eq!(data[..4], frame.to_le_bytes()),
                other => panic!("{other:?} in place of frame {frame}"),
            }
            advance(FRAME).await;
        }
    }

    async fn talk_until_it_reads(&mut self, live: &LiveHandle) {
        let talks = async {
            for _ in 0..TALK_FRAMES {
                live.send_audio(vec![0; TALK_BYTES]).await.unwrap();
            }
        };
        let meanwhile = async {
            self.till.release();
            self.record("response_issued").await;
            assert!(self.simulator.read_on());
        };
        tokio::join!(talks, meanwhile);
    }
}

/// The ticket of the only paused call, and the response of the warehouse.
async fn ordered(live: &LiveHandle, said: &str) -> (Ticket, FunctionResponse) {
    let paused = live.paused().await.unwrap();
    assert_eq!(paused.len(), 1, "{paused:?}");
    let response = serde_json::from_str(said).unwrap();
    let ticket = Ticket::from(&paused[0]);
    let response = FunctionResponse::new(&ticket.tool, response);
    (ticket, response)
}

fn warehouse() -> Actor {
    Actor::embedder("warehouse")
}

async fn speak(live: &LiveHandle, frames: u32) {
    for _ in 0..frames {
        live.send_audio(vec![0; 640]).await.unwrap();
        advance(FRAME).await;
    }
}

/// 50 frames a second.
const FRAME: Duration = Duration::from_millis(20);

/// More in total than the buffers of two sockets hold.
const TALK_FRAMES: usize = 400;
const TALK_BYTES: usize = 64 * 1024;
