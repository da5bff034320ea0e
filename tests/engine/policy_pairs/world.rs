//! A conversation in which the model calls the tool, an approver answers, time passes and the
//! process dies; and its evidence.

use std::sync::Arc;
use std::time::Duration;

use crate::surviving::SurvivingJournal;
use recount::engine::Clock;
use recount::journal::seal::MemoryKeyStore;
use recount::live::wire::{FunctionCall, ServerMessage};
use recount::prelude::*;
use recount::replay;
use recount::session::{
    CallStarted, ConfirmationRequested, Decision, Event, Fact, Observation, Outcome, PolicyDecided,
    ResponseShape, Seq,
};
use recount::testing::{ManualClock, ScriptedModel};
use tokio::runtime::{Builder, Runtime};

use super::tools::{Doing, Kind, Log, NAME, Run, tool};
use super::{BOTH, CARD, Policy};

/// The events around a call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Then {
    /// The approver confirms, and a pending result is supplied.
    Approved,
    /// The approver denies.
    Denied,
    /// The model cancels the call once it waits.
    TakenBack,
    /// The process dies while the tool runs, and another continues.
    CutOff,
}

/// A call, and the policy for which it was made.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) act: &'static str,
    pub(crate) id: String,
    pub(crate) key: u64,
    pub(crate) then: Then,
    pub(crate) seq: Seq,
}

/// One response to the model.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) id: String,
    pub(crate) body: Value,
    pub(crate) scheduling: Option<String>,
    pub(crate) will_continue: Option<bool>,
}

/// The evidence of a conversation.
pub(crate) struct Evidence {
    pub(crate) kind: Kind,
    pub(crate) pair: [&'static str; 2],
    pub(crate) runs: Vec<Run>,
    pub(crate) calls: Vec<Call>,
    pub(crate) facts: Vec<Fact>,
    pub(crate) answers: Vec<Answer>,
    /// The number of open calls.
    pub(crate) open: usize,
    /// True if a replay gives the same decisions.
    pub(crate) replays: bool,
}

pub(crate) struct World {
    kind: Kind,
    pair: [&'static Policy; 2],
    log: Arc<Log>,
    clock: Arc<ManualClock>,
    journal: Arc<SurvivingJournal>,
    keys: Arc<MemoryKeyStore>,
    model: ScriptedModel,
    process: Option<Process>,
    act: &'static str,
    calls: Vec<Call>,
    /// The number of started runs.
    started: usize,
}

/// A process; dropping it kills it without a shutdown.
struct Process {
    live: LiveHandle,
    updates: Updates,
    engine: Engine,
    runtime: Runtime,
}

/// A runtime with a paused clock that advances when all tasks are idle.
///
/// So a stalled test fails at once.
fn runtime() -> Runtime {
    let mut builder = Builder::new_current_thread();
    builder.enable_all().start_paused(true).build().unwrap()
}

impl World {
    /// A session with the tool under both policies in this order, or the error of the build.
    pub(crate) fn begin(kind: Kind, pair: [&'static Policy; 2]) -> Result<World, String> {
        let mut world = World {
            kind,
            pair,
            log: Arc::default(),
            clock: ManualClock::new(),
            journal: SurvivingJournal::new(),
            keys: Arc::default(),
            model: ScriptedModel::parse("").unwrap(),
            process: None,
            act: BOTH,
            calls: Vec::new(),
            started: 0,
        };
        let runtime = runtime();
        let engine = runtime.block_on(world.engine())?;
        let live = runtime.block_on(engine.session("a").connect()).unwrap();
        world.process = Some(Process {
            updates: live.subscribe(),
            live,
            engine,
            runtime,
        });
        Ok(world)
    }

    async fn engine(&self) -> Result<Engine, String> {
        let mut tools = tool(self.kind, &self.log);
        for policy in self.pair {
            tools = (policy.apply)(tools);
        }
        let mut agent = Agent::new()
            .model("m")
            .tools(tools)
            .connect_to(self.model.clone())
            .phase("closed")
            .transition("open", S::is_true("open"))
            .done()
            .phase("open")
            .done();
        if self.has("envelope") {
            agent = agent.response_shape(ResponseShape::Envelope);
        }
        let engine = Engine::in_memory()
            .journal(self.journal.clone())
            .clock(self.clock.clone())
            .keys(self.keys.clone())
            .agent("a", agent);
        engine.open().await.map_err(|error| error.to_string())
    }

    pub(crate) fn has(&self, form: &str) -> bool {
        self.pair.iter().any(|policy| policy.form == form)
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// Tries a policy; the following calls belong to it.
    pub(crate) fn act(&mut self, policy: &Policy) {
        self.act = policy.form;
        (policy.act)(self);
    }

    /// Advances the recorded time.
    pub(crate) fn wait(&self, time: Duration) {
        self.clock.advance(time);
    }

    /// Sets a key of the state to `true`.
    pub(crate) fn set(&self, key: &str) {
        let process = self.process.as_ref().unwrap();
        let by = Actor::embedder("ada");
        let changed = process.live.change_state(by, |state| state.set(key, true));
        process.runtime.block_on(changed).unwrap();
    }

    /// Makes the model call the tool with new arguments, and returns the outcome.
    pub(crate) fn call(&mut self, doing: Doing, then: Then) -> Outcome {
        self.call_again(self.calls.len() as u64, doing, then)
    }

    /// As [`call`](World::call), with the key of an earlier call.
    pub(crate) fn call_again(&mut self, key: u64, doing: Doing, then: Then) -> Outcome {
        let id = format!("c{}", self.calls.len());
        let args = json!({ "key": key, "doing": doing, "card": CARD });
        self.model
            .send(&ServerMessage::tool_call([FunctionCall::new(
                &id, NAME, args,
            )]));
        self.calls.push(Call {
            act: self.act,
            id,
            key,
            then,
            seq: Seq(0),
        });
        let mut process = self.process.take().unwrap();
        let hangs = doing == Doing::Hang;
        let mut ended = self.follow(&mut process, hangs);
        if ended.is_none() {
            // The process is dropped while the tool runs.
            drop(process);
            let runtime = runtime();
            let engine = runtime.block_on(self.engine()).unwrap();
            let session = self.session();
            let updates = engine.subscribe();
            let live = runtime.block_on(engine.resume(session)).unwrap();
            process = Process {
                live,
                updates,
                engine,
                runtime,
            };
            if let Some(call) = self.calls.last_mut() {
                call.then = Then::Approved;
            }
            ended = self.follow(&mut process, hangs);
            if let Some(call) = self.calls.last_mut() {
                call.then = then;
            }
        }
        self.process = Some(process);
        ended.unwrap()
    }

    fn session(&self) -> SessionId {
        let ledger = recount::ledger::Ledger::new(self.journal.clone());
        let sessions = recount::journal::block_on(ledger.sessions()).unwrap();
        sessions.first().unwrap().id
    }

    /// Acts for all participants until the last call has ended and the model has its outcome.
    ///
    /// Returns `None` where the call is to be cut off.
    fn follow(&mut self, process: &mut Process, hangs: bool) -> Option<Outcome> {
        let Process {
            live,
            updates,
            runtime,
            ..
        } = process;
        let conversation = async {
            let mut issued = None;
            loop {
                let recorded = updates.next().await.unwrap();
                let fact = &recorded.fact;
                let call = self.calls.last_mut().unwrap();
                match &fact.event {
                    Event::Observed(observation) => {
                        if let Observation::FunctionCallReceived(it) = observation
                            && it.id.as_deref() == Some(call.id.as_str())
                        {
                            call.seq = fact.seq;
                        } else if let Observation::ToolPaused(it) = observation
                            && it.call == call.seq
                        {
                            if call.then == Then::TakenBack {
                                self.model.send(&ServerMessage::cancel([&call.id]));
                                continue;
                            }
                            let ticket = Ticket {
                                session: live.session_id(),
                                call: call.seq,
                                tool: NAME.to_owned(),
                            };
                            let by = Actor::embedder("warehouse");
                            live.respond(&ticket, json!({"supplied": true}), by)
                                .await
                                .unwrap();
                        } else if let Observation::ResponsesSent(it) = observation
                            && let Some((response, outcome)) = issued
                            && it.responses.contains(&response)
                        {
                            return Some(outcome);
                        }
                    }
                    Event::Decided(decision) if decision.call() == Some(call.seq) => {
                        if let Decision::ConfirmationRequested(_) = decision {
                            if call.then == Then::TakenBack {
                                self.model.send(&ServerMessage::cancel([&call.id]));
                                continue;
                            }
                            let answer = match call.then {
                                Then::Denied => ToolConfirmation::denied("not today"),
                                Then::Approved | Then::TakenBack | Then::CutOff => {
                                    ToolConfirmation::confirmed()
                                }
                            };
                            let request = live.session_id().request_id(fact.seq);
                            let by = Actor::embedder("ada");
                            live.answer(request, answer, by).await.unwrap();
                        } else if let Decision::CallStarted(it) = decision {
                            self.started += 1;
                            let mut begun = self.log.begun.subscribe();
                            begun
                                .wait_for(|begun| *begun >= self.started)
                                .await
                                .unwrap();
                            match (call.then, it.deadline_us) {
                                (Then::CutOff, _) => return None,
                                (Then::TakenBack, _) if hangs => {
                                    self.model.send(&ServerMessage::cancel([&call.id]));
                                }
                                (Then::Approved, Some(due)) if hangs => self.clock.advance(
                                    Duration::from_micros((due.0 - self.clock.now().0) as u64),
                                ),
                                (Then::Approved | Then::Denied | Then::TakenBack, _) => {}
                            }
                        } else if let Decision::RetryScheduled(it) = decision {
                            let wait = it.due_us.0 - self.clock.now().0;
                            self.clock.advance(Duration::from_micros(wait as u64));
                        } else if let Decision::ResponseIssued(it) = decision
                            && it.outcome != Outcome::Interim
                        {
                            issued = Some((fact.seq, it.outcome));
                        } else if let Decision::CallCancelled(_) = decision {
                            return Some(Outcome::Withdrawn);
                        }
                    }
                    Event::Decided(_) => {}
                }
            }
        };
        let told = runtime.block_on(async {
            tokio::time::timeout(Duration::from_secs(3600), conversation).await
        });
        told.unwrap_or_else(|_| panic!("nothing happens any more: {:?}", self.calls.last()))
    }

    pub(crate) fn evidence(mut self) -> Evidence {
        let process = self.process.take().unwrap();
        let session = process.live.session_id();
        let (facts, open, replays) = process.runtime.block_on(async {
            // Lets dropped runs finish.
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            let ledger = process.engine.ledger();
            let facts = ledger.facts(session, Seq(1), 100_000).await.unwrap();
            let open = process.live.session().await.unwrap().calls.len();
            let report = replay::verify(ledger, session).await.unwrap();
            (facts, open, report.diverged.is_none())
        });
        let transcript = self.model.transcript();
        let answers = transcript.answers().map(|(_, answer, _)| Answer {
            id: answer.id.clone().unwrap(),
            body: serde_json::from_str(&answer.response.as_ref().unwrap().to_string()).unwrap(),
            scheduling: answer.scheduling.clone(),
            will_continue: answer.will_continue,
        });
        Evidence {
            kind: self.kind,
            pair: self.pair.map(|policy| policy.form),
            runs: self.log.runs.lock().unwrap().clone(),
            calls: self.calls,
            facts,
            answers: answers.collect(),
            open,
            replays,
        }
    }
}

impl Evidence {
    pub(crate) fn has(&self, form: &str) -> bool {
        self.pair.contains(&form)
    }

    /// The calls that belong to a policy.
    pub(crate) fn of(&self, act: &str) -> Vec<&Call> {
        self.calls.iter().filter(|call| call.act == act).collect()
    }

    pub(crate) fn runs_of(&self, call: &Call) -> Vec<&Run> {
        let same = |run: &&Run| run.work.key == call.key;
        self.runs.iter().filter(same).collect()
    }

    pub(crate) fn answers_to(&self, call: &Call) -> Vec<&Answer> {
        self.answers
            .iter()
            .filter(|answer| answer.id == call.id)
            .collect()
    }

    /// The decisions about a call, with their records.
    pub(crate) fn decided(&self, call: &Call) -> Vec<(&Fact, &Decision)> {
        let decided = self.facts.iter().filter_map(|fact| match &fact.event {
            Event::Decided(decision) => Some((fact, decision)),
            Event::Observed(_) => None,
        });
        let about = |(_, decision): &(&Fact, &Decision)| decision.call() == Some(call.seq);
        decided.filter(about).collect()
    }

    /// The number of decisions of this kind about a call.
    pub(crate) fn count(&self, call: &Call, kind: &str) -> usize {
        let decided = self.decided(call);
        decided
            .iter()
            .filter(|(fact, _)| fact.event.kind() == kind)
            .count()
    }

    pub(crate) fn outcomes(&self, call: &Call) -> Vec<Outcome> {
        let decided = self.decided(call).into_iter();
        let ends = decided.filter_map(|(_, decision)| {
            if let Decision::ResponseIssued(it) = decision {
                Some(it.outcome).filter(|outcome| *outcome != Outcome::Interim)
            } else if let Decision::CallCancelled(_) = decision {
                Some(Outcome::Withdrawn)
            } else {
                None
            }
        });
        ends.collect()
    }

    pub(crate) fn verdict(&self, call: &Call) -> (&Fact, &PolicyDecided) {
        let decided = self.decided(call).into_iter();
        let mut verdicts = decided.filter_map(|(fact, decision)| {
            if let Decision::PolicyDecided(it) = decision {
                Some((fact, it))
            } else {
                None
            }
        });
        verdicts.next().unwrap()
    }

    pub(crate) fn asked(&self, call: &Call) -> Vec<&ConfirmationRequested> {
        let decided = self.decided(call).into_iter();
        decided
            .filter_map(|(_, decision)| decision.question())
            .collect()
    }

    /// The recorded starts of a call.
    pub(crate) fn starts(&self, call: &Call) -> Vec<(&Fact, &CallStarted)> {
        let decided = self.decided(call).into_iter();
        let starts = decided.filter_map(|(fact, decision)| {
            if let Decision::CallStarted(it) = decision {
                Some((fact, it))
            } else {
                None
            }
        });
        starts.collect()
    }

    pub(crate) fn attempts(&self, call: &Call) -> Vec<u32> {
        let starts = self.starts(call).into_iter();
        starts.map(|(_, started)| started.attempt).collect()
    }

    /// The last response to a call, without its envelope.
    pub(crate) fn told(&self, call: &Call) -> Value {
        let answers = self.answers_to(call);
        let body = answers.last().unwrap().body.clone();
        match body.get("output") {
            Some(output) if self.has("envelope") => output.clone(),
            Some(_) | None => body,
        }
    }

    /// The outcome of a successful call.
    pub(crate) fn success(&self) -> Outcome {
        match self.kind {
            Kind::LongRunning => Outcome::Supplied,
            Kind::Function | Kind::Typed | Kind::Custom | Kind::Streaming => Outcome::Returned,
        }
    }
}
