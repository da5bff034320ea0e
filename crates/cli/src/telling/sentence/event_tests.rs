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

fn told(facts: &[Fact]) -> Vec<String> {
    let mut names = Names::default();
    let tell = |fact: &Fact| {
        names.learn(fact);
        sentence(&fact.event, &names).text
    };
    facts.iter().map(tell).collect()
}

#[test]
fn a_call_is_told_by_its_tool_from_request_to_end() {
    let zeros = "0".repeat(64);
    let args = ObjectHash::of(br#"{"cents":1}"#);
    let asked = format!(
        r#"{{"call":4,"about":"gate","hint":"Refund?","args_sha256":"{args}","contract":"{zeros}","declaration":"{zeros}"}}"#
    );
    let told = told(&[
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
        told,
        [
            r#"calls refund {"cents":1}"#,
            r#"refund asks: Refund?  {"cents":1}"#,
            "refund approved by ada (os_user)",
            "refund started, attempt 1",
            r#"refund returned {"ok":true}"#,
            "refund ends: returned (parked)",
            "told the model about refund",
        ]
    );
}

#[test]
fn calls_of_the_same_tool_are_told_apart() {
    let call = r#"{"epoch":3,"name":"refund"}"#;
    let told = told(&[
        fact(4, "function_call_received", call),
        fact(5, "function_call_received", call),
        fact(6, "call_ready", r#"{"call":5}"#),
    ]);
    assert_eq!(told.last().map(String::as_str), Some("refund #5 may start"));
}

#[test]
fn what_a_tool_said_cannot_move_the_cursor() {
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
    let told = sentence(&event, &Names::default());
    assert_eq!(told.text, "call 4 failed: \\u{1b}[2J gone");
}

#[test]
fn a_tool_that_ends_the_session_says_why() {
    let ended = r#"{"call":4,"attempt":1,"failed":false,"response":{"success":true},"ends_session":"goodbye"}"#;
    let told = told(&[fact(5, "tool_returned", ended)]);
    assert_eq!(
        told,
        [r#"call 4 returned {"success":true}, and ends the session: goodbye"#]
    );
}
