use super::*;
use recount::session::{Fact, Json, ObjectHash, Seq, Timestamp, ToolReturned};

fn fact(seq: u64, kind: &str, body: &str) -> Fact {
    let event = Event::decode(kind, body).unwrap_or_else(|error| unreachable!("{error}"));
    Fact {
        seq: Seq(seq),
        at: Timestamp(0),
        cause: None,
        event,
    }
}

fn sentences(facts: &[Fact]) -> Vec<String> {
    let mut names = Names::default();
    let text = |fact: &Fact| {
        names.learn(fact);
        sentence(&fact.event, &names).text
    };
    facts.iter().map(text).collect()
}

#[test]
fn call_is_named_by_its_tool_from_request_to_end() {
    let zeros = "0".repeat(64);
    let args = ObjectHash::of(br#"{"cents":1}"#);
    let hashes = format!(r#""args_sha256":"{args}","contract":"{zeros}","declaration":"{zeros}""#);
    let asked = format!(r#"{{"call":4,"about":"gate","hint":"Refund?",{hashes}}}"#);
    let shown = sentences(&[
        fact(
            4,
            "function_call_received",
            r#"{"epoch":3,"name":"refund","args":{"cents":1}}"#,
        ),
        fact(6, "confirmation_requested", &asked),
        fact(
            7,
            "confirmation_answered",
            r#"{"request":6,"confirmed":true,"by":{"name":"ada","authenticated_by":"os_user"}}"#,
        ),
        fact(9, "call_started", r#"{"call":4,"attempt":1,"runner":2}"#),
        fact(
            10,
            "tool_returned",
            r#"{"call":4,"attempt":1,"failed":false,"response":{"ok":true}}"#,
        ),
        fact(
            11,
            "response_issued",
            r#"{"call":4,"outcome":"returned","of":10,"route":{"via":"parked"}}"#,
        ),
        fact(12, "responses_sent", r#"{"epoch":3,"responses":[11]}"#),
    ]);
    assert_eq!(
        shown,
        [
            r#"calls refund {"cents":1}"#,
            r#"approval of refund requested: {"cents":1}  Refund?"#,
            "refund approved by ada (os_user)",
            "refund started, attempt 1",
            r#"refund returned {"ok":true}"#,
            "refund ended: returned (not sent yet: no connection)",
            "response sent to the model: refund",
        ]
    );
}

#[test]
fn calls_of_the_same_tool_have_their_seq() {
    let call = r#"{"epoch":3,"name":"refund"}"#;
    let shown = sentences(&[
        fact(4, "function_call_received", call),
        fact(5, "function_call_received", call),
        fact(6, "call_ready", r#"{"call":5}"#),
    ]);
    assert_eq!(
        shown.last().map(String::as_str),
        Some("refund #5 ready to start")
    );
}

#[test]
fn words_of_a_tool_cannot_move_the_cursor() {
    let response = Json::of(&serde_json::json!({"error": "\u{1b}[2J gone", "kind": "other"}));
    let event = Event::Observed(
        ToolReturned {
            call: Seq(4),
            attempt: 1,
            failed: true,
            response,
            error_kind: None,
            scheduling: None,
            ends_session: None,
        }
        .into(),
    );
    let sentence = sentence(&event, &Names::default());
    assert_eq!(sentence.text, "call 4 failed: \\u{1b}[2J gone");
}

#[test]
fn end_of_the_session_by_a_tool_has_its_reason() {
    let ended = r#"{"call":4,"attempt":1,"failed":false,"response":{"success":true},
        "ends_session":"goodbye"}"#;
    let shown = sentences(&[fact(5, "tool_returned", ended)]);
    assert_eq!(
        shown,
        [r#"call 4 returned {"success":true}, session ends: goodbye"#]
    );
}

#[test]
fn interim_response_says_why_the_call_waits() {
    let call = r#"{"epoch":3,"name":"pay"}"#;
    let route = r#""route":{"via":"tool_response","epoch":3}"#;
    let acknowledged = format!(r#"{{"call":4,"outcome":"interim","response":{{}},{route}}}"#);
    let of = |seq: u64| format!(r#"{{"call":4,"outcome":"interim","of":{seq},{route}}}"#);
    let shown = sentences(&[
        fact(4, "function_call_received", call),
        fact(5, "response_issued", &acknowledged),
        fact(
            6,
            "tool_yielded",
            r#"{"call":4,"attempt":1,"response":{"step":1}}"#,
        ),
        fact(7, "response_issued", &of(6)),
        fact(
            8,
            "tool_paused",
            r#"{"call":4,"attempt":1,"interim":{"status":"working"}}"#,
        ),
        fact(9, "response_issued", &of(8)),
    ]);
    assert_eq!(
        shown,
        [
            "calls pay",
            "pay waiting for approval; model told so",
            r#"interim result of pay: {"step":1}"#,
            "interim result of pay (sent as tool response)",
            "pay paused, waiting for its result from outside",
            "pay waiting for its result; model told so",
        ]
    );
}
