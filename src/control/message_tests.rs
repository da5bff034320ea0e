#![expect(
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]

use super::*;
use crate::control::reply::{LogItem, OnRecord, Reply};
use crate::session::Rejection;

fn read(text: &str) -> Result<Request, serde_json::Error> {
    Request::read(text)
}

#[test]
fn message_with_actor_or_unknown_key_is_rejected() {
    let session = "0199a000-0000-7000-8000-000000000001";
    assert!(read(r#"{"pending":{}}"#).is_ok());
    for unknown in [
        format!(r#"{{"answer":{{"request":"{session}","answer":{{}},"by":{{"name":"eve"}}}}}}"#),
        format!(r#"{{"log":{{"session":"{session}","until":3}}}}"#),
        r#"{"pending":{"all":true}}"#.to_owned(),
        r#"{"forget":{}}"#.to_owned(),
        r#"{"pending":[]}"#.to_owned(),
        format!(r#"{{"log":["{session}",1,false]}}"#),
        r#"{"pending":{},"sessions":{}}"#.to_owned(),
    ] {
        assert!(read(&unknown).is_err(), "{unknown}");
    }
}

#[test]
fn ticket_has_exactly_three_keys() {
    let session = "0199a000-0000-7000-8000-000000000001";
    let respond = |ticket: &str| {
        read(&format!(
            r#"{{"respond":{{"ticket":{ticket},"response":{{"n":1}}}}}}"#
        ))
    };
    let three = format!(r#""session":"{session}","call":5,"tool":"pay""#);
    assert!(respond(&format!("{{{three}}}")).is_ok());
    for unfit in [
        format!(r#"{{{three},"id":"52ab"}}"#),
        format!(r#"{{{three},"Tool":"other"}}"#),
        format!(r#"{{{three},"actor":"eve"}}"#),
        format!(r#"{{{three},"tool":"other"}}"#),
        format!(r#"{{"session":"{session}","call":5}}"#),
        format!(r#"["{session}",5,"pay"]"#),
    ] {
        assert!(respond(&unfit).is_err(), "{unfit}");
        assert!(ticket(&unfit).is_err(), "{unfit}");
    }
}

#[test]
fn log_request_has_defaults() {
    let Ok(Request::Log { from, follow, .. }) =
        read(r#"{"log":{"session":"0199a000-0000-7000-8000-000000000001"}}"#)
    else {
        unreachable!("it is a request for a log")
    };
    assert_eq!((from, follow), (Seq(1), false));
}

#[test]
fn an_answer_is_a_boolean_or_none() {
    let read = |text: &str| {
        let raw: Box<RawValue> = serde_json::from_str(text).unwrap();
        confirmation(&raw).map_err(|unfit| Rejection::UnfitAnswer(unfit).code())
    };
    let yes = read(r#"{"confirmed":true,"reason":"fine","payload":{"a":1}}"#).unwrap();
    assert!(yes.confirmed);
    assert_eq!(yes.reason.as_deref(), Some("fine"));
    assert_eq!(yes.payload, Some(serde_json::json!({"a": 1})));
    assert!(!read(r#"{"confirmed":false}"#).unwrap().confirmed);
    for unfit in [
        "{}",
        r#"{"confirmed":"true"}"#,
        r#"{"confirmed":1}"#,
        r#"{"confirmed":null}"#,
        r#"{"confirmed":true,"by":"eve"}"#,
        r#"{"confirmed":true,"as":"eve"}"#,
        r#"{"confirmed":true,"actor":{"name":"eve"}}"#,
        r#"{"confirmed":true,"user":null}"#,
        r#"{"confirmed":true,"request_hash":"abc"}"#,
        r#"{"confirmed":true,"args":{},"edited_args":{}}"#,
        "true",
    ] {
        assert_eq!(read(unfit), Err("malformed_answer"), "{unfit}");
    }
    let settled = read(r#"{"found":{"done":{"sum":1.10}}}"#).unwrap();
    let Some(Finding::Done(result)) = settled.found else {
        unreachable!("it says what became of the call")
    };
    assert_eq!(result.as_str(), r#"{"sum":1.10}"#);
    let failed = read(r#"{"found":{"failed":"refused"}}"#).unwrap();
    assert!(!failed.confirmed && failed.found.is_some());
    for unfit in [
        r#"{"confirmed":false,"found":{"failed":"refused"}}"#,
        r#"{"found":{"failed":"refused"},"reason":"no"}"#,
        r#"{"found":{"failed":1}}"#,
        r#"{"found":{"done":{},"failed":"refused"}}"#,
        r#"{"found":null}"#,
    ] {
        assert_eq!(read(unfit), Err("malformed_answer"), "{unfit}");
    }
    let twice = r#"{"confirmed":false,"confirmed":true}"#;
    assert_eq!(read(twice), Err("malformed_answer"));
}

#[test]
fn answer_reads_all_optional_keys() {
    let hash = crate::session::ObjectHash::of(b"the record");
    let text = format!(
        concat!(
            r#"{{"confirmed":true,"payload":{{"days":3}},"args":{{"n":1}},"#,
            r#""request_hash":"{hash}","hint":"Go?"}}"#,
        ),
        hash = hash,
    );
    let raw: Box<RawValue> = serde_json::from_str(&text).unwrap();
    let mut expected = ToolConfirmation::confirmed()
        .with_payload(serde_json::json!({"days": 3}))
        .with_args(serde_json::json!({"n": 1}))
        .to_request(hash);
    expected.hint = Some("Go?".to_owned());
    assert_eq!(confirmation(&raw), Ok(expected));
}

#[test]
fn unknown_key_in_answer_is_rejected_with_known_keys() {
    let all = "expected one of confirmed, reason, payload, args, request_hash, hint, allow_for";
    for (more, why) in [
        (
            r#""requesthash":"9f""#,
            "requesthash: unknown key; did you mean \"request_hash\"?".to_owned(),
        ),
        (
            r#""requestHash":"9f""#,
            "requestHash: unknown key; did you mean \"request_hash\"?".to_owned(),
        ),
        (
            r#""arguments":{"amount":40}"#,
            format!("arguments: unknown key; {all}"),
        ),
        (
            r#""editedArgs":{"amount":40}"#,
            format!("editedArgs: unknown key; {all}"),
        ),
        (r#""by":"eve""#, format!("by: unknown key; {all}")),
        (r#""ticket":"T-1""#, format!("ticket: unknown key; {all}")),
        (
            r#""request_hash":null"#,
            "\"request_hash\" is null; what is not said is left out".to_owned(),
        ),
        (
            r#""args":null"#,
            "\"args\" is null; what is not said is left out".to_owned(),
        ),
    ] {
        for text in [
            format!(r#"{{"confirmed":true,{more}}}"#),
            format!(r#"{{"confirmed":false,{more}}}"#),
        ] {
            let raw: Box<RawValue> = serde_json::from_str(&text).unwrap();
            let problem = why.clone();
            assert_eq!(confirmation(&raw), Err(UnfitAnswer::Malformed { problem }));
        }
    }
}

#[test]
fn number_that_would_lose_digits_is_rejected() {
    let read = |text: &str| {
        let raw: Box<RawValue> = serde_json::from_str(text).unwrap();
        confirmation(&raw)
    };
    let lost = |digits: &str| {
        format!("expected a number of fewer digits, found {digits}, of which some would be lost")
    };
    let account = "123456789012345678901";
    for (text, place) in [
        (
            r#"{"confirmed":true,"args":{"to":[{"account":123456789012345678901}]}}"#,
            "\"args\": /to/0/account: ",
        ),
        (
            r#"{"confirmed":true,"payload":123456789012345678901}"#,
            "\"payload\": ",
        ),
    ] {
        let problem = format!("{place}{}", lost(account));
        assert_eq!(read(text), Err(UnfitAnswer::Malformed { problem }));
    }
    let exact = concat!(
        r#"{"confirmed":true,"args":{"id":18446744073709551615,"least":-9223372036854775808,"#,
        r#""sum":1.10,"much":1e21}}"#,
    );
    let args = read(exact).unwrap().args.unwrap();
    assert_eq!(
        Json::of(&args).as_str(),
        r#"{"id":18446744073709551615,"least":-9223372036854775808,"much":1e+21,"sum":1.1}"#
    );
}

#[test]
fn a_record_goes_over_byte_for_byte() {
    let text = r#"{"item":{"record":{"n": 1.10,"s":"\u00e9"}}}"#;
    let Ok(Reply::Item(item)) = serde_json::from_str(text) else {
        unreachable!("it is an item")
    };
    let item: LogItem = serde_json::from_str(item.get()).unwrap();
    assert_eq!(item.record.get(), r#"{"n": 1.10,"s":"\u00e9"}"#);
}

#[test]
fn attempts_of_zero_are_omitted() {
    let by = r#""by":{"name":"ada","authenticated_by":"token"}"#;
    let session = "0199a000-0000-7000-8000-000000000001";
    let said = format!(r#"{{"session":"{session}","seq":9,"tool":"pay",{by}}}"#);
    let mut on_record: OnRecord = serde_json::from_str(&said).unwrap();
    assert_eq!(on_record.attempts, 0);
    assert_eq!(serde_json::to_string(&on_record).unwrap(), said);
    on_record.attempts = 2;
    let said = serde_json::to_string(&on_record).unwrap();
    assert!(said.ends_with(r#","attempts":2}"#), "{said}");
}
