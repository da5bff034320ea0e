//! An operator records the real outcome of interrupted calls, with a service and without one.

use std::sync::Arc;
use std::time::Duration;

use recount::prelude::*;
use recount::simulator::{Script, Simulator};
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;

use crate::program::Bench;
use crate::service::runtime;

const SCRIPT: &str = concat!(
    r#"{"on": {"text": "pay"}, "send": [{"call": [{"id": "p1", "name": "pay", "#,
    r#""args": {"cents": 42}}, {"id": "p2", "name": "pay", "args": {"cents": 43}}]}]}"#,
    "\n",
    r#"{"on": "otherwise", "send": [{"say": "Noted."}]}"#,
    "\n",
);

/// An agent with a payment that starts and never ends. `rule` is its rule for interrupted calls.
pub(crate) fn agent(url: &str, rule: InDoubt, begun: &Arc<Semaphore>) -> Agent {
    let begun = begun.clone();
    let pay = T::simple("pay", "Pays", move |_| {
        begun.add_permits(1);
        std::future::pending()
    });
    Agent::new()
        .model("m")
        .tools(T::in_doubt(pay, rule))
        .connect_to(Endpoint::url(url.to_owned()))
}

/// Makes a journal `j` with a session in which two payments were interrupted.
pub(crate) fn cut_off(bench: &Bench, runtime: &Runtime, rule: InDoubt) -> String {
    runtime.block_on(async {
        let script = Script::parse(SCRIPT).unwrap();
        let simulator = Simulator::start(script).listen("127.0.0.1:0");
        let simulator = simulator.await.unwrap();
        let url = simulator.url();
        let begun = Arc::new(Semaphore::new(0));
        let support = agent(&url, rule, &begun);
        let engine = Engine::builder(bench.path("j")).agent("support", support);
        let engine = engine.open().await.unwrap();
        let live = engine.session("support").connect().await.unwrap();
        live.send_text("pay").await.unwrap();
        // A start whose tool has not begun leaves no doubt, so the tools must have begun.
        drop(begun.acquire_many(2).await.unwrap());
        engine.shutdown(Duration::ZERO).await.unwrap();
        url
    })
}

#[test]
fn call_in_doubt_is_settled_once() {
    let (bench, runtime) = (Bench::new(), runtime());
    let url = cut_off(&bench, &runtime, InDoubt::Ask);
    let pending = bench.run("pending j").ends_with(0);
    pending.prints(&["It may have run already.", "--done JSON", "--failed REASON"]);
    let waiting = bench.run("pending j --json").ends_with(0).json_lines();
    let ids: Vec<&str> = waiting
        .iter()
        .filter_map(|it| it["request"].as_str())
        .collect();
    let [first, second] = ids.as_slice() else {
        panic!("two payments are in doubt: {waiting:?}");
    };
    for (wrong, exit, code) in [
        ("--done [1]", 3, "response-not-an-object"),
        ("--done {", 2, "not-json"),
        ("--done @nowhere.json", 1, "io"),
    ] {
        let refused = bench
            .run(&format!("settle j {first} {wrong}"))
            .fails(exit, code);
        if exit == 3 {
            refused.prints_error(&["nothing is decided, and another answer is possible"]);
        }
    }
    bench.run(&format!("settle j {first}")).ends_with(2);
    bench
        .run(&format!("settle j {first} --done {{}} --failed no"))
        .ends_with(2);
    let receipt = r#"{"receipt":9007199254740993,"sum":1.10}"#;
    bench
        .run(&format!("settle j {first} --done {receipt}"))
        .ends_with(0)
        .prints(&[
            "pay settled as done by ",
            "when a process serves the session again",
        ]);
    bench
        .run(&format!("approve j {first}"))
        .fails(3, "already-answered")
        .prints_error(&["settled as done by "]);
    let engine = runtime.block_on(async {
        let engine = Engine::builder(bench.path("j")).agent(
            "support",
            agent(&url, InDoubt::Ask, &Arc::new(Semaphore::new(0))),
        );
        engine.open().await.unwrap()
    });
    let settled = bench.run(&format!(
        "settle j {second} --failed refused --as ada --json"
    ));
    let settled = settled.ends_with(0).json();
    assert_eq!(
        (&settled["found"], &settled["tool"]),
        (&json!("failed"), &json!("pay"))
    );
    assert_eq!(settled["service"], std::process::id());
    runtime.block_on(engine.shutdown(Duration::ZERO)).unwrap();
    let session = bench.session("j");
    let log = bench.run(&format!("log j {session} --json")).ends_with(0);
    assert!(log.out.contains(receipt), "{log:?}");
    bench
        .run(&format!("log j {session} --full"))
        .ends_with(0)
        .prints(&["settled as failed (identity not verified) by \"ada\": refused"]);
    bench.run("replay j").ends_with(0);
}

#[test]
fn unknown_outcome_is_reconciled_once() {
    let (bench, runtime) = (Bench::new(), runtime());
    let url = cut_off(&bench, &runtime, InDoubt::SettleUnknown);
    let session = bench.session("j");
    let calls = bench.run(&format!("log j {session} --json")).ends_with(0);
    let calls = calls.json_lines().into_iter();
    let calls = calls.filter(|line| line["kind"] == "function_call_received");
    let calls: Vec<u64> = calls.filter_map(|line| line["seq"].as_u64()).collect();
    let reconcile = |call: u64, found: &str| {
        let id = &session[..13];
        bench.run(&format!("reconcile j {id} {call} {found}"))
    };
    reconcile(1, "--failed no").fails(3, "unknown-call");
    reconcile(calls[0], "--done [1]").fails(3, "response-not-an-object");
    reconcile(calls[0], "--done {\"receipt\":17}")
        .ends_with(0)
        .prints(&[
            "pay reconciled as done by ",
            "when a process serves the session again",
        ]);
    reconcile(calls[0], "--failed no")
        .fails(3, "already-reconciled")
        .prints_error(&["it was found done by "]);
    let engine = runtime.block_on(async {
        let agent = agent(&url, InDoubt::SettleUnknown, &Arc::new(Semaphore::new(0)));
        let engine = Engine::builder(bench.path("j")).agent("support", agent);
        engine.open().await.unwrap()
    });
    let found = reconcile(calls[1], "--failed refused --as ada --json").ends_with(0);
    let found = found.json();
    assert_eq!(
        (&found["found"], &found["call"]),
        (&json!("failed"), &json!(calls[1]))
    );
    assert_eq!(found["service"], std::process::id());
    reconcile(calls[1], "--failed no").fails(3, "already-reconciled");
    runtime.block_on(engine.shutdown(Duration::ZERO)).unwrap();
    bench.run("replay j").ends_with(0);
}
