//! Numbers on screens: the approver sees the digits with which the tool runs.

use std::sync::Arc;
use std::time::Duration;

use recount::prelude::*;
use recount::session::Edits;
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
            bench.run(arguments).ends_with(0).prints(&[ARGS]);
        }
    };
    shown();
    runtime.block_on(engine.shutdown(Duration::ZERO)).unwrap();
    shown();
    bench
        .run("audit decisions j --json")
        .ends_with(0)
        .prints(&["20000000000000000001"]);
    bench
        .run(&format!("log j {session} --json"))
        .ends_with(0)
        .prints(&["20000000000000000001"]);
}

const EDITED: &str = r#"{"a":100000000000000000000,"b":-0,"c":1.10,"d":1e2,"e":1E+2,"f":-0.0}"#;

/// Approves a call with edited arguments, with the service or after it, and checks the record.
///
/// Returns the input of the tool's command.
fn approved_as_written(beside: bool) -> String {
    let (bench, runtime) = (Bench::new(), runtime());
    let ran = bench.path("ran");
    let tool = CommandTool::new("pay", "Pays", None, "tee", [ran.display().to_string()]);
    let pay = T::confirm_edits(T::function(Arc::new(tool)), Edits::Allowed);
    let agent = Agent::new().model("m").tools(T::confirm(pay, "Pay?"));
    let builder = Engine::builder(bench.path("j")).agent("a", agent);
    let engine = runtime.block_on(builder.open()).unwrap();
    let live = runtime.block_on(engine.session("a").open()).unwrap();
    let (mut updates, session) = (live.subscribe(), live.session_id());
    let call = runtime.spawn(async move {
        let args = json!({"a": 1});
        live.call_function("pay", args, Actor::embedder("ada"))
            .await
    });
    let asked = updates.wait_for(|event| event.kind() == "confirmation_requested");
    runtime.block_on(asked).unwrap();
    if !beside {
        runtime.block_on(engine.shutdown(Duration::ZERO)).unwrap();
    }
    let waiting = bench.run("pending j --json").ends_with(0).json_lines();
    let request = waiting[0]["request"].as_str().unwrap();
    let approve = format!("approve j {request} --args {EDITED}");
    bench.run(&approve).ends_with(0).prints(&[EDITED]);
    if beside {
        runtime.block_on(call).unwrap().unwrap();
        runtime.block_on(engine.shutdown(Duration::ZERO)).unwrap();
    }
    bench
        .run(&format!("log j {session} --json"))
        .ends_with(0)
        .prints(&[&format!(r#""edited_args":{EDITED}"#)]);
    bench
        .run("audit decisions j --json")
        .ends_with(0)
        .prints(&[&format!(r#""edited_args":{EDITED}"#)]);
    bench.run("replay j").ends_with(0);
    std::fs::read_to_string(ran).unwrap_or_default()
}

#[test]
fn command_gets_edited_arguments_as_written() {
    assert_eq!(approved_as_written(true).trim_end(), EDITED);
}

#[test]
fn edited_arguments_are_recorded_as_written() {
    assert_eq!(approved_as_written(false), "");
}
