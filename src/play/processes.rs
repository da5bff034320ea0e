//! The processes of a play, one after another over the same records.
//!
//! Each process has a tokio runtime of its own. If the recorded process was killed, the runtime is
//! dropped with all its tasks. The journal accepts no more records of it than were recorded.

use std::future::ready;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::time::sleep_until;

use super::clock::PlayedClock;
use super::driver::{ACTION_WAIT_MS, Driver};
use super::error::Error;
use super::model::RecordedModel;
use super::played::{Played, is_setup};
use super::relayed::{client_tools, is_relayed};
use super::serving::Serving;
use super::told::Told;
use super::tools::{self, Prompter};
use crate::engine::reasons::IDLE;
use crate::engine::{self, Agent, Desk, Engine};
use crate::fixture::playback::Extent;
use crate::fixture::{ProcessBegan, ProcessGone, Step, Timed};
use crate::session::{Fact, Observation};

/// The agents of the processes.
pub(super) enum AgentSource {
    /// The same agent for all processes.
    Given(Box<Agent>),
    /// An agent for each process, made of the recorded terms alone.
    OnRecord,
}

impl Driver<'_> {
    /// Plays the fixture to its end.
    pub(super) fn play(mut self) -> Result<Played, Error> {
        loop {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .start_paused(true)
                .build();
            let runtime = runtime.map_err(|source| Error::Runtime { source })?;
            let is_over = runtime.block_on(self.process());
            self.leave(runtime);
            if is_over? {
                return self.told();
            }
        }
    }

    /// Plays one process. Returns true if it is the last one.
    async fn process(&mut self) -> Result<bool, Error> {
        let header = self.fixture.header();
        let clock = PlayedClock::new(header.began_at_us, header.session);
        self.clock = Arc::new(clock.going_on(self.age));
        self.enter().await?;
        let is_over = self.steps().await?;
        self.age = self.clock.age();
        Ok(is_over)
    }

    /// Plays the steps of a process. Returns true if it is the last one.
    async fn steps(&mut self) -> Result<bool, Error> {
        loop {
            self.settle().await?;
            let at = self.next;
            let Some(timed) = self.fixture.steps().get(at) else {
                self.shut_down_at_last().await?;
                return Ok(true);
            };
            match &timed.step {
                Step::ProcessGone(gone) => {
                    self.reach(timed.at_ms, *gone).await?;
                    self.next += 1;
                    return Ok(self.fixture.steps().len() == self.next);
                }
                Step::ProcessBegan(began) => {
                    let ProcessBegan { lines, .. } = *began;
                    let now_ms = u64::try_from(self.clock.age().as_millis()).unwrap_or(u64::MAX);
                    self.reach(now_ms, ProcessGone { lines, sent: 0 }).await?;
                    return Ok(false);
                }
                Step::FrameOut(_)
                | Step::FrameIn(_)
                | Step::TextIn(_)
                | Step::ConnectionAsked
                | Step::ConnectionOpened
                | Step::ClientConnected(_)
                | Step::ConnectionRefused(_)
                | Step::ConnectionLost(_)
                | Step::ToolsChanged(_)
                | Step::Observed(_) => self.step(at).await?,
            }
            self.next += 1;
        }
    }

    /// Opens the engine or the desk of the process.
    async fn enter(&mut self) -> Result<(), Error> {
        let header = self.fixture.header();
        if !std::mem::replace(&mut self.is_begun, true) {
            let engine = self.engine(&header.agent).await?;
            self.begin(&engine);
            self.serving = Serving::Engine(engine);
            return Ok(());
        }
        let desk = Desk::new(self.ledger.clone(), self.clock.clone());
        self.serving = Serving::Desk(desk);
        let timed = self.fixture.steps().get(self.next);
        let Some((at_ms, Step::ProcessBegan(began))) = timed.map(|it| (it.at_ms, &it.step)) else {
            return Ok(());
        };
        sleep_until(self.clock.instant(at_ms)).await;
        self.began.push((self.next, self.extent.lines));
        self.next += 1;
        if let Some(terms) = &began.terms {
            self.terms = (**terms).clone();
        }
        if began.desk {
            return self.look(at_ms).await;
        }
        let engine = self.engine(&header.agent).await?;
        self.serving = Serving::Engine(engine.clone());
        let first = self.fixture.steps().get(self.next);
        if first.is_some_and(|it| is_of_connecting(&it.step)) {
            self.resume_at_once(engine).await;
        }
        Ok(())
    }

    /// Resumes the session before its task runs. Without a handle, a task with nothing to do
    /// detaches from the session.
    async fn resume_at_once(&mut self, engine: Engine) {
        let session = self.session();
        let mut resuming = Box::pin(async move { engine.resume(session).await });
        let resumed = tokio::select! {
            biased;
            resumed = &mut resuming => Some(resumed),
            () = ready(()) => None,
        };
        self.asked_to_connect = true;
        self.handle_task = Some(tokio::spawn(async move {
            match resumed {
                Some(resumed) => resumed,
                None => resuming.await,
            }
        }));
    }

    /// Opens an engine over the records, with the agent of the current terms.
    async fn engine(&mut self, name: &str) -> Result<Engine, Error> {
        let rest = self.fixture.steps().get(self.next..).unwrap_or_default();
        let (steps, gone) = own_steps(rest);
        let journal = match gone {
            Some(gone) => self.records.until(self.session().0, gone, self.extent),
            None => self.records.whole(),
        };
        self.declared = self.terms.catalog.tools.keys().cloned().collect();
        let (catalog, policies) = (&self.terms.catalog, &self.terms.policies);
        self.of_client = client_tools(catalog, policies, &self.prompter);
        (self.changed_policies, self.relayed) = (policies.clone(), false);
        let (terms, prompter) = (&self.terms, &self.prompter);
        self.model = RecordedModel::new(terms.model.clone(), steps, gone.is_some());
        if let Some(gone) = gone {
            let written = gone.sent.saturating_sub(self.extent.sent);
            self.model.limit_written(written);
        }
        let agent = match &self.agents {
            AgentSource::Given(agent) => (**agent).clone(),
            AgentSource::OnRecord => {
                let tools = tools::on_record(&terms.catalog, &terms.policies, prompter);
                let model = terms.model.as_deref().unwrap_or("recorded");
                let reconnects_max = self.fixture.header().reconnects_max;
                Agent::of_record(model, tools, &terms.policies, reconnects_max)
            }
        };
        let real = self.fixture.real_tools;
        let model = self.model.clone();
        let mut agent = agent.played(
            self.model.clone(),
            terms.capabilities,
            terms.gates(),
            |tool| match real {
                true => tool,
                false => {
                    let body = tools::body(&tool.declaration(), prompter);
                    tool.performed_by(body)
                }
            },
        );
        agent = agent.hearing(Arc::new(move |frame| model.came_to(frame)));
        if steps.iter().any(|it| is_idle_detachment(&it.step)) {
            agent = agent.without_provider();
        }
        let mut engine = Engine::in_memory()
            .journal(Arc::new(journal))
            .clock(self.clock.clone())
            .agent(name, agent);
        let seals = terms.catalog.tools.values().any(|it| !it.secret.is_empty());
        if seals || !self.fixture.header().forgets_handles {
            engine = engine.keys(self.keys.clone());
        }
        Ok(engine.open().await?)
    }

    /// Opens the session.
    fn begin(&mut self, engine: &Engine) {
        let header = self.fixture.header();
        let mut session = engine.session(&header.agent);
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
        let (connects, relayed) = (self.asked_to_connect, is_relayed(self.fixture));
        self.handle_task = Some(tokio::spawn(async move {
            let live = session.open().await?;
            let live = if relayed { live.releasing() } else { live };
            if connects {
                // The record shows the failure, and the end of the session.
                match live.connect().await {
                    Ok(())
                    | Err(engine::Error::Connect(_) | engine::Error::NotConnected { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(live)
        }));
    }

    /// Waits until the record is as long as that of the recorded process.
    async fn reach(&mut self, at_ms: u64, gone: ProcessGone) -> Result<(), Error> {
        let is_reached = |facts: &[Fact]| {
            let mut extent = Extent::default();
            facts.iter().for_each(|it| extent.count(it.event.kind()));
            extent.lines >= gone.lines && extent.sent >= gone.sent
        };
        // If it stays shorter, the story shows the difference.
        self.wait((at_ms, ACTION_WAIT_MS), is_reached)
            .await
            .map(drop)
    }

    /// Makes the desk record what is due at this time, because no engine does.
    pub(super) async fn look(&mut self, at_ms: u64) -> Result<(), Error> {
        self.until(at_ms).await?;
        let serving = self.serving.clone();
        Ok(serving.look(self.session()).await?)
    }

    /// Shuts the last process down in good order. This is not part of the play.
    async fn shut_down_at_last(&mut self) -> Result<(), Error> {
        let undone = self.undone.lock().map(|it| it.clone()).unwrap_or_default();
        self.undone = Arc::new(Mutex::new(undone));
        self.live = None;
        match self.serving.engine().cloned() {
            Some(engine) => Ok(engine.shutdown(Duration::ZERO).await?),
            None => Ok(()),
        }
    }

    /// Drops the process with all its tasks.
    fn leave(&mut self, runtime: Runtime) {
        runtime.shutdown_background();
        // What a killed process sent is before its end.
        let last = self.next.checked_sub(1);
        let ended = last.and_then(|at| Some((at, &self.fixture.steps().get(at)?.step)));
        let at = match ended {
            Some((at, Step::ProcessGone(_))) => at,
            Some(_) | None => self.next,
        };
        while let Some(frame) = self.model.take_sent() {
            let frame = self.fixture.redacted_frame(&frame);
            self.sent.push((None, frame));
            self.unexpected_at.push(at);
        }
        self.serving = Serving::Desk(Desk::new(self.ledger.clone(), self.clock.clone()));
        (self.live, self.handle_task) = (None, None);
        (self.asked_to_connect, self.was_connected, self.drains) = (false, false, false);
        self.tried = 0;
        self.due.clear();
        self.prompter = Prompter::default();
    }

    fn told(self) -> Result<Played, Error> {
        let undone = self.undone.lock().map(|it| it.clone()).unwrap_or_default();
        let facts = self.fixture.redacted_facts(&self.facts, None)?;
        Ok(Played {
            told: Told::of(&facts),
            fixture: self.fixture.clone(),
            sent: self.sent,
            unexpected_at: self.unexpected_at,
            undone_steps: undone.iter().map(|it| it.at).collect(),
            undone: undone.into_iter().map(|it| it.what).collect(),
            began: self.began,
            compares_setup: true,
        })
    }
}

/// The steps of the current process, and the extent of its record if it is killed.
fn own_steps(rest: &[Timed]) -> (&[Timed], Option<ProcessGone>) {
    for (at, timed) in rest.iter().enumerate() {
        let own = rest.get(..at).unwrap_or_default();
        match &timed.step {
            Step::ProcessGone(gone) => return (own, Some(*gone)),
            Step::ProcessBegan(_) => return (own, None),
            Step::FrameOut(_)
            | Step::FrameIn(_)
            | Step::TextIn(_)
            | Step::ConnectionAsked
            | Step::ConnectionOpened
            | Step::ClientConnected(_)
            | Step::ConnectionRefused(_)
            | Step::ConnectionLost(_)
            | Step::ToolsChanged(_)
            | Step::Observed(_) => {}
        }
    }
    (rest, None)
}

/// True if a runner detaches because its process has nothing to do in the session. With a
/// confirmation provider, an open question would be something to do.
pub(super) fn is_idle_detachment(step: &Step) -> bool {
    let Step::Observed(Observation::RunnerDetached(it)) = step else {
        return false;
    };
    it.reason == IDLE
}

/// True if the engine makes this step when it connects.
fn is_of_connecting(step: &Step) -> bool {
    match step {
        Step::FrameOut(frame) => is_setup(frame.as_str()),
        Step::ConnectionAsked | Step::ConnectionOpened | Step::ConnectionRefused(_) => true,
        Step::FrameIn(_)
        | Step::TextIn(_)
        | Step::ClientConnected(_)
        | Step::ConnectionLost(_)
        | Step::ProcessGone(_)
        | Step::ProcessBegan(_)
        | Step::ToolsChanged(_)
        | Step::Observed(_) => false,
    }
}
