//! The commands of a client that runs calls, with a running service and without one.

use std::time::Duration;

use recount::prelude::*;
use recount::session::Seq;
use recount::simulator::{Script, Simulator};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::json_shape::Shapes;
use crate::pinned::assert_pinned;
use crate::program::Bench;
use crate::service::runtime;

const SCRIPT: &str = concat!(
    r#"{"on": {"text": "pack"}, "send": [{"call": [{"id": "p1", "name": "pack", "#,
    r#""args": {"order":7}}]}]}"#,
    "\n",
    r#"{"on": "otherwise", "send": [{"say": "Noted."}]}"#,
    "\n",
);

/// An engine over `j` with a session whose model called a tool of a client.
fn called(bench: &Bench, runtime: &Runtime) -> (Engine, LiveHandle, Seq) {
    let pack = T::client("pack", "Packs an order", json!({"type": "object"}));
    let pack = T::in_doubt(pack, InDoubt::Retry);
    runtime.block_on(async {
        let script = Script::parse(SCRIPT).unwrap();
        let simulator = Simulator::start(script).listen("127.0.0.1:0");
        let simulator = simulator.await.unwrap();
        let url = Endpoint::url(simulator.url());
        let agent = Agent::new().model("m").tools(pack).connect_to(url);
        let engine = Engine::builder(bench.path("j")).agent("shop", agent);
        let engine = engine.open().await.unwrap();
        let live = engine.session("shop").connect().await.unwrap();
        let mut updates = live.subscribe();
        live.send_text("pack").await.unwrap();
        updates
            .wait_for(|it| it.kind() == "call_ready")
            .await
            .unwrap();
        let call = *live.session().await.unwrap().calls.keys().next().unwrap();
        (engine, live, call)
    })
}

#[test]
fn client_claims_renews_and_finishes_beside_the_service() {
    let (bench, runtime) = (Bench::new(), runtime());
    let (engine, live, call) = called(&bench, &runtime);
    let session = live.session_id();
    bench
        .run("sessions j")
        .ends_with(0)
        .prints(&["1 ready for a client"]);
    let nothing = bench.run("claim j --tool other --json").ends_with(0);
    assert_eq!(nothing.out.trim(), "null");
    let claimed = bench
        .run("claim j --tool pack --claim w1 --lease 5m --json")
        .ends_with(0)
        .json();
    assert_eq!(
        (&claimed["tool"], &claimed["args"]),
        (&json!("pack"), &json!({"order": 7}))
    );
    assert_eq!(
        (&claimed["attempt"], &claimed["call"]),
        (&json!(1), &json!(call))
    );
    bench.run("sessions j").prints(&["1 running at a client"]);
    let held = format!("j {session} {call} --claim");
    bench
        .run(&format!("renew {held} w1 --lease 10m"))
        .ends_with(0)
        .prints(&["pack renewed by ", " until 20", " UTC, recorded at seq "]);
    bench
        .run(&format!("log j {session} --full --tz +05:30"))
        .ends_with(0)
        .prints(&["pack claimed by ", " +05:30, attempt 1"]);
    bench
        .run(&format!("renew {held} w2"))
        .fails(3, "not-the-holder");
    bench
        .run(&format!("renew {held} w1 --lease 10ms"))
        .ends_with(2);
    bench
        .run(&format!("finish {held} w1 --result {{\"boxes\":2}}"))
        .ends_with(0)
        .prints(&["pack finished by "]);
    bench
        .run(&format!("finish {held} w1 --failed no"))
        .fails(3, "call-settled");
    bench
        .run(&format!("log j {session}"))
        .ends_with(0)
        .prints(&[
            "pack claimed by ",
            "claim of pack renewed by ",
            "pack returned",
        ]);
    runtime.block_on(engine.shutdown(Duration::ZERO)).unwrap();
    bench.run("verify j").ends_with(0);
    bench.run("replay j").ends_with(0);
    let audited = bench
        .run("audit decisions j --json")
        .ends_with(0)
        .json_lines();
    assert_eq!(
        audited[0]["runs"][0]["claimed_by"],
        claimed_by(&bench, &session.to_string())
    );
    let user = audited[0]["runs"][0]["claimed_by"]["name"].as_str();
    let user = user.unwrap();
    let audit = |form: &str| {
        let run = bench.run(&format!("audit decisions j {form}"));
        run.ends_with(0)
    };
    audit("--csv").prints(&["run_by_clients", &format!("{user} (token) for start 1")]);
    audit("--html -").prints(&[&format!(" by the client {user} (token)")]);
    audit("--full").prints(&[&format!("      start 1 by the client {user}\n")]);
    audit(&format!("--actor {user}")).prints(&["1 call of 1 session"]);
}

fn claimed_by(bench: &Bench, session: &str) -> serde_json::Value {
    let log = bench.run(&format!("log j {session} --json")).json_lines();
    let claimed = log.iter().find(|it| it["kind"] == "call_claimed");
    claimed.unwrap()["body"]["by"].clone()
}

#[test]
fn client_gives_back_and_finishes_without_a_service() {
    let (bench, runtime) = (Bench::new(), runtime());
    let (engine, live, call) = called(&bench, &runtime);
    let session = live.session_id();
    runtime.block_on(engine.shutdown(Duration::ZERO)).unwrap();
    drop((live, engine));
    bench
        .run("claim j --tool pack --claim w1")
        .ends_with(0)
        .prints(&[
            r#"pack {"order":7}"#,
            "attempt 1, claim w1, until 20",
            " UTC\n",
        ]);
    let held = format!("j {session} {call} --claim");
    bench
        .run(&format!("release {held} w1 --not-begun --reason jam"))
        .ends_with(0)
        .prints(&["pack released by ", "The call is ready for another client."]);
    bench
        .run("claim j --tool pack --claim w2")
        .ends_with(0)
        .prints(&["attempt 2, claim w2"]);
    let renewed = bench.run(&format!("renew {held} w2")).ends_with(0);
    assert_eq!(
        renewed.out.lines().count(),
        1,
        "no model is told: {renewed:#?}"
    );
    bench
        .run("claim j --tool pack --claim w3")
        .ends_with(0)
        .prints(&["No call is ready for this client."]);
    bench
        .run(&format!("finish {held} w1 --attempt 1 --result {{}}"))
        .fails(3, "stale-attempt");
    let finished = bench
        .run(&format!("finish {held} w2 --result {{}} --json"))
        .ends_with(0)
        .json();
    assert_eq!(
        (&finished["late"], &finished["claim"]),
        (&json!(false), &json!("w2"))
    );
    bench.run("replay j").ends_with(0);
}

/// Without a service, a client is all that runs.
#[test]
fn stop_switch_cancels_what_a_client_runs() {
    for target in ["SESSION", "SESSION --tool pack", "--agent shop", "--all"] {
        let (bench, runtime) = (Bench::new(), runtime());
        let (engine, live, call) = called(&bench, &runtime);
        let session = live.session_id().to_string();
        runtime.block_on(engine.shutdown(Duration::ZERO)).unwrap();
        drop((live, engine));
        bench.run("claim j --tool pack --claim w1").ends_with(0);
        let target = target.replace("SESSION", &session);
        bench
            .run(&format!("pause j {target} --cancel-running --reason fire"))
            .ends_with(0)
            .prints(&["No service has the journal open, so no call starts."]);
        bench
            .run(&format!(
                "finish j {session} {call} --claim w1 --result {{}}"
            ))
            .fails(3, "call-settled")
            .prints_error(&["an operator cancelled it"]);
        let log = bench.run(&format!("log j {session} --full")).ends_with(0);
        log.prints(&["pack cancelled by ", ": fire\n"]);
        bench.run("replay j").ends_with(0);
    }
}

#[test]
fn keys_of_client_commands_are_as_they_were() {
    let (bench, runtime, mut shapes) = (Bench::new(), runtime(), Shapes::default());
    let (engine, live, call) = called(&bench, &runtime);
    let held = format!("j {} {call} --claim", live.session_id());
    let mut add = |name, command: String| {
        shapes.add(name, &bench.run(&format!("{command} --json")).ends_with(0));
    };
    add("claim", "claim j --tool pack --claim w1".to_owned());
    add("renew", format!("renew {held} w1"));
    add("release", format!("release {held} w1 --not-begun"));
    add("claim", "claim j --tool pack --claim w2".to_owned());
    add(
        "finish",
        format!("finish {held} w2 --result {{\"boxes\":2}}"),
    );
    add(
        "audit decisions of a client's run",
        "audit decisions j".to_owned(),
    );
    add("state", format!("state j {}", live.session_id()));
    runtime.block_on(engine.shutdown(Duration::ZERO)).unwrap();
    assert_pinned("json/claiming.txt", &shapes.text());
}
