//! The driver, which plays a fixture step by step.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use recount_journal::seal::{KeyStore, MemoryKeyStore};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until};

use super::clients::{Claims, claims_of};
use super::clock::PlayedClock;
use super::error::Error;
use super::journal::PlayedJournal;
use super::model::RecordedModel;
use super::played::is_setup;
use super::processes::AgentSource;
use super::questions::Questions;
use super::serving::Serving;
use super::tools::Prompter;
use crate::engine::{self, Desk, LiveHandle};
use crate::fixture::playback::{Extent, Numbers, run_of};
use crate::fixture::{Fixture, ProcessTerms, Step};
use crate::ledger::Ledger;
use crate::session::{Fact, Observation, PolicySet, Seq, SessionId};
use crate::tool::Toolset;

/// The time that a play waits for an action of the engine beyond the recorded one, in milliseconds.
pub(super) const ACTION_WAIT_MS: u64 = 1_000;

/// The time that a play waits for a connection, in milliseconds. It is long because delays between
/// attempts have a random part.
const CONNECT_WAIT_MS: u64 = 120_000;

/// The interval at which a waiting play checks the journal.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The number of records in one read.
const PAGE: usize = 1024;

/// One play.
pub(super) struct Driver<'f> {
    pub(super) fixture: &'f Fixture,
    pub(super) agents: AgentSource,
    /// The terms of the current process.
    pub(super) terms: ProcessTerms,
    pub(super) serving: Serving,
    /// The records of all processes.
    pub(super) records: PlayedJournal,
    pub(super) keys: Arc<dyn KeyStore>,
    pub(super) ledger: Ledger,
    pub(super) clock: Arc<PlayedClock>,
    /// The age of the conversation at the start of the current process.
    pub(super) age: Duration,
    pub(super) model: RecordedModel,
    pub(super) prompter: Prompter,
    /// The names of the tools of the current process, as the record changed them.
    pub(super) declared: Vec<String>,
    /// The tools of clients in the current catalog, and the policies of that catalog.
    pub(super) of_client: Toolset,
    pub(super) changed_policies: PolicySet,
    /// True while a connection that a gateway relays is open.
    pub(super) relayed: bool,
    pub(super) live: Option<Arc<LiveHandle>>,
    /// The task that opens or resumes the session, until it has returned its handle.
    pub(super) handle_task: Option<JoinHandle<Result<LiveHandle, engine::Error>>>,
    /// True once a connection was requested, which the engine then maintains by itself.
    pub(super) asked_to_connect: bool,
    /// True once a requested connection was made.
    pub(super) was_connected: bool,
    pub(super) drains: bool,
    pub(super) tried: usize,
    /// True once the first process has begun the session.
    pub(super) is_begun: bool,
    /// The index of the next step.
    pub(super) next: usize,
    /// The steps of the tools, by the number of their call and its attempt.
    pub(super) of_runs: BTreeMap<(Seq, u32), Vec<usize>>,
    /// The due times of steps of runs that have begun, if they are due well before their recorded
    /// time.
    pub(super) due: BTreeSet<(u64, usize)>,
    /// The steps of tools that were performed before their recorded time.
    pub(super) ahead: BTreeSet<usize>,
    deadlines: usize,
    /// The claims of clients, whose reports no tool makes.
    pub(super) claims: Claims,
    pub(super) facts: Vec<Fact>,
    /// The extent of the record so far.
    pub(super) extent: Extent,
    pub(super) numbers: Numbers,
    /// The questions of the recorded story, and those asked so far.
    pub(super) recorded: Questions,
    pub(super) asked: Questions,
    pub(super) sent: Vec<(Option<usize>, String)>,
    /// The next step at the time of each frame that has no step.
    pub(super) unexpected_at: Vec<usize>,
    /// The number of lines before each further process, by the step with which it began.
    pub(super) began: Vec<(usize, u64)>,
    pub(super) undone: Arc<Mutex<Vec<Undone>>>,
}

/// A step that could not be performed.
#[derive(Clone, Debug)]
pub(super) struct Undone {
    /// The index of the step.
    pub(super) at: usize,
    /// The reason in words.
    pub(super) what: String,
}

impl<'f> Driver<'f> {
    /// A play that has not begun. `cast` has the agents of its processes.
    pub(super) fn new(fixture: &'f Fixture, agents: AgentSource) -> Driver<'f> {
        let header = fixture.header();
        let records = PlayedJournal::default();
        let keys: Arc<dyn KeyStore> = Arc::new(MemoryKeyStore::default());
        let ledger = Ledger::new(Arc::new(records.whole())).with_keys(keys.clone());
        let clock = Arc::new(PlayedClock::new(header.began_at_us, header.session));
        Driver {
            fixture,
            agents,
            terms: header.terms(),
            serving: Serving::Desk(Desk::new(ledger.clone(), clock.clone())),
            records,
            keys,
            ledger,
            clock,
            age: Duration::ZERO,
            model: RecordedModel::new(None, &[], false),
            prompter: Prompter::default(),
            declared: Vec::new(),
            of_client: Toolset::new(),
            changed_policies: PolicySet::default(),
            relayed: false,
            live: None,
            handle_task: None,
            asked_to_connect: false,
            was_connected: false,
            drains: false,
            tried: 0,
            is_begun: false,
            next: 0,
            of_runs: steps_of_runs(fixture),
            due: BTreeSet::new(),
            ahead: BTreeSet::new(),
            deadlines: 0,
            claims: claims_of(fixture),
            facts: Vec::new(),
            extent: Extent::default(),
            numbers: Numbers::default(),
            recorded: fixture.story().map(Questions::of).unwrap_or_default(),
            asked: Questions::default(),
            sent: Vec::new(),
            unexpected_at: Vec::new(),
            began: Vec::new(),
            undone: Arc::default(),
        }
    }

    /// Waits until all tasks are idle, because the paused time advances only then. Then reads the
    /// new records.
    pub(super) async fn settle(&mut self) -> Result<(), Error> {
        sleep(Duration::from_millis(1)).await;
        if let Some(handle_task) = self.handle_task.take_if(|it| it.is_finished())
            && let Ok(taken) = handle_task.await
        {
            match taken {
                Ok(live) => self.live = Some(Arc::new(live)),
                // The record shows the failure.
                Err(engine::Error::Connect(_) | engine::Error::NotConnected { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        loop {
            let next = self.facts.last().map_or(Seq(1), |it| it.seq.next());
            let page = self.ledger.facts(self.session(), next, PAGE).await?;
            if page.is_empty() {
                return Ok(());
            }
            for fact in &page {
                self.extent.count(fact.event.kind());
                self.learn(fact);
            }
            self.facts.extend(page);
        }
    }

    pub(super) async fn step(&mut self, at: usize) -> Result<(), Error> {
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
                    true => CONNECT_WAIT_MS,
                    false => ACTION_WAIT_MS,
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
            Step::ConnectionAsked => {
                self.until(at_ms).await?;
                self.ask_to_connect();
            }
            Step::ConnectionOpened | Step::ConnectionRefused(_) => {
                self.ask_to_connect();
                let (model, tried) = (self.model.clone(), self.tried);
                if self
                    .wait((at_ms, CONNECT_WAIT_MS), |_| model.tried() > tried)
                    .await?
                {
                    self.tried += 1;
                    model.open();
                    self.was_connected |= matches!(timed.step, Step::ConnectionOpened);
                    // A failed first connection is reported to its requester, and the engine does
                    // not try again.
                    self.asked_to_connect &= self.was_connected;
                } else {
                    self.undone("the engine did not connect".to_owned());
                }
            }
            Step::ClientConnected(it) => {
                self.until(at_ms).await?;
                self.client_connects(it).await?;
            }
            Step::FrameIn(frame) => self.receive(at_ms, frame.as_str()).await?,
            Step::TextIn(text) => self.receive(at_ms, text).await?,
            Step::ConnectionLost(lost) => {
                self.until(at_ms).await?;
                if !self.model.lose(lost) {
                    self.undone("there was no connection to lose".to_owned());
                }
                self.client_leaves().await?;
            }
            // These steps end the process. The loop over the steps handles them.
            Step::ProcessGone(_) | Step::ProcessBegan(_) => {}
            Step::Observed(observation) if self.is_of_client(observation) => {
                self.until(at_ms).await?;
                self.reported_by_client(observation);
            }
            Step::ToolsChanged(it) => {
                self.until(at_ms).await?;
                let next = self.fixture.steps().get(at + 1).map(|it| &it.step);
                if !self.client_changes_tools(it, next) {
                    self.hold_unconnected().await?;
                    self.change_tools(it);
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
            self.undone(format!(
                "no connection was open to receive {}",
                short(frame)
            ));
        }
        Ok(())
    }

    /// Receives a frame whose text is not recorded.
    fn receive_unworded(&self, came_to: &Observation) {
        if !self.model.send_unworded(came_to.clone()) {
            let what = came_to.kind();
            self.undone(format!("there was no connection to receive a {what}"));
        }
    }

    async fn observed(&mut self, at_ms: u64, observation: &Observation) -> Result<(), Error> {
        // The play waits for actions of the engine itself. All others are performed at their
        // recorded time.
        if let Observation::DeadlinePassed(_) = observation {
            self.deadlines += 1;
            self.look(at_ms).await?;
            let nth = self.deadlines;
            if !self
                .wait((at_ms, ACTION_WAIT_MS), |facts| passed(facts) >= nth)
                .await?
            {
                self.undone("no deadline passed".to_owned());
            }
            return Ok(());
        }
        self.until(at_ms).await?;
        match observation {
            Observation::UserTextSent(it) => {
                let (text, relayed) = (it.text.clone(), self.relayed);
                self.with_handle("the user's words", move |live| async move {
                    match relayed {
                        true => live.client_said(text).await,
                        false => live.send_text(text).await,
                    }
                });
            }
            Observation::FunctionCallReceived(it) => {
                let (name, args) = (it.name.clone().unwrap_or_default(), it.args.clone());
                let args = args.map_or_else(Default::default, |it| it.to_value());
                if it.by.is_some() {
                    self.hold_unconnected().await?;
                }
                match it.by.clone() {
                    Some(by) if it.key.is_some() => {
                        let key = it.key.clone().unwrap_or_default();
                        self.with_handle("a call of the program", move |live| async move {
                            let called = live.call_with_key(&name, args, &key, by).await;
                            called.map(drop)
                        });
                    }
                    Some(by) => self.with_handle("a call of the program", move |live| async move {
                        // The record shows the outcome.
                        let _ = live.call_function(&name, args, by).await;
                        Ok(())
                    }),
                    None => self.receive_unworded(observation),
                }
            }
            Observation::FrameRejected(_) => self.receive_unworded(observation),
            Observation::StateChanged(it) => self.change_state(it),
            Observation::ConfirmationAnswered(it) => self.answer(it),
            Observation::ApprovalGiven(it) => self.answer(&it.as_answer()),
            Observation::LeaveRevoked(it) => self.revoke(it),
            Observation::ResponseSupplied(it) => self.supply(it),
            Observation::CallClaimed(it) => self.claim_again(it),
            Observation::LeaseRenewed(it) => self.renew_again(it),
            Observation::ClaimEnded(it) => self.end_claim_again(it),
            Observation::OutcomeFound(it) => match it.attempt {
                Some(attempt) => self.return_late(it, attempt),
                None => self.find(it),
            },
            Observation::OperatorCancelled(it) => self.cancel(it),
            Observation::Paused(it) => self.pause(it),
            Observation::Unpaused(it) => self.unpause(it),
            Observation::SessionClosed(it) if !self.is_closed() => self.close(it),
            Observation::SessionClosed(_) => {}
            Observation::RunnerDraining(_) => {
                self.drains = true;
                self.shut_down(Duration::from_secs(60 * 60));
            }
            Observation::RunnerDetached(it) => {
                self.settle().await?;
                self.detach(it);
            }
            Observation::SessionOpened(_)
            | Observation::RunnerAttached(_)
            | Observation::CatalogChanged(_)
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
            | Observation::UsageReported(_) => {
                self.undone(format!("{} cannot be played", observation.kind()))
            }
        }
        Ok(())
    }

    /// Notes that the current step could not be performed.
    pub(super) fn undone(&self, what: String) {
        self.undone_at(self.next, what);
    }

    /// Notes that a step could not be performed.
    pub(super) fn undone_at(&self, at: usize, what: String) {
        let mut undone = self.undone.lock().unwrap_or_else(PoisonError::into_inner);
        undone.push(Undone { at, what });
    }

    /// Waits until `came` is true, up to `patience_ms` beyond the recorded time. Returns false if
    /// the time has run out.
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
            sleep(POLL_INTERVAL).await;
        }
    }

    /// Waits for a recorded time. A tool whose run began earlier than recorded may be due before
    /// it. Its step is then performed ahead of the order, at the recorded time after the start of
    /// the run.
    pub(super) async fn until(&mut self, at_ms: u64) -> Result<(), Error> {
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
}

/// The steps of the tools of a fixture. Empty if real tools run.
fn steps_of_runs(fixture: &Fixture) -> BTreeMap<(Seq, u32), Vec<usize>> {
    let mut of_runs: BTreeMap<(Seq, u32), Vec<usize>> = BTreeMap::new();
    let claims = claims_of(fixture);
    let steps = fixture.steps().iter().enumerate();
    for (at, timed) in steps.filter(|_| !fixture.real_tools) {
        if let Step::Observed(observation) = &timed.step
            && let Some(run) = run_of(observation)
            && !claims.contains_key(&run)
        {
            of_runs.entry(run).or_default().push(at);
        }
    }
    of_runs
}

/// The number of deadlines that have passed.
fn passed(facts: &[Fact]) -> usize {
    let passed = |fact: &&Fact| fact.event.kind() == "deadline_passed";
    facts.iter().filter(passed).count()
}

/// The beginning of a frame, for a message.
fn short(frame: &str) -> String {
    const CHARS: usize = 120;
    let mut short: String = frame.chars().take(CHARS).collect();
    if frame.chars().nth(CHARS).is_some() {
        short.push('…');
    }
    short
}
