//! The stop switch, with a service and without one.

use serde_json::json;

use crate::service::Service;

#[test]
fn service_pauses_everything_until_it_is_unpaused() {
    let mut service = Service::start();
    let request = service.ask_for("refund");
    let rules = || service.run("sessions j --json").ends_with(0).json()["rules"].clone();
    assert_eq!(rules(), 1);
    service
        .run("pause j --all --reason wrong-prices")
        .ends_with(0)
        .prints(&[
            "everything paused by ",
            ": wrong-prices",
            "Recorded by the running service",
        ]);
    service
        .run("pause j --all")
        .fails(3, "already-paused")
        .prints_error(&["everything was paused by ", ": wrong-prices; since 20"]);
    service
        .run("pending j")
        .ends_with(0)
        .prints(&["paused by ", "a yes is recorded and waits"]);
    service
        .run(&format!("approve j {request}"))
        .ends_with(0)
        .prints(&["refund approved by "]);
    assert_eq!(service.refunds(), 0);
    let sessions = service.run("sessions j --json").ends_with(0).json_lines();
    assert_eq!(sessions[0]["open"]["ready"], 1);
    assert_eq!(sessions[0]["paused"][0]["scope"], "everything");
    assert_eq!(sessions[0]["rules"], 2);
    let pauses = service.run("pauses j --json").ends_with(0).json_lines();
    assert_eq!(pauses.len(), 1);
    service
        .run("pauses j")
        .ends_with(0)
        .prints(&["everything\n  paused by ", " UTC: wrong-prices\n"]);
    assert_eq!(
        (&pauses[0]["session"], &pauses[0]["reason"]),
        (&json!(null), &json!("wrong-prices"))
    );
    service
        .run(&format!("unpause j {}", service.session()))
        .fails(3, "not-paused");
    let ended = service.run("unpause j --all --as bob --json").ends_with(0);
    assert_eq!(ended.json()["by"]["authenticated_by"], "none");
    service.until_answered();
    assert_eq!(service.refunds(), 1);
    let log = service.run(&format!("log j {} --full", service.session()));
    log.ends_with(0).prints(&[
        "everything paused by ",
        ": wrong-prices",
        "pause of everything ended (identity not verified) by \"bob\"",
    ]);
    service
        .run("pauses j")
        .ends_with(0)
        .prints(&["Nothing is paused."]);
    service.shut_down();
    let sessions = service.run("sessions j --json").ends_with(0);
    assert_eq!(sessions.json()["rules"], 2);
    service.run("verify j").ends_with(0);
    service.run("replay j").ends_with(0);
    service
        .run("audit decisions j")
        .ends_with(0)
        .prints(&["paused everything: wrong-prices"]);
    let held = "held by the pause of everything by ";
    for form in ["--full", "--html -"] {
        let audit = service.run(&format!("audit decisions j {form}"));
        audit.ends_with(0).prints(&[held, ": wrong-prices"]);
    }
}

#[test]
fn session_and_tool_are_paused_without_a_service() {
    let mut service = Service::start();
    service.ask_for("refund");
    let session = service.session();
    service.shut_down();
    let pause = format!("pause j {}", &session[..13]);
    service
        .run(&format!("{pause} --tool refund --json"))
        .ends_with(0)
        .json();
    service
        .run(&format!("{pause} --tool refnud"))
        .fails(3, "unknown-tool");
    service
        .run("pause j --agent suport")
        .fails(1, "unknown-agent");
    let usage = "<SESSION|--agent <NAME>|--all>";
    service.run("pause j").ends_with(2).prints_error(&[usage]);
    service.run(&format!("{pause} --all")).ends_with(2);
    service.run("pause j --agent support").ends_with(0);
    let state = service.run(&format!("state j {session} --pointer /pauses --json"));
    let state = state.ends_with(0).json();
    let scopes = [&state["state"][0]["scope"], &state["state"][1]["scope"]];
    assert_eq!(
        scopes,
        [&json!({"tool": "refund"}), &json!({"agent": "support"})]
    );
    service.run("pauses j").ends_with(0).prints(&[
        r#"the agent "support""#,
        &format!("the tool \"refund\" in the session {session}\n  paused by "),
    ]);
    for wrong in ["--agent support --tool refund", "--all --tool refund"] {
        for command in ["pause", "unpause"] {
            let run = service.run(&format!("{command} j {wrong}")).ends_with(2);
            run.prints_error(&["cannot be used with ", "'--tool <NAME>'"]);
        }
    }
    service
        .run("unpause j --agent support --reason done")
        .ends_with(0)
        .prints(&[": done\n", "Still in force: 1 pause; "]);
    service.run("replay j").ends_with(0);
}
