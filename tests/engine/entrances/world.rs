//! A session with a tool, a hook and an approver behind every entry point.

use std::sync::{Arc, Mutex};

use crate::surviving::SurvivingJournal;
use async_trait::async_trait;
use recount::journal::seal::MemoryKeyStore;
use recount::ledger::Ledger;
use recount::live::wire::{FunctionCall, ServerMessage};
use recount::prelude::*;
use recount::session::{Edits, Event, Finding, Observation, Seq};
use recount::testing::{Life, ManualClock, ScriptedModel};
use recount::tool::{Ask, LlmAgent, LlmReply, LlmSaid, ScriptedLlm, ToolEvent, ToolOutcome};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

/// A constructor of JSON that no record can carry, and a part of the error message.
pub(crate) type BadKind = (fn() -> Value, &'static str);

/// JSON that no record can carry.
pub(crate) const BAD_KINDS: [BadKind; 3] = [
    (|| deep(65, json!(1)), "deeper than 64 levels"),
    (|| json!("x".repeat(5 << 20)), "bytes"),
    (
        || json!({"$serde_json::private::RawValue": "1"}),
        "is reserved",
    ),
];

/// A value nested in this number of arrays.
pub(crate) fn deep(levels: usize, innermost: Value) -> Value {
    (0..levels).fold(innermost, |inner, _| json!([inner]))
}

/// A session, its process, and the journal that outlives the process.
pub(crate) struct World {
    journal: Arc<SurvivingJournal>,
    clock: Arc<ManualClock>,
    pub(crate) model: ScriptedModel,
    pub(crate) life: Life,
    pub(crate) live: LiveHandle,
}

impl World {
    /// A session whose tools, hooks and models return `bad`.
    pub(crate) fn new(bad: &Value) -> World {
        World::with(|model| agent(bad, model))
    }

    /// A session whose tool `secret` declares a secret at this path.
    pub(crate) fn sealing(place: &str) -> World {
        let secret = T::simple("secret", "Has a secret", |args| async { Ok(args) });
        let secret = T::secret(secret, place) | ping();
        World::with(move |model| Agent::new().model("m").tools(secret).connect_to(model))
    }

    /// A session whose tool `ping` depends on these keys of the state.
    pub(crate) fn reading(keys: [&str; 2]) -> World {
        let conditions = keys.map(|key| S::not(S::equals(key, "never")));
        let reads = T::when(ping(), S::and(conditions));
        World::with(move |model| Agent::new().model("m").tools(reads).connect_to(model))
    }

    fn with(agent: impl FnOnce(ScriptedModel) -> Agent) -> World {
        let model = ScriptedModel::parse("").unwrap();
        let (journal, clock) = (SurvivingJournal::new(), ManualClock::new());
        let engine = Engine::in_memory()
            .journal(journal.clone())
            .clock(clock.clone())
            .keys(Arc::new(MemoryKeyStore::default()))
            .agent("a", agent(model.clone()));
        let life = Life::of(engine);
        let live = life.run(life.engine().session("a").connect()).unwrap();
        life.settle();
        World {
            journal,
            clock,
            model,
            life,
            live,
        }
    }

    /// The same session in a new process, after the first one was killed.
    fn cut_off(self, bad: &Value) -> World {
        let (session, model) = (self.live.session_id(), self.model.clone());
        self.life.crash();
        let agents = [("a", agent(bad, model.clone()))];
        let life = Life::begin(&self.journal, &self.clock, agents);
        let live = life.run(life.engine().resume(session)).unwrap();
        life.settle();
        World {
            journal: self.journal,
            clock: self.clock,
            model,
            life,
            live,
        }
    }

    /// The model calls a function.
    pub(crate) fn calls(&self, name: &str, args: Value) {
        let id = format!("c-{name}");
        let call = FunctionCall::new(id, name, args);
        self.model.send(&ServerMessage::tool_call([call]));
        self.life.settle();
    }

    /// The bodies of all records.
    pub(crate) fn record(&self) -> String {
        let ledger = Ledger::new(self.journal.clone());
        let facts = ledger.facts(self.live.session_id(), Seq(1), 10_000);
        let facts = recount::journal::block_on(facts).unwrap();
        let bodies = facts.iter().map(|fact| fact.event.body().unwrap());
        bodies.collect::<Vec<_>>().join("\n")
    }

    fn ticket(&self, tool: &str) -> Ticket {
        let ledger = Ledger::new(self.journal.clone());
        let session = self.live.session_id();
        let facts = recount::journal::block_on(ledger.facts(session, Seq(1), 10_000)).unwrap();
        let is_it = |event: &Event| match event {
            Event::Observed(Observation::FunctionCallReceived(it)) => {
                it.name.as_deref() == Some(tool)
            }
            Event::Observed(_) | Event::Decided(_) => false,
        };
        let received = facts.iter().find(|it| is_it(&it.event)).unwrap();
        Ticket {
            session,
            call: received.seq,
            tool: tool.to_owned(),
        }
    }

    /// Answers the only open request.
    fn answers(&self, answer: ToolConfirmation) -> String {
        let engine = self.life.engine();
        let pending = self.life.run(engine.pending()).unwrap();
        let answered = engine.answer(pending[0].id, answer, by());
        self.life.run(answered).unwrap_err().to_string()
    }

    /// Asserts that the session still answers calls.
    pub(crate) fn is_alive(&self, after: &str) {
        let called = self.live.call_function("ping", json!({}), by());
        let called = self.life.run(called);
        assert_eq!(called, Ok(json!({"pong": true})), "after {after}");
    }

    /// Sends `bad` through the entry point of the field. Returns the error message, if a caller
    /// gets one.
    pub(crate) fn enters(field: &str, bad: &Value) -> Option<String> {
        let object = json!({ "a": bad });
        let (world, told) = match field {
            "function_call_received.args" => {
                let world = World::new(bad);
                let called = world.live.call_function("ping", object.clone(), by());
                let refused = world.life.run(called).unwrap_err().to_string();
                world.calls("ping", object);
                let by_agent = World::called("calling_agent", bad);
                by_agent.is_alive(field);
                (world, Some(refused))
            }
            "function_call_received.original_args" => {
                let world = World::new(bad);
                world.calls("ping", json!(object.to_string()));
                (world, None)
            }
            "usage_reported.usage" => {
                let usage = json!({"usageMetadata": {"promptTokenCount": 1, "a": bad}});
                let world = World::new(bad);
                let message = ServerMessage::decode(&usage.to_string());
                message.into_iter().for_each(|it| world.model.send(&it));
                world.life.settle();
                (world, None)
            }
            "hook_answered.response" => on_record(World::called("hooked", bad)),
            "tool_returned.response" => {
                World::called("changed", bad).is_alive("a response that a hook changed");
                World::called("worded", bad).is_alive("the words of a formatter");
                on_record(World::called("returns", bad))
            }
            "tool_yielded.response" => on_record(World::called("yields", bad)),
            "tool_paused.interim" => on_record(World::called("says_meanwhile", bad)),
            "tool_paused.state" => on_record(World::called("remembers", bad)),
            "tool_asked.payload_schema" => on_record(World::called("asks_for", bad)),
            "tool_asked.state" => on_record(World::called("asks", bad)),
            "tool_event_emitted.data" => on_record(World::called("emits", bad)),
            "llm_replied.usage" => on_record(World::called("counting_agent", bad)),
            "state_changed.changes.value" => {
                let world = World::called("writes", bad);
                let writes = |state: &State| state.set("k", bad.clone());
                let changed = world.live.change_state(by(), writes);
                let refused = world.life.run(changed).unwrap_err().to_string();
                (world, Some(refused))
            }
            "confirmation_answered.payload" => {
                let world = World::called("pay", bad);
                let told = world.answers(ToolConfirmation::confirmed().with_payload(bad.clone()));
                (world, Some(told))
            }
            "confirmation_answered.edited_args" => {
                let world = World::called("pay", bad);
                let told = world.answers(ToolConfirmation::confirmed().with_args(object));
                (world, Some(told))
            }
            "confirmation_answered.extra" => {
                let world = World::called("pay", bad);
                let mut answer = ToolConfirmation::confirmed();
                answer.extra.insert("a".to_owned(), bad.clone());
                let told = world.answers(answer);
                (world, Some(told))
            }
            "approval_given.payload" => {
                let world = World::called("pay_by_two", bad);
                let told = world.answers(ToolConfirmation::confirmed().with_payload(bad.clone()));
                (world, Some(told))
            }
            "approval_given.edited_args" => {
                let world = World::called("pay_by_two", bad);
                let told = world.answers(ToolConfirmation::confirmed().with_args(object));
                (world, Some(told))
            }
            "approval_given.extra" => {
                let world = World::called("pay_by_two", bad);
                let mut answer = ToolConfirmation::confirmed();
                answer.extra.insert("a".to_owned(), bad.clone());
                let told = world.answers(answer);
                (world, Some(told))
            }
            "confirmation_answered.found.done" => {
                let world = World::called("hangs_and_asks", bad).cut_off(bad);
                let told = world.answers(ToolConfirmation::settled_as_done(object));
                (world, Some(told))
            }
            "outcome_found.found.done" => {
                let world = World::called("hangs", bad).cut_off(bad);
                let (ticket, found) = (world.ticket("hangs"), Finding::done(&object));
                let found = world.life.engine().reconcile(&ticket, found, by());
                let told = world.life.run(found).unwrap_err().to_string();
                (world, Some(told))
            }
            "response_supplied.response" => {
                let world = World::called("waits", bad);
                let ticket = world.ticket("waits");
                let response = FunctionResponse::new("waits", object);
                let given = world.life.engine().respond(&ticket, response, by());
                let told = world.life.run(given).unwrap_err().to_string();
                World::called("follows", bad).is_alive("a result that a tool waited for");
                (world, Some(told))
            }
            "operator_cancelled.response" => {
                let world = World::called("worded_and_hanging", bad);
                let ticket = world.ticket("worded_and_hanging");
                let cancelled = world.live.cancel(ticket.call, None, by());
                world.life.run(cancelled).unwrap();
                (world, None)
            }
            other => panic!("{other} carries JSON from outside: say here how it comes in"),
        };
        world.is_alive(field);
        told
    }

    fn called(tool: &str, bad: &Value) -> World {
        let world = World::new(bad);
        world.calls(tool, json!({"request": "go"}));
        world
    }
}

fn on_record(world: World) -> (World, Option<String>) {
    let record = world.record();
    (world, Some(record))
}

fn by() -> Actor {
    Actor::embedder("ada")
}

fn ping() -> Toolset {
    T::simple("ping", "Answers", |_| async { Ok(json!({"pong": true})) })
}

#[derive(Serialize, Deserialize)]
struct Noted(Value);

impl ToolEvent for Noted {
    const NAME: &'static str = "noted";
}

/// A tool that returns the bad value in the way that its name says.
struct Gives(&'static str, Value);

#[async_trait]
impl ToolFunction for Gives {
    fn name(&self) -> &str {
        self.0
    }
    fn description(&self) -> &str {
        "Gives what no record carries"
    }
    fn parameters(&self) -> Option<Value> {
        None
    }
    async fn call(&self, _: Value) -> Result<Value, ToolError> {
        Ok(self.1.clone())
    }
    async fn invoke(&self, _: Value, context: ToolContext) -> ToolOutcome {
        let bad = self.1.clone();
        match self.0 {
            "says_meanwhile" => Pending::with_interim(bad).into(),
            "remembers" => Pending::new().with_state(bad).into(),
            "follows" => Pending::new().into(),
            "asks" => Ask::new("Shall it?", bad).into(),
            "asks_for" => Ask::new("Shall it?", json!(null))
                .payload_schema(bad)
                .into(),
            "emits" => {
                let emitted = context.emit(&Noted(bad));
                emitted.map(|()| json!({})).into()
            }
            "writes" => {
                context.state.set("k", bad);
                ToolOutcome::Returned(json!({}))
            }
            _ => ToolOutcome::Returned(bad),
        }
    }
    fn follows(&self) -> bool {
        self.0 == "follows"
    }
    async fn follow(&self, _: &Ticket, _: Value) -> Option<Result<Value, ToolError>> {
        Some(Ok(self.1.clone()))
    }
}

struct Yields(Value);

#[async_trait]
impl StreamingTool for Yields {
    fn name(&self) -> &str {
        "yields"
    }
    fn description(&self) -> &str {
        "Yields"
    }
    fn parameters(&self) -> Option<Value> {
        None
    }
    async fn run(&self, _: Value, yields: mpsc::Sender<Value>) -> Result<(), ToolError> {
        yields.send(self.0.clone()).await.ok();
        Ok(())
    }
}

struct Words(Value);

impl ResultFormatter for Words {
    fn format_running(&self, _: &recount::tool::FunctionCall) -> Value {
        json!({"status": "running"})
    }
    fn format_result(&self, _: &recount::tool::FunctionCall, _: Result<Value, ToolError>) -> Value {
        self.0.clone()
    }
    fn format_cancelled(&self, _: &str) -> Value {
        self.0.clone()
    }
}

fn agent(bad: &Value, model: ScriptedModel) -> Agent {
    let gives = [
        "returns",
        "says_meanwhile",
        "remembers",
        "follows",
        "asks",
        "asks_for",
        "emits",
        "writes",
    ];
    let gives = gives.map(|name| Arc::new(Gives(name, bad.clone())) as Arc<dyn ToolFunction>);
    let nothing = |name| T::simple(name, "Does it", |_| async { Ok(json!({})) });
    let hangs = |name| T::simple(name, "Never ends", |_| std::future::pending());
    let waits = T::simple("waits", "Waits", |_| async { Ok(Value::Null) });
    let counting = ScriptedLlm::new([LlmReply {
        usage: Some(bad.clone()),
        ..LlmReply::text("It is done.")
    }]);
    let calling = ScriptedLlm::new([LlmReply {
        said: vec![LlmSaid::call("inner", json!({ "a": bad }))],
        usage: None,
    }]);
    let calling = LlmAgent::new("calling", calling).tools(nothing("inner"));
    let (hooked, changed) = (Mutex::new(bad.clone()), bad.clone());
    let paying = TypedTool::with_context("pay", "pay", |_: Value, _: ToolContext| async {
        Ok(json!({}))
    });
    let pays_by_two =
        TypedTool::with_context("pay_by_two", "pays", |_: Value, _: ToolContext| async {
            Ok(json!({}))
        });
    let words = || ToolExecutionMode::Background {
        formatter: Some(Arc::new(Words(bad.clone()))),
        scheduling: None,
    };
    Agent::new()
        .model("m")
        .tools(ping())
        .tools(T::toolset(gives.into()))
        .tools(T::streaming(Arc::new(Yields(bad.clone()))))
        .tools(T::confirm_edits(
            T::confirm_payload(T::confirm(paying, "Pay?"), json!({})),
            Edits::Allowed,
        ))
        .tools(T::quorum(
            T::confirm_edits(
                T::confirm_payload(T::confirm(pays_by_two, "Pay?"), json!({})),
                Edits::Allowed,
            ),
            2,
        ))
        .tools(T::long_running(waits))
        .tools(hangs("hangs"))
        .tools(T::in_doubt(hangs("hangs_and_asks"), InDoubt::Ask))
        .tools(T::background(nothing("worded")))
        .tools(T::background(hangs("worded_and_hanging")))
        .tools(nothing("hooked"))
        .tools(nothing("changed"))
        .tools(T::agent(
            "counting_agent",
            "Counts",
            LlmAgent::new("counting", counting),
        ))
        .tools(T::agent("calling_agent", "Calls", calling))
        .tool_execution_mode("worded", words())
        .tool_execution_mode("worded_and_hanging", words())
        .on_tool_call(move |calls, _| {
            let bad = hooked.lock().unwrap().clone();
            async move {
                let hooked = calls.iter().filter(|it| it.name == "hooked");
                let given = hooked.map(|it| FunctionResponse::new(&it.name, json!({ "a": bad })));
                Some(given.collect())
            }
        })
        .before_tool_response(move |mut responses, _| {
            let bad = changed.clone();
            async move {
                for it in responses.iter_mut().filter(|it| it.name == "changed") {
                    it.response = json!({ "a": bad });
                }
                responses
            }
        })
        .connect_to(model)
}
