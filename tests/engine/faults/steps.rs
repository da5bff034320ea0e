//! What happens beside the script: the user, the desk, the clock, and what is waited for.

use std::time::Duration;

use recount::engine::LiveEvent;
use recount::live::wire::ServerMessage;
use recount::prelude::*;
use recount::simulator::{ConnectionId, Transcript};
use tokio::time::advance;

use crate::faults::scene::{SETUP_TIMEOUT, Scene};

/// One thing that happens, or that is waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// The user says this.
    Say(&'static str),
    /// Waits for the next event of this kind.
    Record(&'static str),
    /// Waits until the service has received a message with this text.
    Received(&'static str),
    /// The tool that waits ends.
    Release,
    /// The person at the desk agrees to what is asked.
    Approve,
    /// The warehouse says this of what it was ordered, and that more will follow.
    Update(&'static str),
    /// The warehouse says this, and that it is the result.
    Respond(&'static str),
    /// So many milliseconds pass.
    Pass(u64),
    /// So many days pass, for the sockets too.
    Days(u64),
    /// The service takes a call back by its id.
    TakeBack(&'static str),
    /// The service reads on.
    ReadOn,
    /// Waits until this connection is set up, and lets the time for an answer pass.
    SetupUnanswered(u32),
    /// So many pieces of sound come, 20 ms after each other.
    Hear(u32),
    /// The user says so many pieces of sound, one every 20 ms.
    Speak(u32),
    /// The user talks on, more than any buffer takes, and a tool ends meanwhile; then the service
    /// reads on.
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

    /// Waits until the service has received as much, besides what declares the tools.
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

    /// Each piece comes when its time has come, not before and in order.
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

/// The one call that waits for the warehouse, and what that says of it.
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

/// 50 a second.
const FRAME: Duration = Duration::from_millis(20);

/// All together more than what the buffers of two sockets take.
const TALK_FRAMES: usize = 400;
const TALK_BYTES: usize = 64 * 1024;
