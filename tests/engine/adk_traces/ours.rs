//! The same trace, played to a real engine: the state after each message of the client.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::pending;
use std::sync::{Arc, Mutex};

use crate::surviving::SurvivingJournal;
use async_trait::async_trait;
use futures_util::future::join_all;
use recount::adk::{REQUEST_CONFIRMATION, RefusedMessage};
use recount::engine::Error;
use recount::live::wire::{self, ServerMessage};
use recount::prelude::*;
use recount::session::{Event, Observation, Phase, RequestState, Seq};
use recount::testing::{Life, ManualClock, ScriptedModel};
use tokio::sync::mpsc;

use super::standing::{Call, Standing, Told};
use super::trace::{Called, Process, Trace, Turn, is_of_application};

/// The behavior of the tools that a trace does not show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Scene {
    /// No special behavior.
    #[default]
    AsShown,
    /// The process dies during the first run, before or after it took effect.
    DiesInFirstRun { took_effect: bool },
    /// The long-running tool returns `{}`.
    ReturnsEmptyObject,
    /// The tool is missing from the second message on.
    GoneAtSecondMessage,
    /// The tool runs in the background, and may fail.
    Background { fails: bool },
    /// Only larger amounts need approval.
    AsksAbove { amount: i64 },
    /// The tool asks inside its body and waits there, so its first result of the trace is skipped.
    AsksInPlace,
    /// The tool streams three results.
    Streams,
}

/// The outcome of one turn: the state after it, and the reply to each message.
pub(crate) struct Played {
    pub(crate) standing: Standing,
    pub(crate) replies: Vec<String>,
}

pub(crate) fn play(trace: &Trace, scene: Scene) -> Vec<Played> {
    let mut stage = Stage::new(trace, scene);
    let played = (0..trace.turns.len())
        .map(|turn| stage.play(turn))
        .collect();
    stage.end();
    played
}

/// The effects of the tools, outside of every process.
#[derive(Default)]
struct World {
    ran: BTreeMap<String, usize>,
    results: BTreeMap<String, VecDeque<Result<Value, String>>>,
}

type Shared = Arc<Mutex<World>>;

struct Stage<'t> {
    trace: &'t Trace,
    scene: Scene,
    journal: Arc<SurvivingJournal>,
    clock: Arc<ManualClock>,
    model: ScriptedModel,
    world: Shared,
    life: Option<(Life, LiveHandle)>,
    session: Option<SessionId>,
    lives: usize,
}

impl<'t> Stage<'t> {
    fn new(trace: &'t Trace, scene: Scene) -> Stage<'t> {
        let results = trace.results.iter();
        let results = results.map(|(tool, all)| (tool.clone(), all.iter().cloned().collect()));
        let first = usize::from(scene == Scene::AsksInPlace);
        let results = results.map(|(tool, all): (String, VecDeque<_>)| {
            (tool, all.into_iter().skip(first).collect())
        });
        let world = World {
            results: results.collect(),
            ..World::default()
        };
        Stage {
            trace,
            scene,
            journal: SurvivingJournal::new(),
            clock: ManualClock::new(),
            model: ScriptedModel::parse("").unwrap(),
            world: Arc::new(Mutex::new(world)),
            life: None,
            session: None,
            lives: 0,
        }
    }

    fn play(&mut self, number: usize) -> Played {
        let trace = self.trace;
        let turn = &trace.turns[number];
        let gone = self.scene == Scene::GoneAtSecondMessage && number == 1;
        if self.life.is_none() || gone {
            self.end();
            self.begin(gone);
        }
        let messages: Vec<String> = turn.messages.iter().map(|it| self.in_our_ids(it)).collect();
        let (life, live) = self.life.as_ref().unwrap();
        let replies =
            life.run(join_all(messages.iter().map(|message| {
                live.receive_client_message(Actor::embedder("ada"), message)
            })));
        life.settle();
        for calls in &turn.calls {
            let calls: Vec<wire::FunctionCall> = calls.iter().map(as_frame).collect();
            self.model.send(&ServerMessage::tool_call(calls));
            life.settle();
        }
        let process = self.process_after(turn, number);
        let mut standing = None;
        match process {
            Process::GoesOn => {}
            Process::IsReplaced => {
                standing = Some(self.standing());
                self.end();
            }
            Process::Dies => {
                // The next process finds what was recorded before the death.
                standing = Some(self.standing());
                let (life, live) = self.life.take().unwrap();
                drop(live);
                life.crash();
            }
        }
        Played {
            standing: standing.unwrap_or_else(|| self.standing()),
            replies: replies.into_iter().map(reply).collect(),
        }
    }

    /// In the scene of a run that is cut off, the process dies at that turn.
    fn process_after(&self, turn: &Turn, number: usize) -> Process {
        match self.scene {
            Scene::DiesInFirstRun { took_effect: true } if number == 1 => Process::Dies,
            Scene::AsShown
            | Scene::DiesInFirstRun { .. }
            | Scene::ReturnsEmptyObject
            | Scene::GoneAtSecondMessage
            | Scene::AsksAbove { .. }
            | Scene::AsksInPlace
            | Scene::Background { .. }
            | Scene::Streams => turn.process,
        }
    }

    fn begin(&mut self, gone: bool) {
        let mut agent = Agent::new().model("m").connect_to(self.model.clone());
        if !gone {
            for tool in self.tools() {
                agent = agent.tools(tool);
            }
        }
        let life = Life::begin(&self.journal, &self.clock, [("root_agent", agent)]);
        let live = match self.session {
            Some(session) => life.run(life.engine().resume(session)).unwrap(),
            None => life
                .run(life.engine().session("root_agent").connect())
                .unwrap(),
        };
        self.session = Some(live.session_id());
        life.settle();
        self.life = Some((life, live));
        self.lives += 1;
    }

    fn end(&mut self) {
        if let Some((life, live)) = self.life.take() {
            drop(live);
            life.end();
        }
    }

    fn tools(&self) -> Vec<recount::tool::Toolset> {
        let names: BTreeSet<&str> = self.trace.calls().map(|it| it.tool.as_str()).collect();
        names.into_iter().map(|name| self.tool(name)).collect()
    }

    fn tool(&self, name: &str) -> recount::tool::Toolset {
        let (world, scene, first) = (self.world.clone(), self.scene, self.lives == 0);
        if scene == Scene::Streams {
            let (name, runs) = (name.to_owned(), world);
            return T::streaming(Arc::new(Watch { name, runs }));
        }
        if scene == Scene::AsksInPlace {
            let (name, world) = (name.to_owned(), world);
            return T::function(Arc::new(Asks { name, world }));
        }
        let called = name.to_owned();
        let run = T::simple(name, "Of a trace", move |args| {
            let (world, called) = (world.clone(), called.clone());
            async move {
                if scene == (Scene::DiesInFirstRun { took_effect: false }) && first {
                    pending::<()>().await;
                }
                let outcome = {
                    let mut world = world.lock().unwrap();
                    *world.ran.entry(called.clone()).or_default() += 1;
                    let results = world.results.get_mut(&called);
                    results.and_then(VecDeque::pop_front)
                };
                if scene == (Scene::DiesInFirstRun { took_effect: true }) && first {
                    pending::<()>().await;
                }
                match (scene, outcome) {
                    (Scene::ReturnsEmptyObject, _) => Ok(json!({})),
                    (Scene::Background { fails: true }, _) => {
                        Err(ToolError::ExecutionFailed("it raised".to_owned()))
                    }
                    (_, Some(Ok(result))) => Ok(result),
                    (_, Some(Err(why))) => Err(ToolError::ExecutionFailed(why)),
                    // A long-running tool without a result, or more runs than the trace has.
                    (_, None) => Ok(args["never"].clone()),
                }
            }
        });
        let mut tool: recount::tool::Toolset = run;
        if self
            .trace
            .calls()
            .any(|it| it.tool == name && it.long_running)
        {
            tool = T::long_running(tool);
        }
        if let Scene::Background { .. } = scene {
            tool = T::background(tool);
        }
        if scene == (Scene::DiesInFirstRun { took_effect: false }) {
            tool = T::idempotent(tool);
        }
        let stands = &self.trace.turns.last().unwrap().standing;
        let asked = stands.calls.iter().any(|it| it.tool == name && it.asked);
        let hint = format!("May it {name}?");
        if let Scene::AsksAbove { amount } = scene {
            let large = S::compares(S::arg("amount"), Comparison::Greater, amount);
            tool = T::confirm_when(tool, hint, large);
        } else if asked {
            tool = T::confirm(tool, hint);
        }
        tool
    }

    /// The message with the ids of our own events for the same calls and requests.
    fn in_our_ids(&self, message: &Value) -> String {
        let (life, _) = self.life.as_ref().unwrap();
        let events = life
            .run(life.engine().adk_events(self.session.unwrap()))
            .unwrap();
        let calls = events.iter().flat_map(|event| event.calls());
        let (mut shown, mut requests) = (Vec::new(), BTreeMap::new());
        for call in calls {
            let id = call.id.clone().unwrap();
            if call.name == REQUEST_CONFIRMATION {
                let original = recount::adk::original_call_from(&FunctionCall::from(call)).unwrap();
                requests.insert(original.id.unwrap(), id);
            } else {
                shown.push(id);
            }
        }
        let theirs = self.trace.calls().map(|it| it.id.as_str());
        let ours: BTreeMap<&str, &String> = theirs.zip(&shown).collect();
        let mut message = message.clone();
        let content = if message.get("newMessage").is_some() {
            &mut message["newMessage"]
        } else if message.get("content").is_some() {
            &mut message["content"]
        } else {
            &mut message
        };
        for part in content["parts"].as_array_mut().into_iter().flatten() {
            let Some(id) = part.pointer_mut("/functionResponse/id") else {
                continue;
            };
            let theirs = id.as_str().unwrap().to_owned();
            if let Some(about) = self.trace.requests.get(&theirs) {
                if let Some(request) = ours.get(about.as_str()).and_then(|it| requests.get(*it)) {
                    *id = json!(request);
                }
            } else if let Some(call) = ours.get(theirs.as_str()) {
                *id = json!(call);
            }
        }
        message.to_string()
    }

    /// The state of the session, and what the model and the tools have received.
    fn standing(&self) -> Standing {
        let (life, live) = self.life.as_ref().unwrap();
        let session = life.run(live.session()).unwrap();
        let facts = life
            .run(life.engine().ledger().facts(session.id, Seq(1), 10_000))
            .unwrap();
        let (mut calls, mut keys, mut connections) = (Vec::new(), Vec::new(), 0);
        for fact in &facts {
            let Event::Observed(observation) = &fact.event else {
                continue;
            };
            connections += usize::from(matches!(observation, Observation::Connected(_)));
            let Observation::FunctionCallReceived(received) = observation else {
                continue;
            };
            let phase = session.calls.get(&fact.seq).map(|call| &call.phase);
            let requests = || session.requests.values().filter(|it| it.call == fact.seq);
            let decided = requests().find_map(|request| match &request.state {
                RequestState::Answered(answered) => Some(answered.confirmed),
                RequestState::Open
                | RequestState::Expired { .. }
                | RequestState::Withdrawn { .. }
                | RequestState::Superseded { .. } => None,
            });
            let tool = received.name.clone().unwrap();
            keys.push(Key {
                connection: connections.to_string(),
                id: received.id.clone(),
                args: received.args.clone().unwrap().to_string(),
            });
            calls.push(Call {
                tool,
                asked: requests().next().is_some(),
                waits: matches!(phase, Some(Phase::AwaitingConfirmation { .. })),
                decided,
                paused: matches!(phase, Some(Phase::Paused { .. })),
                told: None,
            });
        }
        self.told(&mut calls, &keys);
        let world = self.world.lock().unwrap();
        let ran = world.ran.clone().into_iter();
        Standing {
            calls,
            ran: ran.filter(|(tool, _)| is_of_application(tool)).collect(),
        }
    }

    /// Fills in what the model received: responses, and texts after a lost connection.
    fn told(&self, calls: &mut [Call], keys: &[Key]) {
        let transcript = self.model.transcript();
        for (connection, answer, _) in transcript.answers() {
            let is_it = |call: &Call, key: &Key| {
                let named = key.id == answer.id && key.connection == connection.to_string();
                named && Some(&call.tool) == answer.name.as_ref()
            };
            let all = || calls.iter().zip(keys).enumerate();
            let alike = || all().filter(|(_, (call, key))| is_it(call, key));
            // Among calls without an id, the first that was not answered yet.
            let unanswered = alike().find(|(_, (call, _))| call.told.is_none());
            let (at, _) = unanswered.or_else(|| alike().next()).unwrap();
            let body = answer.response.as_ref().unwrap().as_str();
            // ADK also reports this, in other words; it is no answer.
            if body.contains("awaiting_confirmation") {
                continue;
            }
            calls[at].told = Some(told(serde_json::from_str(body).unwrap()));
        }
        for (_, words) in transcript.told() {
            let mut named = calls.iter_mut().zip(keys);
            let call = named.find(|(call, key)| {
                words.contains(&format!("Your earlier call {}({})", call.tool, key.args))
            });
            if let (Some((call, _)), Some((_, body))) = (call, words.split_once("Response: ")) {
                call.told = Some(told(serde_json::from_str(body).unwrap()));
            }
        }
    }
}

/// The key that finds a call in the messages to the model.
struct Key {
    connection: String,
    id: Option<String>,
    args: String,
}

fn told(body: Value) -> Told {
    let error = body["error"].as_str().unwrap_or_default();
    match body["kind"].as_str() {
        Some("cancelled") if error.starts_with("the call was denied") => Told::Denied,
        Some(kind) => Told::Failed(kind.to_owned()),
        None => Told::Result(body),
    }
}

fn as_frame(called: &Called) -> wire::FunctionCall {
    wire::FunctionCall {
        id: called.of_model.clone(),
        name: Some(called.tool.clone()),
        args: Some(called.args.clone().into()),
        ..wire::FunctionCall::default()
    }
}

/// The reply to a message, as one word.
fn reply(outcome: Result<Vec<recount::engine::Received>, Error>) -> String {
    let word = match outcome {
        Ok(_) => "ok",
        Err(Error::Refused(rejection)) => rejection.code(),
        Err(Error::Message(refused)) => match refused {
            RefusedMessage::FunctionCall { .. } => "function_call",
            RefusedMessage::MixedWithText => "mixed_with_text",
            RefusedMessage::MissingId { .. } => "missing_id",
            RefusedMessage::UnknownId { .. } => "unknown_id",
            RefusedMessage::WrongName { .. } => "wrong_name",
            RefusedMessage::AwaitsConfirmation { .. } => "awaits_confirmation",
            other => return other.to_string(),
        },
        Err(other) => return other.to_string(),
    };
    word.to_owned()
}

/// A tool that asks, and returns the result that the trace has for the answer.
struct Asks {
    name: String,
    world: Shared,
}

#[async_trait]
impl ToolFunction for Asks {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        "Of a trace"
    }

    fn parameters(&self) -> Option<Value> {
        None
    }

    async fn call(&self, _: Value) -> Result<Value, ToolError> {
        Err(ToolError::NotAvailable("it asks".to_owned()))
    }

    async fn call_with_context(&self, _: Value, context: ToolContext) -> Result<Value, ToolError> {
        let ran = |world: &mut World| *world.ran.entry(self.name.clone()).or_default() += 1;
        ran(&mut self.world.lock().unwrap());
        let answer = context.request_confirmation("May it?").await?;
        let result = {
            let mut world = self.world.lock().unwrap();
            let results = world.results.get_mut(&self.name);
            results.and_then(VecDeque::pop_front)
        };
        // The result is the one of the trace, with the approved days of the payload.
        match result {
            Some(Ok(mut result)) => {
                if let Some(days) = answer
                    .payload
                    .as_ref()
                    .and_then(|it| it.get("approved_days"))
                {
                    result["approved_days"] = days.clone();
                }
                Ok(result)
            }
            Some(Err(why)) => Err(ToolError::ExecutionFailed(why)),
            None => Ok(Value::Null),
        }
    }
}

/// A tool that streams `{"i": 0}`, `{"i": 1}`, `{"i": 2}`.
struct Watch {
    name: String,
    runs: Shared,
}

#[async_trait]
impl StreamingTool for Watch {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        "Of a trace"
    }

    fn parameters(&self) -> Option<Value> {
        None
    }

    async fn run(&self, _: Value, results: mpsc::Sender<Value>) -> Result<(), ToolError> {
        for i in 0..3 {
            *self
                .runs
                .lock()
                .unwrap()
                .ran
                .entry(self.name.clone())
                .or_default() += 1;
            let _ = results.send(json!({ "i": i })).await;
        }
        Ok(())
    }
}
