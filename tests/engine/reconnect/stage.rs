//! One engine, one model behind a connector that may fail, and a clock that stands still.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::surviving::SurvivingJournal;
use recount::prelude::*;
use recount::session::{Decision, Event, Fact, Observation, Outcome, Seq, Session};
use recount::simulator::{Event as Heard, Standing};
use recount::testing::{ManualClock, ScriptedModel};
use tokio::sync::Notify;

use crate::journal::assert_lawful;
use crate::nothing_left::{assert_nothing_is_left, settle};
use crate::reconnect::doors::{Door, Doors};

pub(crate) struct Stage {
    pub(crate) journal: Arc<SurvivingJournal>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) model: ScriptedModel,
    pub(crate) doors: Doors,
    pub(crate) engine: Engine,
    pub(crate) till: Till,
}

impl Stage {
    /// An engine whose agent has the tools of the till; `with` changes the agent.
    pub(crate) async fn new(script: &str, with: impl FnOnce(Agent) -> Agent) -> Stage {
        let model = ScriptedModel::parse(script).unwrap();
        let (journal, clock) = (SurvivingJournal::new(), ManualClock::new());
        let (doors, till) = (Doors::new(model.clone()), Till::default());
        let agent = with(agent(&doors, &till));
        let engine = Engine::in_memory()
            .journal(journal.clone())
            .clock(clock.clone())
            .agent("support", agent)
            .open()
            .await
            .unwrap();
        Stage {
            journal,
            clock,
            model,
            doors,
            engine,
            till,
        }
    }

    /// A session whose user has sent `go`.
    pub(crate) async fn gone(&self) -> LiveHandle {
        let live = self.engine.session("support").connect().await.unwrap();
        live.send_text("go").await.unwrap();
        settle().await;
        live
    }

    /// Drops the connection from the model's side, and queues the results of the next connections.
    pub(crate) async fn drop_then(&self, code: u16, doors: impl IntoIterator<Item = Door>) {
        self.doors.meet(doors);
        self.model.drop_connection(code, "gone");
        settle().await;
        self.pass(1_000).await;
    }

    /// Advances the clock.
    pub(crate) async fn pass(&self, ms: u64) {
        self.clock.advance(Duration::from_millis(ms));
        settle().await;
    }

    pub(crate) async fn facts(&self, live: &LiveHandle) -> Vec<Fact> {
        let ledger = self.engine.ledger();
        ledger
            .facts(live.session_id(), Seq(1), 10_000)
            .await
            .unwrap()
    }

    /// The recorded events of this kind.
    pub(crate) async fn events(&self, live: &LiveHandle, kind: &str) -> Vec<Event> {
        let facts = self.facts(live).await.into_iter();
        facts
            .map(|fact| fact.event)
            .filter(|event| event.kind() == kind)
            .collect()
    }

    pub(crate) async fn count(&self, live: &LiveHandle, kind: &str) -> usize {
        self.events(live, kind).await.len()
    }

    /// The outcomes of the calls, in order of arrival.
    pub(crate) async fn outcomes(&self, live: &LiveHandle) -> Vec<Outcome> {
        let session = self.folded(live).await;
        session.settled.values().map(|it| it.outcome).collect()
    }

    /// The session folded from the journal.
    pub(crate) async fn folded(&self, live: &LiveHandle) -> Session {
        let loaded = self.engine.ledger().load(live.session_id()).await;
        loaded.unwrap().session
    }

    /// The number of connections that the model has seen.
    pub(crate) fn connections(&self) -> usize {
        self.model.transcript().connections()
    }

    /// The user texts that the model received on a connection.
    pub(crate) fn told(&self, connection: u32) -> Vec<String> {
        let transcript = self.model.transcript();
        let told = transcript.told().filter(|(on, _)| on.0 == connection);
        told.map(|(_, text)| text).collect()
    }

    /// The responses that the model received, each with its connection.
    pub(crate) fn answered(&self) -> Vec<(u32, String, Standing)> {
        let transcript = self.model.transcript();
        let answers = transcript.answers();
        answers
            .map(|(on, response, standing)| {
                let text = response.response.as_ref().unwrap().as_str().to_owned();
                (on.0, text, standing)
            })
            .collect()
    }

    /// The model's transcript and the important records as text, after a check of the laws.
    pub(crate) async fn outcome(&self, live: &LiveHandle) -> String {
        assert_lawful(self.engine.ledger(), live.session_id()).await;
        let mut text = "what the model saw\n".to_owned();
        for entry in self.model.transcript().entries() {
            let line = match &entry.event {
                Heard::Connected => "connected".to_owned(),
                Heard::Received { message, .. } => match &message.setup {
                    Some(setup) => {
                        let asked = setup.session_resumption.as_ref().unwrap();
                        let handle = asked.handle.as_deref().unwrap_or("none");
                        let announced = setup.history_config.is_some();
                        let history = if announced { ", a history follows" } else { "" };
                        format!("<- setup, handle: {handle}{history}")
                    }
                    None => format!("<- {}", message.encode()),
                },
                Heard::Unreadable { problem } => format!("<- unreadable: {problem}"),
                Heard::Sent(message) => format!("-> {}", message.encode()),
                Heard::SentRaw(frame) => format!("-> {frame:?}"),
                Heard::Closed { by, code, reason } => format!("closed by {by:?}: {code} {reason}"),
            };
            writeln!(text, "{} {line}", entry.connection).unwrap();
        }
        text.push_str("\nwhat is on record\n");
        for fact in self.facts(live).await {
            if is_told(&fact.event) {
                let body = fact.event.body().unwrap();
                writeln!(text, "{:>3} {} {body}", fact.seq, fact.event.kind()).unwrap();
            }
        }
        text
    }

    /// Ends everything, and asserts that nothing of the session is left.
    pub(crate) async fn end(self, live: LiveHandle) {
        assert_lawful(self.engine.ledger(), live.session_id()).await;
        drop(live);
        self.engine.shutdown(Duration::ZERO).await.unwrap();
        settle().await;
        assert_nothing_is_left();
    }
}

/// An agent with this connector and the tools of this till.
pub(crate) fn agent(doors: &Doors, till: &Till) -> Agent {
    let (fast, slow) = (till.clone(), till.clone());
    let pay = T::simple("pay", "Pays", move |_| {
        let till = fast.clone();
        async move {
            till.runs.fetch_add(1, Ordering::SeqCst);
            Ok(json!({"paid": true}))
        }
    });
    let ship = T::simple("ship", "Ships, as soon as it is told to", move |_| {
        let till = slow.clone();
        async move {
            till.runs.fetch_add(1, Ordering::SeqCst);
            let _unfinished = Unfinished(till.dropped.clone());
            till.release.notified().await;
            Ok(json!({"shipped": true}))
        }
    });
    let refund = T::simple("refund", "Refunds", |_| async {
        Ok(json!({"refunded": true}))
    });
    Agent::new()
        .model("m")
        .tools(pay | ship | T::confirm(refund, "Refund?"))
        .connect_to(doors.clone())
}

/// True if an event is shown: those of connections, and the ends of calls.
fn is_told(event: &Event) -> bool {
    match event {
        Event::Observed(
            Observation::Connected(_)
            | Observation::Disconnected(_)
            | Observation::GoAwayReceived(_)
            | Observation::SwitchPlanned(_)
            | Observation::ReconnectScheduled(_)
            | Observation::ConnectFailed(_)
            | Observation::ReconnectsExhausted(_)
            | Observation::HistorySent(_)
            | Observation::RunnerDraining(_)
            | Observation::RunnerDetached(_)
            | Observation::FunctionCallReceived(_)
            | Observation::ResponsesSent(_),
        ) => true,
        Event::Decided(
            Decision::CallStarted(_) | Decision::ResponseIssued(_) | Decision::DeliveryChosen(_),
        ) => true,
        Event::Observed(_) | Event::Decided(_) => false,
    }
}

/// The runs of the tools, and the signal that ends the slow one.
#[derive(Clone, Default)]
pub(crate) struct Till {
    runs: Arc<AtomicUsize>,
    dropped: Arc<AtomicUsize>,
    release: Arc<Notify>,
}

impl Till {
    /// The number of started runs.
    pub(crate) fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }

    /// The number of ended or dropped runs of the slow tool.
    pub(crate) fn over(&self) -> usize {
        self.dropped.load(Ordering::SeqCst)
    }

    /// Ends the slow tool.
    pub(crate) async fn release(&self) {
        self.release.notify_one();
        settle().await;
    }
}

struct Unfinished(Arc<AtomicUsize>);

impl Drop for Unfinished {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}
