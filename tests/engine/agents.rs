//! Agents that are called as tools: their turns and calls are recorded, pass the same policies, and
//! outlive a process.

mod taken_back;
mod told;

use std::collections::BTreeSet;
use std::future::pending;
use std::sync::{Arc, Mutex};

use crate::child_process::{ChildProcess, obey, order, say};
use crate::outliving::Home;
use crate::store;
use crate::surviving::SurvivingJournal;
use async_trait::async_trait;
use recount::engine::Error;
use recount::ledger::Ledger;
use recount::prelude::*;
use recount::replay;
use recount::session::{Event, Fact, Observation, Outcome, Seq, Session};
use recount::simulator::ConnectionId;
use recount::testing::{Crash, CrashPoint, CrashingJournal, Life, ManualClock, ScriptedModel};
use recount::tool::{
    AgentAsk, AgentSoFar, AgentStep, BaseLlm, LlmAgent, LlmContent, LlmError, LlmReply, LlmRequest,
    LlmSaid, ScriptedLlm, TextAgent, TextAgentTool, sequence,
};

/// The model of the conversation calls the agent to verify the caller.
const MODEL: &str = r#"
{"on": {"text": "17"}, "send": [{"call": [{"id": "c1", "name": "verify_identity", "args": {"request": "Is it Ada?"}}]}]}
{"on": {"text": "stop"}, "send": [{"cancel": ["c1"]}]}
{"on": {"responses_to": ["c1"]}, "send": [{"say": "Noted."}]}
{"on": "otherwise", "once": false, "send": [{"say": "Understood."}]}
"#;

/// A list of what ran, kept outside of any process.
#[derive(Clone, Default)]
struct Witness(Arc<Mutex<Vec<String>>>);

impl Witness {
    fn note(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    fn noted(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    fn count(&self, what: &str) -> usize {
        self.noted().iter().filter(|it| *it == what).count()
    }

    /// A tool that notes each run.
    fn tool(&self, name: &'static str) -> Toolset {
        let witness = self.clone();
        T::simple(name, "Does it", move |args| {
            witness.note(name);
            async move { Ok(json!({ "did": name, "args": args })) }
        })
    }
}

/// A model that gives a fixed reply for each turn number and notes each request.
struct TurnByTurn {
    witness: Witness,
    replies: Vec<LlmReply>,
}

#[async_trait]
impl BaseLlm for TurnByTurn {
    fn model(&self) -> &str {
        "turn-by-turn"
    }

    async fn generate(&self, request: LlmRequest) -> Result<LlmReply, LlmError> {
        let said = |it: &&LlmContent| matches!(it, LlmContent::Model { .. });
        let turn = request.contents.iter().filter(said).count();
        self.witness.note(format!("turn {}", turn + 1));
        let over = || LlmError::Refused("nothing more is written down".to_owned());
        self.replies.get(turn).cloned().ok_or_else(over)
    }
}

fn calls(calls: impl IntoIterator<Item = LlmSaid>) -> LlmReply {
    LlmReply {
        said: calls.into_iter().collect(),
        usage: Some(json!({"totalTokenCount": 7})),
    }
}

fn looks_up() -> LlmReply {
    calls([
        LlmSaid::text("Let me see."),
        LlmSaid::call("look_up", json!({"number": 17})),
    ])
}

/// The state that outlives the processes of a test.
struct World {
    journal: Arc<SurvivingJournal>,
    clock: Arc<ManualClock>,
    model: ScriptedModel,
}

impl World {
    fn new() -> World {
        World {
            journal: SurvivingJournal::new(),
            clock: ManualClock::new(),
            model: ScriptedModel::parse(MODEL).unwrap(),
        }
    }

    fn life(&self, tools: impl Into<Toolset>) -> Life {
        let agent = Agent::new()
            .model("m")
            .tools(tools)
            .connect_to(self.model.clone());
        Life::begin(&self.journal, &self.clock, [("support", agent)])
    }

    /// Starts a process in which the model of the conversation has called the agent.
    fn called(&self, tools: impl Into<Toolset>) -> (Life, LiveHandle) {
        let life = self.life(tools);
        let live = life.run(async {
            let live = life.engine().session("support").connect().await.unwrap();
            live.send_text("This is caller 17.").await.unwrap();
            live
        });
        life.settle();
        (life, live)
    }

    fn ledger(&self) -> Ledger {
        Ledger::new(self.journal.clone())
    }

    fn facts(&self) -> Vec<Fact> {
        let (ledger, session) = (self.ledger(), self.session());
        recount::journal::block_on(ledger.facts(session, Seq(1), 10_000)).unwrap()
    }

    fn session(&self) -> SessionId {
        let sessions = recount::journal::block_on(self.ledger().sessions()).unwrap();
        sessions[0].id
    }

    /// The session folded from the journal. It replays.
    fn folded(&self) -> Session {
        let (ledger, id) = (self.ledger(), self.session());
        let replayed = recount::journal::block_on(replay::verify(&ledger, id)).unwrap();
        assert_eq!(replayed.diverged, None);
        recount::journal::block_on(ledger.load(id)).unwrap().session
    }

    /// The responses that the model of the conversation received.
    fn answers(&self) -> Vec<Value> {
        let transcript = self.model.transcript();
        let answers = transcript.answers();
        let body = |text: &str| serde_json::from_str(text).unwrap();
        let bodies =
            answers.map(|(_, response, _)| body(response.response.as_ref().unwrap().as_str()));
        bodies.collect()
    }

    fn kinds(&self) -> Vec<&'static str> {
        self.facts().iter().map(|it| it.event.kind()).collect()
    }
}

fn verify(agent: impl TextAgent) -> Toolset {
    T::agent("verify_identity", "Verifies a caller's identity", agent)
}

fn approve(life: &Life) -> Result<Seq, Error> {
    let pending = life.run(life.engine().pending()).unwrap();
    assert_eq!(pending.len(), 1, "{pending:?}");
    let yes = ToolConfirmation::confirmed();
    let by = Actor::embedder("ada");
    let answered = life.run(life.engine().answer(pending[0].id, yes, by));
    life.settle();
    answered
}

#[test]
fn only_final_answer_of_agent_reaches_model() {
    let (world, witness) = (World::new(), Witness::default());
    let llm = ScriptedLlm::new([looks_up(), LlmReply::text("It is Ada.")]);
    let agent = LlmAgent::new("verifier", llm.clone()).tools(witness.tool("look_up"));
    let _life = world.called(verify(agent) | witness.tool("pay"));
    assert_eq!(world.answers(), [json!({"output": "It is Ada."})]);
    assert_eq!(witness.noted(), ["look_up"]);
    let transcript = world.model.transcript();
    let setup = transcript.received_on(ConnectionId(1)).next().unwrap();
    let setup = format!("{setup:?}");
    assert!(
        setup.contains("verify_identity") && setup.contains("pay"),
        "{setup}"
    );
    assert!(!setup.contains("look_up"), "{setup}");
    let asked = llm.asked();
    let tools: Vec<&str> = asked[0].tools.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(tools, ["look_up"]);
    let [LlmContent::User { text }] = &asked[0].contents[..] else {
        panic!("{asked:?}");
    };
    assert_eq!(text, "Is it Ada?");
    let Some(LlmContent::Tools { answers }) = asked[1].contents.last() else {
        panic!("{asked:?}");
    };
    assert_eq!(answers[0].name, "look_up");
    assert_eq!(
        answers[0].response.as_str(),
        r#"{"args":{"number":17},"did":"look_up"}"#
    );
    let kinds = world.kinds();
    let at = |kind: &str| kinds.iter().position(|it| *it == kind).unwrap();
    // The question is recorded before it is asked. A reply shares a batch with the call that it
    // makes.
    assert_eq!(kinds[at("llm_replied") - 1], "llm_asked");
    assert_eq!(kinds[at("llm_replied") + 1], "function_call_received");
    let facts = world.facts();
    let of = |kind: &str| {
        facts
            .iter()
            .filter(|it| it.event.kind() == kind)
            .collect::<Vec<_>>()
    };
    let parent = of("function_call_received")[0].seq;
    let Event::Observed(Observation::FunctionCallReceived(child)) =
        &of("function_call_received")[1].event
    else {
        panic!("the second call");
    };
    assert_eq!(child.parent, Some(parent));
    assert_eq!(of("function_call_received")[1].at, of("llm_replied")[0].at);
    assert!(world.folded().calls.is_empty());
}

#[test]
fn gated_call_of_agent_is_approved_in_another_process() {
    let (world, witness) = (World::new(), Witness::default());
    let tools = || {
        let llm = TurnByTurn {
            witness: witness.clone(),
            replies: vec![
                calls([
                    LlmSaid::call("look_up", json!({})),
                    LlmSaid::call("send_code", json!({"to": 17})),
                ]),
                LlmReply::text("It is Ada."),
            ],
        };
        let send = T::confirm(witness.tool("send_code"), "Send a code?");
        verify(LlmAgent::new("verifier", llm).tools(witness.tool("look_up") | send))
    };
    let (life, live) = world.called(tools());
    let waits = life.run(live.session()).unwrap();
    assert!(waits.should_pause());
    let pending = life.run(life.engine().pending()).unwrap();
    assert_eq!(pending[0].tool, "send_code");
    let parent = pending[0].parent.as_ref().unwrap();
    assert_eq!(parent.tool, "verify_identity");
    assert!(waits.calls.get(&parent.call).unwrap().agent.is_some());
    life.crash();
    assert_eq!(witness.noted(), ["turn 1", "look_up"]);

    let life = world.life(tools());
    life.settle();
    // A session that merely waits records no event.
    assert_eq!(world.kinds().last(), Some(&"response_issued"));
    approve(&life).unwrap();
    assert_eq!(
        witness.noted(),
        ["turn 1", "look_up", "send_code", "turn 2"]
    );
    let folded = world.folded();
    assert!(folded.calls.is_empty());
    let outcomes: Vec<_> = folded.settled.values().map(|it| it.outcome).collect();
    assert_eq!(outcomes, [Outcome::Returned; 3]);
}

#[test]
fn agent_continues_after_rejected_and_failed_calls() {
    let (world, witness) = (World::new(), Witness::default());
    let llm = ScriptedLlm::new([
        calls([
            LlmSaid::call("pay", json!({})),
            LlmSaid::call("limited", json!({})),
            LlmSaid::call("limited", json!({})),
            LlmSaid::call("typed", json!({"n": "x"})),
        ]),
        LlmReply::text("I cannot."),
    ]);
    let typed = T::simple_with(
        "typed",
        "Counts",
        json!({"type": "object", "properties": {"n": {"type": "integer"}}}),
        |_| async { Ok(json!({})) },
    );
    let limited = T::limit_per_session(witness.tool("limited"), 1);
    let agent = LlmAgent::new("verifier", llm.clone()).tools(limited | typed);
    let _life = world.called(verify(agent) | witness.tool("pay"));
    assert_eq!(witness.noted(), ["limited"]);
    let asked = llm.asked();
    let Some(LlmContent::Tools { answers }) = asked[1].contents.last() else {
        panic!("{asked:?}");
    };
    let kinds: Vec<Value> = answers
        .iter()
        .map(|it| it.response.to_value()["kind"].clone())
        .collect();
    assert_eq!(
        kinds,
        [
            json!("not_found"),
            json!(null),
            json!("limit_reached"),
            json!("invalid_args")
        ]
    );
    assert_eq!(world.answers(), [json!({"output": "I cannot."})]);
}

#[test]
fn the_state_is_shared_both_ways_and_agents_follow_one_another() {
    let world = World::new();
    let plan = ScriptedLlm::new([LlmReply::text("12 x 50.00")]);
    let check = ScriptedLlm::new([
        calls([LlmSaid::call("note", json!({}))]),
        LlmReply::text("It is right."),
    ]);
    let note = TypedTool::with_context(
        "note",
        "Notes",
        |_: serde_json::Map<String, Value>, context| async move {
            let plan: String = context.state.get("plan").unwrap();
            context.state.set("noted", format!("{plan}!"));
            Ok(json!({}))
        },
    );
    let first = LlmAgent::new("plan", plan.clone())
        .instruction("Speak {language} with {name}.")
        .output_key("plan");
    let second = LlmAgent::new("check", check.clone())
        .instruction("{noted}")
        .tools(note);
    let state = State::default();
    state.set("language", "German");
    state.set("name", "nobody");
    let tool = TextAgentTool::new(
        "verify_identity",
        "Verifies",
        sequence(first, second),
        state,
    );
    let life = world.life(tool);
    life.run(async {
        let live = life.engine().session("support").connect().await.unwrap();
        let write = |state: &State| state.set("name", "Ada");
        live.change_state(Actor::embedder("crm"), write)
            .await
            .unwrap();
        live.send_text("This is caller 17.").await.unwrap();
    });
    life.settle();
    assert_eq!(
        plan.asked()[0].instruction.as_deref(),
        Some("Speak German with Ada.")
    );
    assert_eq!(check.asked()[1].instruction.as_deref(), Some("12 x 50.00!"));
    assert_eq!(world.answers(), [json!({"output": "It is right."})]);
    let folded = world.folded();
    assert_eq!(folded.value("plan").unwrap().as_str(), r#""12 x 50.00""#);
    let asked = world
        .facts()
        .into_iter()
        .filter_map(|fact| match fact.event {
            Event::Observed(Observation::LlmAsked(it)) => Some((it.turn, it.of)),
            _ => None,
        });
    let places = [(1, "0/plan"), (2, "1/check"), (3, "1/check")];
    let places = places.map(|(turn, of)| (turn, of.to_owned()));
    assert_eq!(asked.collect::<Vec<_>>(), places);
}

#[test]
fn agent_retries_unreachable_model_and_stops_at_turn_limit() {
    let (world, witness) = (World::new(), Witness::default());
    let busy = || {
        Err(LlmError::Unavailable(
            "the service has too much to do".to_owned(),
        ))
    };
    let llm = ScriptedLlm::with_failures([busy(), busy(), Ok(looks_up()), Ok(looks_up())]);
    let agent = LlmAgent::new("verifier", llm.clone())
        .tools(witness.tool("look_up"))
        .turns_max(2);
    let (life, _live) = world.called(verify(agent));
    assert_eq!(llm.asked().len(), 1);
    for wait in [500, 1_000] {
        world.clock.advance(std::time::Duration::from_millis(wait));
        life.settle();
    }
    assert_eq!(llm.asked().len(), 4);
    assert_eq!(witness.noted(), ["look_up", "look_up"]);
    let told = &world.answers()[0]["error"];
    assert_eq!(told, "the agent \"verifier\" was not done after 2 turns");
    assert_eq!(
        world
            .kinds()
            .iter()
            .filter(|it| **it == "retry_scheduled")
            .count(),
        2
    );
}

#[test]
fn cancelled_agent_ends_its_calls_and_its_question() {
    /// A model that never replies.
    struct Mute;
    #[async_trait]
    impl BaseLlm for Mute {
        fn model(&self) -> &str {
            "mute"
        }
        async fn generate(&self, _: LlmRequest) -> Result<LlmReply, LlmError> {
            pending().await
        }
    }
    let witness = Witness::default();
    let gated = T::confirm(witness.tool("send_code"), "Send a code?");
    let gated = T::withdraw_on_cancel(gated);
    let llm = ScriptedLlm::new([calls([LlmSaid::call("send_code", json!({}))])]);
    let waits = LlmAgent::new("verifier", llm).tools(gated);
    for agent in [waits, LlmAgent::new("verifier", Mute)] {
        let world = World::new();
        let (life, live) = world.called(verify(agent));
        assert!(!life.run(live.session()).unwrap().calls.is_empty());
        life.run(live.send_text("stop it")).unwrap();
        life.settle();
        let folded = world.folded();
        assert!(folded.calls.is_empty(), "{:?}", folded.calls);
        assert!(life.run(life.engine().pending()).unwrap().is_empty());
        assert_eq!(world.answers(), Vec::<Value>::new());
    }
    assert_eq!(witness.noted(), Vec::<String>::new());
}

#[test]
fn one_place_is_enough_for_an_agent_and_its_calls() {
    let (world, witness) = (World::new(), Witness::default());
    let llm = ScriptedLlm::new([looks_up(), LlmReply::text("It is Ada.")]);
    let tools = verify(LlmAgent::new("verifier", llm).tools(witness.tool("look_up")));
    let agent = Agent::new()
        .model("m")
        .tools(tools)
        .running_max(1)
        .connect_to(world.model.clone());
    let engine = Engine::in_memory()
        .journal(world.journal.clone())
        .clock(world.clock.clone())
        .running_max(1)
        .agent("support", agent);
    let life = Life::of(engine);
    let _live = life.run(async {
        let live = life.engine().session("support").connect().await.unwrap();
        live.send_text("This is caller 17.").await.unwrap();
        live
    });
    life.settle();
    assert_eq!(world.answers(), [json!({"output": "It is Ada."})]);
}

#[test]
fn panic_in_custom_agent_fails_only_its_call() {
    struct Broken;
    impl TextAgent for Broken {
        fn name(&self) -> &str {
            "broken"
        }
        fn next(&self, run: &AgentSoFar<'_>) -> AgentStep {
            match run.turns.len() {
                0 => AgentStep::Ask(AgentAsk {
                    of: "broken".to_owned(),
                    llm: Arc::new(ScriptedLlm::new([LlmReply::text("hm")])),
                    request: LlmRequest::default(),
                }),
                _ => panic!("kaput"),
            }
        }
    }
    let world = World::new();
    let (life, live) = world.called(verify(Broken));
    assert_eq!(world.answers()[0]["error"], "the agent \"broken\" panicked");
    life.run(live.send_text("Hello")).unwrap();
}

#[test]
fn shared_tool_of_agent_must_exist() {
    let agent = LlmAgent::new("verifier", ScriptedLlm::new([])).shares(["look_up"]);
    let agent = Agent::new().model("m").tools(verify(agent));
    let engine = recount::journal::block_on(Engine::in_memory().agent("support", agent).open());
    let Err(Error::Configuration { mistakes }) = engine.map(drop) else {
        panic!("an agent without its tool");
    };
    let told = "the agent \"verify_identity\" may call \"look_up\", which is not there";
    assert!(mistakes.iter().any(|it| it.ends_with(told)), "{mistakes:?}");
}

/// An agent with three turns: it looks something up, pays, and reports.
fn pays(witness: &Witness, tool: impl Fn(&'static str) -> Toolset) -> Toolset {
    let llm = TurnByTurn {
        witness: witness.clone(),
        replies: vec![
            looks_up(),
            calls([LlmSaid::call("pay", json!({"cents": 4200}))]),
            LlmReply::text("It is paid."),
        ],
    };
    verify(LlmAgent::new("till", llm).tools(tool("look_up") | tool("pay")))
}

/// The turns with a recorded reply.
fn replied(facts: &[Fact]) -> BTreeSet<u32> {
    let replies = facts.iter().filter_map(|fact| match &fact.event {
        Event::Observed(Observation::LlmReplied(it)) => Some(it.turn),
        Event::Observed(_) | Event::Decided(_) => None,
    });
    replies.collect()
}

/// The turns with a recorded question.
fn asked(facts: &[Fact]) -> BTreeSet<u32> {
    let questions = facts.iter().filter_map(|fact| match &fact.event {
        Event::Observed(Observation::LlmAsked(it)) => Some(it.turn),
        Event::Observed(_) | Event::Decided(_) => None,
    });
    questions.collect()
}

#[test]
fn crash_at_any_point_repeats_no_recorded_agent_turn_or_call() {
    let mut cut = 0;
    for batch in 1.. {
        let mut reached = 0;
        for point in CrashPoint::ALL {
            let (world, witness) = (World::new(), Witness::default());
            let crash = Arc::new(Crash::at(batch, point, || {}));
            let journal = Arc::new(CrashingJournal::new(world.journal.clone(), &crash));
            let tools = || pays(&witness, |name| witness.tool(name));
            let agent = Agent::new().model("m").tools(tools());
            let life = Life::begin(&journal, &world.clock, [("support", agent)]);
            let call = async {
                let live = life.engine().session("support").open().await.unwrap();
                let by = Actor::embedder("till");
                let request = json!({"request": "Pay it."});
                let _ = live.call_function("verify_identity", request, by).await;
            };
            life.run(async {
                tokio::select! {
                    biased;
                    () = call => {}
                    () = async {
                        while !crash.is_reached() { tokio::task::yield_now().await }
                    } => {}
                }
            });
            let ended = !crash.is_reached();
            life.crash();
            let sessions = recount::journal::block_on(world.ledger().sessions()).unwrap();
            if sessions.is_empty() {
                reached += usize::from(!ended);
                continue;
            }
            let paid = replied(&world.facts());
            let asked = asked(&world.facts());
            for done in witness.noted() {
                let turn = done.strip_prefix("turn ").map(|it| it.parse().unwrap());
                // The question is recorded before the model is asked.
                assert!(
                    turn.is_none_or(|it: u32| asked.contains(&it)),
                    "{batch} {point:?}: {done}"
                );
            }
            let before = witness.noted().len();
            let life = Life::begin(
                &world.journal,
                &world.clock,
                [("support", Agent::new().model("m").tools(tools()))],
            );
            life.settle();
            for again in &witness.noted()[before..] {
                let turn = again.strip_prefix("turn ").map(|it| it.parse().unwrap());
                assert!(
                    turn.is_none_or(|it: u32| !paid.contains(&it)),
                    "{batch} {point:?}: {again}"
                );
                cut += 1;
            }
            for tool in ["look_up", "pay"] {
                assert!(
                    witness.count(tool) <= 1,
                    "{batch} {point:?}: {:?}",
                    witness.noted()
                );
            }
            let folded = world.folded();
            assert!(
                folded.calls.is_empty(),
                "{batch} {point:?}: {:?}",
                folded.calls
            );
            if let Some(agent) = folded.settled.values().next() {
                assert_eq!(agent.outcome, Outcome::Returned, "{batch} {point:?}");
                assert_eq!(replied(&world.facts()), BTreeSet::from([1, 2, 3]));
            }
            reached += usize::from(!ended);
        }
        if reached == 0 {
            assert!(batch > 8, "only {batch} batches");
            break;
        }
    }
    assert!(cut > 20, "only {cut} things were done after a death");
}

const KILLED: &str = "agents::killed_agent_repeats_nothing_recorded";

#[test]
fn killed_agent_repeats_nothing_recorded() {
    if let Some(order) = order() {
        let home = Home::named_in(&order);
        let stuck = order["stuck"].as_str().unwrap_or_default().to_owned();
        return obey(life_of_its_own(home, stuck));
    }
    for (stuck, first, second) in [
        (
            "turn 1",
            vec!["turn 1"],
            vec!["turn 1", "look_up", "turn 2", "pay", "turn 3"],
        ),
        (
            "turn 2",
            vec!["turn 1", "look_up", "turn 2"],
            vec!["turn 2", "pay", "turn 3"],
        ),
        // The call that was cut off is in doubt, and its rule is not to run it again.
        (
            "pay",
            vec!["turn 1", "look_up", "turn 2", "pay"],
            vec!["turn 3"],
        ),
        (
            "turn 3",
            vec!["turn 1", "look_up", "turn 2", "pay", "turn 3"],
            vec!["turn 3"],
        ),
    ] {
        let place = tempfile::tempdir().unwrap();
        let home = Home::at(place.path());
        let order = json!({"home": home.name(), "stuck": stuck});
        let mut process = ChildProcess::start(KILLED, &order);
        process.until("stuck");
        process.kill();
        let noted = home.noted();
        assert_eq!(noted.values().collect::<Vec<_>>(), [&first], "{stuck}");
        let process = ChildProcess::start(KILLED, &json!({"home": home.name()}));
        process.end();
        let both: Vec<_> = first.into_iter().chain(second).collect();
        assert_eq!(
            home.noted().values().collect::<Vec<_>>(),
            [&both],
            "{stuck}"
        );
        tokio::runtime::Runtime::new().unwrap().block_on(async {
            let (ledger, sessions) = home.on_record().await;
            let folded = ledger.load(sessions[0]).await.unwrap().session;
            assert!(folded.calls.is_empty(), "{:?}", folded.calls);
            let agent = folded.settled.values().next().unwrap();
            assert_eq!(agent.outcome, Outcome::Returned);
        });
    }
}

/// Starts a session and calls the agent, or finishes the existing session.
async fn life_of_its_own(home: Home, stuck: String) {
    let session = Arc::new(Mutex::new(None));
    let noted = session.clone();
    let (place, name) = (home.clone(), stuck.clone());
    let note = move |what: String| {
        let (place, name, session) = (place.clone(), name.clone(), *noted.lock().unwrap());
        async move {
            place.note(session.unwrap(), &what);
            if what == name {
                say("stuck");
                pending::<()>().await;
            }
        }
    };
    let tool = |name: &'static str| {
        let note = note.clone();
        T::simple(name, "Does it", move |_| {
            let noted = note(name.to_owned());
            async move {
                noted.await;
                Ok(json!({}))
            }
        })
    };
    struct Noting<F>(F, TurnByTurn, Witness);
    #[async_trait]
    impl<F, Fut> BaseLlm for Noting<F>
    where
        F: Fn(String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send,
    {
        fn model(&self) -> &str {
            "noting"
        }
        async fn generate(&self, request: LlmRequest) -> Result<LlmReply, LlmError> {
            let reply = self.1.generate(request).await;
            let turn = self.2.noted().pop().unwrap();
            (self.0)(turn).await;
            reply
        }
    }
    let witness = Witness::default();
    let replies = vec![
        looks_up(),
        calls([LlmSaid::call("pay", json!({"cents": 4200}))]),
        LlmReply::text("It is paid."),
    ];
    let turns = TurnByTurn {
        witness: witness.clone(),
        replies,
    };
    let llm = Noting(note.clone(), turns, witness);
    let agent = LlmAgent::new("till", llm).tools(tool("look_up") | tool("pay"));
    let agent = Agent::new().model("m").tools(verify(agent));
    let ledger = DiskLedger::sessions(&home).await;
    *session.lock().unwrap() = ledger;
    let engine = store::engine(home.journal()).agent("support", agent);
    let engine = engine.open().await.unwrap();
    if stuck.is_empty() {
        let id = ledger.unwrap();
        while !engine
            .ledger()
            .load(id)
            .await
            .unwrap()
            .session
            .calls
            .is_empty()
        {
            tokio::task::yield_now().await;
        }
        return engine.shutdown(std::time::Duration::ZERO).await.unwrap();
    }
    let live = engine.session("support").open().await.unwrap();
    *session.lock().unwrap() = Some(live.session_id());
    let request = json!({"request": "Pay it."});
    let _ = live
        .call_function("verify_identity", request, Actor::embedder("till"))
        .await;
}

/// Reads a journal before an engine opens it.
struct DiskLedger;

impl DiskLedger {
    async fn sessions(home: &Home) -> Option<SessionId> {
        if !home.journal().exists() {
            return None;
        }
        let (_, sessions) = home.on_record().await;
        sessions.first().copied()
    }
}
