//! Plays a fixture step by step.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use recount_journal::seal::MemoryKeyStore;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until};

use super::clock::PlayedClock;
use super::error::Error;
use super::journal::PlayedJournal;
use super::model::RecordedModel;
use super::played::{Played, is_setup};
use super::told::Told;
use super::tools::{self, Prompter};
use crate::engine::{self, Agent, Engine, LiveHandle};
use crate::fixture::{Fixture, Numbers, Step, run_of};
use crate::session::{Fact, Observation, Seq, SessionId};

/// How long beyond its time something that the engine does by itself is waited for.
pub(super) const PATIENCE_MS: u64 = 1_000;

/// How long a connection is waited for: the waits between tries have a random part.
const CONNECTING_MS: u64 = 120_000;

/// How often it is looked for.
const LOOK: Duration = Duration::from_millis(5);

/// How many records are read at a time.
const PAGE: usize = 1024;

/// One play.
pub(super) struct Driver<'f> {
    pub(super) fixture: &'f Fixture,
    pub(super) engine: Engine,
    pub(super) clock: Arc<PlayedClock>,
    pub(super) model: RecordedModel,
    pub(super) prompter: Prompter,
    pub(super) live: Option<Arc<LiveHandle>>,
    /// Somebody is about to have the session's handle.
    pub(super) taking: Option<JoinHandle<Result<LiveHandle, engine::Error>>>,
    /// Whether a connection was asked for, which the engine keeps up by itself then.
    pub(super) asked_to_connect: bool,
    /// Whether there was a connection since.
    pub(super) was_connected: bool,
    pub(super) drains: bool,
    tried: usize,
    /// The step that comes next.
    pub(super) next: usize,
    /// The steps of the tools, by the number of their call and its attempt.
    pub(super) of_runs: BTreeMap<(Seq, u32), Vec<usize>>,
    /// When the steps of the runs that have begun are due, where that is well before their turn.
    pub(super) due: BTreeSet<(u64, usize)>,
    /// The steps of tools that came before their turn.
    pub(super) ahead: BTreeSet<usize>,
    deadlines: usize,
    pub(super) facts: Vec<Fact>,
    pub(super) numbers: Numbers,
    sent: Vec<(Option<usize>, String)>,
    pub(super) undone: Arc<Mutex<Vec<String>>>,
}

impl<'f> Driver<'f> {
    /// Plays the fixture with an agent to its end.
    pub(super) async fn play(
        fixture: &'f Fixture,
        agent: Agent,
        prompter: Prompter,
    ) -> Result<Played, Error> {
        let header = fixture.header();
        let clock = Arc::new(PlayedClock::new(header.began_at_us, header.session));
        let model = RecordedModel::new(header.model.clone(), fixture.steps());
        let agent =
            agent.played(
                model.clone(),
                header.capabilities,
                header.gates(),
                |tool| match fixture.real_tools {
                    true => tool,
                    false => {
                        let body = tools::body(&tool.declaration(), &prompter);
                        tool.performed_by(body)
                    }
                },
            );
        let engine = Engine::in_memory()
            .journal(Arc::<PlayedJournal>::default())
            .clock(clock.clone())
            .keys(Arc::new(MemoryKeyStore::default()))
            .agent(&header.agent, agent)
            .open()
            .await?;
        let mut driver = Driver {
            fixture,
            engine,
            clock,
            model,
            prompter,
            live: None,
            taking: None,
            asked_to_connect: false,
            was_connected: false,
            drains: false,
            tried: 0,
            next: 0,
            of_runs: steps_of_runs(fixture),
            due: BTreeSet::new(),
            ahead: BTreeSet::new(),
            deadlines: 0,
            facts: Vec::new(),
            numbers: Numbers::default(),
            sent: Vec::new(),
            undone: Arc::default(),
        };
        driver.begin();
        for at in 0..fixture.steps().len() {
            driver.next = at;
            driver.settle().await?;
            driver.step(at).await?;
        }
        driver.settle().await?;
        driver.end().await
    }

    fn begin(&mut self) {
        let header = self.fixture.header();
        let mut session = self.engine.session(&header.agent);
        if let Some(id) = &header.external_id {
            session = session.external_id(id);
        }
        if let Some(name) = &header.on_behalf_of {
            session = session.on_behalf_of(name);
        }
        for (key, value) in &header.labels {
            session = session.label(key, value);
        }
        let first = self.fixture.steps().first().map(|it| &it.step);
        self.asked_to_connect = first.is_some_and(is_of_connecting);
        self.taking = Some(if self.asked_to_connect {
            tokio::spawn(session.connect())
        } else {
            tokio::spawn(session.open())
        });
    }

    /// Everything that was begun comes to all it comes to by itself: time moves on only when nothing else happens.
    async fn settle(&mut self) -> Result<(), Error> {
        sleep(Duration::from_millis(1)).await;
        if let Some(taking) = self.taking.take_if(|it| it.is_finished())
            && let Ok(taken) = taking.await
        {
            match taken {
                Ok(live) => self.live = Some(Arc::new(live)),
                // What there is to say of it is on record.
                Err(engine::Error::Connect(_) | engine::Error::NotConnected { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        loop {
            let next = self.facts.last().map_or(Seq(1), |it| it.seq.next());
            let ledger = self.engine.ledger();
            let page = ledger.facts(self.session(), next, PAGE).await?;
            if page.is_empty() {
                return Ok(());
            }
            page.iter().for_each(|it| self.learn(it));
            self.facts.extend(page);
        }
    }

    async fn step(&mut self, at: usize) -> Result<(), Error> {
        let Some(timed) = self.fixture.steps().get(at) else {
            return Ok(());
        };
        let at_ms = timed.at_ms;
        match &timed.step {
            Step::FrameOut(frame) => {
                if is_setup(frame.as_str()) {
                    self.ask_to_connect();
                }
                let model = self.model.clone();
                let mut sent = None;
                let patience_ms = match is_setup(frame.as_str()) {
                    true => CONNECTING_MS,
                    false => PATIENCE_MS,
                };
                self.wait((at_ms, patience_ms), |_| {
                    sent = model.take_sent();
                    sent.is_some()
                })
                .await?;
                match sent {
                    Some(sent) => self
                        .sent
                        .push((Some(at), self.fixture.redacted_frame(&sent))),
                    None => {
                        self.undone(format!("the engine did not send {}", short(frame.as_str())))
                    }
                }
            }
            Step::ConnectionOpened | Step::ConnectionRefused(_) => {
                self.ask_to_connect();
                let (model, tried) = (self.model.clone(), self.tried);
                if self
                    .wait((at_ms, CONNECTING_MS), |_| model.tried() > tried)
                    .await?
                {
                    self.tried += 1;
                    self.was_connected |= matches!(timed.step, Step::ConnectionOpened);
                    // Whoever asked was told of the refusal, and the engine does not try again.
                    self.asked_to_connect &= self.was_connected;
                } else {
                    self.undone("the engine did not connect".to_owned());
                }
            }
            Step::FrameIn(frame) => self.receive(at_ms, frame.as_str()).await?,
            Step::TextIn(text) => self.receive(at_ms, text).await?,
            Step::ConnectionLost(lost) => {
                self.until(at_ms).await?;
                if !self.model.lose(lost) {
                    self.undone("there was no connection to lose".to_owned());
                }
            }
            Step::Observed(observation) => match run_of(observation) {
                Some((call, _)) if self.fixture.real_tools => self.perform(at, call).await?,
                Some(_) => self.prompt_in_turn(at).await?,
                None => self.observed(at_ms, observation).await?,
            },
        }
        Ok(())
    }

    async fn receive(&mut self, at_ms: u64, frame: &str) -> Result<(), Error> {
        self.until(at_ms).await?;
        if !self.model.send(frame) {
            self.undone(format!("nobody was connected to receive {}", short(frame)));
        }
        Ok(())
    }

    async fn observed(&mut self, at_ms: u64, observation: &Observation) -> Result<(), Error> {
        // What the engine does by itself is waited for; everything else is done at its time.
        if let Observation::DeadlinePassed(_) = observation {
            self.deadlines += 1;
            let nth = self.deadlines;
            if !self
                .wait((at_ms, PATIENCE_MS), |facts| passed(facts) >= nth)
                .await?
            {
                self.undone("no deadline passed".to_owned());
            }
            return Ok(());
        }
        self.until(at_ms).await?;
        let engine = self.engine.clone();
        match observation {
            Observation::UserTextSent(it) => {
                let text = it.text.clone();
                self.with_handle("the user's words", move |live| async move {
                    live.send_text(text).await
                });
            }
            Observation::FunctionCallReceived(it) => {
                let (name, args) = (it.name.clone().unwrap_or_default(), it.args.clone());
                let args = args.map_or_else(Default::default, |it| it.to_value());
                if let Some(by) = it.by.clone() {
                    self.with_handle("a call of the program", move |live| async move {
                        // How it ends is on record.
                        let _ = live.call_function(&name, args, by).await;
                        Ok(())
                    });
                }
            }
            Observation::StateChanged(it) => self.change_state(it),
            Observation::ConfirmationAnswered(it) => self.answer(it),
            Observation::ResponseSupplied(it) => self.supply(it),
            Observation::OutcomeFound(it) => match self.ticket(it.call) {
                Some(ticket) => {
                    let (found, by) = (it.found.clone(), it.by.clone());
                    self.attempt("what was found of a call", async move {
                        engine.reconcile(&ticket, found, by).await.map(drop)
                    });
                }
                None => self.undone(format!("call {} was not made", it.call)),
            },
            Observation::OperatorCancelled(it) => match self.numbers.call_at(it.call) {
                Some(call) => {
                    let (reason, by) = (it.reason.clone(), it.by.clone());
                    self.with_handle("a cancellation", move |live| async move {
                        live.cancel(call, reason, by).await.map(drop)
                    });
                }
                None => self.undone(format!("call {} was not made", it.call)),
            },
            Observation::SessionClosed(it) if !self.is_closed() => {
                let (session, reason, by) = (self.session(), it.reason.clone(), it.by.clone());
                self.attempt("the end of the session", async move {
                    engine.close_session(session, &reason, by).await.map(drop)
                });
            }
            Observation::SessionClosed(_) => {}
            Observation::RunnerDraining(_) => {
                self.drains = true;
                let grace = Duration::from_secs(60 * 60);
                self.attempt("the shutdown", async move { engine.shutdown(grace).await });
            }
            Observation::RunnerDetached(it) => self.detach(it),
            Observation::SessionOpened(_)
            | Observation::RunnerAttached(_)
            | Observation::Connected(_)
            | Observation::Disconnected(_)
            | Observation::GoAwayReceived(_)
            | Observation::SwitchPlanned(_)
            | Observation::ReconnectScheduled(_)
            | Observation::ConnectFailed(_)
            | Observation::ReconnectsExhausted(_)
            | Observation::HistorySent(_)
            | Observation::ResumptionHandleReceived(_)
            | Observation::HookAnswered(_)
            | Observation::CallCancellationReceived(_)
            | Observation::LlmAsked(_)
            | Observation::LlmReplied(_)
            | Observation::ToolReturned(_)
            | Observation::ToolYielded(_)
            | Observation::ToolPaused(_)
            | Observation::ToolAsked(_)
            | Observation::ToolEventEmitted(_)
            | Observation::AnswerRefused(_)
            | Observation::ResponsesSent(_)
            | Observation::InstructionSent(_)
            | Observation::DeadlinePassed(_)
            | Observation::ModelOutputReceived(_)
            | Observation::TranscriptReceived(_)
            | Observation::TurnCompleted(_)
            | Observation::TurnInterrupted(_)
            | Observation::MediaCounted(_)
            | Observation::UsageReported(_)
            | Observation::FrameRejected(_) => {
                self.undone(format!("{} cannot be played", observation.kind()))
            }
        }
        Ok(())
    }

    pub(super) fn undone(&self, what: String) {
        let mut undone = self.undone.lock().unwrap_or_else(PoisonError::into_inner);
        undone.push(what);
    }

    /// Waits for what the engine does by itself, a little beyond its time; whether it came.
    pub(super) async fn wait(
        &mut self,
        (at_ms, patience_ms): (u64, u64),
        mut came: impl FnMut(&[Fact]) -> bool,
    ) -> Result<bool, Error> {
        let last = self.clock.instant(at_ms.saturating_add(patience_ms));
        if came(&self.facts) {
            return Ok(true);
        }
        self.until(at_ms).await?;
        loop {
            self.settle().await?;
            if came(&self.facts) {
                return Ok(true);
            }
            if Instant::now() >= last {
                return Ok(false);
            }
            sleep(LOOK).await;
        }
    }

    /// Waits for a time of the recording. A tool whose run began earlier than on record does what it did as long after that,
    /// though its turn has not come.
    async fn until(&mut self, at_ms: u64) -> Result<(), Error> {
        while let Some((due_ms, step)) = self.due_before(at_ms) {
            sleep_until(self.clock.instant(due_ms)).await;
            self.prompt(step);
            self.ahead.insert(step);
            self.settle().await?;
        }
        sleep_until(self.clock.instant(at_ms)).await;
        Ok(())
    }

    pub(super) fn session(&self) -> SessionId {
        self.fixture.header().session
    }

    fn is_closed(&self) -> bool {
        self.facts
            .iter()
            .any(|it| it.event.kind() == "session_closed")
    }

    async fn end(mut self) -> Result<Played, Error> {
        while let Some(frame) = self.model.take_sent() {
            let frame = self.fixture.redacted_frame(&frame);
            self.sent.push((None, frame));
        }
        let undone = self.undone.lock().map(|it| it.clone()).unwrap_or_default();
        self.live = None;
        self.engine.shutdown(Duration::ZERO).await?;
        let facts = self.fixture.redacted_facts(&self.facts, None)?;
        Ok(Played {
            told: Told::of(&facts),
            fixture: self.fixture.clone(),
            sent: self.sent,
            undone,
            compares_setup: true,
        })
    }
}

/// Whether the engine takes this step when it connects.
fn is_of_connecting(step: &Step) -> bool {
    match step {
        Step::FrameOut(frame) => is_setup(frame.as_str()),
        Step::ConnectionOpened | Step::ConnectionRefused(_) => true,
        Step::FrameIn(_) | Step::TextIn(_) | Step::ConnectionLost(_) | Step::Observed(_) => false,
    }
}

/// The steps of the tools of a fixture, unless real ones run.
fn steps_of_runs(fixture: &Fixture) -> BTreeMap<(Seq, u32), Vec<usize>> {
    let mut of_runs: BTreeMap<(Seq, u32), Vec<usize>> = BTreeMap::new();
    let steps = fixture.steps().iter().enumerate();
    for (at, timed) in steps.filter(|_| !fixture.real_tools) {
        if let Step::Observed(observation) = &timed.step
            && let Some(run) = run_of(observation)
        {
            of_runs.entry(run).or_default().push(at);
        }
    }
    of_runs
}

/// How many deadlines have passed.
fn passed(facts: &[Fact]) -> usize {
    let passed = |fact: &&Fact| fact.event.kind() == "deadline_passed";
    facts.iter().filter(passed).count()
}

/// The beginning of a frame.
fn short(frame: &str) -> String {
    const CHARS: usize = 120;
    let mut short: String = frame.chars().take(CHARS).collect();
    if frame.chars().nth(CHARS).is_some() {
        short.push('…');
    }
    short
}
