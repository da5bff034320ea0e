//! `approve` and `deny` with several requests, and `deny --session ID --all`.

use serde_json::{Value, json};

use crate::program::Run;
use crate::service::Service;

/// A service with open requests about these tools, by id.
fn asked<const N: usize>(tools: [&str; N]) -> (Service, [String; N]) {
    let mut service = Service::start();
    let ids = tools.map(|tool| service.ask_for(tool));
    (service, ids)
}

/// The requests of the printed rows, with the error codes.
fn rows(run: &Run) -> Vec<(String, Value)> {
    let rows = run.json_lines().into_iter();
    rows.map(|row| {
        let request = row["request"].as_str().unwrap().to_owned();
        (request, row["error"]["code"].clone())
    })
    .collect()
}

fn shut_down(service: &Service) {
    service.shut_down();
    service.run("verify j").ends_with(0);
    service.run("replay j").ends_with(0);
}

#[test]
fn several_requests_are_approved_beside_a_service() {
    let (mut service, [refund, shift]) = asked(["refund", "shift"]);
    let [short, long] = [&refund[..8], &shift];
    let approved = service.run(&format!("approve j {short} {long} {refund} --reason fine"));
    approved.ends_with(0).prints(&[
        "refund approved by ",
        r#"{"order":"A-17"}"#,
        "shift approved by ",
        "Recorded by the running service (pid ",
    ]);
    service.until_answered();
    assert_eq!(service.recorded("confirmation_answered")["reason"], "fine");
    let pending = service.run("pending j").ends_with(0);
    pending.prints(&["Nothing is pending."]);
    shut_down(&service);
}

#[test]
fn each_outcome_is_printed_and_a_refusal_decides_the_exit_code() {
    for beside_service in [true, false] {
        let (service, [refund, leave, shift]) = asked(["refund", "leave", "shift"]);
        service.run(&format!("deny j {shift}")).ends_with(0);
        if !beside_service {
            service.shut_down();
        }
        // The leave needs a payload, so a plain yes does not fit.
        let command = format!("approve j {shift} {leave} {refund}");
        let run = service.run(&format!("{command} --json")).ends_with(3);
        let expected = [
            (shift.clone(), json!("already-answered")),
            (leave.clone(), json!("invalid-payload")),
            (refund.clone(), Value::Null),
        ];
        assert_eq!(rows(&run), expected);
        let last = &run.json_lines()[2];
        assert_eq!(
            (&last["tool"], &last["confirmed"], &last["args"]),
            (&json!("refund"), &json!(true), &json!({"order": "A-17"}))
        );
        assert_eq!(last["service"].is_null(), !beside_service);
        let text = service.run(&command).ends_with(3);
        text.prints(&[&format!("{refund}: error[already-answered]: ")]);
        if beside_service {
            service.shut_down();
        }
        service.run("verify j").ends_with(0);
    }
}

#[test]
fn nothing_is_recorded_if_one_id_is_unknown() {
    let (service, [refund]) = asked(["refund"]);
    let unknown = "f".repeat(32);
    let failed = service.run(&format!("deny j {refund} {unknown}"));
    failed.fails(1, "unknown-request");
    let pending = service.run("pending j --json").ends_with(0).json_lines();
    assert_eq!(pending.len(), 1);
}

#[test]
fn arguments_and_a_hash_need_a_single_request() {
    let (service, [refund, shift]) = asked(["refund", "shift"]);
    let hash = "f".repeat(64);
    for option in [
        r#"--args {"days":3}"#.to_owned(),
        format!("--request-hash {hash}"),
    ] {
        let run = service.run(&format!("approve j {refund} {shift} {option}"));
        run.fails(2, "several-requests");
    }
    let pending = service.run("pending j --json").ends_with(0).json_lines();
    assert_eq!(pending.len(), 2);
}

#[test]
fn all_open_requests_of_a_session_are_denied() {
    for beside_service in [true, false] {
        let (service, ids) = asked(["refund", "leave", "shift"]);
        let session = service.session();
        if !beside_service {
            service.shut_down();
        }
        let deny = format!("deny j --session {} --all", &session[..13]);
        let run = service.run(&format!("{deny} --reason later --as ada --json"));
        let run = run.ends_with(0);
        let expected = ids.map(|id| (id, Value::Null));
        assert_eq!(rows(&run), expected);
        assert_eq!(run.json_lines()[0]["by"]["name"], "ada");
        let again = service.run(&deny).ends_with(0);
        again.prints(&["Nothing is pending in the session."]);
        assert_eq!(service.run(&format!("{deny} --json")).ends_with(0).out, "");
        assert_eq!(service.recorded("confirmation_answered")["reason"], "later");
        let unknown = service.run("deny j --session ffffffff --all");
        unknown.fails(1, "unknown-session");
        if beside_service {
            shut_down(&service);
        }
    }
}

#[test]
fn all_needs_a_session_and_no_request() {
    let (service, [refund]) = asked(["refund"]);
    let session = service.session();
    for wrong in [
        "deny j --all".to_owned(),
        format!("deny j --session {session}"),
        format!("deny j {refund} --session {session} --all"),
        "deny j".to_owned(),
        "approve j".to_owned(),
        format!("approve j --session {session} --all"),
    ] {
        service.run(&wrong).ends_with(2);
    }
    let pending = service.run("pending j --json").ends_with(0).json_lines();
    assert_eq!(pending.len(), 1);
}
