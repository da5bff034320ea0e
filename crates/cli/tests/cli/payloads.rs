//! Approvals with a payload, changed arguments and a request hash, with a service and without one.

use serde_json::json;

use crate::service::Service;

/// Tries every refused answer and then a valid one. The result is the same with and without a
/// service.
fn is_answered(service: &Service, request: &str) {
    let run = |arguments: &str| service.run(&arguments.replace("REQUEST", request));
    let schema = r#"{"properties":{"from":{"type":"string"}},"required":["from"],"type":"object"}"#;
    run("pending j").ends_with(0).prints(&[
        &format!("recount approve j {request} --payload JSON"),
        &format!("approval needs a payload that fits {schema}"),
    ]);
    let waiting = run("pending j --json").ends_with(0).json_lines();
    let hash = waiting[0]["request_hash"].as_str().unwrap();
    service.bench.write("payload.json", r#"{"from": "Monday"}"#);
    let other = "0".repeat(64);
    for (answer, exit, code) in [
        ("approve j REQUEST", 3, "invalid-payload"),
        ("approve j REQUEST --payload 1", 3, "invalid-payload"),
        (
            r#"approve j REQUEST --payload {"from":1}"#,
            3,
            "invalid-payload",
        ),
        ("approve j REQUEST --payload {", 2, "not-json"),
        ("approve j REQUEST --payload @nowhere.json", 1, "io"),
        ("approve j REQUEST --payload - --args -", 2, "not-json"),
        (
            "approve j REQUEST --payload @payload.json --args [9]",
            3,
            "invalid-args",
        ),
        (
            r#"approve j REQUEST --payload @payload.json --args {"days":"x"}"#,
            3,
            "invalid-args",
        ),
        (
            "approve j REQUEST --payload @payload.json --args {\"days\":123456789012345678901}",
            3,
            "malformed-answer",
        ),
        ("approve j REQUEST --payload null", 3, "malformed-answer"),
        (
            &format!("approve j REQUEST --payload @payload.json --request-hash {other}"),
            3,
            "other-request",
        ),
        (
            &format!("deny j REQUEST --request-hash {other}"),
            3,
            "other-request",
        ),
    ] {
        let refused = run(answer).fails(exit, code);
        if exit == 3 {
            refused.prints_error(&["the request stays open", "another answer is possible"]);
        }
    }
    run("approve j REQUEST --payload {} --request-hash abc").ends_with(2);
    run("deny j REQUEST --args {}").ends_with(2);
    let right = r#"--payload @payload.json --args {"days":4} --as ada"#;
    let right = format!("approve j REQUEST {right} --request-hash {hash}");
    run(&right)
        .ends_with(0)
        .prints(&["leave approved (identity not verified) by \"ada\""]);
    let answered = service.recorded("confirmation_answered");
    assert_eq!(
        (&answered["payload"], &answered["edited_args"]),
        (&json!({"from": "Monday"}), &json!({"days": 4}))
    );
    run("deny j REQUEST")
        .fails(3, "already-answered")
        .prints_error(&["the first answer counts"]);
    let log = run(&format!("log j {} --json", service.session())).json_lines();
    let refused = log.iter().filter(|line| line["kind"] == "answer_refused");
    let refused: Vec<_> = refused
        .map(|line| line["body"]["refusal"].clone())
        .collect();
    let expected = [
        "invalid_payload",
        "invalid_payload",
        "invalid_payload",
        "invalid_args",
        "invalid_args",
        "malformed_answer",
        "malformed_answer",
        "other_request",
        "other_request",
        "already_answered",
    ];
    assert_eq!(refused, expected, "each is recorded");
}

#[test]
fn approval_with_payload_and_arguments_through_a_service() {
    let mut service = Service::start();
    let request = service.ask_for("leave");
    is_answered(&service, &request);
    service.until_answered();
    service.shut_down();
    service.run("replay j").ends_with(0);
}

#[test]
fn approval_with_payload_and_arguments_without_a_service() {
    let mut service = Service::start();
    let request = service.ask_for("leave");
    service.shut_down();
    is_answered(&service, &request);
    service.run("replay j").ends_with(0);
}

/// Approves with changed arguments, then approves those. Returns the output of the first approval.
fn is_approved_anew(service: &Service, request: &str) -> String {
    let changed = service.run(&format!("approve j {request} --args {{\"days\":4}}"));
    let changed = changed.ends_with(0).prints(&["shift approved by "]);
    let waiting = service.run("pending j --json").ends_with(0).json_lines();
    let [again] = waiting.as_slice() else {
        panic!("one call waits: {waiting:?}");
    };
    let again_of = again["request"].as_str().unwrap();
    assert_ne!(again_of, request);
    assert_eq!(again["args"], json!({"days": 4}));
    let named = format!("the call waits for an answer to request {again_of}.");
    let said = changed.prints(&[&named]).out;
    let approved = service.run(&format!(
        "approve j {again_of} --args {{\"days\":3}} --json"
    ));
    let last = approved.ends_with(0).json()["asked_anew"].clone();
    let approved = service.run(&format!("approve j {} --json", last.as_str().unwrap()));
    assert_eq!(approved.ends_with(0).json()["asked_anew"], json!(null));
    said
}

#[test]
fn changed_arguments_need_their_own_approval() {
    let mut service = Service::start();
    let request = service.ask_for("shift");
    let said = is_approved_anew(&service, &request);
    assert!(said.contains("Recorded by the running service"));
    service.until_answered();
    service.shut_down();
}

#[test]
fn changed_arguments_need_approval_without_a_service() {
    let mut service = Service::start();
    let request = service.ask_for("shift");
    service.shut_down();
    let said = is_approved_anew(&service, &request);
    assert!(!said.contains("The call starts"), "{said}");
}

#[test]
fn denial_may_have_a_payload() {
    let mut service = Service::start();
    let request = service.ask_for("leave");
    let deny = format!(r#"deny j {request} --payload {{"instead":"June"}} --json"#);
    assert_eq!(service.run(&deny).ends_with(0).json()["confirmed"], false);
    let answered = service.recorded("confirmation_answered");
    assert_eq!(answered["payload"], json!({"instead": "June"}));
    service.shut_down();
}

/// Tries payloads for a request without a payload schema.
fn is_refused(service: &Service, request: &str) {
    for answer in ["approve j REQUEST", "deny j REQUEST"] {
        let answer = format!("{answer} --payload {{\"limit\":1}}").replace("REQUEST", request);
        service
            .run(&answer)
            .fails(3, "invalid-payload")
            .prints_error(&["asks for none", "the request stays open"]);
    }
    assert_eq!(
        service.recorded("answer_refused")["refusal"],
        "invalid_payload"
    );
}

#[test]
fn payload_that_no_request_asked_for_is_refused() {
    let mut service = Service::start();
    let request = service.ask_for("refund");
    is_refused(&service, &request);
    service.shut_down();
    is_refused(&service, &request);
    service.run(&format!("approve j {request}")).ends_with(0);
}
