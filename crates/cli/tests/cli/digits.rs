//! Numbers on a screen: the approver sees the digits that run.

use std::sync::Arc;
use std::time::Duration;

use recount::prelude::*;
use recount::tool::CommandTool;

use crate::program::Bench;
use crate::service::runtime;

const ARGS: &str = r#"{"cents":20000000000000000001,"rate":1.50}"#;

#[test]
fn pending_shows_the_digits_that_will_run() {
    let (bench, runtime) = (Bench::new(), runtime());
    let tool = CommandTool::new("pay", "Pays", None, "cat", []);
    let pay = T::confirm(T::function(Arc::new(tool)), "Pay?");
    let builder = Engine::builder(bench.path("j"));
    let builder = builder.agent("a", Agent::new().model("m").tools(pay));
    let engine = runtime.block_on(builder.open()).unwrap();
    let live = runtime.block_on(engine.session("a").open()).unwrap();
    let (mut updates, session) = (live.subscribe(), live.session_id());
    runtime.spawn(async move {
        // Arguments in a string keep their digits on the way in.
        let _ = live
            .call_function("pay", json!(ARGS), Actor::embedder("ada"))
            .await;
    });
    let asked = updates.wait_for(|event| event.kind() == "confirmation_requested");
    runtime.block_on(asked).unwrap();
    let shown = || {
        for arguments in ["pending j", "pending j --json"] {
            bench.run(arguments).ends_with(0).says(&[ARGS]);
        }
    };
    shown();
    runtime.block_on(engine.shutdown(Duration::ZERO)).unwrap();
    shown();
    bench
        .run("audit decisions j --json")
        .ends_with(0)
        .says(&["20000000000000000001"]);
    bench
        .run(&format!("log j {session} --json"))
        .ends_with(0)
        .says(&["20000000000000000001"]);
}
