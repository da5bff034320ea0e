//! A yes from a terminal comes with what the tool needs of it, beside a running service and without
//! one.

use serde_json::json;

use crate::service::Service;

/// Tries every answer that does not count and then one that does; both doors say the same.
fn is_answered(service: &Service, request: &str) {
    let run = |arguments: &str| service.run(&arguments.replace("REQUEST", request));
    let schema = r#"{"properties":{"from":{"type":"string"}},"required":["from"],"type":"object"}"#;
    run("pending j").ends_with(0).says(&[
        &format!("recount approve j {request} --payload JSON"),
        &format!("a yes comes with a payload that fits {schema}"),
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
            refused.complains(&["the request stays open", "another may count"]);
        }
    }
    run("approve j REQUEST --payload {} --request-hash abc").ends_with(2);
    run("deny j REQUEST --args {}").ends_with(2);
    let right = r#"--payload @payload.json --args {"days":4} --as ada"#;
    let right = format!("approve j REQUEST {right} --request-hash {hash}");
    run(&right)
        .ends_with(0)
        .says(&["leave approved by unchecked \"ada\""]);
    let answered = service.recorded("confirmation_answered");
    assert_eq!(
        (&answered["payload"], &answered["edited_args"]),
        (&json!({"from": "Monday"}), &json!({"days": 4}))
    );
    run("deny j REQUEST")
        .fails(3, "already-answered")
        .complains(&["the first answer counts"]);
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
    assert_eq!(refused, expected, "each is on record");
}

#[test]
fn a_payload_other_arguments_and_the_request_that_was_seen_are_given_through_the_service() {
    let mut service = Service::start();
    let request = service.ask_for("leave");
    is_answered(&service, &request);
    service.until_answered();
    service.shut_down();
    service.run("replay j").ends_with(0);
}

#[test]
fn a_payload_other_arguments_and_the_request_that_was_seen_are_given_where_nobody_serves_the_journal()
 {
    let mut service = Service::start();
    let request = service.ask_for("leave");
    service.shut_down();
    is_answered(&service, &request);
    service.run("replay j").ends_with(0);
}

/// Approves with other arguments, and then those; gives what was said to the first.
fn is_approved_anew(service: &Service, request: &str) -> String {
    let changed = service.run(&format!("approve j {request} --args {{\"days\":4}}"));
    let changed = changed.ends_with(0).says(&["shift approved by "]);
    let waiting = service.run("pending j --json").ends_with(0).json_lines();
    let [again] = waiting.as_slice() else {
        panic!("one call waits: {waiting:?}");
    };
    let again_of = again["request"].as_str().unwrap();
    assert_ne!(again_of, request);
    assert_eq!(again["args"], json!({"days": 4}));
    let named = format!("it runs with the answer to the request {again_of}.");
    let said = changed.says(&[&named]).out;
    let approved = service.run(&format!(
        "approve j {again_of} --args {{\"days\":3}} --json"
    ));
    let last = approved.ends_with(0).json()["asked_anew"].clone();
    let approved = service.run(&format!("approve j {} --json", last.as_str().unwrap()));
    assert_eq!(approved.ends_with(0).json()["asked_anew"], json!(null));
    said
}

#[test]
fn whoever_changes_arguments_is_told_that_the_call_is_asked_about_anew() {
    let mut service = Service::start();
    let request = service.ask_for("shift");
    let said = is_approved_anew(&service, &request);
    assert!(said.contains("On record through the running service"));
    service.until_answered();
    service.shut_down();
}

#[test]
fn whoever_changes_arguments_is_told_so_where_nobody_serves_the_journal() {
    let mut service = Service::start();
    let request = service.ask_for("shift");
    service.shut_down();
    let said = is_approved_anew(&service, &request);
    assert!(!said.contains("The call starts"), "{said}");
}

#[test]
fn a_no_needs_no_payload_and_may_have_one() {
    let mut service = Service::start();
    let request = service.ask_for("leave");
    let deny = format!(r#"deny j {request} --payload {{"instead":"June"}} --json"#);
    assert_eq!(service.run(&deny).ends_with(0).json()["confirmed"], false);
    let answered = service.recorded("confirmation_answered");
    assert_eq!(answered["payload"], json!({"instead": "June"}));
    service.shut_down();
}

/// Tries payloads at a gate that asks for none.
fn is_refused(service: &Service, request: &str) {
    for answer in ["approve j REQUEST", "deny j REQUEST"] {
        let answer = format!("{answer} --payload {{\"limit\":1}}").replace("REQUEST", request);
        service
            .run(&answer)
            .fails(3, "invalid-payload")
            .complains(&["asks for none", "the request stays open"]);
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
