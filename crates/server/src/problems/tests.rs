//! Tests of the table of codes and of the conversions.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use axum::body::to_bytes;
use axum::http::header;
use axum::response::IntoResponse;

use super::{CONTENT_TYPE, Code, Problem};

fn file(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(name)).unwrap()
}

#[test]
fn every_rejection_has_its_code_in_the_table() {
    let pinned = file("tests/frozen/rejections.txt");
    let codes = pinned.lines().filter_map(|line| line.split_once(' '));
    let codes: BTreeSet<&str> = codes.map(|(code, _)| code).collect();
    let rejections = codes.iter().filter(|code| !code.ends_with(':'));
    let missing: Vec<_> = rejections
        .filter(|code| Code::of_refusal(code) == Code::Broken)
        .collect();
    assert!(codes.len() > 40, "{codes:?}");
    assert!(missing.is_empty(), "no code for {missing:?}");
}

#[test]
fn every_refusal_of_a_hold_has_its_code_in_the_table() {
    let refusals = [
        "no_reason",
        "no_label",
        "too_large",
        "session_erased",
        "erasure_requested",
        "unknown_hold",
        "hold_released",
    ];
    for code in refusals {
        assert_ne!(Code::of_refusal(code), Code::Broken, "{code}");
    }
}

#[test]
fn codes_are_unique_and_name_failures() {
    let spelled: BTreeSet<&str> = Code::ALL.iter().map(|it| it.as_str()).collect();
    assert_eq!(spelled.len(), Code::ALL.len());
    for code in Code::ALL {
        assert_eq!(Code::named(code.as_str()), Some(*code));
        let status = code.status();
        assert!(
            status.is_client_error() || status.is_server_error(),
            "{code:?}"
        );
    }
}

#[test]
fn statuses_are_those_that_clients_were_promised() {
    for (code, status) in [
        ("already-answered", 409),
        ("request-expired", 410),
        ("request-withdrawn", 410),
        ("other-request", 412),
        ("not-an-approver", 403),
        ("unknown-session", 404),
        ("content-type", 415),
        ("too-large", 413),
        ("malformed-answer", 422),
        ("too-many-requests", 429),
        ("too-many-answers", 429),
        ("draining", 503),
        ("no-space", 503),
        ("not-writable", 503),
        ("journal-unavailable", 503),
    ] {
        assert_eq!(
            Code::named(code).unwrap().status().as_u16(),
            status,
            "{code}"
        );
    }
}

#[tokio::test]
async fn problem_has_its_content_type_and_retry_header() {
    let response = Problem::new(Code::Draining, "the engine is shut down").into_response();
    assert_eq!(response.headers()[header::CONTENT_TYPE], CONTENT_TYPE);
    assert!(response.headers().contains_key(header::RETRY_AFTER));
    let body = to_bytes(response.into_body(), 1 << 16).await.unwrap();
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(body["code"], "draining");
    assert_eq!(body["status"], 503);
    assert_eq!(body["type"], "urn:problem-type:recount:draining");
}

#[test]
fn unknown_agent_names_no_registered_agent() {
    let error = recount::engine::Error::UnknownAgent {
        name: "billing".to_owned(),
        registered: "secret-project".to_owned(),
    };
    let problem = serde_json::to_string(&Problem::from(error)).unwrap();
    assert!(!problem.contains("secret-project"), "{problem}");
}
