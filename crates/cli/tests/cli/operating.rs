//! Operator commands with a running service, which has the journal open.

use std::time::Duration;

use recount::control::os_user;
use recount::prelude::*;
use serde_json::json;

use crate::service::Service;

/// The line that names the service.
fn by_service() -> String {
    format!(
        "Recorded by the running service (pid {}).",
        std::process::id()
    )
}

#[test]
fn an_approval_reaches_the_running_service_which_runs_the_call() {
    let mut service = Service::start();
    let request = service.ask_for("refund");
    service.run("pending j").ends_with(0).prints(&[
        "refund: Refund this order?",
        r#"{"order":"A-17"}"#,
        "agent support, ticket-7",
        &format!("recount approve j {request}"),
    ]);
    service
        .run(&format!("approve j {} --reason fine", &request[..6]))
        .ends_with(0)
        .prints(&[
            "refund approved by ",
            "(token), recorded at seq ",
            &by_service(),
        ]);
    service.until_answered();
    assert_eq!(service.refunds(), 1);
    let answered = service.recorded("confirmation_answered");
    assert_eq!(answered["reason"], "fine");
    let user = os_user::current().unwrap();
    assert_eq!(
        answered["by"],
        json!({"name": user, "authenticated_by": "token"})
    );
    let second = service.run(&format!("deny j {request}"));
    second.fails(3, "already-answered").prints_error(&[
        &format!("approved by {user} (token) at 20"),
        " UTC, seq ",
        "the first answer counts",
    ]);
    service
        .run("pending j")
        .ends_with(0)
        .prints(&["Nothing is pending."]);
    service.shut_down();
    service.run("verify j").ends_with(0);
    service.run("replay j").ends_with(0);
}

#[test]
fn denial_with_a_name_is_recorded_as_not_verified() {
    let mut service = Service::start();
    let request = service.ask_for("refund");
    let denied = service.run(&format!("deny j {request} --as ada --reason no --json"));
    let denied = denied.ends_with(0).json();
    let by = json!({"name": "ada", "authenticated_by": "none"});
    assert_eq!(
        (&denied["by"], &denied["confirmed"], &denied["tool"]),
        (&by, &json!(false), &json!("refund"))
    );
    assert_eq!(denied["service"], std::process::id());
    assert_eq!(service.recorded("confirmation_answered")["by"], by);
    service.until_answered();
    assert_eq!(service.refunds(), 0);
}

#[test]
fn service_knows_a_decided_request_by_its_short_id() {
    let mut service = Service::start();
    let request = service.ask_for("refund");
    let deny = format!("deny j {}", &request[..8]);
    service.run(&deny).ends_with(0);
    service.run(&deny).fails(3, "already-answered");
}

#[test]
fn pending_shows_that_the_model_cancelled_the_call() {
    let mut service = Service::start();
    let request = service.ask_for("refund");
    let shown = |service: &Service| {
        let text = service.run("pending j").ends_with(0).out;
        let lines = service.run("pending j --json").ends_with(0).json_lines();
        assert_eq!((lines.len(), &lines[0]["request"]), (1, &json!(request)));
        let is_shown = text.contains("the model has cancelled the call");
        (is_shown, lines[0]["model_lost_interest"].clone())
    };
    assert_eq!(shown(&service), (false, json!(false)));
    service.takes_refund_back();
    assert_eq!(shown(&service), (true, json!(true)), "through the service");
    service.shut_down();
    assert_eq!(shown(&service), (true, json!(true)), "from the journal");
}

#[test]
fn result_of_a_paused_call_keeps_its_numbers() {
    let mut service = Service::start();
    let call = service.ask_for("pay");
    let how = format!("recount respond-call j {call} --response JSON");
    let shown = service.run("pending j").ends_with(0);
    shown.prints(&["pay: waiting for its result", r#"{"cents":4200}"#, &how]);
    let respond =
        |response: &str| service.run(&format!("respond-call j {call} --response {response}"));
    respond("[1]")
        .fails(3, "response-not-an-object")
        .prints_error(&["nothing is decided, and another answer is possible"]);
    respond("{").fails(2, "not-json");
    respond("@nowhere.json").fails(1, "io");
    let twice = r#"{"a":1,"a":2}"#;
    respond(twice).fails(2, "not-json").prints_error(&["\"a\""]);
    let result = r#"{"receipt":9007199254740993,"sum":1.10}"#;
    respond(result)
        .ends_with(0)
        .prints(&["result of pay from ", &by_service()]);
    let log = service.run(&format!("log j {} --json", service.session()));
    assert!(log.out.contains(result), "{log:?}");
    respond(result).fails(1, "unknown-call");
}

#[test]
fn ticket_names_a_call_and_a_file_has_its_result() {
    let mut service = Service::start();
    service.ask_for("pay");
    let pending = service.run("pending j --json").ends_with(0).json_lines();
    assert_eq!(pending[0]["waits_for"], "response");
    let ticket = pending[0]["ticket"].to_string();
    service.bench.write("result.json", r#"{"receipt": 17}"#);
    let foreign = ticket.replace("pay", "refund");
    let wrong = service.run(&format!("respond-call j {foreign} --response @result.json"));
    wrong.fails(3, "wrong-name");
    service
        .run("respond-call j {} --response @result.json")
        .fails(2, "not-a-ticket");
    // Further members of a ticket would be ignored, such as the id of another call.
    let more = |more: &str| ticket.replace('}', &format!(",{more}}}"));
    let listed = r#"["0199a000-0000-7000-8000-000000000001",5,"pay"]"#;
    for unfit in [
        &more(r#""id":"0199a000-0000-7000-8000-000000000001""#),
        &more(r#""actor":"x""#),
        listed,
    ] {
        service
            .run(&format!("respond-call j {unfit} --response @result.json"))
            .fails(2, "not-a-ticket");
    }
    // Standard input is empty, which is no JSON.
    service
        .run(&format!("respond-call j {ticket}"))
        .fails(2, "not-json");
    service
        .run(&format!("respond-call j {ticket} --response @result.json"))
        .ends_with(0);
    assert_eq!(
        service.recorded("response_supplied")["response"],
        json!({"receipt": 17})
    );
    let again = service.run(&format!("respond-call j {ticket} --response @result.json"));
    again.fails(3, "already-on-record");
}

#[test]
fn too_large_message_is_no_lost_service() {
    let mut service = Service::start();
    let call = service.ask_for("pay");
    let large = format!(r#"{{"x":"{}"}}"#, "x".repeat(5_000_000));
    service.bench.write("large.json", &large);
    let respond = format!("respond-call j {call} --response @large.json");
    service
        .run(&respond)
        .fails(3, "too-large")
        .prints_error(&["takes 4194304 bytes at most", "nothing is decided"]);
    service.shut_down();
    service.run(&respond).fails(3, "too-large");
}

#[test]
#[cfg(target_os = "linux")]
fn unprinted_answer_is_reported_as_recorded() {
    let mut service = Service::start();
    let (request, call) = (service.ask_for("refund"), service.ask_for("pay"));
    let full = || {
        let full = std::fs::File::options().write(true).open("/dev/full");
        std::process::Stdio::from(full.unwrap())
    };
    let closed = || std::process::Stdio::from(std::io::pipe().unwrap().1);
    let run = |arguments: &str, stdout: std::process::Stdio, code: i32| {
        let mut command = service.bench.command(arguments);
        let output = command.stdout(stdout).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{told}");
        let begin = "error[io]: recorded at seq ";
        assert!(told.starts_with(begin), "{told}");
        assert!(told.contains("output"), "{told}");
        assert!(told.contains("do not repeat the command"), "{told}");
    };
    let respond = format!("respond-call j {call} --response");
    run(&format!("{respond} {{\"news\":1}} --interim"), full(), 1);
    run(&format!("{respond} {{}}"), closed(), 141);
    service.shut_down();
    run(&format!("deny j {request} --json"), full(), 1);
    service
        .run(&format!("deny j {request}"))
        .fails(3, "already-answered");
}

#[test]
fn request_is_answered_without_a_service() {
    let mut service = Service::start();
    let call = service.ask_for("pay");
    service.shut_down();
    service.run("pending j").ends_with(0).prints(&[&call]);
    let respond = format!("respond-call j {} --response {{}}", &call[..6]);
    service.run(&respond).ends_with(0).prints(&[
        "(os_user), recorded at seq ",
        "when a process serves the session again",
    ]);
    service.run("replay j").ends_with(0);
}

#[test]
fn log_of_a_service_is_that_of_its_journal() {
    let mut service = Service::start();
    service.ask_for("refund");
    let log = format!("log j {}", &service.session()[..8]);
    let json = service.run(&format!("{log} --json")).ends_with(0);
    let text = service.run(&format!("{log} --full")).ends_with(0);
    assert!(
        text.out
            .contains("refund waiting for approval; model told so")
    );
    let sessions = service.run("sessions j --json").ends_with(0);
    assert_eq!(sessions.json_lines()[0]["external_id"], "ticket-7");
    service.run("log j ffffffff").fails(1, "unknown-session");
    service.shut_down();
    let later = service.run(&format!("{log} --json")).ends_with(0);
    assert!(later.out.starts_with(&json.out), "byte for byte");
    let later = service.run(&format!("{log} --full")).ends_with(0);
    assert!(later.out.starts_with(&text.out));
}

#[test]
fn followed_log_ends_with_the_service() {
    let mut service = Service::start();
    let request = service.ask_for("refund");
    let follow = format!("log j {} --follow", service.session());
    let mut followed = service.bench.start(&follow);
    followed.until("refund");
    let request = request.parse().unwrap();
    let answer = service.engine.answer(
        request,
        ToolConfirmation::confirmed(),
        Actor::embedder("ada"),
    );
    service.runtime.block_on(answer).unwrap();
    followed.until("approved by ada (embedder)");
    followed.until("refund ended: returned");
    service.shut_down();
    let pid = std::process::id();
    followed.until(&format!("The service (pid {pid}) has ended."));
    assert!(followed.ends_well());
    let late = service.run(&follow).ends_with(0);
    late.prints(&["No process serves the journal, so there are no new records."]);
}

#[test]
fn call_without_a_tool_can_be_answered() {
    let mut first = Service::start();
    let (request, call) = (first.ask_for("refund"), first.ask_for("pay"));
    first.shut_down();
    let path = first.bench.path("j");
    let engine = Engine::builder(path).open();
    let engine = first.runtime.block_on(engine).unwrap();
    first.run(&format!("approve j {request}")).ends_with(0);
    let respond = format!("respond-call j {call} --response {{}}");
    first.run(&respond).ends_with(0);
    let end = engine.shutdown(Duration::ZERO);
    first.runtime.block_on(end).unwrap();
    assert_eq!(first.refunds(), 0);
    let log = first.run(&format!("log j {}", first.session()));
    log.ends_with(0).prints(&["refund ready to start"]);
}

#[test]
fn operators_need_no_keys_with_a_service() {
    let mut service = Service::sealed();
    let request = service.ask_for("refund");
    service
        .run("pending j")
        .ends_with(0)
        .prints(&["refund: Refund this order?", r#"{"order":"A-17"}"#]);
    let log = format!("log j {}", service.session());
    service.run(&log).ends_with(0).prints(&["refund", "A-17"]);
    let stored = service.run(&format!("{log} --json")).ends_with(0);
    assert!(!stored.out.contains("A-17"), "as it is stored");
    service
        .run(&format!("approve j {request}"))
        .ends_with(0)
        .prints(&["refund approved by "]);
    service.until_answered();
    service.shut_down();
    service.run(&log).ends_with(0).prints(&["(sealed)"]);
    service.run(&format!("deny j {request}")).fails(6, "sealed");
}
