//! An approval covers the implementation: a call of a script that was edited meanwhile is asked
//! about again.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use recount::prelude::*;
use recount::session::{InDoubt, Outcome};
use recount::testing::Life;
use recount::tool::CommandTool;
use tokio::sync::Notify;

use crate::restart::world::{World, approve, is, waiting};

/// Writes a script that runs the command `word`.
fn write(script: &Path, word: &str) {
    let text = format!("#!/bin/sh\ncat > /dev/null\n{word}\n");
    std::fs::write(script, text).unwrap();
    std::fs::set_permissions(script, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn pays(program: &str, args: &[&str]) -> Toolset {
    let args = args.iter().map(|it| (*it).to_owned());
    let pay = CommandTool::new("pay", "Pays", None, program, args);
    T::confirm(
        PolicyTool::from(Arc::new(pay) as Arc<dyn ToolFunction>),
        "Pay?",
    )
}

/// Waits until the tool has returned.
fn returned(life: &Life, mut updates: Updates) {
    life.run(updates.wait_for(is("tool_returned"))).unwrap();
    life.settle();
}

#[test]
fn edited_script_is_asked_about_anew_in_one_process() {
    let place = tempfile::tempdir().unwrap();
    let script = place.path().join("pay.sh");
    let named = script.to_str().unwrap();
    for (program, args) in [(named, vec![]), ("sh", vec![named])] {
        write(&script, "echo '\"approved\"'");
        let world = World::new();
        let (life, live) = world.asked_to_pay(pays(program, &args));
        let request = waiting(&life);
        write(&script, "echo '\"planted\"'");
        assert!(approve(&life, request).is_err(), "{program}");
        assert_eq!(world.count("call_started"), 0, "{program}");
        assert_eq!(world.count("confirmation_reopened"), 1);
        let anew = waiting(&life);
        assert_ne!(anew, request);
        let updates = live.subscribe();
        approve(&life, anew).unwrap();
        returned(&life, updates);
        assert_eq!(world.outcome(), Outcome::Returned);
        life.end();
    }
}

#[test]
fn other_command_after_a_restart_is_asked_about_anew() {
    let world = World::new();
    let (life, _live) = world.asked_to_pay(pays("sh", &["-c", "echo 1"]));
    let request = waiting(&life);
    life.crash();
    let life = world.life(world.agent(pays("sh", &["-c", "echo 2"])));
    assert!(approve(&life, request).is_err());
    assert_eq!(world.count("call_started"), 0);
    assert_ne!(waiting(&life), request);
    life.end();
}

#[test]
fn script_edited_before_a_retry_is_asked_about_anew() {
    let place = tempfile::tempdir().unwrap();
    let script = place.path().join("pay.sh");
    write(&script, "exit 1");
    let pay = T::in_doubt(pays(script.to_str().unwrap(), &[]), InDoubt::Retry);
    let world = World::new();
    let (life, live) = world.asked_to_pay(T::retry(pay, 2, Duration::from_secs(60)));
    let updates = live.subscribe();
    approve(&life, waiting(&life)).unwrap();
    returned(&life, updates);
    write(&script, "exit 0");
    world.clock.advance(Duration::from_secs(61));
    let mut updates = live.subscribe();
    life.settle();
    life.run(updates.wait_for(is("confirmation_reopened")))
        .unwrap();
    assert_eq!(world.count("call_started"), 1);
    life.end();
}

/// A tool whose implementation cannot be read once `broken` is set.
struct Unreadable {
    broken: Arc<AtomicBool>,
}

#[async_trait::async_trait]
impl ToolFunction for Unreadable {
    fn name(&self) -> &str {
        "audit"
    }

    fn description(&self) -> &str {
        "Audits"
    }

    fn parameters(&self) -> Option<Value> {
        None
    }

    fn implementation(&self) -> Option<Value> {
        assert!(
            !self.broken.load(Ordering::SeqCst),
            "its file is unreadable"
        );
        Some(json!({"program": "audit"}))
    }

    async fn call(&self, _args: Value) -> Result<Value, ToolError> {
        Ok(Value::Null)
    }
}

/// The script changes before the session attaches, so the first request is about the new script.
#[test]
fn panicking_tool_does_not_hide_change_of_another() {
    let place = tempfile::tempdir().unwrap();
    let script = place.path().join("pay.sh");
    write(&script, "echo 1");
    let broken = Arc::new(AtomicBool::new(false));
    let audit = Unreadable {
        broken: broken.clone(),
    };
    let audit = PolicyTool::from(Arc::new(audit) as Arc<dyn ToolFunction>);
    let world = World::new();
    let life = world.life(world.agent(audit | pays(script.to_str().unwrap(), &[])));
    write(&script, "echo 2");
    broken.store(true, Ordering::SeqCst);
    let live = world.ask_to_pay(&life);
    let updates = live.subscribe();
    approve(&life, waiting(&life)).unwrap();
    returned(&life, updates);
    assert_eq!(world.count("confirmation_reopened"), 0);
    assert_eq!(world.outcome(), Outcome::Returned);
    life.end();
}

#[test]
fn other_calls_go_on_while_a_tool_is_renewed() {
    let script = r#"
{"on": {"text": "settle"}, "send": [{"call": [{"id": "c1", "name": "pay", "args": {}}, {"id": "c2", "name": "hold", "args": {}}]}]}
{"on": "otherwise", "send": [{"say": "Noted."}]}
"#;
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("pay.sh");
    write(&file, "echo 1");
    let gate = Arc::new(Notify::new());
    let opens = gate.clone();
    let hold = T::simple("hold", "Holds", move |_| {
        let gate = gate.clone();
        async move {
            gate.notified().await;
            Ok(json!({"held": true}))
        }
    });
    let world = World::with(script);
    let (life, live) = world.asked_to_pay(pays(file.to_str().unwrap(), &[]) | hold);
    write(&file, "echo 2");
    assert!(approve(&life, waiting(&life)).is_err());
    let updates = live.subscribe();
    opens.notify_one();
    returned(&life, updates);
    let session = world.folded();
    assert_eq!(world.count("call_started"), 1);
    let ended = session.settled.values().map(|it| it.outcome);
    assert_eq!(ended.collect::<Vec<_>>(), [Outcome::Returned]);
    life.end();
}
