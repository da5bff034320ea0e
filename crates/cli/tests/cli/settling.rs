//! What became of a call that was cut off is told by whoever knows it, beside a service and without
//! one.

use std::sync::Arc;
use std::time::Duration;

use recount::prelude::*;
use recount::simulator::{Script, Simulator};
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;

use crate::program::Bench;
use crate::service::runtime;

const SCRIPT: &str = r#"
{"on": {"text": "pay"}, "send": [{"call": [{"id": "p1", "name": "pay", "args": {"cents": 42}}, {"id": "p2", "name": "pay", "args": {"cents": 43}}]}]}
{"on": "otherwise", "send": [{"say": "Noted."}]}
"#;

/// An agent whose tool begins to pay and does not end; when it is cut off, its rule holds.
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

/// A journal in `j` with a session in which two payments were cut off.
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
        // A start whose tool has not begun does not count, and leaves no doubt.
        drop(begun.acquire_many(2).await.unwrap());
        engine.shutdown(Duration::ZERO).await.unwrap();
        url
    })
}

#[test]
fn a_doubt_is_settled_as_done_or_as_failed_and_the_second_word_is_told_the_first() {
    let (bench, runtime) = (Bench::new(), runtime());
    let url = cut_off(&bench, &runtime, InDoubt::Ask);
    let pending = bench.run("pending j").ends_with(0);
    pending.says(&["It may have run already.", "--done JSON", "--failed REASON"]);
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
            refused.complains(&["nothing is decided, and another may count"]);
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
        .says(&["pay settled as done by ", "when the session is next served"]);
    bench
        .run(&format!("approve j {first}"))
        .fails(3, "already-answered")
        .complains(&["settled as done by "]);
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
        .run(&format!("log j {session}"))
        .ends_with(0)
        .says(&["settled as failed by unchecked \"ada\": refused"]);
    bench.run("replay j").ends_with(0);
}

#[test]
fn an_unknown_outcome_is_reconciled_once_beside_a_service_and_without_one() {
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
        .says(&["pay found done by ", "when the session is next served"]);
    reconcile(calls[0], "--failed no")
        .fails(3, "already-reconciled")
        .complains(&["it was found done by "]);
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
