//! A service in this process, for tests of the program with a running service.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use recount::engine::EngineBuilder;
use recount::journal::seal::MemoryKeyStore;
use recount::prelude::*;
use recount::session::{Decision, Edits, Event, Outcome};
use recount::simulator::{Running, Script, Simulator};
use serde_json::Value as Json;
use tokio::runtime::{Builder, Runtime};

use crate::program::{Bench, Run};

const SCRIPT: &str = concat!(
    r#"{"on": {"text": "refund"}, "send": [{"call": [{"id": "r1", "name": "refund", "#,
    r#""args": {"order": "A-17"}}]}]}"#,
    "\n",
    r#"{"on": {"text": "stop"}, "send": [{"cancel": ["r1"]}]}"#,
    "\n",
    r#"{"on": {"text": "pay"}, "send": [{"call": [{"id": "p1", "name": "pay", "#,
    r#""args": {"cents": 4200}}]}]}"#,
    "\n",
    r#"{"on": {"text": "leave"}, "send": [{"call": [{"id": "l1", "name": "leave", "#,
    r#""args": {"days": 9}}]}]}"#,
    "\n",
    r#"{"on": {"text": "shift"}, "send": [{"call": [{"id": "s1", "name": "shift", "#,
    r#""args": {"days": 9}}]}]}"#,
    "\n",
    r#"{"on": "otherwise", "send": [{"say": "Noted."}]}"#,
    "\n",
);

/// A service with one session and its journal in `j`.
pub(crate) struct Service {
    pub(crate) bench: Bench,
    pub(crate) runtime: Runtime,
    pub(crate) engine: Engine,
    pub(crate) live: LiveHandle,
    pub(crate) refunds: Arc<AtomicUsize>,
    updates: Updates,
    _simulator: Running,
}

impl Service {
    pub(crate) fn start() -> Service {
        Service::with(|agent| agent, |engine| engine)
    }

    /// A service with sealed sessions. No other process has the keys.
    pub(crate) fn sealed() -> Service {
        let keys = Arc::new(MemoryKeyStore::default());
        Service::with(Agent::sealed, |engine| engine.keys(keys))
    }

    fn with(
        agent_of: impl FnOnce(Agent) -> Agent,
        engine_of: impl FnOnce(EngineBuilder) -> EngineBuilder,
    ) -> Service {
        let bench = Bench::new();
        let runtime = runtime();
        let refunds = Arc::new(AtomicUsize::new(0));
        let (simulator, engine, live, updates) = runtime.block_on(async {
            let script = Script::parse(SCRIPT).unwrap();
            let simulator = Simulator::start(script)
                .listen("127.0.0.1:0")
                .await
                .unwrap();
            let agent = agent_of(agent(refunds.clone())).connect_to(Endpoint::url(simulator.url()));
            let engine = engine_of(Engine::builder(bench.path("j")));
            let engine = engine.agent("support", agent).open().await.unwrap();
            let session = engine.session("support").external_id("ticket-7");
            let live = session.connect().await.unwrap();
            let updates = live.subscribe();
            (simulator, engine, live, updates)
        });
        Service {
            bench,
            runtime,
            engine,
            live,
            refunds,
            updates,
            _simulator: simulator,
        }
    }

    /// Makes the model call a tool and waits until the call waits. Returns the id to answer it.
    pub(crate) fn ask_for(&mut self, tool: &str) -> String {
        let (kind, key) = match tool {
            "refund" | "leave" | "shift" => ("confirmation_requested", "request"),
            _ => ("tool_paused", "call_id"),
        };
        self.runtime.block_on(self.live.send_text(tool)).unwrap();
        self.until(kind);
        let pending = self.run("pending j --json").ends_with(0).json_lines();
        let asked = pending.iter().find(|it| it["tool"] == tool).unwrap();
        asked[key].as_str().unwrap().to_owned()
    }

    /// Makes the model cancel its call of the refund.
    pub(crate) fn takes_refund_back(&mut self) {
        self.runtime.block_on(self.live.send_text("stop")).unwrap();
        self.until("call_cancellation_received");
    }

    /// Waits until an event of this kind is recorded.
    fn until(&mut self, kind: &str) {
        let is = |event: &Event| event.kind() == kind;
        self.runtime.block_on(self.updates.wait_for(is)).unwrap();
    }

    /// Waits until a call has ended with a response that is not interim.
    pub(crate) fn until_answered(&mut self) {
        let is = |event: &Event| match event {
            Event::Decided(Decision::ResponseIssued(it)) => it.outcome != Outcome::Interim,
            Event::Decided(_) | Event::Observed(_) => false,
        };
        self.runtime.block_on(self.updates.wait_for(is)).unwrap();
    }

    pub(crate) fn run(&self, arguments: &str) -> Run {
        self.bench.run(arguments)
    }

    pub(crate) fn session(&self) -> String {
        self.live.session_id().to_string()
    }

    /// The body of the last record of this kind.
    pub(crate) fn recorded(&self, kind: &str) -> Json {
        let log = self.run(&format!("log j {} --json", self.session()));
        let lines = log.ends_with(0).json_lines();
        let found = lines.iter().rfind(|line| line["kind"] == kind);
        found.unwrap()["body"].clone()
    }

    pub(crate) fn refunds(&self) -> usize {
        self.refunds.load(Ordering::SeqCst)
    }

    pub(crate) fn shut_down(&self) {
        self.runtime
            .block_on(self.engine.shutdown(Duration::ZERO))
            .unwrap();
    }
}

/// The runtime of a service, which serves while the test waits for the program.
pub(crate) fn runtime() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[expect(dead_code, reason = "it is the schema")]
struct Leave {
    days: Option<i64>,
}

fn agent(refunds: Arc<AtomicUsize>) -> Agent {
    let refund = T::simple("refund", "Refunds an order", move |_| {
        refunds.fetch_add(1, Ordering::SeqCst);
        async { Ok(json!({"refunded": true})) }
    });
    let pay = T::simple("pay", "Has it paid", |_| async { Ok(Value::Null) });
    let days = json!({"type": "object", "properties": {"days": {"type": "integer"}}});
    let shift = T::simple_with("shift", "Swaps days", days, |args| async move {
        Ok(json!({"swapped": args["days"]}))
    });
    let leave = TypedTool::with_context(
        "leave",
        "Asks for days off",
        |_: Leave, _: ToolContext| async { Ok(json!({"granted": true})) },
    );
    let from =
        json!({"type": "object", "required": ["from"], "properties": {"from": {"type": "string"}}});
    let leave = T::confirm_payload(T::confirm(leave, "From when on?"), from);
    Agent::new()
        .model("m")
        .tools(T::confirm(refund, "Refund this order?") | T::long_running(pay))
        .tools(T::confirm_edits(leave, Edits::Allowed))
        .tools(T::confirm_edits(
            T::confirm(shift, "Swap them?"),
            Edits::ApprovedAnew,
        ))
}
