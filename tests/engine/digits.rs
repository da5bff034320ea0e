//! The approved digits run, and no others.
//!
//! Commands get the recorded text. A tool with parsed arguments gets values equal to the text, or
//! none. Results stay as the tool returned them.

use std::sync::{Arc, Mutex};

use crate::surviving::SurvivingJournal;
use async_trait::async_trait;
use recount::live::wire::{FunctionCall, RawJson, ServerMessage};
use recount::prelude::*;
use recount::session::{Event, Json, Observation, Seq};
use recount::testing::{Life, ManualClock, ScriptedModel};
use recount::tool::CommandTool;

/// Numbers that a 64-bit float changes.
const LONG: [&str; 6] = [
    "20000000000000000001",
    "18446744073709551617",
    "9007199254740993.0",
    "0.1000000000000000055511151231257827",
    "1e-400",
    "-123456789012345678901234567890.5",
];

fn command(script: &str) -> CommandTool {
    let args = ["-c".to_owned(), script.to_owned()];
    CommandTool::new("pay", "Pays", None, "sh", args)
}

/// A tool with parsed arguments, and the list of the arguments that it got.
fn parsed() -> (SimpleTool, Arc<Mutex<Vec<Value>>>) {
    let got: Arc<Mutex<Vec<Value>>> = Arc::default();
    let notes = got.clone();
    let tool = SimpleTool::new("pay", "Pays", None, move |args| {
        notes.lock().unwrap().push(args.clone());
        async move { Ok(args) }
    });
    (tool, got)
}

struct World {
    journal: Arc<SurvivingJournal>,
    clock: Arc<ManualClock>,
    model: ScriptedModel,
    life: Life,
    live: LiveHandle,
}

impl World {
    fn new(agent: Agent) -> World {
        let model = ScriptedModel::parse("").unwrap();
        let (journal, clock) = (SurvivingJournal::new(), ManualClock::new());
        let agent = agent.model("m").connect_to(model.clone());
        let life = Life::begin(&journal, &clock, [("a", agent)]);
        let live = life.run(life.engine().session("a").connect()).unwrap();
        World {
            journal,
            clock,
            model,
            life,
            live,
        }
    }

    /// Starts the next process, with another agent.
    fn again(self, agent: Agent) -> World {
        let session = self.live.session_id();
        self.life.crash();
        let agent = agent.model("m").connect_to(self.model.clone());
        let life = Life::begin(&self.journal, &self.clock, [("a", agent)]);
        let live = life.run(life.engine().resume(session)).unwrap();
        World { life, live, ..self }
    }

    fn called(tools: impl Into<Toolset>, args: &str) -> World {
        let world = World::new(Agent::new().tools(tools));
        world.calls(args);
        world
    }

    fn calls(&self, args: &str) {
        let call = FunctionCall::new("c1", "pay", RawJson::parse(args).unwrap());
        self.model.send(&ServerMessage::tool_call([call]));
        self.settle();
    }

    fn approves(&self) {
        self.approves_with(ToolConfirmation::confirmed());
    }

    fn approves_with(&self, yes: ToolConfirmation) {
        let engine = self.life.engine();
        let pending = self.life.run(engine.pending()).unwrap();
        let by = Actor::embedder("ada");
        self.life
            .run(engine.answer(pending[0].id, yes, by))
            .unwrap();
        self.settle();
    }

    /// Waits until no call runs, including external programs.
    fn settle(&self) {
        self.life.settle();
        self.life.run(async {
            loop {
                let session = self.live.session().await.unwrap();
                let runs = |name: &str| matches!(name, "running" | "awaiting_hook" | "ready");
                if !session.calls.values().any(|call| runs(call.phase.name())) {
                    break;
                }
                tokio::task::yield_now().await;
            }
        });
        self.life.settle();
    }

    fn observed<T>(&self, wanted: impl Fn(&Observation) -> Option<T>) -> Option<T> {
        let ledger = self.life.engine().ledger();
        let facts = ledger.facts(self.live.session_id(), Seq(1), 1000);
        let facts = self.life.run(facts).unwrap();
        let mut observed = facts.iter().filter_map(|fact| match &fact.event {
            Event::Observed(it) => wanted(it),
            Event::Decided(_) => None,
        });
        observed.next()
    }

    fn invalid_args(&self) -> Option<String> {
        self.observed(|it| match it {
            Observation::FunctionCallReceived(it) => it.invalid_args.clone(),
            _ => None,
        })
    }

    fn returned(&self) -> Json {
        let returned = self.observed(|it| match it {
            Observation::ToolReturned(it) => Some(it.response.clone()),
            _ => None,
        });
        returned.expect("the tool has returned")
    }

    /// The last response to the model, as text.
    fn told(&self) -> String {
        let transcript = self.model.transcript();
        let (_, answer, _) = transcript.answers().last().unwrap();
        answer.response.as_ref().unwrap().as_str().to_owned()
    }
}

fn args(token: &str) -> String {
    format!(r#"{{"cents":{token},"to":"bob"}}"#)
}

#[test]
fn command_gets_the_recorded_text_and_its_result_stays() {
    for token in LONG {
        let world = World::called(T::confirm(command("cat"), "Pay?"), &args(token));
        world.approves();
        assert_eq!(world.returned().as_str(), args(token));
        assert_eq!(world.told(), args(token));
    }
}

#[test]
fn schema_of_a_command_is_held_against_the_digits() {
    let schema = |keyword: &str, bound: Value| {
        let mut cents = json!({"type": "integer"});
        cents[keyword] = bound;
        json!({"type": "object", "properties": {"cents": cents}})
    };
    let called = |schema: Value, token: &str| {
        let args_of = ["-c".to_owned(), "cat".to_owned()];
        let tool = CommandTool::new("pay", "Pays", Some(schema), "sh", args_of);
        World::called(T::function(Arc::new(tool)), &args(token)).invalid_args()
    };
    let above = schema("maximum", json!(20_000_000_000_000_000_000.0));
    assert_eq!(
        called(schema("minimum", json!(1)), "20000000000000000001"),
        None
    );
    assert!(called(above, "20000000000000000001").is_some());
    assert!(called(schema("minimum", json!(1)), "9007199254740993.5").is_some());
    assert!(called(schema("minimum", json!(1)), "1.00000000000000000001").is_some());
}

#[test]
fn parsed_value_that_is_not_equal_to_the_text_is_refused() {
    for token in LONG {
        let (tool, got) = parsed();
        let tool = T::confirm(T::function(Arc::new(tool)), "Pay?");
        let world = World::called(tool, &args(token));
        let problem = world.invalid_args().unwrap();
        assert!(problem.starts_with("/cents: "), "{problem}");
        assert!(world.told().contains("/cents: "), "{}", world.told());
        assert!(got.lock().unwrap().is_empty());
    }
}

#[test]
fn parsed_value_that_is_equal_to_the_text_runs() {
    for token in [
        "0.1",
        "1.50",
        "1e2",
        "18446744073709551615",
        "-9223372036854775808",
        "1e22",
    ] {
        let (tool, got) = parsed();
        let world = World::called(T::function(Arc::new(tool)), &args(token));
        assert_eq!(world.invalid_args(), None, "{token}");
        assert_eq!(got.lock().unwrap().len(), 1, "{token}");
    }
}

/// A float parser without exact rounding misses one in six of these by one digit.
#[test]
fn float_of_many_digits_is_the_one_that_was_written() {
    let tokens = [
        "969.6370810846923",
        "-947.3189308243827",
        "964.6600140101995",
    ];
    let agent = |tool| {
        Agent::new()
            .tools(T::confirm_payload(
                T::confirm(tool, "Pay?"),
                json!({"type": "number"}),
            ))
            .before_tool_response(|responses, _| async move { responses })
    };
    for token in tokens {
        let got: Arc<Mutex<Vec<Value>>> = Arc::default();
        let tool = Notes(got.clone());
        let world = World::new(agent(T::function(Arc::new(tool))));
        world.calls(&args(token));
        let payload = token.parse::<f64>().unwrap();
        world.approves_with(ToolConfirmation::confirmed().with_payload(json!(payload)));
        let got = got.lock().unwrap();
        assert_eq!(got[0]["cents"].to_string(), token);
        assert_eq!(got[1].to_string(), token);
        assert_eq!(world.told(), args(token));
    }
}

/// A tool that notes its arguments and the payload of its approval.
struct Notes(Arc<Mutex<Vec<Value>>>);

#[async_trait]
impl ToolFunction for Notes {
    fn name(&self) -> &str {
        "pay"
    }
    fn description(&self) -> &str {
        "Pays"
    }
    fn parameters(&self) -> Option<Value> {
        None
    }
    async fn call(&self, _: Value) -> Result<Value, ToolError> {
        Err(ToolError::Other("it wants its context".to_owned()))
    }
    async fn call_with_context(
        &self,
        args: Value,
        context: ToolContext,
    ) -> Result<Value, ToolError> {
        let payload = context.confirmation().and_then(|it| it.payload.clone());
        let mut got = self.0.lock().unwrap();
        got.push(args.clone());
        got.extend(payload);
        Ok(args)
    }
}

#[test]
fn call_approved_under_a_text_tool_does_not_run_rounded() {
    let world = World::called(T::confirm(command("cat"), "Pay?"), &args(LONG[0]));
    let (tool, got) = parsed();
    let tool = T::confirm(T::function(Arc::new(tool)), "Pay?");
    let world = world.again(Agent::new().tools(tool));
    world.settle();
    world.approves();
    assert!(got.lock().unwrap().is_empty());
    let returned = world.returned();
    assert!(returned.as_str().contains("/cents: "), "{returned}");
}

#[test]
fn program_that_prints_what_no_record_carries_fails_one_call() {
    let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    for (printed, words) in [
        (deep(64), "deeper than 64 levels"),
        (deep(200), "deeper than 64 levels"),
        (r#"{"a":1,"a":2}"#.to_owned(), "twice"),
        ("[1e999]".to_owned(), "number out of range"),
        (r#"["\ud800"]"#.to_owned(), "surrogate"),
    ] {
        let script = format!("printf '%s' '{}'", printed.replace('\\', "\\\\"));
        let script = script.replace("\\\\", "\\");
        let world = World::called(T::function(Arc::new(command(&script))), "{}");
        let returned = world.returned();
        assert!(returned.as_str().contains(words), "{words}: {returned}");
        let text = world.live.send_text("still there?");
        assert!(world.life.run(text).is_ok(), "{words}");
    }
    let script = format!("printf '%s' '{}'", deep(63));
    let world = World::called(T::function(Arc::new(command(&script))), "{}");
    let output = format!(r#"{{"output":{}}}"#, deep(63));
    assert_eq!(world.returned().as_str(), output);
}

#[test]
fn hook_that_repeats_a_response_keeps_its_digits() {
    let agent = Agent::new()
        .tools(T::function(Arc::new(command("cat"))))
        .before_tool_response(|mut responses, _| async move {
            for it in &mut responses {
                it.response["seen"] = json!(true);
            }
            responses
        });
    let world = World::new(agent);
    world.calls(&args(LONG[0]));
    let expected = format!(r#"{{"cents":{},"seen":true,"to":"bob"}}"#, LONG[0]);
    assert_eq!(world.told(), expected);
}

#[test]
fn background_command_is_told_with_its_digits() {
    let world = World::called(T::background(command("cat")), &args(LONG[0]));
    assert!(
        world.returned().as_str().contains(LONG[0]),
        "{}",
        world.returned()
    );
}

#[test]
fn hook_is_not_asked_about_rounded_arguments() {
    let agent = Agent::new()
        .tools(T::function(Arc::new(command("cat"))))
        .on_tool_call(|calls, _| async move { panic!("asked about {calls:?}") });
    let world = World::new(agent);
    world.calls(&args(LONG[0]));
    assert!(world.told().contains("was not asked"), "{}", world.told());
}

#[test]
fn predicate_is_not_asked_about_rounded_arguments() {
    let never = |_: Value, _: State| async { false };
    let tool = T::confirm_when_fn(command("cat"), "Pay?", never);
    let world = World::called(tool, &args(LONG[0]));
    let pending = world.life.run(world.life.engine().pending()).unwrap();
    assert_eq!(pending.len(), 1);
    assert_eq!(pending[0].args.as_str(), args(LONG[0]));
}

#[tokio::test]
async fn dispatcher_keeps_the_digits_of_arguments_in_a_string() {
    let mut tools = ToolDispatcher::new();
    tools
        .register(command("tee /dev/stderr >/dev/null; exit 3"))
        .unwrap();
    let failed = tools.call_function("pay", json!(args(LONG[0]))).await;
    assert!(failed.unwrap_err().to_string().contains(LONG[0]));
    let (tool, got) = parsed();
    let mut tools = ToolDispatcher::new();
    tools.register(tool).unwrap();
    let refused = tools.call_function("pay", json!(args(LONG[0]))).await;
    assert!(
        matches!(refused, Err(ToolError::InvalidArgs(_))),
        "{refused:?}"
    );
    assert!(got.lock().unwrap().is_empty());
}
