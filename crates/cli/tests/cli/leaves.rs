//! Standing leaves on the command line: given, listed, used and revoked.

use std::time::Duration;

use recount::prelude::*;
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::json_shape::Shapes;
use crate::pinned::assert_pinned;
use crate::program::Bench;
use crate::service::runtime;

fn agent() -> Agent {
    let mail = T::simple("mail", "Sends", |_| async { Ok(json!({"sent": true})) });
    let mail = T::may_allow_for_session(T::confirm(mail, "Send this?"));
    let wipe = T::simple("wipe", "Wipes", |_| async { Ok(json!({})) });
    Agent::new()
        .model("none")
        .tools(mail | T::confirm(wipe, "Wipe it?"))
}

/// An engine over the journal `j`, and a session in it.
struct Desk {
    bench: Bench,
    runtime: Runtime,
    engine: Engine,
    live: LiveHandle,
}

impl Desk {
    fn start() -> Desk {
        let (bench, runtime) = (Bench::new(), runtime());
        let (engine, live) = runtime.block_on(async {
            let engine = Engine::builder(bench.path("j")).agent("desk", agent());
            let engine = engine.open().await.unwrap();
            let live = engine.session("desk").open().await.unwrap();
            (engine, live)
        });
        Desk {
            bench,
            runtime,
            engine,
            live,
        }
    }

    /// Calls a tool in the background, and returns the request about the call.
    fn asks(&self, tool: &'static str) -> String {
        let live = self.live.clone();
        self.runtime.block_on(async {
            let mut updates = live.subscribe();
            let calling = live.clone();
            tokio::spawn(async move {
                let pipeline = Actor::embedder("pipeline");
                let _ = calling.call_function(tool, json!({}), pipeline).await;
            });
            let asked = |event: &recount::session::Event| event.kind() == "confirmation_requested";
            updates.wait_for(asked).await.unwrap();
            let waiting = live.pending().await.unwrap();
            let waiting = waiting.iter().find(|it| it.tool == tool).unwrap();
            waiting.id.to_string()
        })
    }

    /// Calls the tool and waits for its result.
    fn calls(&self) {
        let pipeline = Actor::embedder("pipeline");
        let called = self.live.call_function("mail", json!({}), pipeline);
        self.runtime.block_on(called).unwrap();
    }

    fn session(&self) -> String {
        self.live.session_id().to_string()
    }

    fn shut_down(&self) {
        let ended = self.engine.shutdown(Duration::ZERO);
        self.runtime.block_on(ended).unwrap();
    }
}

#[test]
fn leave_is_given_used_listed_and_revoked_beside_a_service() {
    let desk = Desk::start();
    let request = desk.asks("mail");
    let pending = desk.bench.run("pending j").ends_with(0);
    pending.prints(&["approval may also allow later calls: --allow-for N"]);
    let approve = format!("approve j {request} --allow-for 2");
    let approved = desk.bench.run(&approve).ends_with(0);
    approved.prints(&["mail approved by ", "allowed for 2 further calls"]);
    desk.calls();
    let listed = desk.bench.run("leaves j").ends_with(0);
    listed.prints(&["mail may be called without approval: 1 of 2 calls allowed so far"]);
    let session = desk.session();
    let log = desk.bench.run(&format!("log j {session}")).ends_with(0);
    log.prints(&["by standing leave of ", ", 1 of 2 (seq "]);
    let audit = desk.bench.run("audit decisions j").ends_with(0);
    audit.prints(&["allowed by standing leave of "]);
    let leave = desk.bench.run("leaves j --json").json_lines()[0].clone();
    assert_eq!(
        (&leave["request"], &leave["used"]),
        (&json!(request), &json!(1))
    );
    let revoke = format!("revoke j {session} {} --reason enough", &request[..8]);
    let revoked = desk.bench.run(&revoke).ends_with(0);
    revoked.prints(&[
        "for mail revoked by ",
        ": enough",
        "Later calls are asked about again.",
    ]);
    desk.bench
        .run("leaves j")
        .ends_with(0)
        .prints(&["No standing leave is in force."]);
    let again = format!("revoke j {session} {}", leave["leave"]);
    desk.bench.run(&again).fails(3, "leave-ended");
    desk.asks("mail");
    desk.shut_down();
    desk.bench.run("verify j").ends_with(0);
    desk.bench.run("replay j").ends_with(0);
}

#[test]
fn unfit_leaves_are_refused_with_their_codes() {
    let desk = Desk::start();
    let (mail, wipe) = (desk.asks("mail"), desk.asks("wipe"));
    desk.shut_down();
    let session = desk.session();
    for (command, exit, code) in [
        (
            format!("approve j {wipe} --allow-for 2"),
            3,
            "leave-not-permitted",
        ),
        (
            format!("approve j {mail} --allow-for 0"),
            3,
            "invalid-leave",
        ),
        (
            format!("approve j {mail} --allow-until 40d"),
            3,
            "invalid-leave",
        ),
        (
            format!("approve j {mail} --allow-until never"),
            2,
            "not-a-time",
        ),
        (format!("revoke j {session} 1"), 3, "unknown-leave"),
        (format!("revoke j {session} abcdef01"), 1, "unknown-leave"),
    ] {
        desk.bench.run(&command).fails(exit, code);
    }
    let both = desk
        .bench
        .run(&format!("approve j {mail} --allow-for 2 --allow-until 8h"));
    both.ends_with(2);
    let until = format!("approve j {mail} --allow-until 8h");
    desk.bench
        .run(&until)
        .ends_with(0)
        .prints(&["Later calls of mail are allowed until "]);
    let leaves = desk
        .bench
        .run(&format!("leaves j --session {session} --json"));
    let leaf = &leaves.ends_with(0).json_lines()[0];
    assert_eq!(
        (&leaf["count"], leaf["until"].is_string()),
        (&Value::Null, true)
    );
    let revoke = format!("revoke j {session} {} --as ada", leaf["leave"]);
    desk.bench.run(&revoke).ends_with(0);
}

#[test]
fn keys_of_commands_about_leaves_are_as_they_were() {
    let (desk, mut shapes) = (Desk::start(), Shapes::default());
    let request = desk.asks("mail");
    let approve = format!("approve j {request} --allow-for 2 --json");
    let approved = desk.bench.run(&approve).ends_with(0);
    shapes.add("approve with a leave", &approved);
    desk.calls();
    shapes.add("leaves", &desk.bench.run("leaves j --json").ends_with(0));
    let session = desk.session();
    let state = desk
        .bench
        .run(&format!("state j {session} --json"))
        .ends_with(0);
    let leaves = &state.json()["state"]["leaves"];
    assert!(
        leaves.as_object().is_some_and(|it| it.len() == 1),
        "{leaves}"
    );
    let audit = desk.bench.run("audit decisions j --json").ends_with(0);
    shapes.add("audit decisions with a leave", &audit);
    let leave = desk.bench.run("leaves j --json").json_lines()[0]["leave"].clone();
    let revoke = format!("revoke j {session} {leave} --json");
    shapes.add("revoke", &desk.bench.run(&revoke).ends_with(0));
    desk.shut_down();
    assert_pinned("json/leaves.txt", &shapes.text());
}
