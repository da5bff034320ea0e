use serde_json::json;

use super::tests::{begun, row};
use crate::session::{Actor, Command, PauseCommand};
use crate::testing::toolbox;

/// A call that waits for its start only names each pause that held it, once.
#[test]
fn held_call_names_the_pauses() {
    let pause = |tool: Option<&str>| {
        Command::Pause(PauseCommand {
            tool: tool.map(str::to_owned),
            reason: Some("wrong prices".to_owned()),
            by: Actor::embedder("ada"),
        })
    };
    let unpause = Command::Unpause(PauseCommand {
        tool: None,
        reason: None,
        by: Actor::embedder("ada"),
    });
    let waits = begun(&toolbox().plain("pay")).commanded(pause(None));
    let held = waits.call("c1", "pay", json!({}));
    let held = held.commanded(pause(Some("pay"))).commanded(unpause);
    let row = row(&held);
    let scopes: Vec<String> = row.held.iter().map(|it| it.scope.to_string()).collect();
    assert_eq!(scopes, ["the session", r#"the tool "pay" in the session"#]);
    assert_eq!(row.waits_as, Some("ready"));
}
